"""The one table of commands: it feeds parsing, permission, `!help` and docs/commands.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from commands.arguments import read_ask, read_clear, read_delete, read_edit, read_help, read_list
from commands.values import Value
from memory.events import Caller
from memory.quota import CommandQuota, per_minutes

DEFAULT_PREFIX = "!"


@dataclass(frozen=True, slots=True)
class Permission:
    """Who may give a command: the id of the text that names them, and a test of the caller."""

    label: str
    allows: Callable[[Caller], bool]


ANYONE = Permission("who-everyone", lambda caller: True)
ADMINS = Permission("who-admins", lambda caller: caller.admin)
MODERATORS = Permission("who-moderators", lambda caller: caller.changes_state)
EDITORS = Permission("who-editors", lambda caller: caller.changes_list)


@dataclass(frozen=True, slots=True)
class Row:
    """One command or subcommand. Names and arguments are the same in every language.

    arguments: as usage shows them. help: the id of the text that says what it does. read: the text after the name -> a
    value, None when it cannot be read. below: the subcommands, tried on the first word of that text. quota: how often
    it may be given unless `limits.quotas` says otherwise; a subcommand without one counts with its command.
    """

    name: str
    arguments: str
    who: Permission
    help: str
    read: Callable[[str], Value | None]
    aliases: tuple[str, ...] = ()
    below: tuple[Row, ...] = ()
    quota: CommandQuota | None = None

    def called(self, word: str) -> bool:
        """Whether a word names this row, in any case."""
        return word.casefold() in (self.name, *self.aliases)


Table = tuple[Row, ...]

TABLE: Table = (
    Row("ask", "TEXT", ANYONE, "help-ask", read_ask, quota=per_minutes(10, user=30, room=120)),
    Row(
        "memories",
        "",
        ANYONE,
        "help-memories",
        read_list,
        below=(
            Row("del", "ID…", ANYONE, "help-memories-del", read_delete, aliases=("delete",)),
            Row("edit", "ID TEXT", ANYONE, "help-memories-edit", read_edit),
            Row("clear", "", ANYONE, "help-memories-clear", read_clear),
        ),
    ),
    Row("help", "[COMMAND]", ANYONE, "help-help", read_help),
)


def find(table: Table, word: str) -> Row | None:
    """Return the row a word names, or None."""
    return next((row for row in table if row.called(word)), None)


def lines(row: Row, prefix: str, parent: str = "") -> Iterator[tuple[str, Row]]:
    """Yield usage and row of a command and of everything below it, such as `("!memories del ID…", row)`."""
    name = f"{parent} {row.name}" if parent else f"{prefix}{row.name}"
    yield f"{name} {row.arguments}".rstrip(), row
    for child in row.below:
        yield from lines(child, prefix, name)
