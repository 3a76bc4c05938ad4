"""Statements in the other languages of the embedder, found by first-person markers (`words/others.toml`)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from llm.offline.tables import Tables


@dataclass(frozen=True, slots=True)
class Markers:
    """How one language states something about its speaker."""

    language: str
    starts: re.Pattern[str]
    never: re.Pattern[str]


def _markers(row: dict[str, str]) -> Markers:
    spaced = row["spaced"] == "yes"
    before, after = (r"(?<!\w)", r"(?!\w)") if spaced else ("", "")
    return Markers(
        row["name"],
        re.compile(f"(?:{row['starts']}){after}", re.IGNORECASE),
        re.compile(f"{before}(?:{row['never']}){after}", re.IGNORECASE),
    )


MARKERS = tuple(map(_markers, Tables("others").rows("language")))


def facts(sentence: str) -> list[str]:
    """Return the sentence itself where one language takes it for a lasting statement about its speaker."""
    for markers in MARKERS:
        if markers.starts.match(sentence) and not markers.never.search(sentence):
            return [sentence]
    return []
