"""Events on their way to the homeserver."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memory.events import OutboxRow
from storage.codec import read_time, storable, time_text
from storage.sql import Row, Sql

_ADD = """
INSERT INTO outbox (txn_id, room_id, event_id, part, content, created_at, device_id, sent_event_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (txn_id) DO NOTHING
"""
_PENDING = """
SELECT txn_id, room_id, event_id, part, content, created_at, device_id, sent_event_id FROM outbox
WHERE sent_event_id IS NULL AND failure IS NULL
"""
_RETRACT = """
UPDATE outbox SET content = '{}', failure = CASE WHEN sent_event_id IS NULL THEN 'redacted' ELSE failure END
WHERE event_id = ?
"""
_PRUNE = "DELETE FROM outbox WHERE created_at < ? AND (sent_event_id IS NOT NULL OR failure IS NOT NULL)"


class OutboxRows:
    """Rows of `outbox`."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def add(self, rows: Sequence[OutboxRow]) -> None:
        """Store rows; one whose txn_id is already there is left alone."""
        await self._sql.many(_ADD, [_encode(row) for row in rows])

    async def pending(self, room_id: str | None = None) -> tuple[OutboxRow, ...]:
        """Return rows not yet confirmed, in order of insertion."""
        if room_id is None:
            found = await self._sql.rows(f"{_PENDING} ORDER BY seq")
        else:
            found = await self._sql.rows(f"{_PENDING} AND room_id = ? ORDER BY seq", room_id)
        return tuple(_decode(row) for row in found)

    async def sent(self, txn_id: str, event_id: str) -> None:
        """Note that the homeserver took a row; this outweighs an earlier `failed`."""
        await self._sql.run("UPDATE outbox SET sent_event_id = ?, failure = NULL WHERE txn_id = ?", event_id, txn_id)

    async def failed(self, txn_id: str, reason: str) -> None:
        """Note that a row will never be taken; a row that was sent stays sent."""
        await self._sql.run(
            "UPDATE outbox SET failure = ? WHERE txn_id = ? AND sent_event_id IS NULL", storable(reason), txn_id
        )

    async def retract(self, event_id: str) -> None:
        """Blank the answer to an event: what was sent keeps its id alone, what was not is never sent."""
        await self._sql.run(_RETRACT, event_id)

    async def answers(self, sent_event_id: str) -> str | None:
        """Return the event that one of the bot's own events answers, None when it is not known (any more)."""
        row = await self._sql.row("SELECT event_id FROM outbox WHERE sent_event_id = ?", sent_event_id)
        return None if row is None else str(row[0])

    async def prune(self, before: datetime) -> int:
        """Delete rows created before this moment that were sent or failed; return how many."""
        return await self._sql.changed(_PRUNE, time_text(before))


def _encode(row: OutboxRow) -> tuple[str | int | None, ...]:
    return (
        row.txn_id,
        row.room_id,
        row.event_id,
        row.part,
        storable(row.content),
        time_text(row.created_at),
        row.device_id,
        row.sent_event_id,
    )


def _decode(row: Row) -> OutboxRow:
    txn_id, room_id, event_id, part, content, created_at, device_id, sent_event_id = row
    return OutboxRow(txn_id, room_id, event_id, part, content, read_time(created_at), device_id, sent_event_id)
