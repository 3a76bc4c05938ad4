"""What must be remembered of a room."""

from __future__ import annotations

import json
from collections.abc import Sequence

from storage.sql import Sql

_DEFAULT_PERSONA = "default"
_MARK_ENCRYPTED = """
INSERT INTO room_state (room_id, encrypted) VALUES (?, 1) ON CONFLICT (room_id) DO UPDATE SET encrypted = 1
"""

_PERSONAS = "SELECT room_id, persona FROM room_state WHERE room_id IN (SELECT value FROM json_each(?))"
_SET_PERSONA = """
INSERT INTO room_state (room_id, persona) VALUES (?, ?) ON CONFLICT (room_id) DO UPDATE SET persona = excluded.persona
"""


class RoomRows:
    """Rows of `room_state`; a room without a row has the defaults."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def encrypted(self, room_id: str) -> bool:
        """Whether this room was ever seen encrypted."""
        row = await self._sql.row("SELECT encrypted FROM room_state WHERE room_id = ?", room_id)
        return row is not None and bool(row[0])

    async def mark_encrypted(self, room_ids: Sequence[str]) -> None:
        """Remember for ever that rooms are encrypted: nothing ever takes the mark away."""
        if room_ids:
            await self._sql.many(_MARK_ENCRYPTED, [(room_id,) for room_id in room_ids])

    async def persona(self, room_id: str) -> str:
        """Return the room's current persona, `default` unless set."""
        row = await self._sql.row("SELECT persona FROM room_state WHERE room_id = ?", room_id)
        return _DEFAULT_PERSONA if row is None else str(row[0])

    async def personas(self, room_ids: Sequence[str]) -> dict[str, str]:
        """Return the current persona of each of these rooms, `default` unless set."""
        found = await self._sql.rows(_PERSONAS, json.dumps(list(room_ids)))
        return dict.fromkeys(room_ids, _DEFAULT_PERSONA) | {str(room): str(persona) for room, persona in found}

    async def set_persona(self, room_id: str, persona: str) -> None:
        """Set the room's current persona."""
        await self._sql.run(_SET_PERSONA, room_id, persona)
