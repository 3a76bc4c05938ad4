"""One list as loaded: its memories, its index, and both kept in step with the database. Owned by one actor."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from actors.actor import Work
from actors.messages import Embedded, ListScore
from actors.parts import Parts
from actors.ports import Embedder, Vector
from memory import decay
from memory.errors import EmbeddingError
from memory.settings import MemorySettings
from memory.types import Conversation, ListKey, Memory, Settlement
from memory.visibility import usable

log = logging.getLogger(__name__)


class MemoryList:
    """The memories of one room and persona, or of one user and persona with that user's global ones."""

    def __init__(self, key: ListKey, parts: Parts) -> None:
        self.key = key
        self._store = parts.store
        self._indexes = parts.indexes
        self._embedder = parts.embedder
        self.memories: dict[int, Memory] = {}

    async def load(self) -> None:
        """Read the list and its vectors from storage."""
        async with self._store.transaction() as tables:
            self.memories = {memory.id: memory for memory in await tables.memories.of_list(self.key)}
        await self._load_index()

    async def _load_index(self) -> None:
        if self._embedder is None:
            return
        async with self._store.transaction() as tables:
            ids, vectors = await tables.memories.vectors_of_list(self.key, self._embedder.model_id, self._embedder.dim)
        self._indexes.load(self.key, ids, vectors)

    def without_vector(self) -> tuple[Memory, ...]:
        """Return, right after loading, the memories that are saved but not searchable yet (D17)."""
        if self._embedder is None:
            return ()
        have = self._indexes.ids(self.key)
        return tuple(memory for memory in self.memories.values() if memory.id not in have)

    async def score(self, conversation: Conversation, settings: MemorySettings, vector: Vector | None) -> ListScore:
        """Compare what is usable in the conversation with a vector (D2, D8); nothing changes."""
        visible = tuple(memory for _, memory in sorted(self.memories.items()) if usable(memory, conversation, settings))
        if vector is None:
            return ListScore(visible)
        if not self._indexes.has(self.key):  # evicted since it was last used
            await self._load_index()
        searched = frozenset(memory.id for memory in visible) & self._indexes.ids(self.key)
        try:
            best = self._indexes.search(self.key, vector, searched, decay.MATCH_LIMIT, settings.match_threshold)
        except EmbeddingError as error:
            log.error("the list of %s cannot be searched: %s", self.key.owner, error)
            return ListScore(visible, failed=True)
        return ListScore(visible, searched, best)

    def follow(self, settlement: Settlement) -> None:
        """Bring the loaded counters to what the settlement made of the stored ones."""
        for memory_id in (*settlement.used, *settlement.aged, *settlement.healed):
            memory = self.memories.get(memory_id)
            if memory is not None:
                self.memories[memory_id] = decay.after(memory, settlement)

    def put(self, memory: Memory) -> None:
        """Add or replace a memory; its old vector, if any, no longer counts."""
        self.memories[memory.id] = memory
        self._indexes.drop(self.key, (memory.id,))

    def drop(self, ids: Iterable[int]) -> None:
        """Remove memories."""
        gone = tuple(ids)
        for memory_id in gone:
            self.memories.pop(memory_id, None)
        self._indexes.drop(self.key, gone)

    def put_vector(self, memory_id: int, vector: Vector) -> None:
        """Make a memory searchable."""
        self._indexes.put(self.key, memory_id, vector)

    def unload(self) -> None:
        """Let go of the index."""
        self._indexes.unload(self.key)


class Lists:
    """The lists one actor owns, loaded at first use, and the embedding of what has no vector yet."""

    def __init__(self, parts: Parts, spawn: Callable[[Work], object]) -> None:
        self._parts = parts
        self._spawn = spawn
        self._loaded: dict[ListKey, MemoryList] = {}

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
            self._embed_later(fresh.without_vector())
        return self._loaded[key]

    async def add(self, key: ListKey, memories: Iterable[Memory]) -> None:
        """Put memories that were just saved into a list."""
        added = tuple(memories)
        if key not in self._loaded:
            await self.get(key)  # which finds them in the database, without vectors
            return
        for memory in added:
            self._loaded[key].put(memory)
        self._embed_later(added)

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
        for each in self.loaded:
            if memory.id in each.memories:
                each.put(memory)
        self._embed_later((memory,))

    def _embed_later(self, memories: tuple[Memory, ...]) -> None:
        if memories and self._parts.embedder is not None:
            self._spawn(self._embed(memories, self._parts.embedder))

    async def _embed(self, memories: tuple[Memory, ...], embedder: Embedder) -> Embedded | None:
        """Embed texts outside the mailbox; None when it failed: they stay saved and are embedded later (D17)."""
        try:
            vectors = await embedder.embed([memory.text for memory in memories])
        except EmbeddingError as error:
            log.warning("%d memories are saved without a vector: %s", len(memories), error)
            return None
        return Embedded(tuple((m.id, m.text, vector) for m, vector in zip(memories, vectors, strict=True)))

    async def store_vectors(self, embedded: Embedded) -> None:
        """Save vectors, each only while its memory still says what was embedded."""
        embedder = self._parts.embedder
        if embedder is None:
            return
        fresh = [
            (each, memory_id, vector)
            for each in self.loaded
            for memory_id, text, vector in embedded.vectors
            if memory_id in each.memories and each.memories[memory_id].text == text
        ]
        async with self._parts.store.transaction() as tables:
            for _, memory_id, vector in fresh:
                await tables.memories.put_vector(memory_id, embedder.model_id, vector)
        for each, memory_id, vector in fresh:
            each.put_vector(memory_id, vector)

    def unload(self) -> None:
        """Let go of every index."""
        for each in self.loaded:
            each.unload()
        self._loaded.clear()
