"""`!memories`: each form asks the caller's user actor, so nobody can name another person's memories."""

from __future__ import annotations

from actors.messages import ClearMemories, DeleteMemories, EditMemory, EffectKey, ListMemories
from actors.actor import Address
from commands import texts
from commands.ports import System
from commands.values import DeleteMine, EditMine
from memory.decay import rest_after
from memory.events import Caller
from memory.settings import MemorySettings


async def show(caller: Caller, system: System, settings: MemorySettings) -> str:
    """List the caller's memories usable here and count the others (D18)."""
    found = await system.ask(_actor(caller), ListMemories(caller.conversation))
    return texts.listing(found.shown, found.hidden, rest_after(settings))


async def delete(command: DeleteMine, caller: Caller, system: System) -> str:
    """Delete what can be deleted and name the rest."""
    if not command.ids:
        return texts.deleted((), command.wrong)
    result = await system.ask(_actor(caller), DeleteMemories(command.ids, _effect(caller)))
    return texts.deleted(result.done, (*(f"#{each}" for each in result.unknown), *command.wrong))


async def edit(command: EditMine, caller: Caller, system: System) -> str:
    """Rewrite one memory, which protects it (D11). Raises Refused."""
    return texts.edited(await system.ask(_actor(caller), EditMemory(command.memory_id, command.text, _effect(caller))))


async def clear(caller: Caller, system: System) -> str:
    """Delete every durable memory of the caller (D18)."""
    return texts.cleared(await system.ask(_actor(caller), ClearMemories(_effect(caller))))


def _actor(caller: Caller) -> Address:
    return Address("user", caller.user_id)


def _effect(caller: Caller) -> EffectKey:
    return EffectKey(caller.event_id)
