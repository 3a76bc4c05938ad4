"""Readers of arguments: the text after a command's name -> a command value, or None where it cannot be read. Pure.

White space is any that Unicode knows.
"""

from __future__ import annotations

import re

from commands.values import Ask, ClearMine, DeleteMine, EditMine, Help, ListMine

_ID = re.compile(r"#?([0-9]{1,18})[.):;]?")  # 18 digits: what a 64-bit integer holds for certain


def split_word(text: str) -> tuple[str, str]:
    """Return the first word and what follows it, both without white space around them."""
    word, *rest = text.split(maxsplit=1) or [""]
    return word, rest[0].rstrip() if rest else ""


def read_id(word: str) -> int | None:
    """Read an id as people write it: `3`, `#3`, `3,`."""
    found = _ID.fullmatch(word.rstrip(","))
    return int(found[1]) if found else None


def read_ask(text: str) -> Ask | None:
    """Read the text of a turn; it must not be empty."""
    return Ask(text) if text else None


def read_help(text: str) -> Help | None:
    """Read the name of a command, if any."""
    return Help(text or None)


def read_list(text: str) -> ListMine | None:
    """Read nothing."""
    return None if text else ListMine()


def read_clear(text: str) -> ClearMine | None:
    """Read nothing: whatever follows `clear` could narrow it in the writer's mind, so it is not carried out."""
    return None if text else ClearMine()


def read_delete(text: str) -> DeleteMine | None:
    """Read ids separated by white space or commas; at least one word is needed."""
    words = dict.fromkeys(text.replace(",", " ").split())
    ids = dict.fromkeys(found for word in words if (found := read_id(word)) is not None)
    wrong = tuple(word for word in words if read_id(word) is None)
    return DeleteMine(tuple(ids), wrong) if words else None


def read_edit(text: str) -> EditMine | None:
    """Read one id and the new text."""
    word, wording = split_word(text)
    memory_id = read_id(word)
    return None if memory_id is None or not wording else EditMine(memory_id, wording)
