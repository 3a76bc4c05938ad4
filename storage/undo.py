"""One step back for each person or room: what their last command took away, until it is used or too old."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from memory.types import Memory
from memory.undo import Kept, Taken
from storage.codec import ids_json, time_text
from storage.memory_codec import COLUMNS, NAMES, decode, encode
from storage.sql import Row, Sql

_KEEP = """
INSERT INTO undo (owner, event_id, at, taken) VALUES (?, ?, ?, ?)
ON CONFLICT (owner) DO UPDATE SET event_id = excluded.event_id, at = excluded.at, taken = excluded.taken
"""
_MENTIONS = """
SELECT memory_id, event_id FROM mentions WHERE memory_id IN (SELECT value FROM json_each(?)) ORDER BY rowid
"""
_PARTS = "SELECT memory_id, parts FROM merged_parts WHERE memory_id IN (SELECT value FROM json_each(?))"
_TAKE = "DELETE FROM undo WHERE owner = ? RETURNING at >= ?, taken"


class UndoRows:
    """Rows of `undo`."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def as_they_are(self, ids: Sequence[int]) -> tuple[Kept, ...]:
        """Return those of the memories that exist, with their mentions, by id: to be kept before they change."""
        wanted = ids_json(ids)
        rows = await self._sql.rows(
            f"SELECT {COLUMNS} FROM memories WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id", wanted
        )
        events: dict[int, list[str]] = {}
        for memory_id, event_id in await self._sql.rows(_MENTIONS, wanted):
            events.setdefault(memory_id, []).append(event_id)
        parts = {memory_id: read_parts(text) for memory_id, text in await self._sql.rows(_PARTS, wanted)}
        memories = [decode(row) for row in rows]
        return tuple(Kept(each, tuple(events.get(each.id, ())), parts.get(each.id, ())) for each in memories)

    async def keep(self, owner: str, event_id: str, at: datetime, taken: Taken) -> None:
        """Keep what a command took away in place of what was kept before; calls of one event make one step."""
        row = await self._sql.row("SELECT taken FROM undo WHERE owner = ? AND event_id = ?", owner, event_id)
        whole = taken if row is None else _read(row[0]).joined(taken)
        await self._sql.run(_KEEP, owner, event_id, time_text(at), _written(whole))

    async def take(self, owner: str, since: datetime) -> Taken | None:
        """Return and delete what was kept at or after this moment; None: there is nothing (any more)."""
        row = await self._sql.row(_TAKE, owner, time_text(since))
        return _read(row[1]) if row is not None and row[0] else None

    async def prune(self, before: datetime, after: datetime) -> int:
        """Delete what was kept before one moment, or after another (by a clock that was wrong); return how many."""
        return await self._sql.changed("DELETE FROM undo WHERE at < ? OR at > ?", time_text(before), time_text(after))

    async def forget_event(self, owner: str, event_id: str) -> None:
        """Let what only this event had taught go from what is kept, and the row when nothing is left."""
        row = await self._sql.row("SELECT taken FROM undo WHERE owner = ?", owner)
        if row is None:
            return
        taken = _read(row[0])
        left = taken.without_event(event_id)
        if not left.was:
            await self._sql.run("DELETE FROM undo WHERE owner = ?", owner)
        elif left != taken:
            await self._sql.run("UPDATE undo SET taken = ? WHERE owner = ?", _written(left), owner)


def parts_json(parts: Sequence[Kept]) -> str:
    """Write what a merged memory was put together from as JSON."""
    return json.dumps([_plain(part) for part in parts])


def read_parts(text: str) -> tuple[Kept, ...]:
    """Read what `parts_json` wrote."""
    return tuple(_kept(each) for each in json.loads(text))


def _written(taken: Taken) -> str:
    was = [_plain(kept) for kept in taken.was]
    return json.dumps({"was": was, "now": [_by_name(memory) for memory in taken.now]})


def _read(text: str) -> Taken:
    read = json.loads(text)
    return Taken(
        tuple(_kept(each) for each in read["was"]),
        tuple(_memory(each) for each in read["now"]),
    )


def _plain(kept: Kept) -> dict[str, object]:
    parts = [_plain(part) for part in kept.parts]
    return {"memory": _by_name(kept.memory), "mentioned_by": kept.mentioned_by, "parts": parts}


def _kept(read: dict[str, Any]) -> Kept:
    return Kept(_memory(read["memory"]), tuple(read["mentioned_by"]), tuple(_kept(part) for part in read["parts"]))


def _by_name(memory: Memory) -> dict[str, object]:
    return dict(zip(NAMES, encode(memory), strict=True))


def _memory(by_name: dict[str, Any]) -> Memory:
    row: Row = tuple(by_name[name] for name in NAMES)
    return decode(row)
