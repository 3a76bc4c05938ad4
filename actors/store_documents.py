"""Documents and scenes, as the actors see the database. storage/ satisfies these by shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from actors.ports import Vector, Vectors
from memory.documents import Chunk, Document


class DocumentTable(Protocol):
    """Documents of rooms, their chunks and the chunks' vectors."""

    async def add(self, document: Document, chunks: Sequence[str]) -> int:
        """Store a document (its `id` and `chunks` are not looked at) with its chunks' texts; return its id."""
        ...

    async def of_room(self, room_id: str) -> tuple[Document, ...]:
        """Return a room's documents by id."""
        ...

    async def rooms(self) -> tuple[str, ...]:
        """Return the rooms that have documents."""
        ...

    async def for_whom(self, room_id: str) -> frozenset[str | None]:
        """Return to whom a room's documents are private, with None where it has one for everybody."""
        ...

    async def of_event(self, room_id: str, event_id: str) -> tuple[Document, ...]:
        """Return the documents made of the file of an event, by id: one for everybody, one private to each person."""
        ...

    async def delete(self, ids: Iterable[int]) -> None:
        """Delete documents with their chunks and vectors."""
        ...

    async def chunks(self, ids: Sequence[int]) -> tuple[Chunk, ...]:
        """Return those of these chunks that exist, in the order of the ids."""
        ...

    async def chunk_ids(self, document_id: int) -> tuple[int, ...]:
        """Return the ids of a document's chunks in reading order."""
        ...

    async def texts(self, document_id: int) -> tuple[str, ...]:
        """Return what a document says, chunk by chunk in reading order."""
        ...

    async def put_vectors(self, model_id: str, vectors: Iterable[tuple[int, Vector]]) -> None:
        """Store vectors (float32[dim]) of one model by chunk id; those of other models go. A chunk may be gone."""
        ...

    async def vectors(self, document_id: int, model_id: str, dim: int) -> tuple[tuple[int, ...], Vectors]:
        """Return chunk ids and float32[n, dim] of a document's chunks that have a vector of this model, in order."""
        ...

    async def lacking(
        self, room_id: str, model_id: str, dim: int | None, limit: int, after: int = 0
    ) -> tuple[Chunk, ...]:
        """Return up to `limit` chunks of a room, after an id, that have no vector of this model, by id (D17)."""
        ...


class SceneTable(Protocol):
    """Who is in a scene and until when, by room, thread (None: the main timeline) and person."""

    async def any(self) -> bool:
        """Whether anybody is in a scene, over or not."""
        ...

    async def until(self, room_id: str, thread_root: str | None, user_id: str) -> datetime | None:
        """Return when a person's scene ends if nothing more is said; it may be past. None: there is none."""
        ...

    async def put(self, room_id: str, thread_root: str | None, user_id: str, until: datetime) -> None:
        """Begin a scene, or let it go on until a later moment."""
        ...

    async def end(self, room_id: str, thread_root: str | None, user_id: str) -> datetime | None:
        """End a scene; return until when it would have gone on, None where there was none."""
        ...

    async def end_of(self, user_id: str) -> None:
        """End every scene of a person."""
        ...

    async def prune(self, before: datetime) -> int:
        """Delete scenes that were over before a moment; return how many."""
        ...
