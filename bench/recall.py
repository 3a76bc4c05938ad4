"""How well an embedder finds the right memory, and how much small talk matches by mistake.

    .venv/bin/python -m bench.recall                                        the built-in one, and its parts
    .venv/bin/python -m bench.recall openai http://127.0.0.1:11434/v1 MODEL [THRESHOLD]

Reads the data sets beside the checkout (../shared/data) and says so when they are absent. "In the best 3" asks only for
the rank; "and over the threshold" is what D3 counts as a match. The second form measures any model behind an
OpenAI-compatible server (its key in OPENAI_API_KEY); memory.match_threshold for it is chosen by bench/curves.py.
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

from actors.ports import Embedder
from bench.variants import Variant, from_arguments, parts, whole
from index.builtin import BuiltinEmbedder
from index.faiss_index import FaissIndexes
from memory.decay import MATCH_LIMIT
from memory.types import ListKey, Match, ScopeKind

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
KEY = ListKey(ScopeKind.ROOM, "!bench", "default")
NO_THRESHOLD = -1.0
LOCOMO = "recall_locomo_dev.json"
LANGUAGES = "recall_multilingual_dev.json"
DIALOGUE = "dialogue_locomo_dev.json"

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


async def locomo_scores(variant: Variant, data: dict[str, Any], threshold: float) -> dict[str, Score]:
    """Return the score of each conversation: its questions against all that was observed in it."""
    scores = {}
    for conversation in data["conversations"]:
        memories = await variant.memories([one["text"] for one in conversation["memories"]])
        queries = await variant.messages([one["text"] for one in conversation["queries"]])
        gold = [frozenset(one["gold"]) for one in conversation["queries"]]
        scores[conversation["id"]] = score(search(memories, queries), gold, threshold)
    return scores


async def language_scores(variant: Variant, data: dict[str, Any], threshold: float) -> dict[tuple[str, str], Score]:
    """Return the score of each pair of languages: of the facts, of the messages."""
    scores = {}
    for facts_language, facts in data["facts"].items():
        memories = await variant.memories(facts)
        for language, messages in data["messages"].items():
            gold = [frozenset([number]) for number in range(len(messages))]
            found = search(memories, await variant.messages(messages))
            scores[facts_language, language] = score(found, gold, threshold)
    return scores


async def locomo(variant: Variant, data: dict[str, Any], threshold: float) -> None:
    scores = await locomo_scores(variant, data, threshold)
    for name, each in scores.items():
        print(each.row(f"LoCoMo {name}"))
    print(added(scores.values()).row("LoCoMo, all"))


async def multilingual(variant: Variant, data: dict[str, Any], threshold: float) -> None:
    """Print two tables: facts by row, messages by column, share with the right fact in the best 3 and as a match."""
    scores = await language_scores(variant, data, threshold)
    for title, part in (("in the best 3", "ranked"), ("and over the threshold", "matched")):
        print(f"\n{title}: facts in, by the language of the message")
        print(f"{'':8}" + "".join(f"{language:>7}" for language in data["messages"]) + f"{'mean':>7}")
        for facts_language in data["facts"]:
            row = [scores[facts_language, language] for language in data["messages"]]
            shares = [getattr(one, part) / one.asked for one in row]
            print(f"{facts_language:8}" + "".join(f"{share:7.2f}" for share in [*shares, float(np.mean(shares))]))
    small_talk = await variant.messages(data["small_talk"])
    for language, facts in data["facts"].items():
        hits = sum(best[0].similarity >= threshold for best in search(await variant.memories(facts), small_talk))
        print(f"facts {language}: {hits} of {len(small_talk)} lines of small talk match something")


async def alone(embedder: BuiltinEmbedder, files: dict[str, dict[str, Any]]) -> None:
    """Print what each part of the built-in embedder finds alone, and all of it together."""
    print(f"\n{'in the best 3':28} {'LoCoMo':>8} {'languages, mean':>16}")
    for variant in (*parts(embedder), whole(embedder)):
        shares = []
        for scores in (
            (await locomo_scores(variant, files[LOCOMO], NO_THRESHOLD)).values() if LOCOMO in files else (),
            (await language_scores(variant, files[LANGUAGES], NO_THRESHOLD)).values() if LANGUAGES in files else (),
        ):
            every = added(scores)
            shares.append(every.ranked / every.asked if every.asked else float("nan"))
        print(f"{variant.name:28} {shares[0]:8.3f} {shares[1]:16.3f}")


async def speed(embedder: Embedder) -> None:
    """Print how long one message takes: embedding alone, and with the search of a list of 100."""
    indexes = FaissIndexes()
    rows = np.random.default_rng(1).normal(size=(100, embedder.dim or 0)).astype(np.float32)
    indexes.load(KEY, range(100), rows / np.linalg.norm(rows, axis=1, keepdims=True))
    everything = indexes.ids(KEY)
    print()
    for name, text in (("a short message", "how's my cat Mochi doing?"), ("2,000 characters", "so much to say " * 134)):
        times, busy = [], []
        for number in range(100):
            begun, used = time.perf_counter(), time.process_time()
            vector = await embedder.embed_query(f"{text}{number}")
            indexes.search(KEY, vector, everything, MATCH_LIMIT, NO_THRESHOLD)
            times.append(time.perf_counter() - begun)
            busy.append(time.process_time() - used)
        middle, best, cpu = np.median(times) * 1000, min(times) * 1000, np.median(busy) * 1000
        print(f"{name}: embedded and searched in {middle:.1f} ms (median), {best:.1f} ms (best), {cpu:.1f} ms of CPU")


def read(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the data sets that are there, by file; say which are not."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        if (DATA / name).exists():
            found[name] = json.loads((DATA / name).read_text(encoding="utf-8"))
        else:
            print(f"skipped: {name} is not in {DATA.parent.name}/{DATA.name} beside the checkout")
    return found


async def measure(embedder: Embedder, threshold: float | None) -> None:
    await embedder.embed(["so that its vectors are known"])
    variant = whole(embedder, threshold)
    limit = variant.threshold or 0.0
    print(f"{embedder.model_id}, threshold {limit}")
    print(f"{'':24} {'asked':>6}   {'in the best 3':>12}  {'and over the threshold':>20}")
    files = read((LOCOMO, LANGUAGES))
    for name, run in ((LOCOMO, locomo), (LANGUAGES, multilingual)):
        if name in files:
            await run(variant, files[name], limit)
    if isinstance(embedder, BuiltinEmbedder):
        await alone(embedder, files)
    await speed(embedder)


async def main() -> None:
    embedder, threshold = from_arguments(sys.argv[1:])
    try:
        await measure(embedder, threshold)
    finally:
        await embedder.aclose()


if __name__ == "__main__":
    asyncio.run(main())
