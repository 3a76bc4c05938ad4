"""What a privacy level and `!forget` change besides memory itself: what stands in conversation windows."""

from __future__ import annotations

from actors.context_messages import ForgetContext, LeftContext, SetPersona, SetPrivacy
from actors.lanes import Job
from actors.parts import Parts
from actors.runtime import ActorSystem
from memory.types import Privacy


async def set_level(user_id: str, request: SetPrivacy, parts: Parts) -> int | None:
    """Store a privacy level and that nothing said up to the command is learned any more (P20).

    Of somebody silent nothing said before stays in any window either, and every scene ends. Returns the command's
    journal number, None where nothing follows from it: the level was the same and is not silent, or this is a replay.
    """
    effect, level = request.effect, request.level
    async with parts.store.transaction() as tables:
        if await tables.effects.recorded(effect.event_id, effect.call) is not None:
            return None
        before = await tables.users.privacy(user_id)
        await tables.effects.record(effect.event_id, effect.call, level.value)
        if before is level and level is not Privacy.SILENT:  # which may have failed to reach every room the first time
            return None
        await tables.users.set_privacy(user_id, level)
        if level is Privacy.SILENT:
            await tables.journal.leave_context(effect.event_id, sender=user_id)
            await tables.scenes.end_of(user_id)
        return await tables.users.forget_through(user_id, effect.event_id)


async def forget_context(room_id: str, request: ForgetContext, parts: Parts) -> int:
    """Take a room's turns and the caller's in every room out of the context, and end the caller's scenes; return the
    command's journal number.
    """
    effect = request.effect
    async with parts.store.transaction() as tables:
        recorded = await tables.effects.recorded(effect.event_id, effect.call)
        if recorded is not None:
            return int(recorded)
        through = await tables.journal.leave_context(effect.event_id, room_id=room_id, sender=request.user_id)
        await tables.scenes.end_of(request.user_id)
        await tables.effects.record(effect.event_id, effect.call, str(through))
    return through


async def set_persona(room_id: str, request: SetPersona, parts: Parts) -> str:
    """Store a room's persona once for its effect key; return which one is current now."""
    effect = request.effect
    async with parts.store.transaction() as tables:
        if await tables.effects.recorded(effect.event_id, effect.call) is not None:
            return await tables.rooms.persona(room_id)
        await tables.rooms.set_persona(room_id, request.persona)
        await tables.effects.record(effect.event_id, effect.call, request.persona)
    return request.persona


async def tell_rooms(system: ActorSystem, left: LeftContext) -> None:
    """Tell every loaded room; one that is loaded later reads it in the journal. A task of its own: rooms tell users."""
    for address in system.loaded("room"):
        await system.tell(address, left)


async def is_silent(user_id: str, parts: Parts) -> bool:
    """Whether a person is not to be answered now."""
    async with parts.store.transaction() as tables:
        return bool(await tables.users.silent((user_id,)))


def said_before(job: Job, through: int, user_id: str | None) -> bool:
    """Whether a job is of what was said before a journal number, by this person where one is named."""
    return job.entry.seq < through and user_id in {None, job.entry.incoming.sender}
