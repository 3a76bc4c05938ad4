"""`!help`."""

from __future__ import annotations

from commands import texts
from commands.order import Handlers, Order
from commands.table import Row, Table, find
from commands.values import Help

handlers = Handlers()


@handlers.on(Help)
async def show(command: Help, order: Order) -> str:
    """Return the help on what the caller may do, or on one command. Raises Refused when there is no such command."""
    say, table, prefix = order.say, order.table, order.prefix
    if command.topic is None:
        return texts.help_on_all(say, table, prefix, order.caller)
    path = _meant(table, command.topic.removeprefix(prefix))
    if not path:
        raise texts.unknown(say, command.topic)
    return texts.help_on(say, path, prefix)


def _meant(table: Table, topic: str) -> tuple[Row, ...]:
    """Return the rows that the words of a topic name, as far as they name any."""
    path: tuple[Row, ...] = ()
    below = table
    for word in topic.split():
        row = find(below, word)
        if row is None:
            break
        path, below = (*path, row), row.below
    return path
