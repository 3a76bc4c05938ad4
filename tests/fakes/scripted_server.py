"""A real HTTP server for one call of OpenAI's API, with a script for its faults; its heirs say what it usually answers.

`steps` are used up in order, one a request, before it answers as it should again.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, ClassVar, Self

from aiohttp import web

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


class ScriptedServer(ABC):
    """See the module. `requests`: the bodies that arrived; `elsewhere`: requests to any other path."""

    path: ClassVar[str]

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.requests: list[Json] = []
        self.keys: list[str | None] = []
        self.elsewhere: list[str] = []
        self._port = 0
        self._runner: web.AppRunner | None = None

    @abstractmethod
    def usual(self, body: Json) -> Json:
        """Return what is answered to a request."""

    def refusal(self, body: Json) -> Step | None:
        """Return how a request is refused whatever the script says; None: it is not."""
        return None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    async def start(self) -> None:
        """Listen: on a free port, after a stop on the same one again."""
        application = web.Application()
        application.router.add_post(self.path, self._handle)
        application.router.add_route("*", "/{path:.*}", self._other)
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

    async def _other(self, http: web.Request) -> web.StreamResponse:
        self.elsewhere.append(http.path)
        return web.Response(status=404)

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        body = await http.json()
        self.requests.append(body)
        self.keys.append(http.headers.get("Authorization"))
        step = self.refusal(body) or (self.steps.pop(0) if self.steps else Step())
        if step.hold is not None:
            await step.hold.wait()
        if step.drop and http.transport is not None:
            http.transport.abort()
        answer: object = self.usual(body)
        if step.change is not None:
            changed = step.change(answer)  # type: ignore[arg-type]
            answer = answer if changed is None else changed
        raw = json.dumps(answer).encode() if step.raw is None else step.raw
        return web.Response(body=raw, status=step.status, content_type="application/json", headers=step.headers)
