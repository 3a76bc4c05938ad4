"""A real HTTP server that speaks `/v1/embeddings`, with a script for its faults.

    async with EmbeddingsServer() as server:
        embedder = OpenAiEmbedder(server.settings())

Vectors are made from the words of a text, so that texts with common words are alike. `steps` are used up in order, one
a request, before it answers as it should again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from pydantic import SecretStr

from index.settings import EmbeddingSettings

KEY = "sk-embeddings-secret"
MODEL = "test-embedder"
NATIVE = 32

Json = dict[str, Any]


@dataclass
class Step:
    """One answer out of the usual. `change` alters the usual answer; `hold`: wait before answering."""

    status: int = 200
    raw: bytes | None = None
    change: Callable[[Json], object] | None = None
    hold: asyncio.Event | None = None
    drop: bool = False
    headers: dict[str, str] = field(default_factory=dict)


def vector_of(text: str, dim: int = NATIVE) -> list[float]:
    """Return a vector of the words of a text, of no particular length."""
    numbers = [0.01] * dim
    for word in text.lower().split():
        numbers[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % dim] += 2.5
    return numbers


class EmbeddingsServer:
    """See the module. `requests`: the bodies that arrived; `native`: numbers in a vector unless asked otherwise."""

    def __init__(self, *steps: Step, native: int = NATIVE) -> None:
        self.steps = list(steps)
        self.native = native
        self.refused: str | None = None  # a request with this word in a text is answered with status 400
        self.requests: list[Json] = []
        self.keys: list[str | None] = []
        self._port = 0
        self._runner: web.AppRunner | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def settings(self, **changes: Any) -> EmbeddingSettings:
        base = EmbeddingSettings("openai", self.base_url, MODEL, SecretStr(KEY), timeout_seconds=5.0)
        return replace(base, **changes)

    async def start(self) -> None:
        """Listen: on a free port, after a stop on the same one again."""
        application = web.Application()
        application.router.add_post("/v1/embeddings", self._handle)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()
        self._port = int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        body = await http.json()
        self.requests.append(body)
        self.keys.append(http.headers.get("Authorization"))
        step = self.steps.pop(0) if self.steps else Step()
        if self.refused is not None and any(self.refused in text for text in body["input"]):
            step = Step(status=400)
        if step.hold is not None:
            await step.hold.wait()
        if step.drop and http.transport is not None:
            http.transport.abort()
        answer = self._usual(body)
        if step.change is not None:
            changed = step.change(answer)
            answer = answer if changed is None else changed  # type: ignore[assignment]
        raw = json.dumps(answer).encode() if step.raw is None else step.raw
        return web.Response(body=raw, status=step.status, content_type="application/json", headers=step.headers)

    def _usual(self, body: Json) -> Json:
        dim = body.get("dimensions") or self.native
        items = [
            {"object": "embedding", "index": number, "embedding": vector_of(text, dim)}
            for number, text in enumerate(body["input"])
        ]
        return {"object": "list", "data": items, "model": body["model"], "usage": {"prompt_tokens": 1}}
