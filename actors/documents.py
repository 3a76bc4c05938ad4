"""The documents of one room, as its actor keeps them: added, listed, deleted, taken back with their file, searched.

Each change is one transaction; what is loaded is let go of after the commit. A document is the room's: it is found from
no other room, whoever asks there.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from actors.chunks import ChunkIndex
from actors.document_messages import (
    AddDocument,
    AddedDocument,
    BeforeAdding,
    ChunksEmbedded,
    ChunksStored,
    DeletedDocuments,
    DeleteDocuments,
    HasDocuments,
    ListDocuments,
    ListedDocuments,
    MayAdd,
    OfDocuments,
    SearchChunks,
)
from actors.messages import EffectKey, UnloadIdle
from actors.owner import ListOwner
from actors.parts import Parts
from actors.runtime import Context
from actors.store import Tables
from memory.documents import Document, usable
from memory.errors import EmbeddingError, MatrixError, Refused, StorageError
from memory.events import Incoming, IncomingKind
from memory.types import Match

log = logging.getLogger(__name__)


class DocumentDesk:
    """Answers requests about the documents of one room."""

    def __init__(self, room_id: str, parts: Parts, chunks: ChunkIndex) -> None:
        self._room_id = room_id
        self._parts = parts
        self._chunks = chunks

    async def answer(self, request: OfDocuments[object]) -> object:
        """Answer one request. Raises Refused."""
        match request:
            case SearchChunks() | HasDocuments():
                return await self._search(request)
            case ListDocuments():
                return await self._list(request)
            case BeforeAdding():
                return await self._before(request)
            case MayAdd():
                async with self._parts.store.transaction() as tables:
                    await _refuse_others(tables, request)
                return None
            case AddDocument():
                return await self._add(request)
            case DeleteDocuments():
                return await self._delete(request)
        raise TypeError(f"not a request about documents: {type(request).__name__}")

    # --- searching: what fails changes nothing and costs no answer (D7) ---------------------------------------------

    async def _search(self, request: SearchChunks | HasDocuments) -> tuple[Match, ...] | bool | None:
        try:
            if isinstance(request, HasDocuments):
                return await self._chunks.any(request.alone)
            return await self._chunks.search(request)
        except (StorageError, EmbeddingError) as error:
            log.error("the documents of %s cannot be searched: %s", self._room_id, error)
            return () if isinstance(request, SearchChunks) else False

    async def _list(self, request: ListDocuments) -> ListedDocuments:
        async with self._parts.store.transaction() as tables:
            documents = await tables.documents.of_room(self._room_id)
        shown = usable(documents, request.alone)
        kept = sum(each.private_to == request.by for each in documents if each not in shown)
        return ListedDocuments(shown, kept)

    # --- adding -----------------------------------------------------------------------------------------------------

    async def _before(self, request: BeforeAdding) -> AddedDocument | None:
        async with self._parts.store.transaction() as tables:
            done = await self._recorded(tables, request.effect)
            if done is not None:
                return done
            there = usable(await tables.documents.of_event(self._room_id, request.event_id), request.private_to)
            if there:
                return AddedDocument(there[0], there=True)
            _refuse_too_many(await self._usable(tables, request.private_to), request.most)
            return None

    async def _add(self, request: AddDocument) -> AddedDocument:
        effect, file = request.effect, request.file
        document = Document(
            id=0,
            room_id=self._room_id,
            title=file.title,
            media_type=file.media_type,
            size=file.size,
            event_id=file.event_id,
            added_by=file.added_by,
            added_at=self._parts.clock.now(),
            chunks=len(request.chunks),
            private_to=file.private_to,
        )
        async with self._parts.store.transaction() as tables:
            done = await self._recorded(tables, effect)
            if done is not None:
                return done
            # Its redaction is journalled before this actor hears of it; the file was fetched before that.
            if await tables.journal.redacted(self._room_id, document.event_id, effect.event_id):
                raise Refused("documents-redacted")
            await _refuse_others(tables, MayAdd(file.event_id, file.sender, file.added_by, file.direct))
            documents = await self._usable(tables, file.private_to)
            there = await _the_same(tables, documents, document, request.chunks)
            if there is None:
                _refuse_too_many(documents, request.most)
                document = replace(document, id=await tables.documents.add(document, request.chunks))
                ids = await tables.documents.chunk_ids(document.id)
                await tables.documents.put_vectors(request.model_id, zip(ids, request.vectors, strict=False))
                added = AddedDocument(document, later=len(ids) - len(request.vectors))
            else:
                added = AddedDocument(there, there=True)
            await _record(tables, effect, [added.document.id, added.there, added.later])
        if not added.there:
            self._chunks.changed()
            self._parts.metrics.documents("added", 1)
        return added

    async def _usable(self, tables: Tables, alone: str | None) -> tuple[Document, ...]:
        return usable(await tables.documents.of_room(self._room_id), alone)

    async def _recorded(self, tables: Tables, effect: EffectKey) -> AddedDocument | None:
        """Return what an addition did. Its record holds no title, which would outlive a redaction."""
        recorded = await tables.effects.recorded(effect.event_id, effect.call)
        if recorded is None:
            return None
        document_id, there, later = json.loads(recorded)
        found = [each for each in await tables.documents.of_room(self._room_id) if each.id == document_id]
        if not found:
            raise Refused("documents-gone")
        return AddedDocument(found[0], there, later)

    # --- taking away ------------------------------------------------------------------------------------------------

    async def _delete(self, request: DeleteDocuments) -> DeletedDocuments:
        effect = request.effect
        async with self._parts.store.transaction() as tables:
            recorded = await tables.effects.recorded(effect.event_id, effect.call)
            if recorded is not None:
                return DeletedDocuments(*map(tuple, json.loads(recorded)))
            # Their own they may delete by id wherever they name it.
            by_id = {document.id: document for document in await self._usable(tables, request.by)}
            known = [each for each in request.ids if each in by_id]
            done = tuple(each for each in known if request.editor or by_id[each].added_by == request.by)
            others = tuple(each for each in known if each not in done)
            unknown = tuple(each for each in request.ids if each not in by_id)
            await tables.documents.delete(done)
            await _record(tables, effect, [done, others, unknown])
        self.forgotten(len(done))
        return DeletedDocuments(done, others, unknown)

    async def take_back(self, tables: Tables, event: Incoming) -> int:
        """Delete the documents whose file an event redacts, in the caller's transaction; return how many went.

        An edit brings a newer file perhaps, but the document stays what it was. Tell `forgotten` after the commit.
        """
        if event.kind is not IncomingKind.REDACTION or event.target is None:
            return 0
        ids = [document.id for document in await tables.documents.of_event(self._room_id, event.target)]
        if ids:
            await tables.documents.delete(ids)
            log.info("documents %s went with their file", ids, extra={"room_id": self._room_id})
        return len(ids)

    async def files_gone(self) -> tuple[str, ...]:
        """Ask the homeserver which of the documents' files were redacted; to be called outside the mailbox.

        Of what it cannot say now nothing is known: such a document stays.
        """
        async with self._parts.store.transaction() as tables:
            documents = await tables.documents.of_room(self._room_id)
        gone: list[str] = []
        for event_id in dict.fromkeys(document.event_id for document in documents):
            try:
                if await self._parts.matrix.is_redacted(self._room_id, event_id):
                    gone.append(event_id)
            except MatrixError as error:
                log.warning("whether a file of %s was redacted is not known: %s", self._room_id, error)
        return tuple(gone)

    async def drop_files(self, event_ids: Sequence[str]) -> None:
        """Delete the documents whose files are gone."""
        async with self._parts.store.transaction() as tables:
            gone = [each for event_id in event_ids for each in await tables.documents.of_event(self._room_id, event_id)]
            await tables.documents.delete(each.id for each in gone)
        self.forgotten(len(gone))

    def forgotten(self, count: int) -> None:
        """Follow documents that are gone from the database."""
        if count:
            self._chunks.changed()
            self._parts.metrics.documents("deleted", count)


class DocumentOwner(ListOwner):
    """An owner of lists, named by a room's address, that keeps the room's documents too."""

    def __init__(self, context: Context, parts: Parts) -> None:
        super().__init__(context, parts)
        self._chunks = ChunkIndex(context.address.name, parts, context.spawn)
        self.documents = DocumentDesk(context.address.name, parts, self._chunks)

    def unload(self) -> None:
        """Let go of the chunks' index too."""
        super().unload()
        self._chunks.unload()

    async def handle(self, message: object) -> object | None:
        """Answer what is asked of documents; the rest is every owner's."""
        match message:
            case OfDocuments():
                return await self.documents.answer(message)
            case ChunksEmbedded():
                await self._chunks.take(message)
                return None
            case ChunksStored(vectors):
                await self._chunks.follow(vectors)
                return None
            case UnloadIdle(before):
                self._chunks.unload_idle(before)
        return await super().handle(message)


async def _the_same(
    tables: Tables, documents: Sequence[Document], document: Document, chunks: tuple[str, ...]
) -> Document | None:
    """Return the document that is of the same file, or says the same as this one word for word."""
    for each in documents:
        if each.event_id == document.event_id:
            return each
        alike = (each.size, each.chunks) == (document.size, len(chunks))
        if alike and await tables.documents.texts(each.id) == chunks:
            return each
    return None


def _refuse_too_many(documents: Sequence[Document], most: int) -> None:
    if len(documents) >= most:
        raise Refused("documents-full", limit=most)


async def _refuse_others(tables: Tables, file: MayAdd) -> None:
    """Refuse a file of somebody else who wants nothing used of what they say, or said it alone with the bot (D8)."""
    if file.sender in ("", file.by):
        return
    sent = await tables.journal.get(file.event_id)
    private = file.direct if sent is None else sent.incoming.private  # a forgotten one may have been
    if private or await tables.users.silent((file.sender,)):
        raise Refused("documents-not-for-here")


async def _record(tables: Tables, effect: EffectKey, result: Any) -> None:
    await tables.effects.record(effect.event_id, effect.call, json.dumps(result))
