"""Explicit saves into a list, the same for a user's and a room's (P16, P18, D9-D11)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime

from actors.lists import Lists, MemoryList
from actors.messages import SaveMemory
from actors.parts import Parts
from actors.ports import Embedder, Vector
from actors.store import Tables
from memory.capacity import Named, Saved, to_forget
from memory.errors import EmbeddingError, Refused
from memory.settings import MemorySettings
from memory.text import canonical
from memory.types import Draft, Memory, Privacy, ScopeKind, Settlement, Source
from memory.visibility import Place, View, blacklisted, may_learn, usable

log = logging.getLogger(__name__)


async def vector_of(text: str, embedder: Embedder | None, settings: MemorySettings) -> Vector | None:
    """Embed what is to be saved, outside the mailbox. None: it cannot be (D10, D17), or decay is off (D13)."""
    if embedder is None or not settings.decay_enabled:
        return None
    try:
        vector: Vector = (await embedder.embed([text]))[0]
    except EmbeddingError as error:
        log.warning("what is to be saved cannot be embedded now: %s", error)
        return None
    return vector


def refuse_unless_learnable(owner: str, privacy: Privacy, settings: MemorySettings) -> None:
    """Raise Refused, saying what would have to change, where nothing of this person or room is to be kept (D8, P1)."""
    if may_learn(owner, privacy, settings):
        return
    if blacklisted(owner, settings):
        raise Refused("save-blacklisted")
    raise Refused("save-not-open")


@dataclass(frozen=True, slots=True)
class _Done:
    """What a save changed in the database. matched: the equal text counted as used (D3)."""

    saved: Saved
    inserted: Memory | None = None
    matched: Settlement | None = None
    protected: Memory | None = None


class Saving:
    """Saves into one list; its actor makes one for each request."""

    def __init__(self, owned: MemoryList, lists: Lists, parts: Parts, privacy: Privacy) -> None:
        """`privacy`: the level of the list's owner; a room's is OPEN."""
        self._owned = owned
        self._lists = lists
        self._parts = parts
        self._privacy = privacy

    async def save(self, request: SaveMemory) -> Saved:
        """Save a text once for its effect key, forgetting at most one memory for it in the same transaction (D9).

        Equal text in the same list and visibility is a match instead (P16). Raises Refused where nothing may be kept,
        or when the list is full and nothing on it may be forgotten (D10).
        """
        effect, now = request.effect, request.now or self._parts.clock.now()
        async with self._parts.store.transaction() as tables:
            recorded = await tables.effects.recorded(effect.event_id, effect.call)
            if recorded is not None:
                return read_saved(recorded)
            refuse_unless_learnable(self._owned.key.owner, self._privacy, request.settings)
            in_list = await tables.memories.of_list(self._owned.key)
            equal = _equal(in_list, request)
            if equal is not None:
                done = await self._match(tables, equal, request, now)
            else:
                done = await self._insert(tables, in_list, request, now)
            await tables.effects.record(effect.event_id, effect.call, _written(done.saved))
        await self._follow(done, request.vector)
        return done.saved

    async def _match(self, tables: Tables, equal: Memory, request: SaveMemory, now: datetime) -> _Done:
        """Count what is there as used (D3) and, if a person added it by hand, protect it (D11)."""
        matched = protected = None
        if request.settings.decay_enabled and self._parts.embedder is not None:  # else counters are frozen (D13)
            # A turn has one date; what turns beside it have settled for the day after stays settled (D4, D16).
            settled = equal.counted_on <= self._parts.clock.now().date()
            matched = Settlement(now, max(now.date(), equal.counted_on) if settled else now.date(), used=(equal.id,))
            await tables.memories.settle(matched)
        if request.source is Source.COMMAND and not equal.protected:
            protected = await tables.memories.protect(equal.id)
        saved = Saved(
            Named(equal.id, equal.text, shown=True),  # the very text that was given here
            new=False,
            protected=protected is not None,
            of_room=self._owned.key.kind is ScopeKind.ROOM,
            in_private=request.conversation.private,
        )
        return _Done(saved, matched=matched, protected=protected)

    async def _insert(self, tables: Tables, in_list: Iterable[Memory], request: SaveMemory, now: datetime) -> _Done:
        key = self._owned.key
        searchable = request.searched and request.vector is not None
        forgotten = to_forget(key.kind, in_list, request.settings, searchable=searchable)
        if forgotten is not None:
            await tables.memories.delete((forgotten.id,))
        draft = Draft(
            scope=key.kind,
            scope_id=key.owner,
            persona=key.persona,
            text=request.text,
            source=request.source,
            origin=request.origin,
            first_seen=now,
            protected=request.source is Source.COMMAND,
        )
        memory = await tables.memories.insert(draft, now)
        embedder = self._parts.embedder
        if embedder is not None and request.vector is not None:
            await tables.memories.put_vectors(embedder.model_id, ((memory.id, memory.text, request.vector),))
        saved = Saved(
            self._named(memory, request),
            of_room=key.kind is ScopeKind.ROOM,
            forgotten=None if forgotten is None else self._named(forgotten, request),
            in_private=request.conversation.private,
        )
        return _Done(saved, inserted=memory)

    def _named(self, memory: Memory, request: SaveMemory) -> Named:
        view = View(request.conversation, request.settings, self._privacy, request.heard)
        return Named(memory.id, memory.text, usable(memory, view, Place.NOTICE))

    async def _follow(self, done: _Done, vector: Vector | None) -> None:
        """Bring what is loaded to what was committed."""
        if done.matched is not None:
            self._lists.follow(done.matched)
        if done.protected is not None:
            await self._lists.revise((done.protected,))
        if done.saved.forgotten is not None:
            self._lists.drop((done.saved.forgotten.id,))
            self._parts.metrics.memories("forgotten", 1)
        if done.inserted is not None:
            memory = done.inserted
            vectors = () if vector is None else ((memory.id, memory.text, vector),)
            await self._lists.add(self._owned.key, (memory,), vectors)
            self._parts.metrics.memories("saved", 1)


def _equal(in_list: Iterable[Memory], request: SaveMemory) -> Memory | None:
    """Return the memory of the list with an equal text (P9) and the visibility of what is saved, lowest id first."""
    wanted = canonical(request.text)
    for memory in in_list:
        alike = memory.origin.private == request.origin.private
        if alike and not (memory.shared or memory.rooms or memory.tags) and canonical(memory.text) == wanted:
            return memory
    return None


def _written(saved: Saved) -> str:
    return json.dumps(asdict(saved), ensure_ascii=False)


def is_saved(recorded: str) -> bool:
    """Whether the recorded result of an effect is that of a save."""
    return recorded.startswith("{")


def read_saved(recorded: str) -> Saved:
    """Read back the recorded result of a save."""
    values = json.loads(recorded)
    forgotten = values.pop("forgotten")
    return Saved(
        **{**values, "memory": Named(**values["memory"])}, forgotten=None if forgotten is None else Named(**forgotten)
    )
