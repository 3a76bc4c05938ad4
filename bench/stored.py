"""Databases as a bot has them after years, made in seconds: bulk rows through sqlite3, opened by the bot's own storage.

Texts of the lists that are searched are embedded for real; the vectors of everybody else are taken in turn from a small
bank of random unit vectors, which costs the same to store and read.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from index.builtin import BuiltinEmbedder
from memory.types import ListKey, ScopeKind
from storage import Database
from storage.codec import time_text, vector_blob

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TALKERS, EACH = 1000, 20  # the users who are active in a benchmark, and their memories
OTHERS_EACH = 10
_BANK = 4096
_CHUNK = 50_000

_INSERT = """
INSERT INTO memories (scope_kind, scope_id, persona, text, source, unused_days, counted_on, last_matched_at, first_seen,
                      created_at, updated_at, origin_room, origin_event, origin_private)
VALUES (?, ?, 'default', ?, 'promotion', ?, ?, ?, ?, ?, ?, '!bench:hs', ?, 0)
"""
_VECTOR = "INSERT INTO embeddings (memory_id, model_id, vector) VALUES (?, ?, ?)"

_VERBS = ("likes", "dislikes", "owns", "is learning about", "works with", "is allergic to", "collects", "is afraid of")
_THINGS = (
    "board games", "old maps", "sourdough bread", "peanuts", "mountain bikes", "the cello", "jazz records", "spiders",
    "green tea", "Portuguese", "watercolours", "model trains", "chess", "hiking in the rain", "tomatoes", "owls",
)  # fmt: skip
_DETAILS = ("since childhood", "because of a friend", "at the weekend", "for three years", "with the family", "at work")


def user_id(number: int) -> str:
    return f"@user{number}:hs"


def owner_of(number: int) -> int:
    """Return which user the memory of this number belongs to: 1,000,000 memories are those of 99,000 users."""
    of_talkers = TALKERS * EACH
    return number // EACH if number < of_talkers else TALKERS + (number - of_talkers) // OTHERS_EACH


def facts(count: int, seed: int = 1) -> list[str]:
    """Return facts such as a pass would save, all different."""
    chosen = random.Random(seed)  # noqa: S311 - the same texts at every run
    return [
        f"{chosen.choice(_VERBS).capitalize()} {chosen.choice(_THINGS)} {chosen.choice(_DETAILS)} (no. {number})"
        for number in range(count)
    ]


async def make_database(folder: Path, memories: int, embedder: BuiltinEmbedder) -> None:
    """Create a database with so many memories, every one with a vector."""
    async with await Database.open(folder) as store:
        path = store.path
    bank = np.random.default_rng(1).standard_normal((_BANK, embedder.dim), dtype=np.float32)
    blobs = [vector_blob(row) for row in bank / np.linalg.norm(bank, axis=1, keepdims=True)]
    texts = facts(1000)
    with _bulk(path) as rows:
        for first in range(0, memories, _CHUNK):
            numbers = range(first, min(first + _CHUNK, memories))
            rows.executemany(_INSERT, _rows_of_many(numbers, texts))
            rows.executemany(_VECTOR, ((number + 1, embedder.model_id, blobs[number % _BANK]) for number in numbers))
            rows.commit()
    rows.close()


def _rows_of_many(numbers: Sequence[int], texts: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for number in numbers:
        yield _row("personal", user_id(owner_of(number)), texts[number % len(texts)], number % 12, number)


def _row(kind: str, owner: str, text: str, unused_days: int, number: int) -> tuple[object, ...]:
    at = time_text(START - timedelta(minutes=number % 500_000))
    return (kind, owner, text, unused_days, START.date().isoformat(), None, at, at, at, f"$old{number}:hs")


async def put_list(path: Path, key: ListKey, count: int, active: int, embedder: BuiltinEmbedder) -> None:
    """Replace one list by `count` memories, of which the last `active` are active and the others rest."""
    texts = facts(count, seed=len(key.owner))
    vectors = await embedder.embed(texts)
    kind = "room" if key.kind is ScopeKind.ROOM else "personal"
    with _bulk(path) as rows:
        rows.execute("DELETE FROM memories WHERE scope_id = ?", (key.owner,))
        for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
            days = 0 if number >= count - active else 30
            memory_id = rows.execute(_INSERT, _row(kind, key.owner, text, days, number)).lastrowid
            rows.execute(_VECTOR, (memory_id, embedder.model_id, vector_blob(vector)))
        rows.commit()
    rows.close()


def _bulk(path: Path) -> sqlite3.Connection:
    rows = sqlite3.connect(path)
    rows.execute("PRAGMA foreign_keys = ON")
    rows.execute("PRAGMA synchronous = OFF")
    return rows


def main() -> None:
    """Write a database of so many memories: FOLDER COUNT. In a process of its own it costs the measured one nothing."""
    asyncio.run(make_database(Path(sys.argv[1]), int(sys.argv[2]), BuiltinEmbedder()))


def made(folder: Path, memories: int) -> None:
    """Make sure that a folder holds a database of so many memories, in another process; says so when it has to."""
    if (folder / "davenport.db").exists():
        return
    begun = time.perf_counter()
    command = (sys.executable, "-m", "bench.stored", str(folder), str(memories))
    subprocess.run(command, cwd=Path(__file__).parent.parent, check=True)  # noqa: S603 - our own module
    print(f"{memories} memories written in {time.perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
