"""Whether a word or phrase occurs in what was said, in any script (D8 tags, D15 lorebook keys)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

# Scripts written without spaces between words: a key there is bounded by nothing but its own characters. By first
# word of the character's Unicode name.
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
_MARK = "M"


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
    """Return a text as words are compared: NFKC, case folded, runs of white space as one space."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())


def _occurs(key: str, folded: str) -> bool:
    """Whether a key stands in a folded text with no word going on at either end of it."""
    wanted = _folded_key(key)
    if not wanted:
        return False
    for found in re.finditer(f"(?={re.escape(wanted)})", folded):
        start, end = found.start(), found.start() + len(wanted)
        if not _goes_on(folded[:start][-1:], wanted[0]) and not _goes_on(wanted[-1], folded[end : end + 1], after=True):
            return True
    return False


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
    return unicodedata.name(character, "").split(" ")[0] in _UNSPACED


@lru_cache(maxsize=4096)
def _folded_key(key: str) -> str:
    return fold(key)
