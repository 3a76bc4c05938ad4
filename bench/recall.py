"""How well an embedder finds the right memory, and how much small talk matches by mistake.

    .venv/bin/python bench/recall.py [builtin]

Reads the data sets beside the checkout (../shared/data) and says so when they are absent. "In the best 3" asks only for
the rank; "and over the threshold" is what D3 counts as a match.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from index.builtin import BuiltinEmbedder
from index.embedders import build_embedder
from index.faiss_index import FaissIndexes
from memory.decay import MATCH_LIMIT
from memory.types import ListKey, Match, ScopeKind

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
KEY = ListKey(ScopeKind.ROOM, "!bench", "default")
NO_THRESHOLD = -1.0

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Score:
    """Of `asked` messages: right memory among the best three; the same and over the threshold."""

    asked: int
    ranked: int
    matched: int

    def row(self, name: str) -> str:
        ranked, matched = self.ranked / self.asked, self.matched / self.asked
        return f"{name:24} {self.asked:6}   {ranked:12.3f}   {matched:20.3f}"


def search(memories: Vectors, queries: Vectors) -> list[tuple[Match, ...]]:
    """Return the best three for each query, through the index the bot uses; ids are rows counted from 1."""
    indexes = FaissIndexes()
    ids = range(1, len(memories) + 1)
    indexes.load(KEY, ids, memories)
    return [indexes.search(KEY, query, frozenset(ids), MATCH_LIMIT, NO_THRESHOLD) for query in queries]


def score(found: Iterable[tuple[Match, ...]], gold: Sequence[frozenset[int]], threshold: float) -> Score:
    right = [
        [match.similarity for match in matches if match.memory_id - 1 in wanted]
        for matches, wanted in zip(found, gold, strict=True)
    ]
    matched = sum(any(similarity >= threshold for similarity in each) for each in right)
    return Score(len(gold), sum(map(bool, right)), matched)


def added(scores: Iterable[Score]) -> Score:
    every = list(scores)
    return Score(sum(s.asked for s in every), sum(s.ranked for s in every), sum(s.matched for s in every))


async def locomo(embedder: BuiltinEmbedder, data: dict[str, Any]) -> None:
    scores = []
    for conversation in data["conversations"]:
        memories = await embedder.embed([one["text"] for one in conversation["memories"]])
        queries = await embedder.embed([one["text"] for one in conversation["queries"]])
        gold = [frozenset(one["gold"]) for one in conversation["queries"]]
        scores.append(score(search(memories, queries), gold, embedder.match_threshold))
        print(scores[-1].row(f"LoCoMo {conversation['id']}"))
    print(added(scores).row("LoCoMo, all"))


async def multilingual(embedder: BuiltinEmbedder, data: dict[str, Any]) -> None:
    small_talk = await embedder.embed(data["small_talk"])
    for facts_language, facts in data["facts"].items():
        memories = await embedder.embed(facts)
        for language, messages in data["messages"].items():
            found = search(memories, await embedder.embed(messages))
            gold = [frozenset([number]) for number in range(len(messages))]
            print(score(found, gold, embedder.match_threshold).row(f"facts {facts_language}, message {language}"))
        hits = sum(best[0].similarity >= embedder.match_threshold for best in search(memories, small_talk))
        print(f"facts {facts_language}: {hits} of {len(small_talk)} lines of small talk match something")


async def speed(embedder: BuiltinEmbedder) -> None:
    for name, text in (("a short message", "how's my cat Mochi doing?"), ("2,000 characters", "so much to say " * 134)):
        times = []
        for _ in range(20):
            begun = time.perf_counter()
            await embedder.embed([text])
            times.append(time.perf_counter() - begun)
        print(f"{name}: median {sorted(times)[10] * 1000:.1f} ms")


async def main() -> int:
    embedder = build_embedder(sys.argv[1] if len(sys.argv) > 1 else "builtin")
    if embedder is None:
        print("Without an embedder there is nothing to measure.")
        return 2
    print(f"{embedder.model_id}, threshold {embedder.match_threshold}")
    print(f"{'':24} {'asked':>6}   {'in the best 3':>12}  {'and over the threshold':>20}")
    for run, file in ((locomo, "recall_locomo_dev.json"), (multilingual, "recall_multilingual_dev.json")):
        if not (DATA / file).exists():
            print(f"skipped: {file} is not in {DATA.parent.name}/{DATA.name} beside the checkout")
            continue
        await run(embedder, json.loads((DATA / file).read_text(encoding="utf-8")))
    await speed(embedder)
    return 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
