"""The dated sessions of the LoCoMo dialogues as chat days, with the facts that are learned from each message.

The data set lists facts ("observations") of a conversation in order, but not what was said when. Each is put to the
session and the message of its speaker whose words it shares most, weighted by rarity, so that the sessions of all facts
of a conversation never go back in time.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory.text import blank

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
DIALOGUE, FACTS = "dialogue_locomo_dev.json", "recall_locomo_dev.json"
_WORD = re.compile(r"[^\W\d_]{3,}")
_STEM = 6  # letters by which words are compared


@dataclass(frozen=True)
class Message:
    speaker: str
    text: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Day:
    """One session. `number`: of its conversation, from 1."""

    conversation: str
    number: int
    begins: datetime
    messages: tuple[Message, ...]


def missing() -> list[str]:
    """Return the names of the data files that are not there."""
    return [name for name in (DIALOGUE, FACTS) if not (DATA / name).exists()]


def load() -> list[Day]:
    """Return the days of all conversations, in the order of their dates."""
    facts = {each["id"]: each["memories"] for each in _read(FACTS)["conversations"]}
    days = [day for each in _read(DIALOGUE)["conversations"] for day in _days(each, facts[each["id"]])]
    return sorted(days, key=lambda day: day.begins)


def _read(name: str) -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads((DATA / name).read_text(encoding="utf-8"))
    return data


def _days(conversation: Mapping[str, Any], facts: Sequence[Mapping[str, str]]) -> list[Day]:
    sessions = [
        [Message(turn["speaker"], turn["text"]) for turn in session["turns"] if not blank(turn["text"])]
        for session in conversation["sessions"]
    ]
    taught: dict[tuple[int, int], list[str]] = {}
    for fact, place in zip(facts, placed([(each["speaker"], each["text"]) for each in facts], sessions), strict=True):
        taught.setdefault(place, []).append(fact["text"])
    return [
        Day(
            conversation["id"],
            number + 1,
            datetime.strptime(session["when"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC),
            tuple(
                Message(message.speaker, message.text, tuple(taught.get((number, at), ())))
                for at, message in enumerate(sessions[number])
            ),
        )
        for number, session in enumerate(conversation["sessions"])
    ]


def placed(facts: Sequence[tuple[str, str]], sessions: Sequence[Sequence[Message]]) -> list[tuple[int, int]]:
    """Return for each fact (speaker, text) its session and message: the best fit over all in which none goes back."""
    words = [[_stems(message.text) for message in session] for session in sessions]
    seen = Counter(stem for session in words for message in session for stem in message)
    messages = sum(map(len, words))
    best: list[tuple[float, int]] = [(0.0, -1)] * len(sessions)  # by session: the sum so far
    chosen: list[list[tuple[int, int]]] = []  # by fact and session: where it and the fact before it are
    for speaker, text in facts:
        rarity = {stem: math.log(messages / seen[stem]) for stem in _stems(text) if seen[stem]}
        sums: list[tuple[float, int]] = []
        places: list[tuple[int, int]] = []
        before, from_session = -math.inf, 0
        for number, session in enumerate(sessions):
            if best[number][0] > before:
                before, from_session = best[number][0], number
            fits = [
                (sum(rarity.get(stem, 0.0) for stem in words[number][at]), -at)
                for at, message in enumerate(session)
                if message.speaker == speaker
            ]
            fit, at = max(fits, default=(0.0, 0))
            sums.append((before + fit, from_session))
            places.append((from_session, -at))
        best = sums
        chosen.append(places)
    return _walked_back(chosen, max(range(len(sessions)), key=lambda number: best[number][0]))


def _walked_back(chosen: Sequence[Sequence[tuple[int, int]]], last: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    session = last
    for places in reversed(chosen):
        before, at = places[session]
        found.append((session, at))
        session = before
    return found[::-1]


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in _WORD.findall(text.casefold()))
