"""Events on their way to the homeserver."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memory.events import OutboxRow
from storage.attachments import AttachmentRows
from storage.codec import read_time, storable, time_text
from storage.sql import Row, Sql

_ADD = """
INSERT INTO outbox (txn_id, room_id, event_id, part, content, created_at, device_id, sent_event_id, edits, only_for)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (txn_id) DO NOTHING
"""
_PENDING = """
SELECT txn_id, room_id, event_id, part, content, created_at, device_id, sent_event_id, edits, only_for FROM outbox
WHERE sent_event_id IS NULL AND failure IS NULL
"""
# What was uploaded goes in only where the row is still to be sent and still has its file: once.
_UPLOADED = """
UPDATE outbox SET content = ? WHERE txn_id = ? AND sent_event_id IS NULL AND failure IS NULL
AND txn_id IN (SELECT txn_id FROM attachments)
"""
# A word said elsewhere on account of an event is no answer to it that the room of the event could take back.
_ANSWERS = """
SELECT event_id FROM outbox WHERE sent_event_id = ? AND room_id = ?
AND NOT EXISTS (SELECT 1 FROM journal WHERE journal.event_id = outbox.event_id AND journal.room_id <> outbox.room_id)
"""
# Of edits that wait, only the newest matters: a slow homeserver does not get them all.
_SUPERSEDE = """
UPDATE outbox SET content = '{}', failure = 'superseded'
WHERE room_id = ? AND edits = ? AND seq < ? AND sent_event_id IS NULL AND failure IS NULL
"""
_RETRACT = """
UPDATE outbox SET content = '{}', failure = CASE WHEN sent_event_id IS NULL THEN 'redacted' ELSE failure END
WHERE event_id = ?
"""
_PRUNE = """
DELETE FROM outbox WHERE created_at < ? AND (sent_event_id IS NOT NULL OR failure IS NOT NULL)
AND event_id NOT IN (SELECT event_id FROM journal WHERE state IN ('received', 'answered'))
"""


class OutboxRows:
    """Rows of `outbox`, with what waits beside them in `attachments`."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql
        self._files = AttachmentRows(sql)

    async def add(self, rows: Sequence[OutboxRow]) -> None:
        """Store rows; one whose txn_id is already there is left alone.

        One that edits an earlier row takes the place of unsent edits of that row.
        """
        if all(row.attachment is None and row.edits is None for row in rows):
            await self._sql.many(_ADD, [_encode(row) for row in rows])
            return
        for row in rows:  # one at a time: a row that was there keeps its file, or has sent it
            added = await self._sql.row(f"{_ADD} RETURNING seq", *_encode(row))
            if added is None:
                continue
            if row.attachment is not None:
                await self._files.add(row.txn_id, row.attachment)
            if row.edits is not None:
                await self._sql.run(_SUPERSEDE, row.room_id, row.edits, added[0])

    async def first(self, room_id: str) -> OutboxRow | None:
        """Return the row of a room that is to be sent next, with its attachment; None: there is none."""
        row = await self._sql.row(f"{_PENDING} AND room_id = ? ORDER BY seq LIMIT 1", room_id)
        return None if row is None else replace(_decode(row), attachment=await self._files.of(row[0]))

    async def known(self, txn_id: str) -> bool:
        """Whether there is a row of this transaction id, sent or not."""
        return await self._sql.row("SELECT 1 FROM outbox WHERE txn_id = ?", txn_id) is not None

    async def event_of(self, txn_id: str) -> str | None:
        """Return the event that a row became, None where it was not sent."""
        row = await self._sql.row("SELECT sent_event_id FROM outbox WHERE txn_id = ?", txn_id)
        return None if row is None else row[0]

    async def uploaded(self, txn_id: str, content: str) -> None:
        """Put in the content that says where a row's file lies; the file itself goes."""
        await self._sql.run(_UPLOADED, storable(content), txn_id)
        await self._files.drop(txn_id)

    async def pending(self, room_id: str | None = None) -> tuple[OutboxRow, ...]:
        """Return rows not yet confirmed, in order of insertion, without their attachments."""
        if room_id is None:
            found = await self._sql.rows(f"{_PENDING} ORDER BY seq")
        else:
            found = await self._sql.rows(f"{_PENDING} AND room_id = ? ORDER BY seq", room_id)
        return tuple(_decode(row) for row in found)

    async def sent(self, txn_id: str, event_id: str) -> None:
        """Note that the homeserver took a row; this outweighs an earlier `failed`."""
        await self._sql.run("UPDATE outbox SET sent_event_id = ?, failure = NULL WHERE txn_id = ?", event_id, txn_id)
        await self._files.drop(txn_id)

    async def failed(self, txn_id: str, reason: str) -> None:
        """Note that a row will never be taken; a row that was sent stays sent."""
        await self._sql.run(
            "UPDATE outbox SET failure = ? WHERE txn_id = ? AND sent_event_id IS NULL", storable(reason), txn_id
        )
        await self._files.drop(txn_id)

    async def retract(self, event_id: str) -> None:
        """Blank the answer to an event: what was sent keeps its id alone, what was not is never sent; files go."""
        await self._sql.run(_RETRACT, event_id)
        await self._files.drop_of(event_id)

    async def answers(self, sent_event_id: str, room_id: str) -> str | None:
        """Return the event that one of the bot's own answers, both of this room; None when it is not known."""
        row = await self._sql.row(_ANSWERS, storable(sent_event_id), room_id)
        return None if row is None else str(row[0])

    async def picture(self, sent_event_id: str, room_id: str) -> tuple[str, bool] | None:
        """Return which event one of the bot's own in a room answers, and whether it is a picture; None: not known."""
        row = await self._sql.row(
            "SELECT event_id, content FROM outbox WHERE sent_event_id = ? AND room_id = ?", sent_event_id, room_id
        )
        return None if row is None else (str(row[0]), json.loads(row[1]).get("msgtype") == "m.image")

    async def prune(self, before: datetime) -> int:
        """Delete rows created before this moment that were sent or failed; return how many.

        Those of an event that is still worked on stay, so that going on with it sends nothing twice.
        """
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
        row.edits,
        row.only_for,
    )


def _decode(row: Row) -> OutboxRow:
    txn_id, room_id, event_id, part, content, created_at, device_id, sent_event_id, edits, only_for = row
    at = read_time(created_at)
    return OutboxRow(txn_id, room_id, event_id, part, content, at, device_id, sent_event_id, edits, only_for)
