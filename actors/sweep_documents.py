"""The sweep's way through the chunks of documents that have no vector of the current model (D17), rooms in use first.

A room whose documents are searched meanwhile embeds what it lacks by itself (actors/chunks.py); doing a chunk twice
harms nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from actors.actor import Address
from actors.chunks import AT_ONCE
from actors.document_messages import ChunksStored
from actors.embedding import PROBE, embed_saved
from actors.parts import Parts
from actors.ports import Embedder
from actors.runtime import ActorSystem
from memory.documents import Chunk

log = logging.getLogger(__name__)


class DocumentSweep:
    """Embeds chunks slowly. seconds: for one chunk at least; it never takes more than half of the embedder's time."""

    def __init__(
        self, parts: Parts, system: ActorSystem, *, seconds: float, sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self._parts = parts
        self._system = system
        self._seconds = seconds
        self._sleep = sleep

    async def round(self, embedder: Embedder, lately: Sequence[str]) -> int:
        """Go through the rooms with documents once; return how many chunks were embedded.

        lately: rooms (and users) answered last, those used last first. Raises EmbeddingError, StorageError.
        """
        async with self._parts.store.transaction() as tables:
            rooms = await tables.documents.rooms()
        loaded = [address.name for address in reversed(self._system.cells) if address.kind == "room"]
        there = frozenset(rooms)
        done = 0
        for room_id in dict.fromkeys(each for each in (*loaded, *lately, *rooms) if each in there):
            done += await self._room(embedder, room_id)
        if done:
            log.info("%d parts of documents were embedded that had no vector of %s", done, embedder.model_id)
        return done

    async def _room(self, embedder: Embedder, room_id: str) -> int:
        done = after = 0
        while True:
            async with self._parts.store.transaction() as tables:
                chunks = await tables.documents.lacking(room_id, embedder.model_id, embedder.dim, AT_ONCE, after)
            if not chunks:
                return done
            done += await self._batch(embedder, room_id, chunks)
            after = chunks[-1].id

    async def _batch(self, embedder: Embedder, room_id: str, chunks: Sequence[Chunk]) -> int:
        """Embed and store one batch, and rest; return how many it were."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        vectors = [(chunk_id, vector) for chunk_id, _, vector in (await embed_saved(embedder, chunks)).vectors]
        if vectors:
            async with self._parts.store.transaction() as tables:
                await tables.documents.put_vectors(embedder.model_id, vectors)
            owner = Address("room", room_id)
            if owner in self._system.cells:  # the others will read them
                await self._system.tell(owner, ChunksStored(tuple(vectors)))
        else:
            await embedder.embed([PROBE])  # raises where it is the model that does not answer
        took = loop.time() - begun
        await self._sleep(max(took, len(chunks) * self._seconds - took))
        return len(vectors)
