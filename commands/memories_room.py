"""`!memories room`: this room's list for its current persona, and nothing else."""

from __future__ import annotations

from actors.memory_messages import ShowMemory, UndoLast
from actors.messages import DeleteMemories, EditMemory, ListMemories
from commands import memory_texts as texts
from commands.memory_values import DeleteRoom, EditRoom, ListRoom, ShowRoom, UndoRoom
from commands.order import Handlers, Order

handlers = Handlers()


@handlers.on(ListRoom)
async def list_room(command: ListRoom, order: Order) -> str:
    """List what the bot remembers about this room, as far as it may be shown here (D8)."""
    found = await order.system.ask(order.here, ListMemories(order.caller.conversation, order.caller.heard))
    persona = order.caller.conversation.persona
    return texts.listing(order.say, found.shown, found.hidden, order.memory, texts.ROOM, persona=persona)


@handlers.on(ShowRoom)
async def show(command: ShowRoom, order: Order) -> str:
    """Show one memory of the room with all there is to know about it. Raises Refused."""
    conversation = order.caller.conversation
    memory = await order.system.ask(order.here, ShowMemory(command.memory_id, conversation, order.caller.heard))
    return texts.shown(order.say, memory, conversation, order.memory)


@handlers.on(DeleteRoom)
async def delete(command: DeleteRoom, order: Order) -> str:
    """Delete what is the room's and name the rest."""
    if not command.ids:
        return texts.deleted(order.say, (), command.wrong, texts.ROOM)
    result = await order.system.ask(order.here, DeleteMemories(command.ids, order.effect, _persona(order)))
    return texts.deleted(order.say, result.done, (*texts.runs(result.unknown), *command.wrong), texts.ROOM)


@handlers.on(EditRoom)
async def edit(command: EditRoom, order: Order) -> str:
    """Rewrite one memory of the room, which protects it (D11). Raises Refused."""
    request = EditMemory(command.memory_id, command.text, order.effect, _persona(order))
    return texts.edited(order.say, await order.system.ask(order.here, request))


@handlers.on(UndoRoom)
async def undo(command: UndoRoom, order: Order) -> str:
    """Take back what was last deleted, edited or cleaned up in the room's list. Raises Refused."""
    ids = await order.system.ask(order.here, UndoLast(order.effect, _persona(order)))
    return texts.undone(order.say, ids)


def _persona(order: Order) -> str:
    return order.caller.conversation.persona
