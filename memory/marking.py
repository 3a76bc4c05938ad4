"""What a person may set on a memory of theirs: whether it is shared, its rooms and its tags (D8, D11). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory.errors import Refused
from memory.text import blank, clean
from memory.types import Memory
from memory.words import fold

MAX_TAGS = 10
MAX_TAG_CHARACTERS = 50


@dataclass(frozen=True, slots=True)
class Sharing:
    """Whether what was said in private may be used in rooms."""

    on: bool


@dataclass(frozen=True, slots=True)
class Limiting:
    """Add a room to those a memory is used in; None: all rooms again."""

    room_id: str | None


@dataclass(frozen=True, slots=True)
class Tagging:
    """The words one of which must be heard for a memory to be used; none: always."""

    tags: tuple[str, ...]


Mark = Sharing | Limiting | Tagging


def marked(memory: Memory, mark: Mark) -> Memory:
    """Return a memory as it is after this; nothing but its visibility changes (D11)."""
    match mark:
        case Sharing(on):
            return replace(memory, shared=on)
        case Limiting(room_id):
            rooms = () if room_id is None else tuple(dict.fromkeys((*memory.rooms, room_id)))
            return replace(memory, rooms=rooms)
        case Tagging(tags):
            return replace(memory, tags=tags)


def applies(memory: Memory, mark: Mark) -> bool:
    """Whether this means anything for a memory: only what was said in private can be shared."""
    return memory.origin.private or not isinstance(mark, Sharing)


def checked_tags(words: Sequence[str]) -> tuple[str, ...]:
    """Return words as tags: cleaned (P18), each once however it is written. Raises Refused with the reason."""
    by_fold: dict[str, str] = {}
    for tag in map(clean, words):
        if blank(tag):
            raise Refused("tag-blank")
        if len(tag) > MAX_TAG_CHARACTERS:
            raise Refused("tag-too-long", limit=MAX_TAG_CHARACTERS)
        by_fold.setdefault(fold(tag), tag)
    if len(by_fold) > MAX_TAGS:
        raise Refused("tags-too-many", limit=MAX_TAGS)
    return tuple(by_fold.values())
