"""The documents' part of a turn's search (D2): the same vector, the room's chunks, beside the lists of memories."""

from __future__ import annotations

import logging
from time import perf_counter

from actors.actor import Address
from actors.document_messages import HasDocuments, SearchChunks
from actors.parts import Parts
from actors.ports import Embedder, Vector
from actors.runtime import ActorSystem
from actors.turns import Turn
from memory.documents import Chunk
from memory.errors import ActorFailed, StorageError
from memory.text import blank, visible
from memory.visibility import blacklisted

log = logging.getLogger(__name__)


class DocumentSearch:
    """Searches a room's documents for turns; holds nothing between them. What fails costs no answer (D7)."""

    def __init__(self, parts: Parts, system: ActorSystem) -> None:
        self._parts = parts
        self._system = system

    async def possible(self, turn: Turn) -> bool:
        """Whether a turn has documents to search; the room's actor knows without looking, but for the first time."""
        if self._parts.embedder is None or not self._allowed(turn):
            return False
        try:
            room = Address("room", turn.entry.incoming.room_id)
            return await self._system.ask(room, HasDocuments(turn.conversation.alone))
        except ActorFailed:
            return False

    async def search(self, turn: Turn, vector: Vector | None) -> tuple[Chunk, ...]:
        """Return the parts of the room's documents that come nearest to the message, best first.

        vector: of the message; None: it could not be embedded, or need not be.
        """
        embedder = self._parts.embedder
        if vector is None or embedder is None or not self._allowed(turn):
            return ()
        try:
            return await self._found(turn, vector, embedder)
        except (ActorFailed, StorageError) as error:
            log.error("no documents for %s: %s", turn.entry.incoming.event_id, error)
            return ()

    async def _found(self, turn: Turn, vector: Vector, embedder: Embedder) -> tuple[Chunk, ...]:
        room_id = turn.entry.incoming.room_id
        settings = self._parts.settings.kinds(room_id)
        threshold = settings.documents_threshold
        if threshold is None:
            threshold = embedder.document_threshold
        request = SearchChunks(vector, settings.documents_in_prompt, threshold, turn.conversation.alone)
        began = perf_counter()
        best = await self._system.ask(Address("room", room_id), request)
        if best is None:
            return ()
        chunks: tuple[Chunk, ...] = ()
        if best:
            async with self._parts.store.transaction() as tables:
                chunks = await tables.documents.chunks([match.memory_id for match in best])
        self._parts.metrics.stage("documents", perf_counter() - began)
        return chunks

    def _allowed(self, turn: Turn) -> bool:
        """Whether documents are used here: a message without text searches nothing (D2), and what the operator keeps
        from memory (`memory.blacklist`) has no documents either.
        """
        room_id = turn.entry.incoming.room_id
        if not self._parts.settings.kinds(room_id).documents_enabled or blank(visible(turn.said)):
            return False
        return not blacklisted(room_id, self._parts.settings.memory(room_id))
