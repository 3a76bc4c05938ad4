"""One actor per Matrix user: owns the user's lists and candidates, and runs the user's passes in turn order (P20)."""

from __future__ import annotations

import json

from actors.messages import (
    ClearMemories,
    Deleted,
    DeleteMemories,
    EditMemory,
    EffectKey,
    ListMemories,
    MemoryListing,
    PassAnswered,
    TakenBack,
    TurnBegan,
    TurnOver,
)
from actors.owner import ListOwner
from actors.parts import Parts
from actors.passes import PassQueue
from actors.runtime import Context
from actors.store import Tables
from memory.errors import Refused
from memory.text import checked_text
from memory.types import Conversation, Memory, ScopeKind
from memory.visibility import View, listed
from memory.words import Heard


class UserActor(ListOwner):
    """Serialises everything that changes one user's memories and candidates."""

    kind = ScopeKind.PERSONAL

    def __init__(self, context: Context, parts: Parts) -> None:
        super().__init__(context, parts)
        self.user_id = context.address.name
        self._passes = PassQueue(self.user_id, parts, self.lists, context.spawn, lambda: self.privacy)

    async def load(self) -> None:
        """Read the privacy level, and take up the passes that an earlier run or instance left undone."""
        async with self.parts.store.transaction() as tables:
            self.privacy = await tables.users.privacy(self.user_id)
        await self._passes.load()

    async def handle(self, message: object) -> object | None:
        """Dispatch one message; see actors/messages.py for what each means."""
        match message:
            case ListMemories(conversation, heard):
                return await self._listing(conversation, heard)
            case DeleteMemories(ids, effect):
                return await self._delete(ids, effect)
            case EditMemory(memory_id, text, effect):
                return await self._edit(memory_id, text, effect)
            case ClearMemories(effect):
                return await self._clear(effect)
            case TurnBegan(seq, event_id):
                self._passes.began(seq, event_id)
            case TurnOver(seq, event_id, exchange):
                await self._passes.over(seq, event_id, exchange)
            case PassAnswered():
                await self._passes.answered(message)
            case TakenBack(event_id):
                await self._take_back(event_id)
            case _:
                return await super().handle(message)
        return None

    async def _listing(self, conversation: Conversation, heard: Heard) -> MemoryListing:
        settings = self.parts.settings.memory(conversation.room_id)
        async with self.parts.store.transaction() as tables:
            everything = await tables.memories.of_user(self.user_id)
        return MemoryListing(*listed(everything, View(conversation, settings, self.privacy, heard)))

    async def _delete(self, ids: tuple[int, ...], effect: EffectKey) -> Deleted:
        async with self.parts.store.transaction() as tables:
            recorded = await tables.effects.recorded(effect.event_id, effect.call)
            if recorded is not None:
                done, unknown = json.loads(recorded)
                return Deleted(tuple(done), tuple(unknown))
            own = {memory.id for memory in await self._own(tables, ids)}
            wanted = tuple(dict.fromkeys(ids))
            result = Deleted(
                tuple(each for each in wanted if each in own), tuple(each for each in wanted if each not in own)
            )
            await tables.memories.delete(result.done)
            await tables.effects.record(effect.event_id, effect.call, json.dumps([result.done, result.unknown]))
        self.lists.drop(result.done)
        self.parts.metrics.memories("deleted", len(result.done))
        return result

    async def _edit(self, memory_id: int, text: str, effect: EffectKey) -> Memory:
        wording = checked_text(text)
        async with self.parts.store.transaction() as tables:
            own = await self._own(tables, (memory_id,))
            if not own:
                raise Refused("memory-unknown", id=str(memory_id))
            if await tables.effects.recorded(effect.event_id, effect.call) is not None:
                return own[0]
            edited = await tables.memories.edit(memory_id, wording, self.parts.clock.now())
            await tables.effects.record(effect.event_id, effect.call, str(memory_id))
        self.lists.replace(edited)
        return edited

    async def _clear(self, effect: EffectKey) -> int:
        async with self.parts.store.transaction() as tables:
            recorded = await tables.effects.recorded(effect.event_id, effect.call)
            if recorded is not None:
                return int(recorded)
            ids = [memory.id for memory in await tables.memories.of_user(self.user_id)]
            await tables.memories.delete(ids)
            await tables.effects.record(effect.event_id, effect.call, str(len(ids)))
            through = await tables.users.forget_through(self.user_id, effect.event_id)
        self.lists.drop(ids)
        self.parts.metrics.memories("deleted", len(ids))
        await self._passes.forget_through(through)
        return len(ids)

    async def _take_back(self, event_id: str) -> None:
        async with self.parts.store.transaction() as tables:
            _, deleted = await tables.candidates.take_back(event_id)
        self.lists.drop(deleted)
        await self._passes.drop(event_id)

    async def _own(self, tables: Tables, ids: tuple[int, ...]) -> tuple[Memory, ...]:
        """Return those of the ids that are this user's; nobody else's memories can be told from missing ones."""
        return tuple(
            memory
            for memory in await tables.memories.get(ids)
            if memory.scope is not ScopeKind.ROOM and memory.scope_id == self.user_id
        )
