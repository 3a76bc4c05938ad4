"""Requests to the homeserver: one way in and out for nio's calls and for those nio does not know.

nio retries 429 and time-outs without end and returns errors as values. Here every request is made once, errors are
raised as MatrixError, and a rejected access token is renewed once through `renew`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import aiohttp
from nio.client.async_client import AsyncClient
from nio.responses import ErrorResponse

from matrix.errors import TokenRejected, rejection
from memory.errors import MatrixError

Json = dict[str, Any]

T = TypeVar("T")

REQUEST_SECONDS = 60.0
MEDIA_SECONDS = 120.0
_CHUNK = 64 * 1024


def endpoint(*segments: str, version: str = "v3", **query: str) -> str:
    """Return the path of a client API endpoint, each segment and query value quoted."""
    path = "/".join(quote(segment, safe="") for segment in segments)
    return f"/_matrix/client/{version}/{path}" + (f"?{urlencode(query)}" if query else "")


class HttpClient(AsyncClient):
    """nio's client with our way of making requests."""

    renew: Callable[[str], Awaitable[None]] | None = None
    """Called with the token that was rejected; returns when `access_token` may be tried again, or raises."""

    async def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        seconds: float = REQUEST_SECONDS,
        authenticated: bool = True,
    ) -> Json:
        """Make one request and return the JSON object answered.

        Raises MatrixError: Rejected with the homeserver's errcode, TokenRejected when the token could not be renewed.
        """
        data = None if body is None else json.dumps(body, separators=(",", ":"))
        answer = await self._request(method, path, data, seconds, authenticated)
        if not isinstance(answer, dict):
            raise MatrixError(f"{_action(method, path)}: the answer is not a JSON object")
        return answer

    async def request_list(self, path: str) -> list[Any]:
        """Make one GET request of an endpoint that answers with a JSON array. Raises MatrixError."""
        answer = await self._request("GET", path, None, REQUEST_SECONDS, authenticated=True)
        if not isinstance(answer, list):
            raise MatrixError(f"{_action('GET', path)}: the answer is not a JSON array")
        return answer

    async def upload(self, data: bytes, media_type: str, name: str | None = None) -> str:
        """Put a file onto the homeserver and return its mxc URI. Raises MatrixError."""
        path = "/_matrix/media/v3/upload" + (f"?{urlencode({'filename': name})}" if name else "")
        answer = _parsed(
            await self._renewing(lambda token: self._exchange("POST", path, data, MEDIA_SECONDS, token, media_type))
        )
        address = answer.get("content_uri") if isinstance(answer, dict) else None
        if not isinstance(address, str):
            raise MatrixError(f"{_action('POST', path)}: the answer names no file")
        return address

    async def download(self, path: str, most_bytes: int) -> bytes | None:
        """Return what lies at a path; None: it is longer than that, and the rest was not read. Raises MatrixError."""
        return await self._renewing(
            lambda token: self._exchange("GET", path, None, MEDIA_SECONDS, token, most_bytes=most_bytes)
        )

    async def _request(self, method: str, path: str, data: str | None, seconds: float, authenticated: bool) -> Any:
        if not authenticated:
            return _parsed(await self._exchange(method, path, data, seconds, ""))
        return _parsed(await self._renewing(lambda token: self._exchange(method, path, data, seconds, token)))

    async def _renewing(self, attempt: Callable[[str], Awaitable[T]]) -> T:
        """Make an attempt with the access token, and one more with a new token where it was rejected."""
        token = self.access_token
        try:
            return await attempt(token)
        except TokenRejected:
            if self.renew is None:
                raise
        await self.renew(token)
        return await attempt(self.access_token)

    async def _exchange(
        self,
        method: str,
        path: str,
        data: str | bytes | None,
        seconds: float,
        token: str,
        media_type: str = "application/json",
        *,
        most_bytes: int | None = None,
    ) -> bytes | None:
        """Make one request and return the body answered; None: it is longer than `most_bytes`."""
        headers = {"Content-Type": media_type}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        try:
            response = await self.send(method, path, data, headers, timeout=aiohttp.ClientTimeout(total=seconds))
            async with response:
                answer = await _read(response, most_bytes if response.ok else None)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise MatrixError(f"{_action(method, path)}: {type(error).__name__}") from error
        if not response.ok:
            body = _parsed(answer)
            known = body if isinstance(body, dict) else {}
            raise rejection(_action(method, path), response.status, known, response.headers)
        return answer

    async def _send(  # type: ignore[override]  # nio's uploads and downloads are not used here
        self,
        response_class: type[Any],
        method: str,
        path: str,
        data: str | None = None,
        response_data: tuple[Any, ...] | None = None,
    ) -> Any:
        """Carry out a request of nio itself; nio takes the answer in, errors are raised (see module)."""
        parts = urlsplit(path)
        query = [(name, value) for name, value in parse_qsl(parts.query) if name != "access_token"]
        address = parts.path + (f"?{urlencode(query)}" if query else "")
        raw = await self._request(method, address, data, REQUEST_SECONDS, authenticated=True)
        answer = response_class.from_dict(raw, *(response_data or ()))
        if isinstance(answer, ErrorResponse):
            raise MatrixError(f"{_action(method, path)}: the answer has an unexpected shape")
        await self.receive_response(answer)
        return answer


def _action(method: str, path: str) -> str:
    """Name a request in an error message: without its query, which may hold a filter or a token."""
    return f"{method} {urlsplit(path).path}"


async def _read(response: aiohttp.ClientResponse, most_bytes: int | None) -> bytes | None:
    """Read a body, however long it says it is, up to a limit; None: it goes on."""
    if most_bytes is None:
        return await response.read()
    found = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        found += chunk
        if len(found) > most_bytes:
            response.close()
            return None
    return bytes(found)


def _parsed(content: bytes | None) -> Any:
    try:
        return json.loads(content or b"")
    except (ValueError, RecursionError):  # the second of brackets nested without end
        return None
