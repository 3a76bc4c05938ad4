"""Durable memories with their vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from memory.errors import StorageError
from memory.types import Draft, ListKey, Memory, Origin, ScopeKind, Settlement, Source
from storage.codec import (
    Vector,
    date_of,
    ids_json,
    read_date,
    read_texts,
    read_time,
    read_time_or_none,
    read_vectors,
    storable,
    time_text,
    vector_blob,
)
from storage.sql import Row, Sql

_COLUMNS = (
    "id, scope_kind, scope_id, persona, text, source, protected, unused_days, counted_on, last_matched_at, mentions, "
    "first_seen, created_at, updated_at, origin_room, origin_event, origin_private, shared, rooms, tags"
)
# A room id is never a user id, so that only personal lists find global memories here.
_IN_LIST = "scope_id = ? AND (scope_kind = 'global' OR (scope_kind = ? AND persona = ?))"
_OF_USER = "scope_id = ? AND scope_kind IN ('personal', 'global')"
_SELECT = f"SELECT {_COLUMNS} FROM memories"
_INSERT = f"""
INSERT INTO memories (scope_kind, scope_id, persona, text, source, protected, counted_on, mentions,
                      first_seen, created_at, updated_at, origin_room, origin_event, origin_private)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING {_COLUMNS}
