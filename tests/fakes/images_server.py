"""A real HTTP server that speaks `/v1/images/generations`, with a script for its faults.

    async with ImagesServer() as server:
        painter = OpenAiPainter(server.settings())

`steps` are used up in order, one a request, before it answers as it should again. `picky`: it refuses to be asked for
base64, as models do that give nothing else; without that request it then sends base64 too.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from pydantic import SecretStr

from media.settings import PainterSettings

KEY = "sk-images-secret"
MODEL = "test-painter"
PICTURE = b"\x89PNG as painted"

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


class ImagesServer:
    """See the module. `requests`: the bodies that arrived; `elsewhere`: requests to any other path."""

    def __init__(self, *steps: Step, picky: bool = False, picture: bytes = PICTURE) -> None:
        self.steps = list(steps)
        self.picky = picky
        self.picture = picture
        self.requests: list[Json] = []
        self.keys: list[str | None] = []
        self.elsewhere: list[str] = []
        self._port = 0
        self._runner: web.AppRunner | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def settings(self, **changes: Any) -> PainterSettings:
        base = PainterSettings("openai", self.base_url, MODEL, "512x512", SecretStr(KEY), timeout_seconds=5.0)
        return replace(base, **changes)

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_post("/v1/images/generations", self._handle)
        application.router.add_route("*", "/{path:.*}", self._other)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _other(self, http: web.Request) -> web.StreamResponse:
        self.elsewhere.append(http.path)
        return web.Response(status=404)

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        body = await http.json()
        self.requests.append(body)
        self.keys.append(http.headers.get("Authorization"))
        if self.picky and "response_format" in body:
            message = {"message": "Unknown parameter: 'response_format'.", "param": "response_format", "code": None}
            return web.json_response({"error": message}, status=400)
        step = self.steps.pop(0) if self.steps else Step()
        if step.hold is not None:
            await step.hold.wait()
        if step.drop and http.transport is not None:
            http.transport.abort()
        answer: object = {"created": 1, "data": [{"b64_json": base64.b64encode(self.picture).decode()}]}
        if step.change is not None:
            answer = step.change(answer)  # type: ignore[arg-type]
        raw = json.dumps(answer).encode() if step.raw is None else step.raw
        return web.Response(body=raw, status=step.status, content_type="application/json", headers=step.headers)
