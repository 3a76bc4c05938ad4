"""`!help`."""

from __future__ import annotations

from commands import texts
from commands.order import Handlers, Order
from commands.table import find
from commands.values import Help

handlers = Handlers()


@handlers.on(Help)
async def show(command: Help, order: Order) -> str:
    """Return the help on every command or on one. Raises Refused when there is no such command."""
    say, table, prefix = order.say, order.table, order.prefix
    if command.topic is None:
        return texts.help_on_all(say, table, prefix)
    name = command.topic.removeprefix(prefix).split()[:1]
    row = find(table, name[0]) if name else None
    if row is None:
        raise texts.unknown(say, command.topic)
    return texts.help_on(say, row, prefix)
