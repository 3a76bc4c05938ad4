"""docs/commands.md, written from the table."""

from __future__ import annotations

from collections.abc import Iterator

from commands.quotas import limit_of, names
from commands.table import DEFAULT_PREFIX, TABLE, Row, lines
from texts.catalogue import Speaker

PAGE_HEAD = """\
# Commands

Written from `commands/table.py` and `texts/davenport.pot` by `make pages`; change them there.

Commands begin with the prefix set by `matrix.command_prefix`, here `!`. Upper and lower case make no difference. Ids
may be written `3`, `#3` or `3,`, ranges `3-5`; what of them is there is done, the rest is named. In a room, words that
are not commands of this bot get no answer, since other bots may share the prefix; in a direct room, or after a mention,
they get a hint. Names of commands are the same in every language of the bot.

*At most* is how often one person may give a command, in all rooms together, unless `[limits.quotas]` says otherwise:
`30/10m` is 30 times in any ten minutes. *room* is how often all people of a room may together. A form that names
another command counts with it, and what cannot be read counts as `help`. The quota of `ask` holds for every message
that the model answers, however the bot was addressed.

| Command | What it does | Who may | At most | Also written |
|---|---|---|---|---|
"""


def commands_page() -> str:
    """Return docs/commands.md."""
    return PAGE_HEAD + "".join(f"| {' | '.join(cells)} |\n" for row in TABLE for cells in _cells(row))


def _cells(top: Row) -> Iterator[tuple[str, ...]]:
    """Yield the cells of a command and of everything below it."""
    say = Speaker()
    for (usage, row), name in zip(lines(top, DEFAULT_PREFIX), names(top), strict=True):
        aliases = ", ".join(f"`{alias}`" for alias in row.aliases)
        cell = usage.replace("|", r"\|")  # a bar ends a cell, in code too
        yield f"`{cell}`", say(row.help), say(row.who.label), _at_most(name), aliases


def _at_most(name: str) -> str:
    limit = limit_of(name, TABLE)
    if limit.name != name:
        return f"with `{limit.name}`"
    user, room = limit.quota.user, limit.quota.room
    parts = ([f"`{user}`"] if user is not None else []) + ([f"room `{room}`"] if room is not None else [])
    return ", ".join(parts) or "-"
