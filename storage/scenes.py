"""Who is in a scene, and until when."""

from __future__ import annotations

from datetime import datetime

from storage.codec import read_time, storable, time_text
from storage.sql import Sql

_PUT = """
INSERT INTO scenes (room_id, thread_root, user_id, until) VALUES (?, ?, ?, ?)
ON CONFLICT (room_id, thread_root, user_id) DO UPDATE SET until = excluded.until
"""
_UNTIL = "SELECT until FROM scenes WHERE room_id = ? AND thread_root = ? AND user_id = ?"
_END = "DELETE FROM scenes WHERE room_id = ? AND thread_root = ? AND user_id = ? RETURNING until"


class SceneRows:
    """Rows of `scenes`, by room, thread (None: the main timeline) and person."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def any(self) -> bool:
        """Whether anybody is in a scene, over or not."""
        return await self._sql.row("SELECT 1 FROM scenes LIMIT 1") is not None

    async def until(self, room_id: str, thread_root: str | None, user_id: str) -> datetime | None:
        """Return when a person's scene ends if nothing more is said; it may be past. None: there is none."""
        row = await self._sql.row(_UNTIL, room_id, storable(thread_root or ""), user_id)
        return None if row is None else read_time(row[0])

    async def put(self, room_id: str, thread_root: str | None, user_id: str, until: datetime) -> None:
        """Begin a scene, or let it go on until a later moment."""
        await self._sql.run(_PUT, room_id, storable(thread_root or ""), user_id, time_text(until))

    async def end(self, room_id: str, thread_root: str | None, user_id: str) -> datetime | None:
        """End a scene; return until when it would have gone on, None where there was none."""
        row = await self._sql.row(_END, room_id, storable(thread_root or ""), user_id)
        return None if row is None else read_time(row[0])

    async def end_of(self, user_id: str) -> None:
        """End every scene of a person."""
        await self._sql.run("DELETE FROM scenes WHERE user_id = ?", user_id)

    async def prune(self, before: datetime) -> int:
        """Delete scenes that were over before a moment; return how many."""
        return await self._sql.changed("DELETE FROM scenes WHERE until < ?", time_text(before))
