"""Counters per user."""

from __future__ import annotations

from storage.sql import Sql

_COUNT_ONE_MORE = """
INSERT INTO user_state (user_id, promoting_passes) VALUES (?, 1)
ON CONFLICT (user_id) DO UPDATE SET promoting_passes = promoting_passes + 1
RETURNING promoting_passes
"""


class UserRows:
    """Rows of `user_state`."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def add_promoting_pass(self, user_id: str) -> int:
        """Add one to the counter of passes that promoted (P13) and return it."""
        ((count,),) = await self._sql.rows(_COUNT_ONE_MORE, user_id)
        return int(count)
