"""`!help`."""

from __future__ import annotations

from commands import texts
from commands.table import Table, find
from commands.values import Help
from texts.catalogue import Speaker


def show(say: Speaker, command: Help, table: Table, prefix: str) -> str:
    """Return the help on every command or on one. Raises Refused when there is no such command."""
    if command.topic is None:
        return texts.help_on_all(say, table, prefix)
    name = command.topic.removeprefix(prefix).split()[:1]
    row = find(table, name[0]) if name else None
    if row is None:
        raise texts.unknown(say, command.topic)
    return texts.help_on(say, row, prefix)
