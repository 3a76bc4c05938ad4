"""Takes out what is said in passing: "by the way", "as I said", "you know" (`words/markers.toml`).

A fact that is mentioned again mostly comes with such words. They are taken out by the table of the language whose
rules read the sentence, so that a word which is a marker in one language and content in another does no harm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from llm.offline.tables import Tables, words

_MOST = 6  # markers of one kind that are taken out of a sentence
_EDGES = " ,،、，"
_NEVER = "(?!)"
_BEFORE = {"words": r" ?(?:[,:;(\[–—]|،|-(?= ))", "phrases": r"[ ,]+", "nothing": r" ?[,、，：:（(]"}
_AFTER = {"words": r" ?(?:[,:;)\]–—!…]|،|-(?= )|\.{2,})", "phrases": r"[ ,]+", "nothing": r" ?[,、，：:）)！!…]"}


@dataclass(frozen=True, slots=True)
class Markers:
    """The patterns of one language, each with what sets the marker off. A comma stays where `kept` follows."""

    start: re.Pattern[str]
    within: tuple[re.Pattern[str], ...]
    particle: re.Pattern[str]
    kept: re.Pattern[str]
    inverts: frozenset[str]
    owners: frozenset[str]
    gap: str
    capitals: Mapping[str, str]

    def without(self, sentence: str) -> str:
        """Return a sentence, its spaces single, without its markers; as it came where it consists of them."""
        plain = self._opened(sentence)
        for pattern in self.within:
            plain = self._cut(pattern, plain)
        plain = self.particle.sub(self.gap, plain).strip(_EDGES)
        if not plain or plain == sentence:
            return sentence
        return self.capitals.get(plain[0], plain[0].upper()) + plain[1:]

    def _opened(self, sentence: str) -> str:
        """Take off what stands before the statement, which may have put the verb before its subject."""
        for _ in range(_MOST):
            found = self.start.match(sentence)
            if found is None or found.end() == len(sentence):
                break
            sentence = self._in_order(sentence[found.end() :])
        return sentence

    def _in_order(self, sentence: str) -> str:
        """Put the subject first: "bin ich allergisch" is "ich bin allergisch"."""
        verb, *rest = sentence.split(" ")
        first = rest[0].lower() if rest else ""
        subject = 1 if first in self.inverts else 2 if first in self.owners else 0
        return " ".join([*rest[:subject], verb, *rest[subject:]]) if rest[subject:] else sentence

    def _cut(self, pattern: re.Pattern[str], sentence: str) -> str:
        for _ in range(_MOST):
            found = pattern.search(sentence)
            if found is None:
                break
            before, after = sentence[: found.start()], sentence[found.end() :]
            comma = "," if found.group().lstrip()[:1] == "," and self.kept.match(after) else ""
            sentence = before + comma + (self.gap if before and after else "") + after
        return sentence


def without(language: str, sentence: str) -> str:
    """Return a sentence as the rules of one language read it, without its markers."""
    return _BY_LANGUAGE[language].without(sentence)


def _markers(row: Mapping[str, str]) -> Markers:
    before, after = _BEFORE[row["spaced"]], _AFTER[row["spaced"]]
    spaced = row["spaced"] == "words"
    end, space = (r"(?![\w'])", " ") if spaced else ("", "")
    asides, set_off = _any(row, "asides"), _any(row, "set_off")
    return Markers(
        start=_pattern(rf"(?:(?:{asides}|{_any(row, 'openers')}){end}(?:{after})?|(?:{set_off}){end}{after}) ?"),
        within=(
            _pattern(rf"(?:{before} ?|{space})(?:{asides}){end}(?:{after})? ?"),
            _pattern(rf"{before} ?(?:{set_off}){end}(?:{after} ?|\Z)"),
            _pattern(rf" ?(?:{_any(row, 'closers')})\Z"),
        ),
        particle=_pattern(rf"(?<=[^ ,]) (?:{_any(row, 'particles')}) (?=[^ ,])"),
        kept=_pattern(rf"(?:{row.get('subjects', _NEVER)}){end}"),
        inverts=words(row.get("inverts", "")),
        owners=words(row.get("owners", "")),
        gap=" " if spaced else "",
        capitals={row["capitals"][0]: row["capitals"][1]} if "capitals" in row else {},
    )


def _any(row: Mapping[str, str], key: str) -> str:
    return "|".join(row.get(key, _NEVER).split("\n"))


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_BY_LANGUAGE = {row["name"]: _markers(row) for row in Tables("markers").raw_rows("language")}
