"""`!documents`: the documents of this room, which answers there may be given parts of."""

from __future__ import annotations

from actors.chunks import embedded
from actors.document_messages import (
    AddDocument,
    AddedDocument,
    AddedFile,
    BeforeAdding,
    DeleteDocuments,
    ListDocuments,
    MayAdd,
)
from commands import document_texts as texts
from commands.document_values import AddRoomDocument, DeleteRoomDocuments, ListRoomDocuments
from commands.order import Handlers, Order
from memory.documents import ReadDocument, sound_chunks, title_of
from memory.errors import MatrixError, MediaFailed, Refused
from memory.events import Told
from memory.media import Attachment
from memory.visibility import blacklisted

handlers = Handlers()


@handlers.on(ListRoomDocuments)
async def list_documents(command: ListRoomDocuments, order: Order) -> str:
    """List the room's documents, whoever of the room asks; private ones to whom they are private (D8)."""
    caller = order.caller
    found = await order.system.ask(order.here, ListDocuments(caller.user_id, caller.conversation.alone))
    searched = order.settings.kinds(order.room_id).documents_enabled and not _kept_out(order)
    return texts.listing(order.say, found, searched=searched and order.embedder is not None)


@handlers.on(AddRoomDocument)
async def add(command: AddRoomDocument, order: Order) -> Told:
    """Read the file to which the caller replies and keep it as a document of the room. Raises Refused.

    Everything slow is done here, outside any mailbox: what is fetched, read and embedded then goes to the room's actor,
    which stores all of it or nothing. What was asked for in private is kept private, whoever has come in since (D8).
    """
    event_id, settings = order.caller.reply_to, order.settings.kinds(order.room_id)
    if event_id is None:
        raise Refused("documents-no-reply")
    before = BeforeAdding(event_id, settings.documents_most, order.effect, order.caller.private_to)
    added = await order.system.ask(order.here, before)  # a replay needs the file no more
    if added is None:
        _refuse_where_off(order)
        file = await _file(order, event_id, settings.documents_most_bytes)
        asked = MayAdd(event_id, file.sender, order.caller.user_id, order.caller.direct)
        await order.system.ask(order.here, asked)
        read = await _read(order, file, settings.documents_chunks)
        added = await _store(order, file, read, event_id)
    told = texts.added(order.say, added, searchable=order.embedder is not None)
    if added.document.private_to is not None and not order.caller.conversation.private:
        return Told(order.say("private-no-more"), private=told)
    return Told(told)


@handlers.on(DeleteRoomDocuments)
async def delete(command: DeleteRoomDocuments, order: Order) -> str:
    """Delete documents of the room: any for those who may change its memories, for others those they added."""
    caller = order.caller
    request = DeleteDocuments(command.ids, caller.user_id, caller.changes_list, order.effect)
    done = await order.system.ask(order.here, request)
    return texts.deleted(order.say, done, command.wrong)


def _kept_out(order: Order) -> bool:
    """Whether the operator keeps this room from memory; nothing of it is kept as a document either."""
    return blacklisted(order.room_id, order.memory)


def _refuse_where_off(order: Order) -> None:
    if not order.settings.kinds(order.room_id).documents_enabled:
        raise Refused("documents-off")
    if _kept_out(order):
        raise Refused("documents-kept-out")


async def _file(order: Order, event_id: str, most_bytes: int) -> Attachment:
    try:
        file = None if order.files is None else await order.files.attachment(order.room_id, event_id, most_bytes)
    except MatrixError as error:
        raise Refused("documents-no-answer") from error
    if file is None:
        raise Refused("documents-no-file")
    return file


async def _read(order: Order, file: Attachment, most_chunks: int) -> ReadDocument:
    if order.media is None:
        raise Refused("documents-failed")
    try:
        return await order.media.document(file, most_chunks)
    except MediaFailed as error:
        raise Refused("documents-failed") from error


async def _store(order: Order, file: Attachment, read: ReadDocument, event_id: str) -> AddedDocument:
    chunks = sound_chunks(read)
    if not chunks:
        raise Refused("document-no-text")
    vectors = () if order.embedder is None else await embedded(order.embedder, chunks)
    model_id = "" if order.embedder is None else order.embedder.model_id
    added = AddedFile(
        title=title_of(read, file.name, order.say("documents-untitled")),
        media_type=read.media_type,
        size=len(file.data),
        event_id=event_id,
        sender=file.sender,
        added_by=order.caller.user_id,
        private_to=order.caller.private_to,
        direct=order.caller.direct,
    )
    most = order.settings.kinds(order.room_id).documents_most
    request = AddDocument(added, chunks, model_id, vectors, most, order.effect)
    return await order.system.ask(order.here, request)
