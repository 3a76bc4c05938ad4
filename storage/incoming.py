"""What comes in: events in the order they arrived, with the sync token of the batch they came in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from memory.events import Incoming, JournalEntry, JournalState, SyncBatch, Undecryptable
from storage.codec import read_time, storable_or_none, time_text
from storage.entries import SELECT, decode_all, encode, encode_waiting
from storage.rooms import RoomRows
from storage.sql import Sql

_INSERT = """
INSERT INTO journal (event_id, room_id, sender, kind, sent_at, body, text, target, thread_root, reply_to,
                     addressed, direct, alone, media, scene, state, received_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (event_id) DO NOTHING
"""
_INSERT_WAITING = """
INSERT INTO journal (event_id, room_id, sender, kind, sent_at, state, received_at, session_id, raw)
VALUES (?, ?, ?, 'message', ?, 'undecrypted', ?, ?, ?) ON CONFLICT (event_id) DO NOTHING
"""
_NO_LONGER_WAITING = """
DELETE FROM journal WHERE state = 'undecrypted' AND event_id IN (SELECT value FROM json_each(?))
"""
_SET_NEXT_BATCH = """
INSERT INTO sync_state (id, next_batch) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET next_batch = excluded.next_batch
"""
_KNOWN = "SELECT event_id FROM journal WHERE event_id IN (SELECT value FROM json_each(?))"
_WAITING = """
SELECT event_id, room_id, sender, session_id, sent_at, raw FROM journal
WHERE state = 'undecrypted'
"""


class IncomingRows:
    """Rows of `journal` as they come in, and the one of `sync_state`."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def sync_token(self) -> str | None:
        """Return next_batch of the last journalled sync, None before the first."""
        row = await self._sql.row("SELECT next_batch FROM sync_state")
        return None if row is None else str(row[0])

    async def record(
        self, batch: SyncBatch, received: Sequence[Incoming], ignored: Sequence[Incoming], at: datetime
    ) -> tuple[JournalEntry, ...]:
        """Store events and next_batch; return the newly `received` ones. An event already there is left alone.

        `at` is the moment of arrival by our clock. Rooms of `batch.encrypted_rooms` are marked encrypted in the same
        transaction; echoes are not looked at. Ignored events are stored without any text. Undecryptable ones wait in
        that state; an event of `received` or `ignored` replaces its waiting row with a new seq. Late events come
        before the others of the batch: they are older.
        """
        ((last,),) = await self._sql.rows("SELECT coalesce(max(seq), 0) FROM journal")
        await self._insert(batch, received, ignored, time_text(at))
        await RoomRows(self._sql).mark_encrypted(batch.encrypted_rooms)
        await self._sql.run(_SET_NEXT_BATCH, batch.next_batch)
        if not received:
            return ()
        return decode_all(await self._sql.rows(f"{SELECT} WHERE seq > ? AND state = 'received' ORDER BY seq", last))

    async def known(self, event_ids: Sequence[str]) -> frozenset[str]:
        """Return which of these event ids are journalled."""
        found = await self._sql.rows(_KNOWN, json.dumps(list(event_ids)))
        return frozenset(event_id for (event_id,) in found)

    async def waiting(self, room_id: str | None = None, session_id: str | None = None) -> tuple[Undecryptable, ...]:
        """Return the undecrypted events in order of arrival: of one room or Megolm session where named, or all.

        Whoever sends a key says for which: there may be no such room, nor any text of that kind in a database.
        """
        where, values = _only(room_id=storable_or_none(room_id), session_id=storable_or_none(session_id))
        found = await self._sql.rows(f"{_WAITING}{where} ORDER BY seq", *values)
        return tuple(
            Undecryptable(event, room, sender, session, read_time(sent), raw)
            for event, room, sender, session, sent, raw in found
        )

    async def _insert(
        self, batch: SyncBatch, received: Sequence[Incoming], ignored: Sequence[Incoming], at: str
    ) -> None:
        """Insert everything of a batch, as far as it can be told in the order of the timeline."""
        place = {event.event_id: number for number, event in enumerate((*batch.late, *batch.events))}
        rows = [encode(event, JournalState.RECEIVED, at) for event in received]
        rows += [encode(event, JournalState.IGNORED, at) for event in ignored]
        rows.sort(key=lambda row: place.get(str(row[0]), len(place)))
        await self._sql.run(_NO_LONGER_WAITING, json.dumps([row[0] for row in rows]))
        await self._sql.many(_INSERT, rows)
        await self._sql.many(_INSERT_WAITING, [encode_waiting(event, at) for event in batch.undecryptable])


def _only(**columns: str | None) -> tuple[str, list[str]]:
    """Return further conditions on the columns that are named, and their values."""
    named = {column: value for column, value in columns.items() if value is not None}
    return "".join(f" AND {column} = ?" for column in named), list(named.values())
