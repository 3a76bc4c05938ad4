"""Readers of arguments: the text after a command's name -> a command value, or None where it cannot be read. Pure.

White space is any that Unicode knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from commands.scene_values import ShowScene
from commands.values import AddMine, AddToRoom, Help, StartTurn
from memory.types import TurnKind

_ID = re.compile(r"#?([0-9]{1,18})[.):;]?")  # 18 digits: what a 64-bit integer holds for certain


def split_word(text: str) -> tuple[str, str]:
    """Return the first word and what follows it, both without white space around them."""
    word, *rest = text.split(maxsplit=1) or [""]
    return word, rest[0].rstrip() if rest else ""


def read_id(word: str) -> int | None:
    """Read an id as people write it: `3`, `#3`, `3,`."""
    found = _ID.fullmatch(word.rstrip(","))
    return int(found[1]) if found else None


def turn_of(kind: TurnKind) -> Callable[[str], StartTurn | None]:
    """Return a reader of the text of a turn of this kind; the text must not be empty."""
    return lambda text: StartTurn(text, kind) if text else None


def read_verse(text: str) -> StartTurn | ShowScene:
    """Read the text of a turn in character; without one the state of the scene is asked for."""
    return StartTurn(text, TurnKind.VERSE) if text else ShowScene()


def read_add(text: str) -> AddMine | None:
    """Read the text of a memory of the caller's own; it must not be empty."""
    return AddMine(text) if text else None


def read_add_to_room(text: str) -> AddToRoom | None:
    """Read the text of a memory of the room's; it must not be empty."""
    return AddToRoom(text) if text else None


def read_help(text: str) -> Help | None:
    """Read the name of a command, if any."""
    return Help(text or None)
