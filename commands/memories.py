"""`!memories`: each form asks the caller's user actor, so nobody can name another person's memories."""

from __future__ import annotations

from actors.messages import ClearMemories, DeleteMemories, EditMemory, ListMemories
from commands import texts
from commands.order import Handlers, Order
from commands.values import ClearMine, DeleteMine, EditMine, ListMine

handlers = Handlers()


@handlers.on(ListMine)
async def show(command: ListMine, order: Order) -> str:
    """List the caller's memories usable here and count the others (D18)."""
    found = await order.system.ask(order.me, ListMemories(order.caller.conversation, order.caller.heard))
    return texts.listing(order.say, found.shown, found.hidden, order.memory)


@handlers.on(DeleteMine)
async def delete(command: DeleteMine, order: Order) -> str:
    """Delete what can be deleted and name the rest."""
    if not command.ids:
        return texts.deleted(order.say, (), command.wrong)
    result = await order.system.ask(order.me, DeleteMemories(command.ids, order.effect))
    return texts.deleted(order.say, result.done, (*(f"#{each}" for each in result.unknown), *command.wrong))


@handlers.on(EditMine)
async def edit(command: EditMine, order: Order) -> str:
    """Rewrite one memory, which protects it (D11). Raises Refused."""
    return texts.edited(
        order.say, await order.system.ask(order.me, EditMemory(command.memory_id, command.text, order.effect))
    )


@handlers.on(ClearMine)
async def clear(command: ClearMine, order: Order) -> str:
    """Delete every durable memory of the caller (D18)."""
    count = await order.system.ask(order.me, ClearMemories(order.effect))
    return texts.cleared(order.say, count, order.memory)
