"""The bot without a homeserver, for benchmarks: all is real but Matrix; the model server is a process of its own."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from actors.intake import Intake
from actors.metrics import NoMetrics
from actors.outbox import OutboxActor
from actors.parts import Parts
from actors.ports import Embedder, Metrics, Model
from actors.room import RoomActor
from actors.runtime import ActorSystem
from actors.user import UserActor
from commands.dispatcher import CommandDispatcher
from davenport.clock import MovableClock
from index.faiss_index import FaissIndexes
from media.jobs import MediaJobs
from memory.events import Incoming, IncomingKind, SyncBatch
from memory.quota import CommandQuota
from memory.settings import ContextSettings, KindSettings, MemorySettings
from memory.types import Persona
from storage import Database
from tests.fakes.matrix import FakeMatrix
from tests.fakes.model_server import ModelServer, say

from bench.stored import START  # isort: skip

BOT = "@bot:hs"


def load() -> str:
    """Return how busy the machine was, to be read with every number."""
    return f"load average {' '.join(f'{each:.1f}' for each in os.getloadavg())} on {os.cpu_count()} cores"


@dataclass
class BenchSettings:
    """Satisfies SettingsSource."""

    rules: MemorySettings
    window: ContextSettings

    def memory(self, room_id: str) -> MemorySettings:
        return self.rules

    def context(self, room_id: str) -> ContextSettings:
        return self.window

    def kinds(self, room_id: str) -> KindSettings:
        return KindSettings()

    def language(self, room_id: str) -> str:
        return "en"

    def welcome(self, room_id: str) -> bool:
        return False

    def persona(self, name: str) -> Persona:
        return Persona(name)

    def personas(self) -> tuple[str, ...]:
        return ("default",)

    def admin(self, user_id: str) -> bool:
        return False

    def quota(self, command: str) -> CommandQuota:
        return CommandQuota()  # as many turns as the measurement takes

    def enforces_limits(self) -> bool:
        return False


class Bench:
    """The actors over one database."""

    def __init__(
        self,
        store: Database,
        embedder: Embedder,
        model: Model,
        rules: MemorySettings,
        metrics: Metrics | None = None,
        clock: MovableClock | None = None,
    ) -> None:
        self.clock = clock or MovableClock(START)
        self.matrix = FakeMatrix()
        self.system = ActorSystem({})
        settings = BenchSettings(rules, ContextSettings())
        self.parts = Parts(
            store=store,
            indexes=FaissIndexes(),
            embedder=embedder,
            model=model,
            matrix=self.matrix,
            settings=settings,
            dispatcher=CommandDispatcher(self.system, settings),
            clock=self.clock,
            media=MediaJobs(),
            chunk_indexes=FaissIndexes(),
            metrics=metrics or NoMetrics(),
        )
        self.system.factories = {
            "room": lambda context: RoomActor(context, self.parts),
            "user": lambda context: UserActor(context, self.parts),
            "outbox": lambda context: OutboxActor(context, self.parts),
        }
        self.intake = Intake(self.parts, self.system)
        self.events = 0

    async def say(self, text: str, sender: str, room: str) -> None:
        """Deliver one message to the bot and wait until all that follows from it is done."""
        self.events += 1
        self.matrix.joined[room] |= {sender, BOT}
        name = f"$new{time.time_ns()}:hs"
        event = Incoming(name, room, sender, IncomingKind.MESSAGE, self.clock.now(), text, text, addressed=True)
        await self.intake.take(SyncBatch(f"s{self.events}", (event,)))
        assert await self.system.drain(120), "the actors did not come to rest"


class TimedServer(ModelServer):
    """The scripted model; each answer says at which nanosecond its request began to arrive."""

    def __init__(self) -> None:
        super().__init__(replies=lambda _request: say(f"at {self._arrived}"))
        self._arrived = 0

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        self._arrived = time.perf_counter_ns()
        self.requests.clear()  # of prompts with 10,000 lines few would fit
        return await super()._handle(http)


@asynccontextmanager
async def model_server() -> AsyncIterator[str]:
    """Run the scripted model in a process of its own, as it is in life; yields its address."""
    command: Sequence[str] = (sys.executable, "-m", "bench.whole")
    process = await asyncio.create_subprocess_exec(
        *command, cwd=Path(__file__).parent.parent, stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.stdin.close()
        await process.wait()


async def _serve() -> None:
    async with TimedServer() as server:
        print(server.base_url, flush=True)
        await asyncio.to_thread(sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(_serve())
