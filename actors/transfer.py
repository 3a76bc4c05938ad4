"""A user's memories out of the database as a whole, and into it: whole or not at all (D11)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from actors.lists import Lists
from actors.messages import EffectKey, Request
from actors.parts import Parts
from actors.saving import refuse_unless_learnable
from memory import transfer
from memory.transfer_entry import Item
from memory.types import Conversation, Memory, Privacy
from memory.visibility import Place, View, usable


@dataclass(frozen=True, slots=True)
class Exported:
    """Everything a user owns, by id, and the moment it was read."""

    memories: tuple[Memory, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class ExportMemories(Request[Exported]):
    """Return what the user is shown alone with the bot, whatever hides it elsewhere (D8); no candidates (P19)."""

    room_id: str


@dataclass(frozen=True, slots=True)
class Imported:
    """How many memories were saved, and how many of the file were there already."""

    saved: int
    there: int


@dataclass(frozen=True, slots=True)
class FindImport(Request[Imported | None]):
    """Return what an import did, None where it was not carried out yet."""

    effect: EffectKey


@dataclass(frozen=True, slots=True)
class ImportMemories(Request[Imported]):
    """Save all of these that are not there yet, or refuse (D11). `room_id`: where the import was asked for.

    Raises Refused.
    """

    items: tuple[Item, ...]
    room_id: str
    effect: EffectKey


TransferRequest = ExportMemories | FindImport | ImportMemories


class Transfer:
    """Answers these requests for one user."""

    def __init__(self, user_id: str, parts: Parts, lists: Lists, privacy: Callable[[], Privacy]) -> None:
        self._user_id = user_id
        self._parts = parts
        self._lists = lists
        self._privacy = privacy

    async def answer(self, request: TransferRequest) -> Exported | Imported | None:
        """Answer one request. Raises Refused."""
        match request:
            case ExportMemories(room_id):
                return await self._export(room_id)
            case FindImport(effect):
                return await self._find(effect)
            case ImportMemories():
                return await self._import(request)

    async def _export(self, room_id: str) -> Exported:
        alone = Conversation(room_id, private=True, asker=self._user_id)
        view = View(alone, self._parts.settings.memory(room_id), self._privacy())
        async with self._parts.store.transaction() as tables:
            everything = await tables.memories.of_user(self._user_id)
        memories = tuple(memory for memory in everything if usable(memory, view, Place.EXPORT))
        return Exported(memories, self._parts.clock.now())

    async def _find(self, effect: EffectKey) -> Imported | None:
        async with self._parts.store.transaction() as tables:
            recorded = await tables.effects.recorded(effect.event_id, effect.call)
        return None if recorded is None else Imported(*json.loads(recorded))

    async def _import(self, request: ImportMemories) -> Imported:
        effect, now = request.effect, self._parts.clock.now()
        settings = self._parts.settings.memory(request.room_id)
        async with self._parts.store.transaction() as tables:
            recorded = await tables.effects.recorded(effect.event_id, effect.call)
            if recorded is not None:
                return Imported(*json.loads(recorded))
            refuse_unless_learnable(self._user_id, self._privacy(), settings)
            existing = await tables.memories.of_user(self._user_id)
            items, there = transfer.new_ones(request.items, existing, settings)
            drafts = [transfer.draft_of(i, self._user_id, request.room_id, effect.event_id, now) for i in items]
            saved = [await tables.memories.insert(draft, now) for draft in drafts]
            await tables.effects.record(effect.event_id, effect.call, json.dumps([len(saved), there]))
        for owned in self._lists.loaded:
            await self._lists.add(owned.key, [memory for memory in saved if owned.takes(memory)])
        self._parts.metrics.memories("saved", len(saved))
        return Imported(len(saved), there)
