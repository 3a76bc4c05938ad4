"""Readers of what follows `!memories …`: text -> a command value, or None where it cannot be read. Pure.

Ids are read as people write them: `3`, `#3`, `3,`, `3.`, `3-5`, `#3 – #5`, `3 and 4`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from commands.arguments import read_id, split_word
from commands.memory_values import LimitMine, TagMine, TooManyIds

V = TypeVar("V")
Reader = Callable[[str], V | None]

MOST_IN_RANGES = 200
_DASHES = "-\u2010-\u2015\u2212"  # hyphens, dashes and the minus sign
# A dash with space around it joins two ids only where it stands between them: in `3 -1` it belongs to the 1.
_LOOSE_DASH = re.compile(rf"(?<=[0-9])\s+[{_DASHES}]\s+(?=#?[0-9])")
_RANGE = re.compile(rf"#?([0-9]{{1,18}})[{_DASHES}]#?([0-9]{{1,18}})[.):;]?")
_JOINING = frozenset({"and", "und", "&", "+"})
_TAG = re.compile(r"[\"“”„](?P<quoted>[^\"“”„]+)[\"“”]|(?P<word>[^\s,]+)")
_WHERE = {"here": True, "off": False}


@dataclass(frozen=True, slots=True)
class Ids:
    """Ids in the order given, each once, and the words that are none. in_ranges: how many came from ranges."""

    ids: tuple[int, ...]
    wrong: tuple[str, ...]
    in_ranges: int = 0


def read_ids(text: str) -> Ids | None:
    """Read ids and ranges separated by white space, commas or "and"; None where there is no word at all.

    Ranges that are too wide are counted, not listed, and what follows them is not read.
    """
    words = dict.fromkeys(_LOOSE_DASH.sub("-", text).replace(",", " ").split())
    ids: dict[int, None] = {}
    wrong: list[str] = []
    in_ranges = 0
    for word in words:
        first, last = _bounds(word)
        if first <= last:
            in_ranges += last - first + 1 if last > first else 0
            if in_ranges > MOST_IN_RANGES:
                break
            ids |= dict.fromkeys(range(first, last + 1))
        elif word.casefold() not in _JOINING:
            wrong.append(word)
    return Ids(tuple(ids), tuple(wrong), in_ranges) if ids or wrong or in_ranges else None


def _bounds(word: str) -> tuple[int, int]:
    """Return first and last id that a word names; the last before the first: it names none.

    So a range written backwards names none, since nobody knows what was meant.
    """
    memory_id = read_id(word)
    if memory_id is not None:
        return memory_id, memory_id
    found = _RANGE.fullmatch(word)
    return (int(found[1]), int(found[2])) if found else (1, 0)


def ids_for(make: Callable[[tuple[int, ...], tuple[str, ...]], V]) -> Reader[V | TooManyIds]:
    """Return the reader of a command that takes ids; at least one word is needed."""

    def read(text: str) -> V | TooManyIds | None:
        found = read_ids(text)
        if found is None:
            return None
        return TooManyIds(MOST_IN_RANGES) if found.in_ranges > MOST_IN_RANGES else make(found.ids, found.wrong)

    return read


def id_for(make: Callable[[int], V]) -> Reader[V]:
    """Return the reader of a command that takes one id."""

    def read(text: str) -> V | None:
        memory_id = read_id(text)
        return None if memory_id is None else make(memory_id)

    return read


def wording_for(make: Callable[[int, str], V]) -> Reader[V]:
    """Return the reader of a command that takes one id and a text."""

    def read(text: str) -> V | None:
        word, wording = split_word(text)
        memory_id = read_id(word)
        return None if memory_id is None or not wording else make(memory_id, wording)

    return read


def nothing_for(make: Callable[[], V]) -> Reader[V]:
    """Return the reader of a command without arguments.

    Whatever follows could narrow the command in the writer's mind, so it is not carried out.
    """

    def read(text: str) -> V | None:
        return None if text else make()

    return read


def list_for(make: Callable[[], V]) -> Reader[V]:
    """Return the reader of a command that lists: without arguments, or with the word `list`."""

    def read(text: str) -> V | None:
        return None if text and text.casefold() != "list" else make()

    return read


def read_limit(text: str) -> LimitMine | TooManyIds | None:
    """Read ids and `here` or `off`, which may stand before or after them."""
    words = text.replace(",", " ").split()
    for where, others in ((words[-1:], words[:-1]), (words[:1], words[1:])):
        found = [here for word, here in _WHERE.items() if where and where[0].casefold() == word]
        if found:
            return ids_for(partial(LimitMine, found[0]))(" ".join(others))
    return None


def read_tag(text: str) -> TagMine | None:
    """Read one id and words; what stands in quotes is one tag."""
    word, rest = split_word(text)
    memory_id = read_id(word)
    words = tuple(found["quoted"] or found["word"] for found in _TAG.finditer(rest))
    return None if memory_id is None or (rest and not words) else TagMine(memory_id, words)
