"""`!config`: shows settings and sets them while the bot runs. Admins may everything; whoever may change the state of a
room may set what that room has of its own.
"""

from __future__ import annotations

from commands import config_texts
from commands.config_arguments import ConfigAll, ConfigChosen, ConfigReset, ConfigSet, ConfigShow
from commands.order import Handlers, Order
from commands.ports import Configuring, ResetSetting, SetSetting, ShownSetting
from commands.table import ADMINS
from memory.errors import Refused

handlers = Handlers()


@handlers.on(ConfigChosen)
async def choices(command: ConfigChosen, order: Order) -> str:
    """Say what is set in chat. Raises Refused."""
    config = _config(order, room=command.room)
    said = config_texts.chosen(order.say, config.chosen(order.room_id), room=command.room)
    if not command.room:
        return said
    every = config.everything(order.room_id)
    own = [one.key for one in every if one.room and one.settable and (order.caller.admin or not one.admins)]
    return f"{said} {config_texts.of_room(order.say, own)}"


@handlers.on(ConfigAll)
async def everything(command: ConfigAll, order: Order) -> str:
    """List every setting. Raises Refused."""
    return config_texts.everything(order.say, _config(order).everything(order.room_id))


@handlers.on(ConfigShow)
async def show(command: ConfigShow, order: Order) -> str:
    """Show one setting as it holds here. Raises Refused."""
    setting = _config(order, room=command.room).show(command.key, order.room_id)
    if command.room:
        _require_of_room(setting, order)
    return config_texts.shown(order.say, setting)


@handlers.on(ConfigSet)
async def put(command: ConfigSet, order: Order) -> str:
    """Set a value. Raises Refused."""
    config = _config(order, room=command.room)
    if command.room:
        _may_set_here(config.show(command.key, order.room_id), order)
    change = SetSetting(command.key, order.room_id, not command.room, order.effect, command.text)
    return config_texts.was_set(order.say, await config.set(change), room=command.room)


@handlers.on(ConfigReset)
async def reset(command: ConfigReset, order: Order) -> str:
    """Let what holds without it hold again. Raises Refused."""
    config = _config(order, room=command.room)
    if command.room and not order.caller.admin:  # an admin may also take away what rooms cannot have any more
        _may_set_here(config.show(command.key, order.room_id), order)
    change = ResetSetting(command.key, order.room_id, not command.room, order.effect)
    return config_texts.was_reset(order.say, await config.reset(change))


def _config(order: Order, *, room: bool = False) -> Configuring:
    """Return what settings are set with. Raises Refused for callers who may not."""
    if not (order.caller.admin or (room and order.caller.changes_state)):
        raise _for_admins(order) if room else Refused("config-for-admins", who=order.say(ADMINS.label))
    if order.config is None:
        raise config_texts.nowhere()
    return order.config


def _require_of_room(setting: ShownSetting, order: Order) -> None:
    if not setting.room:
        raise config_texts.not_of_room(setting.key)


def _may_set_here(setting: ShownSetting, order: Order) -> None:
    """Raise Refused where a room has no own value, or where its own people are not to choose it (D8, P1)."""
    _require_of_room(setting, order)
    if setting.admins and not order.caller.admin:
        raise _for_admins(order)


def _for_admins(order: Order) -> Refused:
    return Refused("command-not-allowed", who=order.say(ADMINS.label))
