"""What one message does to the whole bot: which tables have other rows after it, and what was searched."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from actors.metrics import NoMetrics
from actors.ports import Embedder, TurnOutcome, Vector, Vectors
from commands.ports import Configuring
from davenport.in_force import InForce
from davenport.overrides import ChatSettings
from davenport.settings_load import load
from index.faiss_index import FaissIndexes
from memory.documents import ReadDocument
from memory.media import Attachment, MediaKind, Picture, PictureInfo
from memory.settings import KindSettings
from memory.story import PartPlan, StoryPlan
from memory.types import Draft, Extraction, ListKey, Match, Origin, Persona, ScopeKind, Source, TurnKind
from storage import Database
from tests.actors.conftest import JUNO, ROOM, Bot

Rows = Counter[tuple[object, ...]]
ALWAYS_SAID = frozenset({"journal", "sync_state", "outbox"})  # by every event that comes in and is answered
PICTURE = Picture("image/png", b"\x89PNG\r\n\x1a\n decoded", PictureInfo(64, 48, "LKO2?U%2Tw=w"))
RULES = ("No shoes inside the flat.", "Quiet hours begin at ten in the evening.")


class CountingEmbedder:
    """Satisfies Embedder: passes on, and notes what was embedded to be found, and what to search with."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.model_id = embedder.model_id
        self.dim = embedder.dim
        self.match_threshold = embedder.match_threshold
        self.document_threshold = embedder.document_threshold
        self.queries: list[str] = []
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        return await self._embedder.embed(texts)

    async def embed_query(self, text: str) -> Vector:
        self.queries.append(text)
        return await self._embedder.embed_query(text)


class PlainMedia:
    """Satisfies Media without processes of its own: every file is fine."""

    async def rasterise(self, svg: str) -> Picture:
        return PICTURE

    async def picture(self, data: bytes) -> Picture:
        return PICTURE

    async def document(self, file: Attachment, most_chunks: int) -> ReadDocument:
        return ReadDocument("House rules", RULES)


class TurnCounts(NoMetrics):
    """Satisfies Metrics: counts turns by kind and outcome."""

    def __init__(self) -> None:
        self.turns: Counter[tuple[TurnKind, TurnOutcome]] = Counter()

    def turn(self, kind: TurnKind, outcome: TurnOutcome) -> None:
        self.turns[kind, outcome] += 1


@dataclass
class Seen:
    """What happened while it was watched.

    tables: those with rows added, gone or changed. queries: texts that were embedded to search with. lists, documents:
    how many searches there were of an index of memories, and of one of documents. turns: by kind and outcome.
    """

    tables: frozenset[str] = frozenset()
    queries: tuple[str, ...] = ()
    lists: tuple[ListKey, ...] = ()
    documents: tuple[ListKey, ...] = ()
    turns: Counter[tuple[TurnKind, TurnOutcome]] = field(default_factory=Counter)


class Watch:
    """Watches one bot, which was started with a CountingEmbedder."""

    def __init__(self, bot: Bot, embedder: CountingEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bot = bot
        self.embedder = embedder
        self.metrics = TurnCounts()
        self.searches: list[tuple[FaissIndexes, ListKey]] = []
        bot.parts = replace(bot.parts, metrics=self.metrics)
        search = FaissIndexes.search

        def noted(
            index: FaissIndexes, key: ListKey, vector: Vector, allowed: frozenset[int], limit: int, threshold: float
        ) -> tuple[Match, ...]:
            self.searches.append((index, key))
            return search(index, key, vector, allowed, limit, threshold)

        monkeypatch.setattr(FaissIndexes, "search", noted)

    @contextmanager
    def watching(self) -> Iterator[Seen]:
        """Yield what is filled in at the end with all that happened inside."""
        seen, before = Seen(), all_rows(self.bot.folder)
        self.embedder.queries.clear()
        self.searches.clear()
        self.metrics.turns.clear()
        yield seen
        after = all_rows(self.bot.folder)
        assert before.keys() == after.keys()
        seen.tables = frozenset(name for name in before if before[name] != after[name])
        seen.queries = tuple(self.embedder.queries)
        chunks = self.bot.parts.chunk_indexes
        seen.lists = tuple(key for index, key in self.searches if index is not chunks)
        seen.documents = tuple(key for index, key in self.searches if index is chunks)
        seen.turns = Counter(self.metrics.turns)


def all_rows(folder: Path) -> dict[str, Rows]:
    """Return every row of every table, as whoever opens the database finds them."""
    with closing(sqlite3.connect(folder / "davenport.db")) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        return {name: Counter(connection.execute(f"SELECT * FROM {name}")) for (name,) in names.fetchall()}  # noqa: S608


def send_file(bot: Bot, event_id: str = "$file", kind: MediaKind = MediaKind.FILE, data: bytes = b"rules") -> str:
    """Let the homeserver have a file at an event that the bot has not seen; return the event's id."""
    bot.matrix.files[ROOM, event_id] = Attachment("rules.txt", "text/plain", data, kind=kind)
    return event_id


@asynccontextmanager
async def watched(folder: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watch]:
    """Yield a bot that has remembered things for days, and learns from everything it may learn from."""
    counting = CountingEmbedder(embedder)
    bot = Bot(folder / "data", counting)
    bot.media = PlainMedia()
    bot.settings.of_kinds = KindSettings(verse_enabled=True)
    bot.settings.named["captain"] = Persona("captain")
    bot.settings.admins.add(JUNO)
    bot.matrix.admins.add(JUNO)
    bot.configured = lambda store: configuring(store, folder)
    bot.model.find = lambda request: Extraction((f"Said: {request.exchange.said}",))
    bot.model.planner = lambda request: StoryPlan("Cats", (PartPlan("One", "A cat.", "a cat"), PartPlan("Two", "End.")))
    await bot.start()
    await remember(bot, counting)
    bot.clock.advance(timedelta(days=20))
    yield Watch(bot, counting, monkeypatch)
    await bot.crash()


async def configuring(store: Database, folder: Path) -> Configuring:
    """Open what `!config` sets with."""
    path = folder / "config.toml"
    path.write_text('[matrix]\nhomeserver = "https://hs"\nuser_id = "@bot:hs"\n', encoding="utf-8")
    chat = ChatSettings(InForce(load(path, {})), store)
    await chat.load()
    return chat


async def remember(bot: Bot, embedder: CountingEmbedder) -> None:
    """Store memories with their vectors, so that nothing is left to be embedded."""
    now = bot.clock.now()
    async with bot.store.transaction() as tables:
        for scope, owner, text, private in (
            (ScopeKind.PERSONAL, JUNO, "Has a cat named Mochi", False),
            (ScopeKind.PERSONAL, JUNO, "Plays chess", False),
            (ScopeKind.ROOM, ROOM, "Film night is on Friday", False),
            (ScopeKind.PERSONAL, JUNO, "Is looking for a job", True),
        ):
            origin = Origin(ROOM, "$origin", private)
            draft = Draft(scope, owner, "default", text, Source.PROMOTION, origin, first_seen=now)
            memory = await tables.memories.insert(draft, now)
            (vector,) = await embedder.embed([text])
            await tables.memories.put_vectors(embedder.model_id, [(memory.id, text, vector)])
