"""Embeddings from any server that speaks OpenAI's `/v1/embeddings`: Ollama, vLLM, llama.cpp, Voyage, OpenAI itself.

Over aiohttp, which the bot depends on by name already; httpx2 is here only because the model's SDK brings it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any

import aiohttp
import numpy as np
from numpy.typing import NDArray

from index.settings import EmbeddingSettings
from memory.errors import EmbeddingError
from memory.loopback import on_loopback

MAX_CHARACTERS = 2000  # of one text, as for the built-in model
MAX_BATCH = 64  # texts in one request; servers allow from 128 (Voyage) to 2,048 (OpenAI)
DOCUMENT_THRESHOLD = 0.3  # not measured either: documents.match_threshold replaces it, see bench/document_recall.py
MAX_ANSWER_BYTES = 32 * 1024 * 1024  # 64 vectors of 16,000 numbers

_OK = 200
_HINTS = {
    401: "; check embeddings.api_key",
    403: "; check embeddings.api_key",
    404: "; check embeddings.base_url and embeddings.model",
}

log = logging.getLogger(__name__)

Vectors = NDArray[np.float32]


class OpenAiEmbedder:
    """Embeds texts over HTTP (`Embedder`). Opens no connection until it is first asked; close with `aclose`.

    Nothing is tried twice but a request on a connection that had gone stale: the turn that waits goes on without its
    search (D7), and what has no vector is embedded later (D17).
    """

    match_threshold = 0.3  # not measured, models differ widely: memory.match_threshold replaces it, see bench/recall.py
    document_threshold = DOCUMENT_THRESHOLD

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._url = settings.base_url.rstrip("/") + "/embeddings"
        self._dim = settings.dimensions
        self._session: aiohttp.ClientSession | None = None

    @property
    def dim(self) -> int | None:
        """Numbers in a vector: as set, else as the first answer had them, None before that."""
        return self._dim

    @property
    def model_id(self) -> str:
        """Names whose vectors these are; with `dim` once it is known, since another length is another model."""
        length = "" if self._dim is None else f":{self._dim}"
        return f"openai:{self._settings.model}{length}"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32[n, dim], rows of unit length, of the first 2,000 characters of each text.

        Raises EmbeddingError, whose message holds neither key nor text nor what the server wrote.
        """
        shortened = [text[:MAX_CHARACTERS] for text in texts]
        if not shortened:
            return np.empty((0, self._dim or 0), dtype=np.float32)
        seconds = self._settings.timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                starts = range(0, len(shortened), MAX_BATCH)
                parts = [await self._batch(shortened[start : start + MAX_BATCH]) for start in starts]
        except TimeoutError:
            raise EmbeddingError(f"no embeddings within {seconds:g} s (embeddings.timeout_seconds)") from None
        except (aiohttp.ClientError, OSError, UnicodeError) as error:
            # Not chained: what the library says may quote the address, with a key that stands in it.
            raise EmbeddingError(f"the embeddings server cannot be reached ({type(error).__name__})") from None
        except ValueError as error:  # a key of two lines, an address that is none; the library's words may quote them
            hint = "check embeddings.base_url and embeddings.api_key"
            raise EmbeddingError(f"the embeddings server cannot be asked ({type(error).__name__}); {hint}") from None
        return np.concatenate(parts)

    async def embed_query(self, text: str) -> Vectors:
        """Return float32[dim], of unit length, of what is said: such servers know no difference. See `embed`."""
        row: Vectors = (await self.embed([text]))[0]
        return row

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _batch(self, texts: list[str]) -> Vectors:
        body: dict[str, object] = {"model": self._settings.model, "input": texts}
        if self._settings.dimensions is not None:
            body["dimensions"] = self._settings.dimensions
        try:
            answer = await self._post(body)
        except aiohttp.ServerDisconnectedError:  # the server had closed a connection that was kept for reuse
            answer = await self._post(body)
        rows = _rows(answer, len(texts))
        if self._dim is None:
            self._dim = rows.shape[1]
            log.info("the embeddings are of %s", self.model_id)
        elif rows.shape[1] != self._dim:
            raise EmbeddingError(
                f"the embeddings server gave vectors of {rows.shape[1]} numbers, expected were {self._dim}; "
                "set embeddings.dimensions, or restart after the model was changed"
            )
        return rows

    async def _post(self, body: dict[str, object]) -> object:
        if self._session is None:
            self._session = self._connected()
        # A redirect would send key and texts somewhere that nobody configured.
        async with self._session.post(self._url, json=body, allow_redirects=False) as response:
            if response.status != _OK:
                hint = _HINTS.get(response.status, "")
                raise EmbeddingError(f"the embeddings server answered with status {response.status}{hint}")
            return _parsed(await _bounded(response))

    def _connected(self) -> aiohttp.ClientSession:
        key = self._settings.api_key.get_secret_value()
        return aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=aiohttp.ClientTimeout(total=None),  # one limit for all batches: see embed
            trust_env=not on_loopback(self._url),  # a proxy could not reach this machine's loopback
        )


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    """Read an answer, up to a limit."""
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > MAX_ANSWER_BYTES:
            raise EmbeddingError(f"the embeddings server answered with over {MAX_ANSWER_BYTES} bytes")
    return bytes(content)


def _parsed(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise EmbeddingError("the embeddings server sent what is not JSON") from None


def _rows(answer: object, count: int) -> Vectors:
    """Return the vectors of an answer in the order of the texts, as float32[count, n] of unit length."""
    try:
        items: list[Any] = answer["data"]  # type: ignore[index]  # whatever it is: what does not fit raises
        by_index = {item["index"]: item["embedding"] for item in items}
        rows = np.asarray([by_index[number] for number in range(count)], dtype=np.float64)
    except (TypeError, ValueError, LookupError, OverflowError):
        raise EmbeddingError("the embeddings server sent what is no list of vectors") from None
    if len(items) != count or rows.ndim != 2 or rows.shape[1] == 0:  # noqa: PLR2004 - rows and columns
        raise EmbeddingError(f"the embeddings server sent an array of shape {rows.shape} for {count} texts")
    with np.errstate(over="ignore"):  # what overflows is refused below
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(rows).all() or not np.isfinite(lengths).all() or not np.all(lengths > 0):
        raise EmbeddingError("the embeddings server sent vectors without a finite length")
    unit: Vectors = (rows / lengths).astype(np.float32)
    return unit
