"""What commands say, in Markdown, put together from the catalogue. What people wrote is escaped before it goes in."""

from __future__ import annotations

from collections.abc import Sequence

from commands.memory_texts import named
from commands.table import ANYONE, Row, Table, lines
from memory.errors import Refused
from texts.catalogue import Speaker

_USAGES_SHOWN = 6


def help_on_all(say: Speaker, table: Table, prefix: str) -> str:
    """Show every command with its subcommands."""
    return "\n".join(help_on(say, row, prefix) for row in table)


def help_on(say: Speaker, row: Row, prefix: str) -> str:
    """Show the forms of one command, who may use it where that is not everyone, and other spellings."""
    return "\n".join(f"- `{usage}` {_about(say, form)}" for usage, form in lines(row, prefix))


def _about(say: Speaker, row: Row) -> str:
    parts = [say(row.help)]
    if row.who is not ANYONE:
        parts.append(say("help-for", who=say(row.who.label)))
    if row.aliases:
        parts.append(say("help-also", names=", ".join(f"`{alias}`" for alias in row.aliases)))
    return " ".join(parts)


def misused(path: Sequence[Row], prefix: str) -> Refused:
    """Refuse with how a command is used, or with where that stands if its forms are many."""
    parent = f"{prefix}{' '.join(row.name for row in path[:-1])}" if path[1:] else ""
    usages = [usage for usage, _ in lines(path[-1], prefix, parent)]
    if len(usages) > _USAGES_SHOWN:
        return Refused("command-forms", name=path[0].name)
    return Refused("command-usage", usages=", ".join(f"`{usage}`" for usage in usages))


def unknown(say: Speaker, word: str) -> Refused:
    """Refuse because there is no such command."""
    return Refused("command-unknown", word=named(say, (word,)))


def not_allowed(say: Speaker, row: Row) -> Refused:
    """Refuse with who may use a command."""
    return Refused("command-not-allowed", who=say(row.who.label))
