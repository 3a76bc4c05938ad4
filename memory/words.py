"""Whether a word or phrase occurs in what was said, in any script (D8 tags, D15 lorebook keys)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from memory.text import visible

# Scripts written without spaces between words: a key there is bounded by nothing but its own characters. How the
# Unicode names of their characters begin.
_UNSPACED = (
    *("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "BOPOMOFO", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"),
    *("JAVANESE", "BALINESE", "NEW TAI LUE", "TAI THAM"),
)
# Korean writes particles onto the word they follow; a key followed by nothing else is a word of its own.
_PARTICLES = re.compile(
    "(?:들)?(?:은|는|이|가|을|를|의|에|에서|에게|에게서|한테|께|께서|와|과|랑|이랑|하고|도|만|로|으로|까지|부터|마다|"
    r"처럼|보다|이나|나|이라|라|이야|야|아|이다|이에요|예요|입니다|요)?(?:은|는|도|만)?(?!\w)"
)
_MARK = "M"
# Which form of a symbol is shown; no part of what it says.
_SELECTORS = dict.fromkeys([*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])
_DOTTED_I = "i\u0307"  # what the capital of Turkish i is folded to


class Heard:
    """The texts of a conversation's window, read once and asked often. Equal when the texts are."""

    __slots__ = ("_folded", "_texts")

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._texts = tuple(texts)
        self._folded: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts as they were said."""
        return self._texts

    def has(self, key: str) -> bool:
        """Whether a key occurs, bounded by words."""
        if self._folded is None:
            self._folded = "\n".join(fold(text) for text in self._texts)
        return _occurs(key, self._folded)

    def has_any(self, keys: Iterable[str]) -> bool:
        """Whether one of the keys occurs."""
        return any(self.has(key) for key in keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Heard) and self._texts == other._texts

    def __hash__(self) -> int:
        return hash(self._texts)


NOTHING = Heard()


def fold(text: str) -> str:
    """Return a text as words are compared: NFKC, case folded, runs of white space as one space, nothing hidden."""
    plain = visible(text).translate(_SELECTORS)
    if plain.isascii():
        return " ".join(plain.lower().split())
    folded = unicodedata.normalize("NFKC", plain).casefold().replace(_DOTTED_I, "i")
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def _occurs(key: str, folded: str) -> bool:
    """Whether a key stands in a folded text with no word going on at either end of it."""
    wanted = _folded_key(key)
    if not wanted or wanted not in folded:
        return False
    for found in re.finditer(f"(?={re.escape(wanted)})", folded):
        start, end = found.start(), found.start() + len(wanted)
        if not _goes_on(folded[max(0, start - 1) : start], wanted[0]) and _ends(wanted[-1], folded, end):
            return True
    return False


def _ends(last: str, folded: str, end: int) -> bool:
    """Whether a word whose last character stands before `end` goes no further there."""
    if not _goes_on(last, folded[end : end + 1], after=True):
        return True
    return _name(last).startswith("HANGUL") and _PARTICLES.match(folded, end) is not None


def _goes_on(left: str, right: str, *, after: bool = False) -> bool:
    """Whether two neighbouring characters belong to one word. `after`: a mark at the right changes the last letter."""
    if not left or not right:
        return False
    if after and unicodedata.category(right).startswith(_MARK):
        return True
    return _in_word(left) and _in_word(right) and not (_unspaced(left) or _unspaced(right))


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith(_MARK)


@lru_cache(maxsize=4096)
def _unspaced(character: str) -> bool:
    return _name(character).startswith(_UNSPACED)


@lru_cache(maxsize=4096)
def _name(character: str) -> str:
    return unicodedata.name(character, "")


@lru_cache(maxsize=4096)
def _folded_key(key: str) -> str:
    return fold(key)
