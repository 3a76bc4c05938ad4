"""`!privacy` and `!forget`: what the bot may do with what somebody says, and a conversation begun anew."""

from __future__ import annotations

from actors.context_messages import ForgetContext, ReadPrivacy, SetPrivacy
from commands.context_arguments import Forget, PrivacyLevel
from commands.order import Handlers, Order
from memory.types import Privacy
from memory.visibility import blacklisted

handlers = Handlers()

_MEANING = {  # ids of texts
    Privacy.OPEN: "privacy-open",
    Privacy.NO_MEMORY: "privacy-no-memory",
    Privacy.SILENT: "privacy-silent",
}


@handlers.on(PrivacyLevel)
async def privacy(command: PrivacyLevel, order: Order) -> str:
    """Set the caller's level, and say which one it is and what it means."""
    if command.level is None:
        level = await order.system.ask(order.me, ReadPrivacy())
    else:
        level = command.level
        await order.system.ask(order.me, SetPrivacy(level, order.effect))
    say = order.say
    parts = [say(_MEANING[level])]
    if blacklisted(order.caller.user_id, order.memory):
        parts.append(say("privacy-blacklisted"))
    if level is not Privacy.OPEN:
        parts.append(say("privacy-stays"))
    if command.level is None:
        parts.append(say("privacy-change"))
    return " ".join(parts)


@handlers.on(Forget)
async def forget(command: Forget, order: Order) -> str:
    """Drop the context of this room and of the caller everywhere; memories stay."""
    await order.system.ask(order.here, ForgetContext(order.caller.user_id, order.effect))
    return order.say("context-forgotten")
