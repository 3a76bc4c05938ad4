"""Text -> what it means as a command. Pure: the same text and table always give an equal value."""

from __future__ import annotations

from dataclasses import dataclass

from commands.arguments import split_word
from commands.table import Row, Table, find
from commands.values import Misused, Unknown, Value


@dataclass(frozen=True, slots=True)
class Call:
    """A command as it was typed: the rows that were named, command before subcommand, and the value read.

    No rows: the word is no command of ours and the value Unknown.
    """

    path: tuple[Row, ...]
    value: Value


def parse(text: str, prefix: str, table: Table) -> Call | None:
    """Read a text; None unless it starts with the prefix followed by a letter."""
    text = text.strip()
    after = text[len(prefix) :]
    if not text.startswith(prefix) or not after[:1].isalpha():
        return None
    word, arguments = split_word(after)
    row = find(table, word)
    return Call((), Unknown(word)) if row is None else _read((row,), arguments)


def _read(path: tuple[Row, ...], arguments: str) -> Call:
    word, rest = split_word(arguments)
    below = find(path[-1].below, word)
    if below is not None and not (below.bare and rest):
        return _read((*path, below), rest)
    return Call(path, path[-1].read(arguments) or Misused())
