"""What the owner of lists does with single memories on request: the same for a user's and a room's.

Each change is one transaction that records its result under its effect key, so that a replay repeats none; what is
loaded follows after the commit. What takes something away is kept for `undo` in the same transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from actors.lists import Lists
from actors.memory_messages import MadeGlobal, MakeGlobal, Marked, MarkMemories, ShowMemory, UndoLast
from actors.messages import (
    Deleted,
    DeleteMemories,
    Edited,
    EditMemory,
    EffectKey,
    ListMemories,
    MemoryListing,
    OfMemories,
)
from actors.parts import Parts
from actors.store import Tables
from memory.capacity import refuse_too_many_global
from memory.errors import Refused
from memory.marking import applies, marked
from memory.text import canonical, checked_text
from memory.types import Conversation, ListKey, Memory, Privacy, ScopeKind
from memory.undo import KEPT_FOR, Taken, restoration
from memory.visibility import Place, View, listed, usable
from memory.words import Heard


class MemoryDesk:
    """Answers requests about the memories of one user or room."""

    def __init__(self, kind: ScopeKind, owner: str, parts: Parts, lists: Lists, privacy: Callable[[], Privacy]) -> None:
        """`kind`: ROOM or PERSONAL; `owner`: the id of the room or user; `privacy`: tells the owner's level now."""
        self._kind = kind
        self._owner = owner
        self._parts = parts
        self._lists = lists
        self._privacy = privacy

    async def answer(self, request: OfMemories[object]) -> object:
        """Answer one request. Raises Refused."""
        match request:
            case ListMemories() | ShowMemory():
                return await self._look(request)
            case DeleteMemories():
                return await self._delete(request)
            case EditMemory():
                return await self._edit(request)
            case MarkMemories() | MakeGlobal():
                return await self._change(request)
            case UndoLast():
                return await self._undo(request)
        raise TypeError(f"not a request about memories: {type(request).__name__}")

    # --- looking ----------------------------------------------------------------------------------------------------

    async def _look(self, request: ListMemories | ShowMemory) -> object:
        if isinstance(request, ShowMemory):
            return await self._show(request)
        return await self._listing(request.conversation, request.heard)

    async def _listing(self, conversation: Conversation, heard: Heard) -> MemoryListing:
        """List a user's memories over all personas, or a room's of the current one (D18)."""
        async with self._parts.store.transaction() as tables:
            if self._kind is ScopeKind.ROOM:
                everything = await tables.memories.of_list(ListKey(self._kind, self._owner, conversation.persona))
            else:
                everything = await tables.memories.of_user(self._owner)
        return MemoryListing(*listed(everything, self._view(conversation, heard)))

    async def _show(self, request: ShowMemory) -> Memory:
        persona = request.conversation.persona if self._kind is ScopeKind.ROOM else None
        async with self._parts.store.transaction() as tables:
            own = await self._own(tables, (request.memory_id,), persona)
        if not own:
            raise self._unknown(request.memory_id)
        if not usable(own[0], self._view(request.conversation, request.heard), Place.LIST):
            hidden = "room-memory-hidden" if self._kind is ScopeKind.ROOM else "memory-hidden"
            raise Refused(hidden, id=str(request.memory_id))
        return own[0]

    def _view(self, conversation: Conversation, heard: Heard) -> View:
        return View(conversation, self._parts.settings.memory(conversation.room_id), self._privacy(), heard)

    # --- taking away and bringing back ------------------------------------------------------------------------------

    async def _delete(self, request: DeleteMemories) -> Deleted:
        effect = request.effect
        async with self._parts.store.transaction() as tables:
            recorded = await _recorded(tables, effect)
            if recorded is not None:
                return Deleted(*map(tuple, recorded))
            done, unknown = await self._sorted(tables, request.ids, request.persona)
            if done:
                taken = Taken(await tables.undo.as_they_are(done))
                await tables.memories.delete(done)
                await tables.undo.keep(self._owner, effect.event_id, self._parts.clock.now(), taken)
            await _record(tables, effect, [done, unknown])
        self._lists.drop(done)
        self._parts.metrics.memories("deleted", len(done))
        return Deleted(done, unknown)

    async def _edit(self, request: EditMemory) -> Edited:
        """Rewrite one memory (D11). A replay answers what the first try did, whatever happened since."""
        effect, wording, now = request.effect, checked_text(request.text), self._parts.clock.now()
        async with self._parts.store.transaction() as tables:
            if await _recorded(tables, effect) is not None:
                return Edited(request.memory_id, wording)
            if not await self._own(tables, (request.memory_id,), request.persona):
                raise self._unknown(request.memory_id)
            was = await tables.undo.as_they_are((request.memory_id,))
            edited = await tables.memories.edit(request.memory_id, wording, now)
            await tables.undo.keep(self._owner, effect.event_id, now, Taken(was, (edited,)))
            await _record(tables, effect, request.memory_id)
        self._lists.replace(edited)
        return Edited(edited.id, edited.text)

    async def _undo(self, request: UndoLast) -> tuple[int, ...]:
        effect, now = request.effect, self._parts.clock.now()
        async with self._parts.store.transaction() as tables:
            recorded = await _recorded(tables, effect)
            if recorded is not None:
                return tuple(recorded)
            taken = await tables.undo.take(self._owner, now - KEPT_FOR)
            if taken is None or not all(self._is_own(kept.memory, request.persona) for kept in taken.was):
                raise Refused("undo-nothing" if self._kind is ScopeKind.PERSONAL else "room-undo-nothing")
            step = restoration(taken, await tables.memories.get([left.id for left in taken.now]))
            await tables.memories.delete(step.gone)
            await tables.memories.restore(step.back)
            for kept in step.reworded:
                await tables.memories.reword(kept)
            ids = tuple(sorted(kept.memory.id for kept in taken.was))
            await _record(tables, effect, ids)
        self._lists.drop(step.gone)
        await self._lists.revise(kept.memory for kept in (*step.back, *step.reworded))
        return ids

    # --- marking ----------------------------------------------------------------------------------------------------

    async def _change(self, request: MarkMemories | MakeGlobal) -> object:
        return await (self._mark(request) if isinstance(request, MarkMemories) else self._make_global(request))

    async def _mark(self, request: MarkMemories) -> Marked:
        async with self._parts.store.transaction() as tables:
            recorded = await _recorded(tables, request.effect)
            if recorded is not None:
                return Marked(*map(tuple, recorded))
            own, unknown = await self._sorted(tables, request.ids, None)
            found = {memory.id: memory for memory in await tables.memories.get(own)}
            meant = [found[each] for each in own if applies(found[each], request.mark)]
            changed = [marked(memory, request.mark) for memory in meant]
            for memory in changed:
                await tables.memories.set_visibility(memory)
            done = tuple(memory.id for memory in changed)
            result = Marked(done, tuple(each for each in own if each not in done), unknown)
            await _record(tables, request.effect, [result.done, result.needless, result.unknown])
        await self._lists.revise(changed)
        return result

    async def _make_global(self, request: MakeGlobal) -> MadeGlobal:
        async with self._parts.store.transaction() as tables:
            recorded = await _recorded(tables, request.effect)
            if recorded is not None:
                done, equal, unknown = recorded
                return MadeGlobal(tuple(done), tuple((one, other) for one, other in equal), tuple(unknown))
            own, unknown = await self._sorted(tables, request.ids, None)
            made, equal = await self._globals(tables, own)
            refused = {one for one, _ in equal}
            result = MadeGlobal(tuple(each for each in own if each not in refused), equal, unknown)
            await _record(tables, request.effect, [result.done, result.equal, result.unknown])
        await self._lists.revise(made)
        return result

    async def _globals(
        self, tables: Tables, ids: Iterable[int]
    ) -> tuple[tuple[Memory, ...], tuple[tuple[int, int], ...]]:
        """Make own memories global; return those made, and ids with the global one that says the same already.

        Raises Refused where that would be too many.
        """
        everything = {memory.id: memory for memory in await tables.memories.of_user(self._owner)}
        says = {canonical(each.text): each.id for each in everything.values() if each.scope is ScopeKind.GLOBAL}
        made, equal = [], []
        for memory_id in ids:
            if everything[memory_id].scope is ScopeKind.GLOBAL:
                continue
            other = says.setdefault(canonical(everything[memory_id].text), memory_id)
            if other == memory_id:
                made.append(await tables.memories.make_global(memory_id))
            else:
                equal.append((memory_id, other))
        if made:
            refuse_too_many_global(len(made) + sum(each.scope is ScopeKind.GLOBAL for each in everything.values()))
        return tuple(made), tuple(equal)

    # --- whose ------------------------------------------------------------------------------------------------------

    async def _sorted(
        self, tables: Tables, ids: tuple[int, ...], persona: str | None
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return which of the ids are the owner's and which are not, each once and as they were given."""
        own = {memory.id for memory in await self._own(tables, ids, persona)}
        wanted = tuple(dict.fromkeys(ids))
        return tuple(each for each in wanted if each in own), tuple(each for each in wanted if each not in own)

    async def _own(self, tables: Tables, ids: tuple[int, ...], persona: str | None) -> tuple[Memory, ...]:
        return tuple(memory for memory in await tables.memories.get(ids) if self._is_own(memory, persona))

    def _is_own(self, memory: Memory, persona: str | None) -> bool:
        """Whether a memory is this owner's; a room's only in the list of the persona that was named."""
        if (memory.scope is ScopeKind.ROOM) != (self._kind is ScopeKind.ROOM) or memory.scope_id != self._owner:
            return False
        return persona is None or memory.persona == persona

    def _unknown(self, memory_id: int) -> Refused:
        text_id = "memory-unknown" if self._kind is ScopeKind.PERSONAL else "room-memory-unknown"
        return Refused(text_id, id=str(memory_id))


async def _recorded(tables: Tables, effect: EffectKey) -> Any:
    """Return the recorded result of an effect, None when there is none: it was not carried out yet."""
    recorded = await tables.effects.recorded(effect.event_id, effect.call)
    return None if recorded is None else json.loads(recorded)


async def _record(tables: Tables, effect: EffectKey, result: object) -> None:
    await tables.effects.record(effect.event_id, effect.call, json.dumps(result))
