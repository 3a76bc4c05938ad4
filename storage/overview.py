"""What operators ask of the database as a whole."""

from __future__ import annotations

from memory.events import Backlog, Totals
from storage.codec import read_time
from storage.sql import Sql

_BACKLOG = "SELECT count(*), min(created_at) FROM outbox WHERE sent_event_id IS NULL AND failure IS NULL"
# User ids begin with @, and A is the character after it: both halves are answered from an index alone.
_USERS = """
SELECT count(*) FROM (
    SELECT scope_id FROM memories WHERE scope_id >= '@' AND scope_id < 'A'
    UNION
    SELECT user_id FROM memory_candidates
)
"""
_TOTALS = f"SELECT (SELECT count(*) FROM memories), (SELECT count(*) FROM memory_candidates), ({_USERS})"


class OverviewRows:
    """Sums over whole tables. `totals` takes some 0.1 s with a million memories: for people, not for every minute."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def backlog(self) -> Backlog:
        """Return how many events wait to be sent, and since when the oldest does."""
        ((rows, oldest),) = await self._sql.rows(_BACKLOG)
        return Backlog(int(rows), None if oldest is None else read_time(oldest))

    async def totals(self) -> Totals:
        """Count memories, candidates, and the users who have any of either."""
        ((memories, candidates, users),) = await self._sql.rows(_TOTALS)
        return Totals(int(memories), int(candidates), int(users))

    async def schema(self) -> int:
        """Return the number of the schema."""
        ((version,),) = await self._sql.rows("PRAGMA user_version")
        return int(version)
