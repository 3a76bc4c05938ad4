"""What commands say, in Markdown, put together from the catalogue. What people wrote is escaped before it goes in."""

from __future__ import annotations

from collections.abc import Sequence

from commands.memory_texts import named
from commands.table import ANYONE, Row, Table, lines
from memory.errors import Refused
from memory.events import Caller
from texts.catalogue import Speaker

_USAGES_SHOWN = 6


def help_on_all(say: Speaker, table: Table, prefix: str, caller: Caller) -> str:
    """Show the commands this caller may give, each in one line that names its subcommands."""
    return "\n".join(_briefly(say, (row,), prefix) for row in table if row.who.allows(caller))


def help_on(say: Speaker, path: Sequence[Row], prefix: str) -> str:
    """Show a command or subcommand and the forms right below it; those below them are named."""
    row = path[-1]
    head = f"- `{_usage(path, prefix)}` {_about(say, row)}"
    return "\n".join((head, *(_briefly(say, (*path, child), prefix) for child in row.below)))


def _briefly(say: Speaker, path: Sequence[Row], prefix: str) -> str:
    row = path[-1]
    line = f"- `{_usage(path, prefix)}` {_about(say, row)}"
    if not row.below:
        return line
    forms = ", ".join(f"`{child.name}`" for child in row.below)
    return f"{line} {say('help-forms', forms=forms, name=_name(path))}"


def _name(path: Sequence[Row]) -> str:
    return " ".join(row.name for row in path)


def _usage(path: Sequence[Row], prefix: str) -> str:
    return f"{prefix}{_name(path)} {path[-1].arguments}".rstrip()


def _about(say: Speaker, row: Row) -> str:
    parts = [say(row.help)]
    if row.who is not ANYONE:
        parts.append(say("help-for", who=say(row.who.label)))
    if row.aliases:
        parts.append(say("help-also", names=", ".join(f"`{alias}`" for alias in row.aliases)))
    return " ".join(parts)


def misused(path: Sequence[Row], prefix: str) -> Refused:
    """Refuse with how a command is used, or with where that stands if its forms are many."""
    parent = f"{prefix}{_name(path[:-1])}" if path[1:] else ""
    usages = [usage for usage, _ in lines(path[-1], prefix, parent)]
    if len(usages) > _USAGES_SHOWN:
        return Refused("command-forms", name=_name(path))
    return Refused("command-usage", usages=", ".join(f"`{usage}`" for usage in usages))


def unknown(say: Speaker, word: str) -> Refused:
    """Refuse because there is no such command."""
    return Refused("command-unknown", word=named(say, (word,)))


def not_allowed(say: Speaker, row: Row) -> Refused:
    """Refuse with who may use a command."""
    return Refused("command-not-allowed", who=say(row.who.label))
