"""`!persona`: who the bot is in this room."""

from __future__ import annotations

from actors.context_messages import SetPersona
from commands.context_arguments import RoomPersona
from commands.memory_texts import named
from commands.order import Handlers, Order
from commands.table import MODERATORS
from memory.errors import Refused

handlers = Handlers()


@handlers.on(RoomPersona)
async def persona(command: RoomPersona, order: Order) -> str:
    """Show the room's persona and the others there are, or make another one the current one.

    Changing it is for who may change the room's state, and for whoever is alone with the bot. Raises Refused.
    """
    say, caller = order.say, order.caller
    names = order.settings.personas()
    listed = ", ".join(f"`{name}`" for name in names)
    if command.name is None:
        return say("persona-current", name=f"`{caller.conversation.persona}`", names=listed)
    if not (MODERATORS.allows(caller) or caller.conversation.private):
        raise Refused("command-not-allowed", who=say(MODERATORS.label))
    wanted = next((name for name in names if name.casefold() == command.name.casefold()), None)
    if wanted is None:
        raise Refused("persona-unknown", name=named(say, (command.name,)), names=listed)
    await order.system.ask(order.here, SetPersona(wanted, order.effect))
    return say("persona-set", name=f"`{wanted}`")
