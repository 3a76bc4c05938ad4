"""Whether a message begins with a name that a persona answers to, in any script and case."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from memory.words import fold

# As after the bot's own name (matrix/mentions.py), and what other scripts write for a colon or a comma.
_MARK = "[:,：，、،՝]"
_AFTER_NAME = re.compile(rf"\s?{_MARK}")
_AFTER_AT = re.compile(rf"{_MARK}?(?=\s|$)")
# Telephones put curly ones in by themselves.
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2019\u2018\u02bc`", "'"))
_LONGER = 3  # a character may be written with up to so many, and an accent as one of its own


def without_name(text: str, names: Iterable[str]) -> str | None:
    """Return what follows a leading name, stripped, or None where none of the names leads.

    A bare name needs a colon or comma after it, a name after `@` needs white space or the end.
    """
    said = text.lstrip()
    after_at = said.startswith("@")
    bare, after = (said[1:], _AFTER_AT) if after_at else (said, _AFTER_NAME)
    for name in sorted(names, key=len, reverse=True):
        for end in _ends(bare, name):
            found = after.match(bare, end)
            if found:
                return bare[found.end() :].strip()
    return None


def _ends(text: str, name: str) -> Iterator[int]:
    """Yield where a leading name may end in a text, whichever way its characters are composed and cased."""
    wanted, longest = _folded(name), min(len(text), _LONGER * len(name))
    if not wanted or not _folded(text[:longest]).startswith(wanted):
        return
    for end in range(longest, 0, -1):
        part = text[:end]
        if _folded(part) == wanted and not part[-1].isspace() and not _composes(text[end : end + 1]):
            yield end


def _folded(text: str) -> str:
    return fold(text).translate(_APOSTROPHES)


def _composes(character: str) -> bool:
    """Whether a character changes the one before it, such as an accent."""
    return bool(character) and unicodedata.category(character).startswith("M")
