"""The vectors of memories: which there are, which are missing, and which are of an earlier model (D17)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from memory.types import ListKey, Memory
from storage.codec import Vector, read_vectors, vector_blob
from storage.memory_codec import COLUMNS, decode_all
from storage.sql import Sql

# The memory may have gone or changed while its text was embedded: then there is nothing to store.
_PUT = """
INSERT INTO embeddings (memory_id, model_id, vector) SELECT id, ?, ? FROM memories WHERE id = ? AND text = ?
ON CONFLICT (memory_id, model_id) DO UPDATE SET vector = excluded.vector
"""
_DROP_EARLIER = """
DELETE FROM embeddings WHERE memory_id = ?1 AND model_id <> ?2
AND EXISTS (SELECT 1 FROM embeddings AS own WHERE own.memory_id = ?1 AND own.model_id = ?2)
"""
_OF_LIST = """
SELECT id, vector FROM memories JOIN embeddings ON memory_id = id
WHERE scope_id = ? AND (scope_kind = 'global' OR (scope_kind = ? AND persona = ?))
AND model_id = ? AND length(vector) = ? ORDER BY id
"""
_PAGE_END = "SELECT max(id) FROM (SELECT id FROM memories WHERE id > ? ORDER BY id LIMIT ?)"
# One of another length is of a model that changed behind its name; no list would take it.
_LACKING = """
NOT EXISTS (
    SELECT 1 FROM embeddings
    WHERE memory_id = memories.id AND model_id = ?1 AND (?2 IS NULL OR length(vector) = ?2)
)
"""
_OF_SPAN = f"FROM memories WHERE id > ?3 AND id <= ?4 AND {_LACKING}"
_OF_OWNERS = f"""
SELECT {COLUMNS} FROM (SELECT key AS place, value AS owner FROM json_each(?3)) CROSS JOIN memories ON scope_id = owner
WHERE {_LACKING} ORDER BY place, id
"""
_FLOAT_BYTES = 4


async def put(sql: Sql, model_id: str, vectors: Iterable[tuple[int, str, Vector]]) -> None:
    """Store vectors (float32[dim]) of one model, each with its memory's id and the text that was embedded.

    Nothing is stored for a memory that is gone or says something else by now. Vectors that a memory has of other models
    go with the first of this one (D17): nothing would read them again.
    """
    rows = [(model_id, vector_blob(vector), memory_id, text) for memory_id, text, vector in vectors]
    await sql.many(_PUT, rows)
    await sql.many(_DROP_EARLIER, [(memory_id, model_id) for _, _, memory_id, _ in rows])


async def of_list(sql: Sql, key: ListKey, model_id: str, dim: int) -> tuple[tuple[int, ...], Vector]:
    """Return ids and float32[n, dim] of the list's memories that have a vector of this model, by id."""
    found = await sql.rows(_OF_LIST, key.owner, key.kind.value, key.persona, model_id, _size(dim))
    return tuple(memory_id for memory_id, _ in found), read_vectors((blob for _, blob in found), dim)


async def missing(
    sql: Sql, model_id: str, dim: int | None, after: int, span: int
) -> tuple[tuple[Memory, ...], int | None]:
    """Look at the next `span` memories by id after one; return those that need a vector, and the id to go on after.

    None: there are no more. A span at a time, so that no turn waits long for it.
    """
    end = await _end(sql, after, span)
    if end is None:
        return (), None
    return decode_all(await sql.rows(f"SELECT {COLUMNS} {_OF_SPAN} ORDER BY id", model_id, _size(dim), after, end)), end


async def count_missing(sql: Sql, model_id: str, dim: int | None, after: int, span: int) -> tuple[int, int | None]:
    """Count what `missing` would return, and return the id to go on after."""
    end = await _end(sql, after, span)
    if end is None:
        return 0, None
    ((count,),) = await sql.rows(f"SELECT count(*) {_OF_SPAN}", model_id, _size(dim), after, end)
    return int(count), end


async def missing_of(sql: Sql, owners: Sequence[str], model_id: str, dim: int | None) -> tuple[Memory, ...]:
    """Return what needs a vector of some rooms and users, in their order, and by id of each."""
    return decode_all(await sql.rows(_OF_OWNERS, model_id, _size(dim), json.dumps(list(owners))))


async def _end(sql: Sql, after: int, span: int) -> int | None:
    ((end,),) = await sql.rows(_PAGE_END, after, span)
    return None if end is None else int(end)


def _size(dim: int | None) -> int | None:
    return None if dim is None else dim * _FLOAT_BYTES
