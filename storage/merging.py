"""Memories that become one (P15): the row that takes their place, and what mentioned them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from memory.cleanup import Merged
from storage.codec import ids_json
from storage.memory_codec import NAMES, encode
from storage.sql import Sql

_COLUMNS = ", ".join(NAMES[1:])  # the id is still to come
_INSERT = f"INSERT INTO memories ({_COLUMNS}) VALUES ({', '.join('?' * len(NAMES[1:]))}) RETURNING id"
_IDS = "(SELECT value FROM json_each(?))"
# What was learned is a part by itself; of a memory that was merged before, its parts.
_PARTS_OF_LEARNED = f"""
INSERT INTO merged_mentions (memory_id, part, event_id)
SELECT ?, memory_id, event_id FROM mentions
WHERE memory_id IN (SELECT id FROM memories WHERE id IN {_IDS} AND source = 'promotion')
"""
_PARTS_OF_MERGED = f"""
INSERT INTO merged_mentions (memory_id, part, event_id)
SELECT ?, part, event_id FROM merged_mentions WHERE memory_id IN {_IDS}
"""
_MENTIONS = f"""
INSERT INTO mentions (event_id, memory_id) SELECT DISTINCT event_id, ? FROM mentions WHERE memory_id IN {_IDS}
"""
_TAKE_BACK = "DELETE FROM merged_mentions WHERE event_id = ? RETURNING memory_id, part"
# Nobody can cut a part out of a text, so the whole of it goes, unless a person has made it theirs by editing it.
_WITHOUT_A_PART = """
DELETE FROM memories WHERE protected = 0 AND source = 'merge' AND id IN (
    SELECT json_extract(value, '$[0]') FROM json_each(?) WHERE NOT EXISTS (
        SELECT 1 FROM merged_mentions
        WHERE memory_id = json_extract(value, '$[0]') AND part = json_extract(value, '$[1]')
    )
) RETURNING id
"""


async def merge(sql: Sql, merged: Merged) -> int:
    """Save a merged memory, hand the mentions of its sources to it, delete these, and return its id."""
    ((memory_id,),) = await sql.rows(_INSERT, *encode(merged.memory)[1:])
    sources = ids_json(merged.sources)
    await sql.run(_PARTS_OF_LEARNED, memory_id, sources)
    await sql.run(_PARTS_OF_MERGED, memory_id, sources)
    await sql.run(_MENTIONS, memory_id, sources)
    await sql.run(f"DELETE FROM memories WHERE id IN {_IDS}", sources)
    return int(memory_id)


async def take_back(sql: Sql, event_id: str) -> Sequence[int]:
    """Delete the merged memories of which a part was learned only from this event; return their ids."""
    touched = await sql.rows(_TAKE_BACK, event_id)
    if not touched:
        return ()
    return [memory_id for (memory_id,) in await sql.rows(_WITHOUT_A_PART, json.dumps(touched))]
