"""`!verse`: a scene that goes on from message to message, and how it ends. One turn alone is none of this."""

from __future__ import annotations

from datetime import timedelta

from actors.scenes import CloseScene, OpenScene, ReadScene
from commands.order import Handlers, Order
from commands.scene_values import BeginScene, EndScene, ShowScene
from memory.errors import Refused
from memory.settings import KindSettings

handlers = Handlers()


@handlers.on(BeginScene)
async def begin(command: BeginScene, order: Order) -> str:
    """Take what the caller writes here for part of a scene from now on. Raises Refused."""
    minutes = _switched_on(order).verse_minutes
    where, caller = order.room_id, order.caller
    await order.system.ask(order.me, OpenScene(where, caller.thread_root, timedelta(minutes=minutes), order.effect))
    return order.say("verse-on-direct", n=minutes) if caller.direct else order.say("verse-on", n=minutes)


@handlers.on(EndScene)
async def end(command: EndScene, order: Order) -> str:
    """End the caller's scene here. Raises Refused."""
    _switched_on(order)
    ended = await order.system.ask(order.me, CloseScene(order.room_id, order.caller.thread_root, order.effect))
    return order.say("verse-ended") if ended else order.say("verse-none")


@handlers.on(ShowScene)
async def show(command: ShowScene, order: Order) -> str:
    """Say whether the caller is in a scene here, and until when. Raises Refused."""
    _switched_on(order)
    left = await order.system.ask(order.me, ReadScene(order.room_id, order.caller.thread_root))
    if left is None:
        return order.say("verse-none")
    return order.say("verse-left", n=max(1, -(-left // timedelta(minutes=1))))


def _switched_on(order: Order) -> KindSettings:
    """Return the settings of a room with scenes. Raises Refused for one without."""
    settings = order.settings.kinds(order.room_id)
    if not settings.verse_enabled:
        raise Refused("verse-off")
    return settings
