"""Counters and privacy level per user."""

from __future__ import annotations

import json
from collections.abc import Sequence

from memory.types import Privacy
from storage.sql import Sql

_COUNT_ONE_MORE = """
INSERT INTO user_state (user_id, promoting_passes) VALUES (?, 1)
ON CONFLICT (user_id) DO UPDATE SET promoting_passes = promoting_passes + 1
RETURNING promoting_passes
"""


# Commands of one person in two rooms may end in another order than they came.
_FORGET_THROUGH = """
INSERT INTO user_state (user_id, forgotten_through) VALUES (?, ?)
ON CONFLICT (user_id) DO UPDATE SET forgotten_through = max(forgotten_through, excluded.forgotten_through)
"""


_SET_PRIVACY = """
INSERT INTO user_state (user_id, privacy) VALUES (?, ?) ON CONFLICT (user_id) DO UPDATE SET privacy = excluded.privacy
"""
_SILENT = """
SELECT user_id FROM user_state
WHERE user_id IN (SELECT value FROM json_each(?)) AND privacy = 'silent'
"""


class UserRows:
    """Rows of `user_state`."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def add_promoting_pass(self, user_id: str) -> int:
        """Add one to the counter of passes that promoted (P13) and return it."""
        ((count,),) = await self._sql.rows(_COUNT_ONE_MORE, user_id)
        return int(count)

    async def promoting_passes(self, user_id: str) -> int:
        """Return the counter of passes that promoted since the last cleanup (P13)."""
        row = await self._sql.row("SELECT promoting_passes FROM user_state WHERE user_id = ?", user_id)
        return 0 if row is None else int(row[0])

    async def cleaned_up(self, user_id: str, counted: int) -> None:
        """Take what the counter was when a cleanup began off it; what was promoted meanwhile stays (P13)."""
        await self._sql.run(
            "UPDATE user_state SET promoting_passes = max(0, promoting_passes - ?) WHERE user_id = ?", counted, user_id
        )

    async def forget_through(self, user_id: str, event_id: str) -> int:
        """Note that nothing said up to this event is to be learned any more (P20); return its journal number."""
        row = await self._sql.row("SELECT seq FROM journal WHERE event_id = ?", event_id)
        if row is None:
            return 0
        await self._sql.run(_FORGET_THROUGH, user_id, row[0])
        return int(row[0])

    async def forgotten_through(self, user_id: str) -> int:
        """Return the journal number up to which nothing is to be learned any more, 0 when there is none (P20)."""
        row = await self._sql.row("SELECT forgotten_through FROM user_state WHERE user_id = ?", user_id)
        return 0 if row is None else int(row[0])

    async def privacy(self, user_id: str) -> Privacy:
        """Return the user's privacy level, OPEN unless set (D8)."""
        row = await self._sql.row("SELECT privacy FROM user_state WHERE user_id = ?", user_id)
        return Privacy.OPEN if row is None else Privacy(row[0])

    async def set_privacy(self, user_id: str, privacy: Privacy) -> None:
        """Set the user's privacy level."""
        await self._sql.run(_SET_PRIVACY, user_id, privacy.value)

    async def silent(self, user_ids: Sequence[str]) -> frozenset[str]:
        """Return which of these users are SILENT."""
        found = await self._sql.rows(_SILENT, json.dumps(list(user_ids)))
        return frozenset(user_id for (user_id,) in found)
