"""One list as loaded: its memories, its index, and both kept in step with the database. Owned by one actor."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from actors.actor import Work
from actors.embedding import BATCH, embed_saved
from actors.messages import Embedded, ListScore, Score
from actors.parts import Parts
from actors.ports import Vector
from memory import decay
from memory.errors import EmbeddingError
from memory.settings import MemorySettings
from memory.types import Conversation, ListKey, Memory, Privacy, ScopeKind, Settlement
from memory.visibility import Place, View, usable

log = logging.getLogger(__name__)

RETRY_AFTER = timedelta(minutes=1)  # after a batch of which nothing could be embedded
_PLACES = 8  # conversations for which a list remembers what is usable there


class MemoryList:
    """The memories of one room and persona, or of one user and persona with that user's global ones."""

    def __init__(self, key: ListKey, parts: Parts) -> None:
        self.key = key
        self._store = parts.store
        self._indexes = parts.indexes
        self._embedder = parts.embedder
        self.memories: dict[int, Memory] = {}  # by id, ascending: ids are never used again
        self._without_vector: set[int] = set()
        self._usable: dict[tuple[Conversation, MemorySettings, Privacy], tuple[int, ...] | None] = {}
        self._with_tags: tuple[int, ...] | None = None
        self.used_at = parts.clock.now()

    async def load(self) -> None:
        """Read the list and its vectors from storage."""
        async with self._store.transaction() as tables:
            self.memories = {memory.id: memory for memory in await tables.memories.of_list(self.key)}
        self._changed()
        await self._load_index()

    async def _load_index(self) -> None:
        """Load the vectors, unless it is not known yet how long they are (a model elsewhere that has not answered)."""
        embedder = self._embedder
        if embedder is None or embedder.dim is None:
            return
        async with self._store.transaction() as tables:
            ids, vectors = await tables.memories.vectors_of_list(self.key, embedder.model_id, embedder.dim)
        self._indexes.load(self.key, ids, vectors)
        self._without_vector = self.memories.keys() - self._indexes.ids(self.key)

    @property
    def without_vector(self) -> tuple[Memory, ...]:
        """The memories that are saved but not searchable yet (D17), as far as is known."""
        return tuple(self.memories[memory_id] for memory_id in sorted(self._without_vector))

    async def score(self, view: View, vector: Vector | None) -> ListScore:
        """Compare what is usable in the conversation with a vector (D2, D8); nothing changes."""
        visible = self._visible(view)
        if vector is None:
            return ListScore(visible)
        if not self._indexes.has(self.key):  # evicted since it was last used
            await self._load_index()
        allowed = self._indexes.ids(self.key)
        searched = visible
        if self._without_vector or not len(visible) == len(allowed) == len(self.memories):
            searched = tuple(memory for memory in visible if memory.id in allowed)
            allowed = frozenset(memory.id for memory in searched)
        try:
            best = self._indexes.search(self.key, vector, allowed, decay.MATCH_LIMIT, view.settings.match_threshold)
        except EmbeddingError as error:
            log.error("the list of %s cannot be searched: %s", self.key.owner, error)
            return ListScore(visible, failed=True)
        return ListScore(visible, searched, best)

    def _visible(self, view: View) -> tuple[Memory, ...]:
        """Return what is usable there (D8), by id.

        No counter decides that, so that the answer holds until a memory changes; only tags look at what was said.
        """
        place = (view.conversation, view.settings, view.privacy)
        if place not in self._usable:
            untagged = (memory for memory in self.memories.values() if not memory.tags)
            ids = tuple(memory.id for memory in untagged if usable(memory, view, Place.SEARCH))
            if len(self._usable) >= _PLACES:
                self._usable.clear()
            self._usable[place] = None if len(ids) == len(self.memories) else ids
        chosen = self._usable[place]
        if chosen is None:
            return tuple(self.memories.values())
        tagged = [each for each in self._tagged() if usable(self.memories[each], view, Place.SEARCH)]
        return tuple(map(self.memories.__getitem__, sorted((*chosen, *tagged)) if tagged else chosen))

    def _tagged(self) -> tuple[int, ...]:
        if self._with_tags is None:
            self._with_tags = tuple(memory.id for memory in self.memories.values() if memory.tags)
        return self._with_tags

    def _changed(self) -> None:
        """Forget what was found of the memories before one of them changed in more than its counters."""
        self._usable.clear()
        self._with_tags = None

    def follow(self, settlement: Settlement) -> None:
        """Bring the loaded counters to what the settlement made of the stored ones."""
        self.memories |= decay.changed(self.memories, settlement)

    def put(self, memory: Memory) -> None:
        """Add or replace a memory; its old vector, if any, no longer counts."""
        self.memories[memory.id] = memory
        self._indexes.drop(self.key, (memory.id,))
        self._without_vector.add(memory.id)
        self._changed()

    async def revise(self, memories: Iterable[Memory]) -> None:
        """Take in memories of this list that changed or came back; where the text is the same the vector stays."""
        others = []
        for memory in filter(self.takes, memories):
            old = self.memories.get(memory.id)
            self.memories[memory.id] = memory
            if old is None or old.text != memory.text:
                others.append(memory.id)
        self._changed()
        if others:
            self.memories = dict(sorted(self.memories.items()))
            self._indexes.drop(self.key, others)
            self._without_vector.update(others)
            await self._load_index()

    def takes(self, memory: Memory) -> bool:
        """Whether a memory belongs to this list; a global one does to every list of its user."""
        if memory.scope_id != self.key.owner:
            return False
        return memory.scope is ScopeKind.GLOBAL or (memory.scope, memory.persona) == (self.key.kind, self.key.persona)

    def drop(self, ids: Iterable[int]) -> None:
        """Remove memories."""
        gone = tuple(ids)
        for memory_id in gone:
            self.memories.pop(memory_id, None)
        self._indexes.drop(self.key, gone)
        self._without_vector.difference_update(gone)
        self._changed()

    def put_vectors(self, vectors: Iterable[tuple[int, str, Vector]]) -> None:
        """Make memories searchable, each only if it still says what was embedded."""
        for memory_id, text, vector in vectors:
            if memory_id in self.memories and self.memories[memory_id].text == text:
                self._indexes.put(self.key, memory_id, vector)
                self._without_vector.discard(memory_id)

    def unload(self) -> None:
        """Let go of the index."""
        self._indexes.unload(self.key)


