"""What a room's actor is told and asked about the documents of its room."""

from __future__ import annotations

from dataclasses import dataclass

from actors.messages import EffectKey, R, Request
from actors.ports import Vector
from memory.documents import Document
from memory.types import Match


class OfDocuments(Request[R]):
    """Base of requests about a room's documents; actors/documents.py answers them."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ListedDocuments:
    """The documents that are there for somebody, by id. kept: how many of their own are not while others are there."""

    documents: tuple[Document, ...]
    kept: int = 0


@dataclass(frozen=True, slots=True)
class ListDocuments(OfDocuments[ListedDocuments]):
    """Return the room's documents. alone: `by` where they are alone with the bot, None where others are there (D8)."""

    by: str
    alone: str | None


@dataclass(frozen=True, slots=True)
class AddedDocument:
    """What became of an addition. there: the room had it already. later: chunks that are still to be embedded (D17)."""

    document: Document
    there: bool = False
    later: int = 0


@dataclass(frozen=True, slots=True)
class BeforeAdding(OfDocuments[AddedDocument | None]):
    """Return what the addition did already, or the document that there is of this file; None: go on with it.

    Raises Refused: documents-full, documents-gone where what was added has been taken away since.
    """

    event_id: str
    most: int
    effect: EffectKey
    private_to: str | None = None  # as of AddedFile


@dataclass(frozen=True, slots=True)
class MayAdd(OfDocuments[None]):
    """Find out whether a file of the room may be read on behalf of somebody; their own always.

    direct: whether the room is a direct one. Raises Refused: documents-not-for-here, where its sender chose to be
    silent, or sent it alone with the bot, or may have, since the journal does not know of it (D8).
    """

    event_id: str
    sender: str
    by: str
    direct: bool = False


@dataclass(frozen=True, slots=True)
class AddedFile:
    """A file that was read: what the document is called, its media type, its bytes, its event, who sent it (""; not
    known) and who adds it.

    private_to: whoever adds it where nobody else heard them say so, for good: somebody who has come in since did not.
    direct: whether the room is a direct one.
    """

    title: str
    media_type: str
    size: int
    event_id: str
    sender: str
    added_by: str
    private_to: str | None = None
    direct: bool = False


@dataclass(frozen=True, slots=True)
class AddDocument(OfDocuments[AddedDocument]):
    """Store a document, its chunks and the vectors of the first of them, once for each effect.

    file: what it was made of, and who added it. model_id: whose `vectors` are. most: documents of a room.
    Raises Refused: documents-full; documents-not-for-here as MayAdd does; documents-redacted where the file was taken
    back meanwhile.
    """

    file: AddedFile
    chunks: tuple[str, ...]
    model_id: str
    vectors: tuple[Vector, ...]
    most: int
    effect: EffectKey


@dataclass(frozen=True, slots=True)
class DeletedDocuments:
    """Ids that were deleted, ids of others' documents, and ids that the room has no documents of."""

    done: tuple[int, ...]
    others: tuple[int, ...]
    unknown: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DeleteDocuments(OfDocuments[DeletedDocuments]):
    """Delete documents of the room with their chunks and vectors. by: who asks for it; editor: they may delete those
    of others too, but for what is private to these, which is as if it were not there (D8).
    """

    ids: tuple[int, ...]
    by: str
    editor: bool
    effect: EffectKey


@dataclass(frozen=True, slots=True)
class HasDocuments(OfDocuments[bool]):
    """Whether there is anything to search. alone: who is alone with the bot (D8)."""

    alone: str | None


@dataclass(frozen=True, slots=True)
class SearchChunks(OfDocuments[tuple[Match, ...] | None]):
    """Return up to `limit` best chunks of the room's documents by id, best first; None: there is nothing to search.

    vector: of the message, the same as the search of D2 goes by. None found where they cannot be searched (D7). alone:
    who is alone with the bot, None where others are there; what is private to others is not even compared (D8).
    """

    vector: Vector
    limit: int
    threshold: float
    alone: str | None


@dataclass(frozen=True, slots=True)
class ChunksEmbedded:
    """Vectors for chunks of this room, by chunk id (D17). through: the last id looked at; None: no more lacks one.

    answered: the model answers; where it does not, nothing more is tried for a while.
    """

    vectors: tuple[tuple[int, Vector], ...] = ()
    through: int | None = None
    answered: bool = True
    refused: bool = False


@dataclass(frozen=True, slots=True)
class ChunksStored:
    """The sweep has stored vectors of chunks of this room, by chunk id; what is loaded lacks them."""

    vectors: tuple[tuple[int, Vector], ...]
