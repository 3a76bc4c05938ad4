"""Memories that become one (P15): the row that takes their place, and what it was put together from."""

from __future__ import annotations

from memory.cleanup import Apart, Merged
from memory.undo import Kept, left_without
from storage.codec import ids_json
from storage.memory_codec import NAMES, encode
from storage.sql import Sql
from storage.undo import UndoRows, parts_json

_WITHOUT_ID = ", ".join(NAMES[1:])
_INSERT = f"INSERT INTO memories ({_WITHOUT_ID}) VALUES ({', '.join('?' * len(NAMES[1:]))}) RETURNING id"
_IDS = "(SELECT value FROM json_each(?))"
_MENTIONS = f"""
INSERT INTO mentions (event_id, memory_id) SELECT DISTINCT event_id, ? FROM mentions WHERE memory_id IN {_IDS}
"""
_KEEP_PARTS = """
INSERT INTO merged_parts (memory_id, parts) VALUES (?, ?) ON CONFLICT (memory_id) DO UPDATE SET parts = excluded.parts
"""
_MERGED_OF_EVENT = """
SELECT mentions.memory_id FROM mentions JOIN merged_parts ON merged_parts.memory_id = mentions.memory_id
WHERE event_id = ?
"""


async def merge(sql: Sql, merged: Merged) -> int:
    """Save a merged memory, hand the mentions of its sources to it, delete these, and return its id."""
    was = await UndoRows(sql).as_they_are(merged.sources)
    # One that was merged before is no part: it is what it was put together from.
    parts = tuple(part for kept in was for part in kept.parts or (kept,))
    ((memory_id,),) = await sql.rows(_INSERT, *encode(merged.memory)[1:])
    sources = ids_json(merged.sources)
    await sql.run(_MENTIONS, memory_id, sources)
    await sql.run(_KEEP_PARTS, memory_id, parts_json(parts))
    await sql.run(f"DELETE FROM memories WHERE id IN {_IDS}", sources)
    return int(memory_id)


async def keep_parts(sql: Sql, kept: Kept) -> None:
    """Write what a merged memory is put together from; nothing of one that is not merged."""
    if kept.parts:
        await sql.run(_KEEP_PARTS, kept.memory.id, parts_json(kept.parts))


async def parts_without(sql: Sql, event_id: str) -> Apart:
    """Take an event off the parts it mentioned; return the merged memories that lack a part then, and what is left."""
    ids = [memory_id for (memory_id,) in await sql.rows(_MERGED_OF_EVENT, event_id)]
    gone: list[int] = []
    back: list[Kept] = []
    for kept in await UndoRows(sql).as_they_are(ids) if ids else ():
        left = left_without(kept, event_id)
        if [each.memory.id for each in left] == [kept.memory.id]:
            await keep_parts(sql, left[0])
        else:
            gone.append(kept.memory.id)
            back += left
    return Apart(tuple(gone), tuple(back))
