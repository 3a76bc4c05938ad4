"""Statements in the other languages of the embedder, found by first-person markers (`words/others.toml`)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from llm.offline.markers import without
from llm.offline.tables import Tables


@dataclass(frozen=True, slots=True)
class Statements:
    """How one language states something about its speaker."""

    language: str
    starts: re.Pattern[str]
    never: re.Pattern[str]


def _statements(row: dict[str, str]) -> Statements:
    spaced = row["spaced"] == "yes"
    before, after = (r"(?<!\w)", r"(?!\w)") if spaced else ("", "")
    return Statements(
        row["name"],
        re.compile(f"(?:{row['starts']}){after}", re.IGNORECASE),
        re.compile(f"{before}(?:{row['never']}){after}", re.IGNORECASE),
    )


_LANGUAGES = tuple(map(_statements, Tables("others").rows("language")))


def facts(sentence: str) -> list[str]:
    """Return the sentence, without markers, where a language takes it for a lasting statement about its speaker.

    A language that knows a marker in it goes first: Spanish "como", I eat, also begins the Portuguese "como eu disse".
    """
    read = [(each, without(each.language, sentence)) for each in _LANGUAGES]
    for each, plain in sorted(read, key=lambda pair: pair[1] == sentence):
        if each.starts.match(plain) and not each.never.search(plain):
            return [plain]
    return []
