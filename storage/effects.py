"""Results of effects, so that a resumed turn or command repeats none."""

from __future__ import annotations

from datetime import datetime

from storage.codec import storable, time_text
from storage.sql import Sql

_PRUNE = """
DELETE FROM effects WHERE EXISTS (
    SELECT 1 FROM journal
    WHERE journal.event_id = effects.event_id AND received_at < ? AND state IN ('learned', 'ignored', 'failed')
)
"""


class EffectRows:
    """Rows of `effects`, keyed by event and call number."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def recorded(self, event_id: str, call: int) -> str | None:
        """Return the recorded result, or None."""
        row = await self._sql.row("SELECT result FROM effects WHERE event_id = ? AND call = ?", event_id, call)
        return None if row is None else str(row[0])

    async def record(self, event_id: str, call: int, result: str) -> None:
        """Record a result, in the transaction of the effect itself. A second result for one call is a StorageError."""
        await self._sql.run(
            "INSERT INTO effects (event_id, call, result) VALUES (?, ?, ?)", event_id, call, storable(result)
        )

    async def drop(self, event_id: str) -> None:
        """Delete the results of an event that is not worked on any more."""
        await self._sql.run("DELETE FROM effects WHERE event_id = ?", event_id)

    async def prune(self, before: datetime) -> int:
        """Delete results of finished events that arrived before this moment; return how many."""
        return await self._sql.changed(_PRUNE, time_text(before))
