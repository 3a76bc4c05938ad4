"""How well messages find the part of a document that answers them, by size of the parts, and what hits by chance.

    .venv/bin/python -m bench.document_recall                                        the built-in embedder
    .venv/bin/python -m bench.document_recall openai http://127.0.0.1:11434/v1 MODEL [THRESHOLD]

LoCoMo: every session of a conversation is a document, cut as the bot cuts them; the questions are the messages. Which
turn answers a question is not told by the data, only which observation does: it is taken to be that speaker's turn
which shares most with the observation, each word weighing by its rarity (no embedder has a say). A part holds a turn if
half of it stands in it.

right in best 3: of the questions, with such a part among the best 3; in 3,000 characters: among as many of the best as
have 3,000 characters together. By threshold: (a) which of the right ones in the best 3 it keeps; languages: of chat
messages in four languages that touch one of fifteen facts of a document, how many find the part with that fact; (b)
chance: 300 turns of other conversations, how many hit any part; small talk: the same for lines about nothing.
documents.match_threshold is chosen from that. Reads the data sets beside the checkout (../shared/data) and ends where
they are absent.
"""

from __future__ import annotations

import asyncio
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.recall import DIALOGUE, LANGUAGES, LOCOMO, read
from bench.variants import Variant, from_arguments, whole
from media import document_chunks

SIZES = (500, 1000, 1500)
SHARES = (0.0, 0.1, 0.2)  # overlap, of the size
BEST = 3
CHARACTERS = 3_000
TURNS = 300
SEED = 5

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Turn:
    """One thing that was said."""

    speaker: str
    text: str


@dataclass(frozen=True)
class Conversation:
    """Documents: one for each session. asked: each question with the turns that answer it."""

    name: str
    documents: tuple[str, ...]
    turns: tuple[Turn, ...]
    asked: tuple[tuple[str, frozenset[Turn]], ...]


@dataclass(frozen=True)
class Found:
    """What one way of cutting gives. right: similarities of the best right part, of questions with one in the best 3.

    asked, within: questions, and those with a right part in 3,000 characters. strangers, small_talk: by chance.
    """

    parts: int
    asked: int
    within: int
    right: Floats
    strangers: Floats
    small_talk: Floats


def conversations(files: dict[str, dict[str, Any]]) -> list[Conversation]:
    """Join dialogue and questions of the conversations that have both."""
    questions = {one["id"]: one for one in files[LOCOMO]["conversations"]}
    return [_conversation(one, questions[one["id"]]) for one in files[DIALOGUE]["conversations"]]


def _conversation(dialogue: dict[str, Any], observed: dict[str, Any]) -> Conversation:
    sessions = dialogue["sessions"]
    turns = tuple(Turn(turn["speaker"], turn["text"]) for session in sessions for turn in session["turns"])
    answers = _answers(turns, observed["memories"])
    documents = tuple(
        f"{session['when']}\n\n" + "\n".join(f"{turn['speaker']}: {turn['text']}" for turn in session["turns"])
        for session in sessions
    )
    asked = tuple((one["text"], frozenset(answers[number] for number in one["gold"])) for one in observed["queries"])
    return Conversation(dialogue["id"], documents, turns, asked)


def _answers(turns: Sequence[Turn], observations: Iterable[dict[str, str]]) -> list[Turn]:
    """Return for each observation the turn it was made from, as far as the words tell."""
    words = {turn: _words(turn.text) for turn in turns}
    seen = Counter(word for each in words.values() for word in each)
    rarity = {word: math.log(len(turns) / count) for word, count in seen.items()}

    def shared(turn: Turn, wanted: frozenset[str]) -> float:
        own = words[turn]
        length = math.sqrt(sum(rarity[word] ** 2 for word in own)) or 1.0
        return sum(rarity[word] ** 2 for word in own & wanted) / length

    return [
        max((turn for turn in words if turn.speaker == one["speaker"]), key=lambda turn: shared(turn, wanted))
        for one in observations
        for wanted in (_words(one["text"]),)
    ]


def _words(text: str) -> frozenset[str]:
    return frozenset(word[:6] for word in re.findall(r"\w+", text.lower()))


def _holds(part: str, turn: Turn) -> bool:
    middle = len(turn.text) // 2
    return turn.text[:middle].strip() in part or turn.text[middle:].strip() in part


