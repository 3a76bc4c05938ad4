"""Documents of rooms, their chunks and the chunks' vectors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from memory.documents import Chunk, Document
from storage.codec import Vector, read_time, read_vectors, storable, time_text, vector_blob
from storage.sql import Row, Sql

_DOCUMENTS = """
SELECT id, room_id, title, media_type, size, event_id, added_by, added_at,
    (SELECT count(*) FROM chunks WHERE document_id = documents.id), private_to
FROM documents
"""
_ADD = """
INSERT INTO documents (room_id, title, media_type, size, event_id, added_by, added_at, private_to)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
"""
_ADD_CHUNK = "INSERT INTO chunks (document_id, number, text) VALUES (?, ?, ?)"
_CHUNKS = """
SELECT chunks.id, document_id, title, number,
    (SELECT count(*) FROM chunks AS all_of_it WHERE all_of_it.document_id = documents.id), text, private_to
FROM chunks JOIN documents ON documents.id = document_id
"""
# A chunk may have gone while its text was embedded; its text never changes.
_PUT = """
INSERT INTO chunk_embeddings (chunk_id, model_id, vector) SELECT id, ?, ? FROM chunks WHERE id = ?
ON CONFLICT (chunk_id, model_id) DO UPDATE SET vector = excluded.vector
"""
_DROP_EARLIER = "DELETE FROM chunk_embeddings WHERE chunk_id = ? AND model_id <> ?"
_VECTORS = """
SELECT chunk_id, vector FROM chunks JOIN chunk_embeddings ON chunk_id = chunks.id
WHERE document_id = ? AND model_id = ? AND length(vector) = ? ORDER BY number
"""
_LACKING = f"""
{_CHUNKS} WHERE room_id = ? AND NOT EXISTS (
    SELECT 1 FROM chunk_embeddings WHERE chunk_id = chunks.id AND model_id = ? AND (?3 IS NULL OR length(vector) = ?3)
) AND chunks.id > ?4 ORDER BY chunks.id LIMIT ?5
"""
_ROOMS = "SELECT DISTINCT room_id FROM documents ORDER BY room_id"
_FOR_WHOM = "SELECT DISTINCT private_to FROM documents WHERE room_id = ?"
_IDS = "SELECT id FROM chunks WHERE document_id = ? ORDER BY number"
_TEXTS = "SELECT text FROM chunks WHERE document_id = ? ORDER BY number"
_FLOAT_BYTES = 4


class DocumentRows:
    """Rows of `documents`, `chunks` and `chunk_embeddings`."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def add(self, document: Document, chunks: Sequence[str]) -> int:
        """Store a document (its `id` and `chunks` are not looked at) with its chunks' texts; return its id."""
        row = await self._sql.row(
            _ADD,
            document.room_id,
            storable(document.title),
            storable(document.media_type),
            document.size,
            document.event_id,
            document.added_by,
            time_text(document.added_at),
            document.private_to,
        )
        assert row is not None  # noqa: S101 - RETURNING gives the row that was inserted
        document_id = int(row[0])
        texts = enumerate(chunks, 1)
        await self._sql.many(_ADD_CHUNK, [(document_id, number, storable(text)) for number, text in texts])
        return document_id

    async def of_room(self, room_id: str) -> tuple[Document, ...]:
        """Return a room's documents by id."""
        found = await self._sql.rows(f"{_DOCUMENTS} WHERE room_id = ? ORDER BY id", room_id)
        return tuple(_document(row) for row in found)

    async def rooms(self) -> tuple[str, ...]:
        """Return the rooms that have documents."""
        return tuple(str(room_id) for (room_id,) in await self._sql.rows(_ROOMS))

    async def for_whom(self, room_id: str) -> frozenset[str | None]:
        """Return to whom a room's documents are private, with None where it has one for everybody."""
        return frozenset(private_to for (private_to,) in await self._sql.rows(_FOR_WHOM, room_id))

    async def of_event(self, room_id: str, event_id: str) -> tuple[Document, ...]:
        """Return the documents made of the file of an event, by id: one for everybody, one private to each person."""
        found = await self._sql.rows(f"{_DOCUMENTS} WHERE room_id = ? AND event_id = ? ORDER BY id", room_id, event_id)
        return tuple(_document(row) for row in found)

    async def delete(self, ids: Iterable[int]) -> None:
        """Delete documents with their chunks and vectors."""
        await self._sql.run("DELETE FROM documents WHERE id IN (SELECT value FROM json_each(?))", json.dumps(list(ids)))

    async def chunks(self, ids: Sequence[int]) -> tuple[Chunk, ...]:
        """Return those of these chunks that exist, in the order of the ids."""
        found = await self._sql.rows(
            f"{_CHUNKS} WHERE chunks.id IN (SELECT value FROM json_each(?))", json.dumps(list(ids))
        )
        by_id = {int(row[0]): _chunk(row) for row in found}
        return tuple(by_id[chunk_id] for chunk_id in ids if chunk_id in by_id)

    async def chunk_ids(self, document_id: int) -> tuple[int, ...]:
        """Return the ids of a document's chunks in reading order."""
        return tuple(int(chunk_id) for (chunk_id,) in await self._sql.rows(_IDS, document_id))

    async def texts(self, document_id: int) -> tuple[str, ...]:
        """Return what a document says, chunk by chunk in reading order."""
        return tuple(str(text) for (text,) in await self._sql.rows(_TEXTS, document_id))

    async def put_vectors(self, model_id: str, vectors: Iterable[tuple[int, Vector]]) -> None:
        """Store vectors (float32[dim]) of one model by chunk id; those of other models go. A chunk may be gone."""
        rows = [(model_id, vector_blob(vector), chunk_id) for chunk_id, vector in vectors]
        await self._sql.many(_PUT, rows)
        await self._sql.many(_DROP_EARLIER, [(chunk_id, model_id) for _, _, chunk_id in rows])

    async def vectors(self, document_id: int, model_id: str, dim: int) -> tuple[tuple[int, ...], Vector]:
        """Return chunk ids and float32[n, dim] of a document's chunks that have a vector of this model, in order."""
        found = await self._sql.rows(_VECTORS, document_id, model_id, dim * _FLOAT_BYTES)
        return tuple(chunk_id for chunk_id, _ in found), read_vectors((blob for _, blob in found), dim)

    async def lacking(
        self, room_id: str, model_id: str, dim: int | None, limit: int, after: int = 0
    ) -> tuple[Chunk, ...]:
        """Return up to `limit` chunks of a room, after an id, that have no vector of this model, by id (D17)."""
        size = None if dim is None else dim * _FLOAT_BYTES
        return tuple(_chunk(row) for row in await self._sql.rows(_LACKING, room_id, model_id, size, after, limit))


def _document(row: Row) -> Document:
    document_id, room_id, title, media_type, size, event_id, added_by, added_at, chunks, private_to = row
    at: datetime = read_time(added_at)
    return Document(document_id, room_id, title, media_type, size, event_id, added_by, at, chunks, private_to)


def _chunk(row: Row) -> Chunk:
    return Chunk(*row)
