"""What one message does to the whole bot: which tables have other rows after it, and what was searched."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from actors.metrics import NoMetrics
from actors.ports import Embedder, TurnOutcome, Vector, Vectors
from index.faiss_index import FaissIndexes
from memory.documents import ReadDocument
from memory.media import Attachment, MediaKind, Picture, PictureInfo
from memory.types import ListKey, Match, TurnKind
from tests.actors.conftest import ROOM, Bot

Rows = Counter[tuple[object, ...]]
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