class Lists:
    """The lists one actor owns, loaded at first use, and the embedding of what has no vector yet."""

    def __init__(self, parts: Parts, spawn: Callable[[Work], object]) -> None:
        self._parts = parts
        self._spawn = spawn
        self._loaded: dict[ListKey, MemoryList] = {}
        self._embedding = False
        self._failed_at: datetime | None = None
        self._passed_over: set[int] = set()  # ids that the model refused, until all the others have had their turn

    @property
    def loaded(self) -> tuple[MemoryList, ...]:
        """The lists loaded now."""
        return tuple(self._loaded.values())

    async def get(self, key: ListKey) -> MemoryList:
        """Return a list, loading it at first use; what has no vector yet is then embedded (D17)."""
        if key not in self._loaded:
            fresh = MemoryList(key, self._parts)
            await fresh.load()
            self._loaded[key] = fresh
            self._embed_missing()
        self._loaded[key].used_at = self._parts.clock.now()
        return self._loaded[key]

    async def score(self, key: ListKey, request: Score, privacy: Privacy) -> ListScore:
        """Answer a search of a list. The vector that came with it shows that the embedder answers now (D17).

        `privacy`: the level of the list's owner.
        """
        owned = await self.get(key)
        view = View(request.conversation, request.settings, privacy, request.heard)
        score = await owned.score(view, request.vector)
        if request.vector is not None:
            self._embed_missing()
        return score

    async def add(
        self, key: ListKey, memories: Iterable[Memory], vectors: Iterable[tuple[int, str, Vector]] = ()
    ) -> None:
        """Put memories that were just saved into a list; `vectors`: those that were stored with them."""
        added = tuple(memories)
        if not added:
            return
        if key not in self._loaded:
            await self.get(key)  # which finds them in the database
            return
        for memory in added:
            self._loaded[key].put(memory)
        self._loaded[key].put_vectors(vectors)
        self._embed_missing(at_once=True)

    def follow(self, settlement: Settlement) -> None:
        """Pass counter changes to every loaded list."""
        for each in self.loaded:
            each.follow(settlement)

    def drop(self, ids: Iterable[int]) -> None:
        """Remove memories from every loaded list."""
        gone = tuple(ids)
        for each in self.loaded:
            each.drop(gone)

    def replace(self, memory: Memory) -> None:
        """Put a changed memory into every loaded list that had it."""
        self._passed_over.discard(memory.id)
        for each in self.loaded:
            if memory.id in each.memories:
                each.put(memory)
        self._embed_missing(at_once=True)

    async def revise(self, memories: Iterable[Memory]) -> None:
        """Let every loaded list follow memories that changed or came back (a list loaded later reads storage)."""
        revised = tuple(memories)
        self._passed_over.difference_update(memory.id for memory in revised)
        for each in self.loaded:
            await each.revise(revised)
        self._embed_missing(at_once=True)

    def _embed_missing(self, *, at_once: bool = False) -> None:
        """Embed a batch of what has no vector, outside the mailbox: one batch at a time, none soon after a failure.

        `at_once`: a memory was saved just now, which is worth a try.
        """
        embedder = self._parts.embedder
        missing = self._missing()
        if embedder is None or self._embedding or not missing:
            return
        waited = self._failed_at is None or self._parts.clock.now() - self._failed_at >= RETRY_AFTER
        if waited or at_once:
            self._embedding = True
            self._spawn(embed_saved(embedder, missing[:BATCH]))

    def _missing(self) -> list[Memory]:
        lacking = (memory for each in self.loaded for memory in each.without_vector)
        return [memory for memory in lacking if memory.id not in self._passed_over]

    async def take_vectors(self, embedded: Embedded) -> None:
        """Take in the vectors of a batch, and go on with the next; none: all of it failed, and stays for later."""
        if not embedded.stored:
            self._embedding = False
            self._passed_over |= embedded.refused
            await self._store(embedded)
        for each in self.loaded:
            each.put_vectors(embedded.vectors)
        if not embedded.stored:
            answered = bool(embedded.vectors or embedded.refused)
            if answered and (self._missing() or not self._passed_over):
                self._failed_at = None
            else:  # the model does not answer, or only what it refuses is left: all of it again after a while
                self._failed_at = self._parts.clock.now()
                self._passed_over.clear()
            self._embed_missing()

    async def _store(self, embedded: Embedded) -> None:
        embedder = self._parts.embedder
        if embedder is not None and embedded.vectors:
            async with self._parts.store.transaction() as tables:
                await tables.memories.put_vectors(embedder.model_id, embedded.vectors)
            self._parts.metrics.memories("embedded", len(embedded.vectors))

    def unload_idle(self, before: datetime) -> None:
        """Let go of the lists that were last used before a moment."""
        for key in [each.key for each in self.loaded if each.used_at < before]:
            self._loaded.pop(key).unload()

    def unload(self) -> None:
        """Let go of every index."""
        for each in self.loaded:
            each.unload()
        self._loaded.clear()
