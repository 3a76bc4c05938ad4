"""Settings that were set in chat, as JSON texts by key and room."""

from __future__ import annotations

from storage.codec import storable
from storage.sql import Sql

_SET = """
INSERT INTO settings (key, room_id, value) VALUES (?, ?, ?)
ON CONFLICT (key, room_id) DO UPDATE SET value = excluded.value
"""


class OverrideRows:
    """Rows of `settings`; the room "" is everywhere."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def all(self) -> dict[tuple[str, str], str]:
        """Return every value by key and room id, in order."""
        rows = await self._sql.rows("SELECT key, room_id, value FROM settings ORDER BY key, room_id")
        return {(key, room_id): value for key, room_id, value in rows}

    async def set(self, key: str, room_id: str, value: str) -> None:
        """Store a value in place of the one there may be."""
        await self._sql.run(_SET, key, room_id, storable(value))

    async def reset(self, key: str, room_id: str) -> None:
        """Remove a value, if there is one."""
        await self._sql.run("DELETE FROM settings WHERE key = ? AND room_id = ?", key, room_id)
