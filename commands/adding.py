"""`!memories add` and `!memories room add`: what a person saves by hand, and so protects (D11)."""

from __future__ import annotations

from actors.actor import Address
from actors.confirming import answer
from actors.messages import SaveMemory
from actors.saving import vector_of
from commands.order import Handlers, Order
from commands.values import AddMine, AddToRoom
from memory.events import Told
from memory.text import checked_text
from memory.types import Origin, Source

handlers = Handlers()


@handlers.on(AddMine)
async def add(command: AddMine, order: Order) -> Told:
    """Save into the caller's own list of the room's persona (P16, D9-D11). Raises Refused, saying why (P18, D10)."""
    return await _save(command.text, order, order.me)


@handlers.on(AddToRoom)
async def add_to_room(command: AddToRoom, order: Order) -> Told:
    """Save into the list of this room's persona, the same way."""
    return await _save(command.text, order, order.here)


async def _save(wording: str, order: Order, owner: Address) -> Told:
    """Save and tell. A command searches nothing, so only the new text's own vector tells whether search works (D10)."""
    caller, settings = order.caller, order.memory
    text = checked_text(wording)
    request = SaveMemory(
        text=text,
        source=Source.COMMAND,
        origin=Origin(order.room_id, caller.event_id, caller.direct),
        conversation=caller.conversation,
        settings=settings,
        effect=order.effect,
        vector=await vector_of(text, order.embedder, settings),
        heard=caller.heard,
    )
    saved = await order.system.ask(owner, request)
    told = answer(order.say, saved, settings.notices, private=caller.conversation.private)
    return Told(told.room, private=told.private)
