"""Pictures from any server that speaks OpenAI's `/v1/images/generations`: LocalAI, stable-diffusion.cpp, OpenAI itself.

What it sends is a file from elsewhere like any other: `Media.picture` decodes it before anything else is done with it.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from typing import Any

import aiohttp

from media.settings import OPENAI, PainterSettings
from memory.errors import PaintingFailed, Refused
from memory.loopback import on_loopback

MAX_ANSWER_BYTES = 20_000_000
MAX_ERROR_BYTES = 65_536

_OK = 200
_BAD_REQUEST = 400
_HINTS = {
    401: "; check draw.api_key",
    403: "; check draw.api_key",
    404: "; check draw.base_url and draw.model",
}
_DECLINED = frozenset({"content_policy_violation", "moderation_blocked"})  # error codes: this description, not that way
_FORMAT = "response_format"

Json = dict[str, Any]


def build_painter(settings: PainterSettings) -> OpenAiPainter | None:
    """Return the painter that the settings ask for, None where the language model draws."""
    return OpenAiPainter(settings) if settings.provider == OPENAI else None


class OpenAiPainter:
    """Has pictures painted over HTTP (`Painter`). Opens no connection until it is first asked; close with `aclose`.

    Nothing is tried twice, since each try may cost; but for a request that was refused for how it asks. An address in
    place of a picture is not followed: it would let that server send the bot anywhere.
    """

    def __init__(self, settings: PainterSettings) -> None:
        self._settings = settings
        self._url = settings.base_url.rstrip("/") + "/images/generations"
        self._names_format = True  # models that give nothing but base64 refuse to be asked for it
        self._session: aiohttp.ClientSession | None = None

    async def paint(self, description: str) -> bytes:
        """Return a picture as it came, to be checked by Media.picture.

        Raises Refused where the server will not paint that; PaintingFailed, whose message holds neither key nor
        description nor what the server wrote.
        """
        seconds = self._settings.timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                return _picture(await self._asked(description))
        except TimeoutError:
            raise PaintingFailed(f"no picture within {seconds:g} s (draw.timeout_seconds)") from None
        except (aiohttp.ClientError, OSError, UnicodeError) as error:
            # Not chained: what the library says may quote the address, with a key that stands in it.
            raise PaintingFailed(f"the painting server cannot be reached ({type(error).__name__})") from None
        except ValueError as error:  # a key of two lines, an address that is none; the library's words may quote them
            hint = "check draw.base_url and draw.api_key"
            raise PaintingFailed(f"the painting server cannot be asked ({type(error).__name__}); {hint}") from None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _asked(self, description: str) -> bytes:
        """Return the body of a good answer; servers that refuse `response_format` are asked without from then on."""
        status, body = await self._post(description)
        if status == _BAD_REQUEST and self._names_format and _FORMAT.encode() in body:
            self._names_format = False
            status, body = await self._post(description)
        if status == _OK:
            return body
        if _code(body) in _DECLINED:
            raise Refused("painter-declined")
        raise PaintingFailed(f"the painting server answered with status {status}{_HINTS.get(status, '')}")

    async def _post(self, description: str) -> tuple[int, bytes]:
        wanted = {"model": self._settings.model, "prompt": description, "n": 1, "size": self._settings.size}
        if self._names_format:
            wanted[_FORMAT] = "b64_json"
        if self._session is None:
            self._session = self._connected()
        sent = {key: value for key, value in wanted.items() if value != ""}
        # A redirect would send key and description somewhere that nobody configured.
        async with self._session.post(self._url, json=sent, allow_redirects=False) as response:
            if response.status == _OK:
                return _OK, await _bounded(response)
            return response.status, await _beginning(response)

    def _connected(self) -> aiohttp.ClientSession:
        key = self._settings.api_key.get_secret_value()
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(force_close=True),  # a stale one would fail a try that cannot be repeated
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=aiohttp.ClientTimeout(total=None),  # one limit for all: see paint
            trust_env=not on_loopback(self._url),  # a proxy could not reach this machine's loopback
        )


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    """Read an answer, up to a limit."""
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > MAX_ANSWER_BYTES:
            raise PaintingFailed(f"the painting server answered with over {MAX_ANSWER_BYTES} bytes")
    return bytes(content)


async def _beginning(response: aiohttp.ClientResponse) -> bytes:
    """Read as much of an answer as tells what is wrong; it may come in pieces."""
    content = bytearray()
    while len(content) < MAX_ERROR_BYTES and (piece := await response.content.read(MAX_ERROR_BYTES - len(content))):
        content += piece
    return bytes(content)


def _picture(body: bytes) -> bytes:
    """Return the picture of an answer."""
    try:
        painted: Json = json.loads(body)["data"][0]
        encoded: Any = painted.get("b64_json")
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise PaintingFailed("the painting server sent what is no list of pictures") from None
    if not encoded and painted.get("url"):
        raise PaintingFailed("the painting server sent an address, which is not followed; it has to send b64_json")
    try:
        picture = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError, TypeError):
        picture = b""
    if not picture:
        raise PaintingFailed("the painting server sent what is no picture in base64")
    return picture


def _code(body: bytes) -> str:
    """Return the code of an error as OpenAI's API gives it, "" where there is none."""
    try:
        return str(json.loads(body)["error"]["code"])
    except (ValueError, TypeError, LookupError, RecursionError):
        return ""
