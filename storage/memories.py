"""Durable memories with their vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from memory.cleanup import Apart, Merged
from memory.errors import StorageError
from memory.types import Draft, ListKey, Memory, Settlement
from memory.undo import Kept
from storage import merging, vectors
from storage.codec import Vector, date_of, ids_json, storable, time_text
from storage.memory_codec import COLUMNS, NAMES, decode, decode_all, encode, texts_json
from storage.sql import Sql

# A room id is never a user id, so that only personal lists find global memories here.
_IN_LIST = "scope_id = ? AND (scope_kind = 'global' OR (scope_kind = ? AND persona = ?))"
_OF_USER = "scope_id = ? AND scope_kind IN ('personal', 'global')"
_SELECT = f"SELECT {COLUMNS} FROM memories"
_INSERT = f"""
INSERT INTO memories (scope_kind, scope_id, persona, text, source, protected, counted_on, mentions, first_seen,
                      created_at, updated_at, origin_room, origin_event, origin_private, shared, rooms, tags)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING {COLUMNS}
"""
_RESTORE = f"INSERT INTO memories ({COLUMNS}) VALUES ({', '.join('?' * len(NAMES))})"
_EDIT = f"UPDATE memories SET text = ?, protected = 1, updated_at = ? WHERE id = ? RETURNING {COLUMNS}"
_PROTECT = f"UPDATE memories SET protected = 1 WHERE id = ? RETURNING {COLUMNS}"
_MAKE_GLOBAL = f"""
UPDATE memories SET scope_kind = 'global', persona = '', protected = 1 WHERE id = ? RETURNING {COLUMNS}
"""
_IDS = "id IN (SELECT value FROM json_each(?))"
_USED = f"UPDATE memories SET unused_days = 0, last_matched_at = ?, counted_on = ? WHERE {_IDS}"
# The guard makes turns that overlap count like turns one after the other: whoever comes second adds nothing (D4).
_AGED = f"UPDATE memories SET unused_days = unused_days + 1, counted_on = ?1 WHERE counted_on < ?1 AND {_IDS}"
_HEALED = f"UPDATE memories SET counted_on = ?1 WHERE counted_on > ?1 AND {_IDS}"


class MemoryRows:
    """Rows of `memories` and `embeddings`."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def of_list(self, key: ListKey) -> tuple[Memory, ...]:
        """Return a list's memories by id: for a personal list that persona's and the user's global ones."""
        return decode_all(await self._sql.rows(f"{_SELECT} WHERE {_IN_LIST} ORDER BY id", *_list_values(key)))

    async def of_user(self, user_id: str) -> tuple[Memory, ...]:
        """Return personal and global memories of a user over all personas, by id."""
        return decode_all(await self._sql.rows(f"{_SELECT} WHERE {_OF_USER} ORDER BY id", user_id))

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
        return decode_all(await self._sql.rows(f"{_SELECT} WHERE {_IDS} ORDER BY id", ids_json(ids)))

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
            draft.shared,
            texts_json(draft.rooms),
            texts_json(draft.tags),
        )
        return decode(row)

    async def edit(self, memory_id: int, text: str, now: datetime) -> Memory:
        """Set text and protection (D11), drop the stale vectors, leave the counters. StorageError: no such memory."""
        row = await self._sql.row(_EDIT, storable(text), time_text(now), memory_id)
        if row is None:
            raise StorageError(f"memory {memory_id} does not exist")
        await self._sql.run("DELETE FROM embeddings WHERE memory_id = ?", memory_id)
        await self._sql.run("DELETE FROM merged_parts WHERE memory_id = ?", memory_id)
        return decode(row)

    async def protect(self, memory_id: int) -> Memory:
        """Set protection (D11), leave text, vectors and counters. StorageError: no such memory."""
        row = await self._sql.row(_PROTECT, memory_id)
        if row is None:
            raise StorageError(f"memory {memory_id} does not exist")
        return decode(row)

    async def set_visibility(self, memory: Memory) -> None:
        """Write whether a memory is shared, its rooms and its tags, and nothing else of it (D8, D11)."""
        await self._sql.run(
            "UPDATE memories SET shared = ?, rooms = ?, tags = ? WHERE id = ?",
            memory.shared,
            texts_json(memory.rooms),
            texts_json(memory.tags),
            memory.id,
        )

    async def make_global(self, memory_id: int) -> Memory:
        """Let a memory hold for every persona, which protects it (D11); counters, text and vectors stay."""
        (row,) = await self._sql.rows(_MAKE_GLOBAL, memory_id)
        return decode(row)

    async def reword(self, kept: Kept) -> None:
        """Write the text, protection, date of change and parts of a memory, and drop the stale vectors."""
        memory = kept.memory
        await self._sql.run(
            "UPDATE memories SET text = ?, protected = ?, updated_at = ? WHERE id = ?",
            storable(memory.text),
            memory.protected,
            time_text(memory.updated_at),
            memory.id,
        )
        await self._sql.run("DELETE FROM embeddings WHERE memory_id = ?", memory.id)
        await merging.keep_parts(self._sql, kept)

    async def restore(self, kept: Sequence[Kept]) -> None:
        """Bring deleted memories back under their ids, with their mentions and without vectors."""
        await self._sql.many(_RESTORE, [encode(each.memory) for each in kept])
        mentions = [(event_id, each.memory.id) for each in kept for event_id in each.mentioned_by]
        await self._sql.many("INSERT INTO mentions (event_id, memory_id) VALUES (?, ?)", mentions)
        for each in kept:
            await merging.keep_parts(self._sql, each)

    async def merge(self, merged: Merged) -> Memory:
        """Save a merged memory in place of its sources, whose mentions it takes over, and return it (P15)."""
        memory_id = await merging.merge(self._sql, merged)
        (memory,) = await self.get((memory_id,))
        return memory

    async def take_apart(self, event_id: str) -> Apart:
        """Undo those merges of which a part was learned from nothing but this event, which is taken back."""
        apart = await merging.parts_without(self._sql, event_id)
        if apart.gone:
            await self.delete(apart.gone)
            await self.restore(apart.back)
        return apart

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

    async def put_vectors(self, model_id: str, new: Iterable[tuple[int, str, Vector]]) -> None:
        """Store vectors (float32[dim]) of one model, each with its memory's id and the text that was embedded.

        Nothing is stored for a memory that is gone or says something else by now. Vectors of other models go (D17).
        """
        await vectors.put(self._sql, model_id, new)

    async def vectors_of_list(self, key: ListKey, model_id: str, dim: int) -> tuple[tuple[int, ...], Vector]:
        """Return ids and float32[n, dim] of the list's memories that have a vector of this model, by id."""
        return await vectors.of_list(self._sql, key, model_id, dim)

    async def without_vector(
        self, model_id: str, after: int, span: int, dim: int | None = None
    ) -> tuple[tuple[Memory, ...], int | None]:
        """Look at the next `span` memories by id after one; return those that need a vector of this model (D17).

        And the id to go on after, None when there are no more. `dim`: how long it must be, None for any length.
        """
        return await vectors.missing(self._sql, model_id, dim, after, span)

    async def count_without_vector(
        self, model_id: str, after: int, span: int, dim: int | None = None
    ) -> tuple[int, int | None]:
        """Count what `without_vector` would return, and return the id to go on after."""
        return await vectors.count_missing(self._sql, model_id, dim, after, span)

    async def without_vector_of(
        self, owners: Sequence[str], model_id: str, dim: int | None = None
    ) -> tuple[Memory, ...]:
        """Return what needs a vector of this model of some rooms and users, in their order, and by id of each."""
        return await vectors.missing_of(self._sql, owners, model_id, dim)


def _list_values(key: ListKey) -> tuple[str, str, str]:
    return key.owner, key.kind.value, key.persona
