"""Tokens spent, call by call, and their sums."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from memory.model import Usage, UsageBy, UsageTotal
from storage.codec import time_text
from storage.sql import Sql

_ADD = """
INSERT INTO usage (event_id, user_id, room_id, purpose, model,
                   input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SUMS = 5
_COLUMNS = {"day": "substr(at, 1, 10)", "user": "user_id", "room": "room_id", "model": "model", "purpose": "purpose"}
# Times are text in UTC that begins with the date, so a date is before every time on it.
_TOTALS = """
SELECT count(*), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens){columns}
FROM usage WHERE at >= ? AND at < ?{owned}{grouped}
"""
_PRUNE = "DELETE FROM usage WHERE id IN (SELECT id FROM usage WHERE at < ? ORDER BY at LIMIT ?)"


class UsageRows:
    """Rows of `usage`, one for each model call."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def add(self, event_id: str, user_id: str, room_id: str, purpose: str, usage: Usage, at: datetime) -> None:
        """Record one model call; `purpose`: see `actors.store.UsageTable`."""
        await self._sql.run(
            _ADD,
            event_id,
            user_id,
            room_id,
            purpose,
            usage.model,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            time_text(at),
        )

    async def totals(
        self, first: date, last: date, by: Sequence[UsageBy], *, user_id: str | None = None
    ) -> tuple[UsageTotal, ...]:
        """Sum the calls of some UTC dates, both included, for each combination of `by` there is, in order.

        `user_id`: only those made for this person.

        Reads those days by an index; what it takes grows with the calls made on them.
        """
        columns = ", ".join(_COLUMNS[each] for each in by)
        statement = _TOTALS.format(
            columns=f", {columns}" if columns else "",
            owned="" if user_id is None else " AND user_id = ?",
            grouped=f" GROUP BY {columns} ORDER BY {columns}" if columns else " HAVING count(*) > 0",
        )
        after = last + timedelta(days=1)
        owner = () if user_id is None else (user_id,)
        rows = await self._sql.rows(statement, first.isoformat(), after.isoformat(), *owner)
        return tuple(UsageTotal(tuple(map(str, row[_SUMS:])), *map(int, row[:_SUMS])) for row in rows)

    async def prune(self, before: datetime, limit: int) -> int:
        """Delete up to `limit` calls made before this moment, the oldest first; return how many."""
        return await self._sql.changed(_PRUNE, time_text(before), limit)
