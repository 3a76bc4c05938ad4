"""`!memories`: each form asks the caller's user actor, so nobody can name another person's memories."""

from __future__ import annotations

from actors.actor import Address
from actors.messages import ClearMemories, DeleteMemories, EditMemory, EffectKey, ListMemories
from commands import texts
from commands.ports import System
from commands.values import DeleteMine, EditMine
from memory.events import Caller
from memory.settings import MemorySettings
from texts.catalogue import Speaker


async def show(say: Speaker, caller: Caller, system: System, settings: MemorySettings) -> str:
    """List the caller's memories usable here and count the others (D18)."""
    found = await system.ask(_actor(caller), ListMemories(caller.conversation))
    return texts.listing(say, found.shown, found.hidden, settings)


async def delete(say: Speaker, command: DeleteMine, caller: Caller, system: System) -> str:
    """Delete what can be deleted and name the rest."""
    if not command.ids:
        return texts.deleted(say, (), command.wrong)
    result = await system.ask(_actor(caller), DeleteMemories(command.ids, _effect(caller)))
    return texts.deleted(say, result.done, (*(f"#{each}" for each in result.unknown), *command.wrong))


async def edit(say: Speaker, command: EditMine, caller: Caller, system: System) -> str:
    """Rewrite one memory, which protects it (D11). Raises Refused."""
    request = EditMemory(command.memory_id, command.text, _effect(caller))
    return texts.edited(say, await system.ask(_actor(caller), request))


async def clear(say: Speaker, caller: Caller, system: System, settings: MemorySettings) -> str:
    """Delete every durable memory of the caller (D18)."""
    count = await system.ask(_actor(caller), ClearMemories(_effect(caller)))
    return texts.cleared(say, count, settings)


def _actor(caller: Caller) -> Address:
    return Address("user", caller.user_id)


def _effect(caller: Caller) -> EffectKey:
    return EffectKey(caller.event_id)
