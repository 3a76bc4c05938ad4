"""What the documents of a room add to a turn: the bot's own time until the model is asked, by chunks in the room.

    .venv/bin/python -m bench.documents [--turns 300]

Storage, index, embedder and actors are real; Matrix and model are doubles. A hundred memories of the person and the
room are searched in every turn; the turns of each kind alternate, so that a busy machine slows all of them alike. "off"
has `documents.enabled` off.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from actors.chunks import embedded
from bench.stored import START, facts, put_list
from bench.turn import MESSAGES, SENDER, Stopwatch, at
from bench.whole import Bench, BenchSettings, load
from index.builtin import BuiltinEmbedder
from memory.documents import Document
from memory.model import Prompt
from memory.settings import KindSettings, MemorySettings
from memory.types import ListKey, ScopeKind
from storage import Database
from tests.fakes.model import FakeModel

ROOMS = {"off": 0, "none": 0, "50": 50, "500": 500}
_SENTENCES = 20  # of a chunk, which then has about a thousand characters


class RoomSettings(BenchSettings):
    def kinds(self, room_id: str) -> KindSettings:
        return replace(KindSettings(), documents_enabled=room_id != room_of("off"))


def room_of(name: str) -> str:
    return f"!{name}:hs"


async def fill(store: Database, embedder: BuiltinEmbedder, room_id: str, count: int) -> None:
    """Put a document of so many chunks into a room."""
    said = facts(count * _SENTENCES, seed=7)
    chunks = [". ".join(said[n * _SENTENCES : (n + 1) * _SENTENCES]) for n in range(count)]
    vectors = await embedded(embedder, chunks)
    document = Document(0, room_id, "Handbook", "text/plain", 1, f"$of{room_id}", SENDER, START, 0)
    async with store.transaction() as tables:
        ids = await tables.documents.chunk_ids(await tables.documents.add(document, chunks))
        await tables.documents.put_vectors(embedder.model_id, zip(ids, vectors, strict=True))


async def run(turns: int, folder: Path) -> None:
    embedder = BuiltinEmbedder()
    async with await Database.open(folder) as store:
        path = store.path
    keys = [ListKey(ScopeKind.ROOM, room_of(name), "default") for name in ROOMS]
    for key in (*keys, ListKey(ScopeKind.PERSONAL, SENDER, "default")):
        await put_list(path, key, 50, 50, embedder)
    watch, model = Stopwatch(), FakeModel()

    def asked(prompt: Prompt) -> str:
        watch.asked()
        return "answer"

    model.answer = asked
    taken: dict[str, list[float]] = defaultdict(list)
    stage: dict[str, list[float]] = defaultdict(list)
    async with await Database.open(folder) as store:
        for name, count in ROOMS.items():
            if count:
                await fill(store, embedder, room_of(name), count)
        bench = Bench(store, embedder, model, MemorySettings(), watch)
        bench.parts = replace(bench.parts, settings=RoomSettings(MemorySettings(), bench.parts.settings.context("")))
        for number in range(turns + 3):
            for name in ROOMS:
                bench.clock.advance(timedelta(seconds=30))
                watch.begin()
                await bench.say(MESSAGES[number % len(MESSAGES)], SENDER, room_of(name))
                if number >= 3:  # lists and indexes are loaded by then
                    taken[name].append((watch.reply_at - watch.begun) / 1e6)
                    stage[name].append(watch.stages.get("documents", 0.0))
        await bench.system.close()
    print(f"{turns} turns of each kind; {load()}; milliseconds until the model is asked")
    print(f"{'chunks':>8} {'p50':>7} {'p99':>7} {'documents, p50':>15}")
    for name in ROOMS:
        values = (at(taken[name], 50), at(taken[name], 99), statistics.median(stage[name]))
        print(f"{name:>8} {values[0]:7.2f} {values[1]:7.2f} {values[2]:15.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=300)
    options = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(options.turns, Path(folder)))
    print(f"took {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