async def measure(
    variant: Variant, all_of_it: list[Conversation], small_talk: list[str], size: int, over: int
) -> Found:
    """Measure one way of cutting."""
    rows: dict[str, NDArray[np.float32]] = {}
    right: list[float] = []
    count = asked = within = 0
    for each in all_of_it:
        parts = [
            part
            for text in each.documents
            for part in document_chunks.cut(text, 10_000, markdown=False, size=size, overlap=over)
        ]
        rows[each.name] = await variant.memories(parts)
        count += len(parts)
        asked += len(each.asked)
        said = await variant.messages([question for question, _ in each.asked])
        for similarities, (_, turns) in zip(said @ rows[each.name].T, each.asked, strict=True):
            order = np.argsort(-similarities, kind="stable")
            holds = [any(_holds(parts[number], turn) for turn in turns) for number in order[:20]]
            right += [float(similarities[n]) for n, it in zip(order[:BEST], holds, strict=False) if it][:1]
            read_so_far = np.cumsum([0, *(len(parts[n]) for n in order[:19])])
            within += any(it for it, before in zip(holds, read_so_far, strict=True) if before <= CHARACTERS - size / 2)
    strangers = await _strangers(variant, all_of_it, rows)
    nothing = await variant.messages(small_talk)
    of_small_talk = np.concatenate([(nothing @ each.T).max(axis=1) for each in rows.values()])
    return Found(count, asked, within, np.array(right), strangers, of_small_talk.astype(np.float64))


async def _strangers(variant: Variant, all_of_it: list[Conversation], rows: dict[str, NDArray[np.float32]]) -> Floats:
    """Return the best similarity of each of the turns to the parts of another conversation; the choice is seeded."""
    chance = np.random.default_rng(SEED)
    turns = [(each.name, turn.text) for each in all_of_it for turn in each.turns]
    chosen = [turns[number] for number in chance.choice(len(turns), TURNS, replace=False)]
    others = [chance.choice([name for name in rows if name != own]) for own, _ in chosen]
    said = await variant.messages([text for _, text in chosen])
    return np.array([float((rows[other] @ row).max()) for other, row in zip(others, said, strict=True)])


def _share(similarities: Floats, threshold: float) -> float:
    return float((similarities >= threshold).mean())


async def main() -> None:
    embedder, given = from_arguments(sys.argv[1:])
    files = read((LOCOMO, LANGUAGES, DIALOGUE))
    if len(files) == 3:
        await embedder.embed(["so that its vectors are known"])
        variant = whole(embedder)
        all_of_it = conversations(files)
        small_talk = files[LANGUAGES]["small_talk"]
        print(
            f"{variant.name}\n{'size':>6}{'overlap':>9}{'parts':>7}{'right in best 3':>17}{'in 3,000 characters':>21}"
        )
        kept: Found | None = None
        for size in SIZES:
            for over in (round(size * share) for share in SHARES):
                found = await measure(variant, all_of_it, small_talk, size, over)
                best, within = len(found.right) / found.asked, found.within / found.asked
                mark = " <" if (size, over) == (document_chunks.SIZE, document_chunks.OVERLAP) else ""
                kept = found if mark else kept
                print(f"{size:6}{over:9}{found.parts:7}{best:17.3f}{within:21.3f}{mark}", flush=True)
        assert kept is not None
        _thresholds(
            kept, await _languages(variant, files[LANGUAGES]), embedder.document_threshold if given is None else given
        )
    await embedder.aclose()


async def _languages(variant: Variant, data: dict[str, Any]) -> Floats:
    """Return how similar each message is to the part that holds its fact, for documents of two languages."""
    similarities: list[float] = []
    for facts in data["facts"].values():
        parts = document_chunks.cut("\n\n".join(facts), 10_000, markdown=False)
        rows = await variant.memories(parts)
        for messages in data["messages"].values():
            found = await variant.messages(messages) @ rows.T
            similarities += [
                max(float(found[number, n]) for n, part in enumerate(parts) if fact in part)
                for number, fact in enumerate(facts)
            ]
    return np.array(similarities)


def _thresholds(found: Found, languages: Floats, chosen: float) -> None:
    titles = ("threshold", "(a) right", "languages", "(b) chance", "small talk")
    print(f"\nthe size marked, by threshold; chosen is {chosen}\n" + "".join(f"{title:>11}" for title in titles))
    for threshold in np.arange(0.07, 0.351, 0.02):
        each = (found.right, languages, found.strangers, found.small_talk)
        mark = " <" if abs(threshold - chosen) < 0.001 else ""
        print(f"{threshold:11.2f}" + "".join(f"{_share(one, threshold):11.3f}" for one in each) + mark)


if __name__ == "__main__":
    asyncio.run(main())
