"""The two curves from which memory.match_threshold is chosen.

    .venv/bin/python -m bench.curves                                        the built-in embedder, and its parts
    .venv/bin/python -m bench.curves openai http://127.0.0.1:11434/v1 MODEL

(a) true matches: of the messages whose right memory is among the best 3, how many a threshold keeps. LoCoMo: questions
    about a conversation. Languages: chat messages that touch a fact without asking for it, which is harder.
(b) by chance: 200 turns of dialogue, each from another conversation than the 100 facts it is compared with; how many of
    them hit one or more. Small talk: the same for lines that are about nothing.

Reads the data sets beside the checkout (../shared/data) and ends where they are absent.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.recall import DIALOGUE, LANGUAGES, LOCOMO, read, search
from bench.variants import Variant, from_arguments, parts, whole
from index.builtin import BuiltinEmbedder

TURNS, FACTS = 200, 100
SEED = 5
CHANCE = 0.25  # what (b) may be at most

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curves:
    """Similarities: of the right memories among the best 3, and of the best by chance."""

    locomo: Floats
    languages: Floats
    strangers: Floats
    small_talk: Floats

    def row(self, threshold: float) -> str:
        both = np.concatenate([self.locomo, self.languages])
        shares = [share(each, threshold) for each in (self.locomo, self.languages, both)]
        chance = [share(each, threshold) for each in (self.strangers, self.small_talk)]
        return "".join(f"{each:11.3f}" for each in (*shares, *chance))


TITLES = "".join(f"{title:>11}" for title in ("LoCoMo", "languages", "(a) both", "(b) chance", "small talk"))


def share(similarities: Floats, threshold: float) -> float:
    return float((similarities >= threshold).mean())


async def curves(variant: Variant, files: dict[str, dict[str, Any]]) -> Curves:
    """Measure one variant."""
    locomo: list[float] = []
    for one in files[LOCOMO]["conversations"]:
        gold = [frozenset(query["gold"]) for query in one["queries"]]
        locomo += await _right(variant, _texts(one["memories"]), _texts(one["queries"]), gold)
    languages: list[float] = []
    small_talk: list[float] = []
    for facts in files[LANGUAGES]["facts"].values():
        for messages in files[LANGUAGES]["messages"].values():
            languages += await _right(variant, facts, messages, [frozenset([n]) for n in range(len(messages))])
        said = await variant.messages(files[LANGUAGES]["small_talk"])
        small_talk += [best[0].similarity for best in search(await variant.memories(facts), said)]
    strangers = await _strangers(variant, files)
    return Curves(*(np.array(each) for each in (locomo, languages, strangers, small_talk)))


async def _right(variant: Variant, facts: list[str], said: list[str], gold: list[frozenset[int]]) -> list[float]:
    """Return the best similarity of a right memory among the best 3, for every message that has one there."""
    found = search(await variant.memories(facts), await variant.messages(said))
    right = [
        [m.similarity for m in best if m.memory_id - 1 in wanted] for best, wanted in zip(found, gold, strict=True)
    ]
    return [max(each) for each in right if each]


async def _strangers(variant: Variant, files: dict[str, dict[str, Any]]) -> list[float]:
    """Return the best similarity of each of 200 turns to 100 facts of another conversation; the choice is seeded."""
    chance = np.random.default_rng(SEED)
    turns = [
        (conversation["id"], turn["text"])
        for conversation in files[DIALOGUE]["conversations"]
        for session in conversation["sessions"]
        for turn in session["turns"]
    ]
    facts = {one["id"]: _texts(one["memories"]) for one in files[LOCOMO]["conversations"]}
    vectors = {name: await variant.memories(texts) for name, texts in facts.items()}
    best = []
    for number in chance.choice(len(turns), TURNS, replace=False):
        own, text = turns[number]
        other = chance.choice([name for name in facts if name != own])
        rows = vectors[other][chance.choice(len(vectors[other]), FACTS, replace=False)]
        best.append(search(rows, await variant.messages([text]))[0][0].similarity)
    return best


def _texts(entries: list[dict[str, Any]]) -> list[str]:
    return [str(one["text"]) for one in entries]


def _printed(name: str, measured: Curves, chosen: float) -> None:
    print(f"\n{name}; its threshold is {chosen}\n{'threshold':>9}{TITLES}")
    for threshold in (*np.arange(round(chosen - 0.12, 2), chosen + 0.121, 0.02),):
        mark = " <" if abs(threshold - chosen) < 0.001 else ""
        print(f"{threshold:9.2f}{measured.row(threshold)}{mark}")


async def main() -> None:
    embedder, threshold = from_arguments(sys.argv[1:])
    files = read((LOCOMO, LANGUAGES, DIALOGUE))
    if len(files) == 3:
        await embedder.embed(["so that its vectors are known"])
        variant = whole(embedder, threshold)
        measured = await curves(variant, files)
        _printed(variant.name, measured, variant.threshold or 0.0)
        print(f"\nwhat is kept where chance is {CHANCE:.0%}\n{'':28}{'threshold':>9}{TITLES}")
        compared = parts(embedder) if isinstance(embedder, BuiltinEmbedder) else []
        for each in (*compared, variant):
            of_this = measured if each is variant else await curves(each, files)
            limit = float(np.quantile(of_this.strangers, 1 - CHANCE))
            print(f"{each.name:28}{limit:9.3f}{of_this.row(limit)}")
    await embedder.aclose()


if __name__ == "__main__":
    asyncio.run(main())
