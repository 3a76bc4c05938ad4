"""What a search of one list costs with 100, 1,000 and 10,000 lists in turn, and what keeping them loaded is worth.

    .venv/bin/python -m bench.scopes [--folder DIR]

A list has 20 memories, beyond the first thousand lists 10. One that is not loaded is read from the database, as the
bot does (actors/lists.py). "In turn" asks the lists one after the other, round and round, which is the worst that can
happen to a cache of those used last; "by favour" asks a few often and most seldom (Zipf), as people do. Embedding the
message is not part of it: bench/recall.py has that.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.stored import EACH, OTHERS_EACH, TALKERS, made, user_id
from index.builtin import BuiltinEmbedder
from index.faiss_index import FaissIndexes
from memory.decay import MATCH_LIMIT
from memory.types import ListKey, ScopeKind
from storage import Database

SCOPES = (100, 1000, 10_000)
LEAST = 2000  # searches that are counted, after as many that fill the cache
BUDGETS = (64, 1000)  # limits.index_mb: the default, and room for all
MB = 1_000_000

Floats = NDArray[np.float64]


async def searched(store: Database, order: Sequence[int], budget: int) -> tuple[Floats, float]:
    """Search lists in an order; of the second half, return each search's milliseconds and how many were loaded."""
    indexes = FaissIndexes(budget * MB)
    query = np.random.default_rng(3).normal(size=BuiltinEmbedder.dim).astype(np.float32)
    query /= np.linalg.norm(query)
    times, found = [], []
    for number in order:
        key = ListKey(ScopeKind.PERSONAL, user_id(number), "default")
        begun = time.perf_counter()
        found.append(indexes.has(key))
        if not found[-1]:
            async with store.transaction() as tables:
                ids, vectors = await tables.memories.vectors_of_list(key, BuiltinEmbedder.model_id, BuiltinEmbedder.dim)
            indexes.load(key, ids, vectors)
        indexes.search(key, query, indexes.ids(key), MATCH_LIMIT, BuiltinEmbedder.match_threshold)
        times.append(time.perf_counter() - begun)
    counted = slice(len(times) // 2, None)
    return np.array(times[counted]) * 1000, float(np.mean(found[counted]))


def in_turn(scopes: int) -> list[int]:
    return [number % scopes for number in range(2 * max(scopes, LEAST))]


def by_favour(scopes: int) -> list[int]:
    chance = np.random.default_rng(4)
    weights = 1 / np.arange(1, scopes + 1)
    numbers = chance.permutation(scopes)
    chosen = chance.choice(scopes, size=2 * max(scopes, LEAST), p=weights / weights.sum())
    return [int(numbers[each]) for each in chosen]


async def measure(folder: Path) -> None:
    made(folder, TALKERS * EACH + (max(SCOPES) - TALKERS) * OTHERS_EACH)
    async with await Database.open(folder) as store:
        print(f"{'lists':>7} {'asked':>10} {'index_mb':>9} {'found loaded':>13} {'p50, ms':>8} {'p99, ms':>8}")
        for scopes in SCOPES:
            for name, order in (("in turn", in_turn(scopes)), ("by favour", by_favour(scopes))):
                for budget in BUDGETS:
                    times, share = await searched(store, order, budget)
                    p50, p99 = np.percentile(times, [50, 99])
                    print(f"{scopes:7} {name:>10} {budget:9} {share:13.0%} {p50:8.3f} {p99:8.3f}", flush=True)


def main() -> None:
    reading = argparse.ArgumentParser()
    reading.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "davenport-bench" / "scopes")
    asyncio.run(measure(reading.parse_args().folder))


if __name__ == "__main__":
    main()
