"""A whole bot without a homeserver: real storage, real index, real embedder; Matrix and model are doubles."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from actors.intake import Intake
from actors.media_ports import Media, Painter
from actors.outbox import OutboxActor
from actors.parts import Parts
from actors.ports import Embedder
from actors.room import RoomActor
from actors.runtime import ActorSystem
from actors.user import UserActor
from commands.dispatcher import CommandDispatcher
from commands.ports import Configuring
from davenport.clock import MovableClock
from index.builtin import BuiltinEmbedder
from index.faiss_index import FaissIndexes
from media.jobs import MediaJobs
from memory.events import Incoming, IncomingKind, SyncBatch
from memory.quota import CommandQuota
from memory.settings import ContextSettings, KindSettings, MemorySettings
from memory.types import Candidate, Extraction, ExtractionRequest, Memory, Persona
from storage import Database
from tests.fakes.matrix import FakeMatrix
from tests.fakes.model import FakeModel

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
BOT = "@bot:hs"
JUNO = "@juno:hs"
BAU = "@bau:hs"
ROOM = "!room:hs"


@dataclass
class TestSettings:
    """Satisfies SettingsSource; a test replaces what it needs."""

    __test__ = False
    rules: MemorySettings = field(default_factory=MemorySettings)
    window: ContextSettings = field(default_factory=ContextSettings)
    of_kinds: KindSettings = field(default_factory=KindSettings)
    languages: dict[str, str] = field(default_factory=dict)  # by room id
    welcomes: bool = True
    named: dict[str, Persona] = field(default_factory=dict)
    admins: set[str] = field(default_factory=set)
    quotas: dict[str, CommandQuota] = field(default_factory=dict)
    enforce: bool = True

    def memory(self, room_id: str) -> MemorySettings:
        return self.rules

    def context(self, room_id: str) -> ContextSettings:
        return self.window

    def kinds(self, room_id: str) -> KindSettings:
        return self.of_kinds

    def language(self, room_id: str) -> str:
        return self.languages.get(room_id, "en")

    def welcome(self, room_id: str) -> bool:
        return self.welcomes

    def persona(self, name: str) -> Persona:
        return self.named.get(name, Persona())

    def personas(self) -> tuple[str, ...]:
        return ("default", *self.named)

    def admin(self, user_id: str) -> bool:
        return user_id in self.admins

    def quota(self, command: str) -> CommandQuota | None:
        return self.quotas.get(command)

    def enforces_limits(self) -> bool:
        return self.enforce


class Bot:
    """The actors over one data folder. `crash` drops everything in memory, `restart` begins anew on the same data."""

    def __init__(self, folder: Path, embedder: Embedder | None) -> None:
        self.folder = folder
        self.embedder = embedder
        self.clock = MovableClock(START)
        self.matrix = FakeMatrix()
        self.model = FakeModel()
        self.media: Media = MediaJobs()
        self.painter: Painter | None = None
        self.settings = TestSettings()
        self.configured: Callable[[Database], Awaitable[Configuring]] | None = None  # opens what `!config` sets with
        self.events = 0
        self.batches = 0

    async def start(self) -> None:
        self.store = await Database.open(self.folder)
        factories = {
            "room": lambda context: RoomActor(context, self.parts),
            "user": lambda context: UserActor(context, self.parts),
            "outbox": lambda context: OutboxActor(context, self.parts),
        }
        self.system = ActorSystem(factories)
        config = None if self.configured is None else await self.configured(self.store)
        dispatcher = CommandDispatcher(
            self.system, self.settings, embedder=self.embedder, config=config, files=self.matrix, media=self.media
        )
        self.parts = Parts(
            self.store,
            FaissIndexes(),
            self.embedder,
            self.model,
            self.matrix,
            self.settings,
            dispatcher,
            self.clock,
            media=self.media,
            chunk_indexes=FaissIndexes(),
            painter=self.painter,
        )
        self.intake = Intake(self.parts, self.system)

    async def crash(self) -> None:
        """Stop where it stands: tasks are cut off, nothing is drained."""
        await self.system.close()
        await self.store.close()

    async def restart(self) -> None:
        await self.crash()
        await self.start()
        await self.deliver()
        await self.intake.resume()

    async def settle(self) -> None:
        assert await self.system.drain(10), "the actors did not come to rest"

    def message(self, text: str, sender: str = JUNO, room: str = ROOM, **details: object) -> Incoming:
        """Make an event that addresses the bot."""
        self.events += 1
        self.matrix.joined[room] |= {sender, BOT}
        event = Incoming(
            f"$e{self.events}", room, sender, IncomingKind.MESSAGE, self.clock.now(), text, text, addressed=True
        )
        return replace(event, **details)  # type: ignore[arg-type]

    async def deliver(self, *events: Incoming) -> None:
        self.batches += 1
        await self.intake.take(SyncBatch(f"s{self.batches}", events))

    async def say(self, text: str, sender: str = JUNO, room: str = ROOM, **details: object) -> Incoming:
        """Deliver one message and wait until all that follows from it is done."""
        event = self.message(text, sender, room, **details)
        await self.deliver(event)
        await self.settle()
        return event

    def next_day(self, days: int = 1) -> None:
        self.clock.set((self.clock.now() + timedelta(days=days)).replace(hour=9, minute=0))

    async def memories(self, user: str = JUNO) -> tuple[Memory, ...]:
        async with self.store.transaction() as tables:
            return await tables.memories.of_user(user)

    async def candidates(self, user: str = JUNO) -> tuple[Candidate, ...]:
        async with self.store.transaction() as tables:
            return await tables.candidates.of_user(user)

    def learns(self, facts: dict[str, str]) -> None:
        """Let the extraction model find `facts[word]` in a message with that word, or reinforce its candidate."""

        def find(request: ExtractionRequest) -> Extraction:
            found = [fact for word, fact in facts.items() if word in request.exchange.said]
            known = {candidate.text: candidate.id for candidate in request.candidates}
            return Extraction(
                tuple(fact for fact in found if fact not in known), tuple(known[f] for f in found if f in known)
            )

        self.model.find = find


@pytest.fixture(scope="session")
def embedder() -> BuiltinEmbedder:
    return BuiltinEmbedder()


@pytest.fixture
async def bot(tmp_path: Path, embedder: BuiltinEmbedder) -> AsyncIterator[Bot]:
    each = Bot(tmp_path / "data", embedder)
    await each.start()
    yield each
    await each.crash()


def texts(items: Iterable[Memory | Candidate]) -> list[str]:
    return [item.text for item in items]


async def until(condition: Callable[[], bool | Awaitable[bool]]) -> None:
    """Let everything else run until the condition holds."""
    async with asyncio.timeout(10):
        while True:
            held = condition()
            if held if isinstance(held, bool) else await held:
                return
            await asyncio.sleep(0)