"""
_EDIT = f"UPDATE memories SET text = ?, protected = 1, updated_at = ? WHERE id = ? RETURNING {_COLUMNS}"
_IDS = "id IN (SELECT value FROM json_each(?))"
_USED = f"UPDATE memories SET unused_days = 0, last_matched_at = ?, counted_on = ? WHERE {_IDS}"
# The guard makes turns that overlap count like turns one after the other: whoever comes second adds nothing (D4).
_AGED = f"UPDATE memories SET unused_days = unused_days + 1, counted_on = ?1 WHERE counted_on < ?1 AND {_IDS}"
_HEALED = f"UPDATE memories SET counted_on = ?1 WHERE counted_on > ?1 AND {_IDS}"
# The memory may have gone or changed while its text was embedded: then there is nothing to store.
_PUT_VECTOR = """
INSERT INTO embeddings (memory_id, model_id, vector) SELECT id, ?, ? FROM memories WHERE id = ? AND text = ?
ON CONFLICT (memory_id, model_id) DO UPDATE SET vector = excluded.vector
"""
_VECTORS = f"""
SELECT id, vector FROM memories JOIN embeddings ON memory_id = id
WHERE {_IN_LIST} AND model_id = ? AND length(vector) = ? ORDER BY id
"""
_PAGE_END = "SELECT max(id) FROM (SELECT id FROM memories WHERE id > ? ORDER BY id LIMIT ?)"
_WITHOUT_VECTOR = f"""
{_SELECT} WHERE id > ? AND id <= ?
AND NOT EXISTS (SELECT 1 FROM embeddings WHERE memory_id = memories.id AND model_id = ?) ORDER BY id
"""
_FLOAT_BYTES = 4

# Enum(value) costs more than the rest of a row.
_SCOPES = {kind.value: kind for kind in ScopeKind}
_SOURCES = {source.value: source for source in Source}


class MemoryRows:
    """Rows of `memories` and `embeddings`."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def of_list(self, key: ListKey) -> tuple[Memory, ...]:
        """Return a list's memories by id: for a personal list that persona's and the user's global ones."""
        return _decode_all(await self._sql.rows(f"{_SELECT} WHERE {_IN_LIST} ORDER BY id", *_list_values(key)))

    async def of_user(self, user_id: str) -> tuple[Memory, ...]:
        """Return personal and global memories of a user over all personas, by id."""
        return _decode_all(await self._sql.rows(f"{_SELECT} WHERE {_OF_USER} ORDER BY id", user_id))

    async def count_of_user(self, user_id: str) -> int:
        """Count what P3 counts: personal and global memories over all personas."""
        ((count,),) = await self._sql.rows(f"SELECT count(*) FROM memories WHERE {_OF_USER}", user_id)
        return int(count)

    async def count_of_list(self, key: ListKey) -> int:
        """Count what a capacity is held against (D9): one scope and persona, global memories not among them."""
        ((count,),) = await self._sql.rows(
            "SELECT count(*) FROM memories WHERE scope_id = ? AND scope_kind = ? AND persona = ?", *_list_values(key)
        )
        return int(count)

    async def get(self, ids: Sequence[int]) -> tuple[Memory, ...]:
        """Return those of the ids that exist, by id."""
        return _decode_all(await self._sql.rows(f"{_SELECT} WHERE {_IDS} ORDER BY id", ids_json(ids)))

    async def insert(self, draft: Draft, now: datetime) -> Memory:
        """Save a memory and return it: unused_days 0, counted_on today, created and updated now (D1).

        Its mentions come from the candidate it was promoted from (`candidates.promoted`); an explicit save has none.
        """
        at = time_text(now)
        (row,) = await self._sql.rows(
            _INSERT,
            draft.scope.value,
            draft.scope_id,
            draft.persona,
            storable(draft.text),
            draft.source.value,
            draft.protected,
            date_of(now),
            draft.mentions,
            time_text(draft.first_seen),
            at,
            at,
            draft.origin.room,
            draft.origin.event,
            draft.origin.private,
        )
        return _decode(row)

    async def edit(self, memory_id: int, text: str, now: datetime) -> Memory:
        """Set text and protection (D11), drop the stale vectors, leave the counters. StorageError: no such memory."""
        row = await self._sql.row(_EDIT, storable(text), time_text(now), memory_id)
        if row is None:
            raise StorageError(f"memory {memory_id} does not exist")
        await self._sql.run("DELETE FROM embeddings WHERE memory_id = ?", memory_id)
        return _decode(row)

    async def delete(self, ids: Sequence[int]) -> None:
        """Delete memories with their vectors; mentions of them go too."""
        await self._sql.run(f"DELETE FROM memories WHERE {_IDS}", ids_json(ids))

    async def settle(self, settlement: Settlement) -> None:
        """Apply counter changes (D3, D4, D16), one statement for each kind; ids that no longer exist are ignored."""
        today = settlement.today.isoformat()
        if settlement.used:
            await self._sql.run(_USED, time_text(settlement.now), today, ids_json(settlement.used))
        if settlement.aged:
            await self._sql.run(_AGED, today, ids_json(settlement.aged))
        if settlement.healed:
            await self._sql.run(_HEALED, today, ids_json(settlement.healed))

    async def put_vectors(self, model_id: str, vectors: Iterable[tuple[int, str, Vector]]) -> None:
        """Store vectors (float32[dim]) of one model, each with its memory's id and the text that was embedded.

        Nothing is stored for a memory that is gone or says something else by now.
        """
        rows = [(model_id, vector_blob(vector), memory_id, text) for memory_id, text, vector in vectors]
        await self._sql.many(_PUT_VECTOR, rows)

    async def vectors_of_list(self, key: ListKey, model_id: str, dim: int) -> tuple[tuple[int, ...], Vector]:
        """Return ids and float32[n, dim] of the list's memories that have a vector of this model, by id."""
        found = await self._sql.rows(_VECTORS, *_list_values(key), model_id, dim * _FLOAT_BYTES)
        return tuple(memory_id for memory_id, _ in found), read_vectors((blob for _, blob in found), dim)

    async def without_vector(self, model_id: str, after: int, span: int) -> tuple[tuple[Memory, ...], int | None]:
        """Look at the next `span` memories by id after one; return those that need a vector of this model (D17).

        And the id to go on after, None when there are no more. A span at a time, so that no turn waits long for it.
        """
        ((end,),) = await self._sql.rows(_PAGE_END, after, span)
        if end is None:
            return (), None
        return _decode_all(await self._sql.rows(_WITHOUT_VECTOR, after, end, model_id)), end


def _list_values(key: ListKey) -> tuple[str, str, str]:
    return key.owner, key.kind.value, key.persona


def _decode_all(rows: Iterable[Row]) -> tuple[Memory, ...]:
    return tuple([_decode(row) for row in rows])


def _decode(row: Row) -> Memory:
    """Read a row of `_COLUMNS`."""
    (
        memory_id, scope, scope_id, persona, text, source, protected, unused_days, counted_on, last_matched_at,
        mentions, first_seen, created_at, updated_at, origin_room, origin_event, origin_private, shared, rooms, tags,
    ) = row  # fmt: skip
    return Memory(
        id=memory_id,
        scope=_SCOPES[scope],
        scope_id=scope_id,
        persona=persona,
        text=text,
        source=_SOURCES[source],
        protected=bool(protected),
        unused_days=unused_days,
        counted_on=read_date(counted_on),
        last_matched_at=read_time_or_none(last_matched_at),
        mentions=mentions,
        first_seen=read_time(first_seen),
        created_at=read_time(created_at),
        updated_at=read_time(updated_at),
        origin=Origin(origin_room, origin_event, bool(origin_private)),
        shared=bool(shared),
        rooms=read_texts(rooms),
        tags=read_texts(tags),
    )
