"""How well an embedder finds the right memory, and how much small talk matches by mistake.

    .venv/bin/python -m bench.recall                                        the built-in one
    .venv/bin/python -m bench.recall openai http://127.0.0.1:11434/v1 MODEL [THRESHOLD]

Reads the data sets beside the checkout (../shared/data) and says so when they are absent. "In the best 3" asks only for
the rank; "and over the threshold" is what D3 counts as a match. The second form measures any model behind an
OpenAI-compatible server (its key in OPENAI_API_KEY) and is the way to choose memory.match_threshold for it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr

from actors.ports import Embedder
from index.embedders import build_embedder
from index.faiss_index import FaissIndexes
from index.settings import EmbeddingSettings
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


async def locomo(embedder: Embedder, data: dict[str, Any], threshold: float) -> None:
    scores = []
    for conversation in data["conversations"]:
        memories = await embedder.embed([one["text"] for one in conversation["memories"]])
        queries = await embedder.embed([one["text"] for one in conversation["queries"]])
        gold = [frozenset(one["gold"]) for one in conversation["queries"]]
        scores.append(score(search(memories, queries), gold, threshold))
        print(scores[-1].row(f"LoCoMo {conversation['id']}"))
    print(added(scores).row("LoCoMo, all"))


async def multilingual(embedder: Embedder, data: dict[str, Any], threshold: float) -> None:
    """Print two tables: facts by row, messages by column, share with the right fact in the best 3 and as a match."""
    small_talk = await embedder.embed(data["small_talk"])
    scores: dict[tuple[str, str], Score] = {}
    false: dict[str, int] = {}
    for facts_language, facts in data["facts"].items():
        memories = await embedder.embed(facts)
        for language, messages in data["messages"].items():
            found = search(memories, await embedder.embed(messages))
            gold = [frozenset([number]) for number in range(len(messages))]
            scores[facts_language, language] = score(found, gold, threshold)
        false[facts_language] = sum(best[0].similarity >= threshold for best in search(memories, small_talk))
    for title, part in (("in the best 3", "ranked"), ("and over the threshold", "matched")):
        print(f"\n{title}: facts in, by the language of the message")
        print(f"{'':8}" + "".join(f"{language:>7}" for language in data["messages"]))
        for facts_language in data["facts"]:
            row = [scores[facts_language, language] for language in data["messages"]]
            print(f"{facts_language:8}" + "".join(f"{getattr(one, part) / one.asked:7.2f}" for one in row))
    for language, hits in false.items():
        print(f"facts {language}: {hits} of {len(small_talk)} lines of small talk match something")


async def speed(embedder: Embedder) -> None:
    for name, text in (("a short message", "how's my cat Mochi doing?"), ("2,000 characters", "so much to say " * 134)):
        times = []
        for _ in range(20):
            begun = time.perf_counter()
            await embedder.embed([text])
            times.append(time.perf_counter() - begun)
        print(f"{name}: median {sorted(times)[10] * 1000:.1f} ms")


async def measure(settings: EmbeddingSettings, threshold: float | None) -> None:
    embedder = build_embedder(settings)
    assert embedder is not None
    await embedder.embed(["so that its vectors are known"])
    limit = embedder.match_threshold if threshold is None else threshold
    print(f"{embedder.model_id}, threshold {limit}")
    print(f"{'':24} {'asked':>6}   {'in the best 3':>12}  {'and over the threshold':>20}")
    for run, file in ((locomo, "recall_locomo_dev.json"), (multilingual, "recall_multilingual_dev.json")):
        if not (DATA / file).exists():
            print(f"skipped: {file} is not in {DATA.parent.name}/{DATA.name} beside the checkout")
            continue
        await run(embedder, json.loads((DATA / file).read_text(encoding="utf-8")), limit)
    await speed(embedder)
    await embedder.aclose()


def main() -> None:
    settings, threshold = EmbeddingSettings(), None
    if sys.argv[1:2] == ["openai"]:
        url, model, *rest = sys.argv[2:]
        key = SecretStr(os.environ.get("OPENAI_API_KEY", ""))
        settings = EmbeddingSettings("openai", url, model, key, timeout_seconds=300)
        threshold = float(rest[0]) if rest else None
    asyncio.run(measure(settings, threshold))


if __name__ == "__main__":
    main()
