"""The chunks of one room's documents as loaded: what is searched, and the embedding of what has no vector (D17)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime

import numpy as np

from actors.actor import Work
from actors.document_messages import ChunksEmbedded, SearchChunks
from actors.embedding import embed_saved
from actors.lists import RETRY_AFTER
from actors.parts import Parts
from actors.ports import Embedder, Vector
from memory.errors import EmbeddingError, StorageError
from memory.types import ListKey, Match, ScopeKind

ChunkVectors = Sequence[tuple[int, Vector]]

log = logging.getLogger(__name__)

AT_ONCE = 4  # chunks are long: a turn that needs the embedder waits for no more than that


async def embedded(embedder: Embedder, texts: Sequence[str]) -> tuple[Vector, ...]:
    """Return the vectors of the texts in order, fewer where the embedder fails: the rest is embedded later (D17)."""
    vectors: list[Vector] = []
    for start in range(0, len(texts), AT_ONCE):
        try:
            vectors.extend(await embedder.embed(texts[start : start + AT_ONCE]))
        except EmbeddingError as error:
            log.warning("%d chunks stay without a vector for now: %s", len(texts) - start, error)
            break
    return tuple(vectors)


class ChunkIndex:
    """Searches the chunks of one room. What is loaded is what the database held at the last change or later."""

    def __init__(self, room_id: str, parts: Parts, spawn: Callable[[Work], object]) -> None:
        self._room_id = room_id
        self._parts = parts
        self._spawn = spawn
        self._key = ListKey(ScopeKind.ROOM, room_id, "")
        self._for_whom: frozenset[str | None] | None = None  # not looked yet
        self._private: dict[str, frozenset[int]] = {}  # of the chunks loaded, or still to be: whose alone they are
        self._chunks = 0  # as last read
        self._lacking = False
        self._embedding = False
        self._failed_at: datetime | None = None
        self._used_at = parts.clock.now()

    async def any(self, alone: str | None) -> bool:
        """Whether the room has documents for whoever is alone there, or for others; known after the first look."""
        if self._for_whom is None:
            async with self._parts.store.transaction() as tables:
                self._for_whom = await tables.documents.for_whom(self._room_id)
        return not self._for_whom.isdisjoint((None, alone))

    async def search(self, request: SearchChunks) -> tuple[Match, ...] | None:
        """Return the best chunks, best first; None: there are no documents. Raises StorageError, EmbeddingError."""
        embedder = self._parts.embedder
        if embedder is None or embedder.dim is None or not await self.any(request.alone):
            return None
        self._used_at = self._parts.clock.now()
        indexes = self._parts.chunk_indexes
        if not indexes.has(self._key):
            await self._load(embedder, embedder.dim)
        allowed = self._allowed(request.alone)
        best = indexes.search(self._key, request.vector, allowed, request.limit, request.threshold)
        self._embed_missing(embedder)
        return best

    def _allowed(self, alone: str | None) -> frozenset[int]:
        """Return which chunks are compared: all, but for those that are private to others than who is alone (D8)."""
        ids = self._parts.chunk_indexes.ids(self._key)
        hidden = [chunks for person, chunks in self._private.items() if person != alone]
        return ids.difference(*hidden) if hidden else ids  # the set itself: the index need not select then

    async def _load(self, embedder: Embedder, dim: int) -> None:
        """Read the vectors, one document at a time: there may be 100 MB of them, and every turn needs the database."""
        async with self._parts.store.transaction() as tables:
            documents = await tables.documents.of_room(self._room_id)
        ids: list[int] = []
        parts = [np.empty((0, dim), dtype=np.float32)]
        private: dict[str, frozenset[int]] = {}
        for document in documents:
            async with self._parts.store.transaction() as tables:
                of_it, vectors = await tables.documents.vectors(document.id, embedder.model_id, dim)
                if document.private_to is not None:
                    chunks = await tables.documents.chunk_ids(document.id)
                    private[document.private_to] = private.get(document.private_to, frozenset()).union(chunks)
            ids += of_it
            parts.append(vectors)
        self._private = private
        self._parts.chunk_indexes.load(self._key, ids, np.concatenate(parts))
        self._chunks = sum(document.chunks for document in documents)
        self._lacking = len(ids) < self._chunks

    def changed(self) -> None:
        """Forget what is loaded: the room's documents are others now."""
        self._for_whom = None
        self.unload()

    def unload(self) -> None:
        """Let go of the index; the next search reads it again."""
        self._parts.chunk_indexes.unload(self._key)

    def unload_idle(self, before: datetime) -> None:
        """Let go of the index if it was last used before a moment."""
        if self._used_at < before:
            self.unload()

    # --- what has no vector of the current model yet (D17) ------------------------------------------------------------

    def _embed_missing(self, embedder: Embedder) -> None:
        """Begin to embed what lacks a vector, outside the mailbox; not soon after a failure."""
        waited = self._failed_at is None or self._parts.clock.now() - self._failed_at >= RETRY_AFTER
        if self._lacking and waited and not self._embedding:
            self._embedding = True
            self._spawn(self._batch(embedder, after=0, refused=False))

    async def _batch(self, embedder: Embedder, after: int, *, refused: bool) -> ChunksEmbedded:
        try:
            async with self._parts.store.transaction() as tables:
                chunks = await tables.documents.lacking(self._room_id, embedder.model_id, embedder.dim, AT_ONCE, after)
        except StorageError as error:
            log.error("the chunks of %s cannot be read: %s", self._room_id, error)
            return ChunksEmbedded(answered=False)
        if not chunks:
            return ChunksEmbedded(refused=refused)
        done = await embed_saved(embedder, chunks)
        return ChunksEmbedded(
            tuple((chunk_id, vector) for chunk_id, _, vector in done.vectors),
            through=chunks[-1].id,
            answered=bool(done.vectors or done.refused),
            refused=refused or bool(done.refused),
        )

    async def take(self, message: ChunksEmbedded) -> None:
        """Store the vectors of a batch and go on with the next."""
        embedder = self._parts.embedder
        if embedder is None:
            return
        stored = await self._store(embedder, message.vectors)
        if stored and message.answered and message.through is not None:
            self._spawn(self._batch(embedder, message.through, refused=message.refused))
            return
        self._embedding = False
        # What the model refuses is tried again after a while, with all that is left when it does not answer.
        failed = message.refused or not message.answered or not stored
        self._failed_at = self._parts.clock.now() if failed else None
        indexes = self._parts.chunk_indexes
        # A document may have come while the last batch was on its way.
        self._lacking = failed or not indexes.has(self._key) or len(indexes.ids(self._key)) < self._chunks

    async def _store(self, embedder: Embedder, vectors: ChunkVectors) -> bool:
        try:
            async with self._parts.store.transaction() as tables:
                await tables.documents.put_vectors(embedder.model_id, vectors)
        except StorageError as error:
            log.error("vectors of chunks of %s cannot be stored: %s", self._room_id, error)
            return False
        await self.follow(vectors)
        return True

    async def follow(self, vectors: ChunkVectors) -> None:
        """Make chunks searchable whose vectors were stored; one may be gone by now."""
        if not self._parts.chunk_indexes.has(self._key):
            return
        try:
            async with self._parts.store.transaction() as tables:
                there = {chunk.id for chunk in await tables.documents.chunks([chunk_id for chunk_id, _ in vectors])}
            for chunk_id, vector in vectors:
                if chunk_id in there:
                    self._parts.chunk_indexes.put(self._key, chunk_id, vector)
        except (StorageError, EmbeddingError) as error:
            log.error("the index of %s is read anew: %s", self._room_id, error)
            self.unload()
