from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from memory.events import OutboxRow
from storage import Database
from tests.unit.storage import build
from tests.unit.storage.conftest import STORAGE

NOW = build.NOW


@STORAGE
@given(rows=st.lists(build.outbox_rows, min_size=1, max_size=5))
async def test_rows_come_back_as_they_were_added_in_order(database: Database, rows: list[OutboxRow]) -> None:
    async with database.transaction() as tables:
        await tables.outbox.add(rows)
        assert (await tables.outbox.pending())[-len(rows) :] == tuple(rows)
        for row in rows:
            assert row in await tables.outbox.pending(row.room_id)


async def test_a_transaction_id_is_there_once_whatever_is_added_later(database: Database) -> None:
    """Exactly once: a resumed turn adds its reply again."""
    row = build.outbox_row()
    async with database.transaction() as tables:
        await tables.outbox.add([row])
        await tables.outbox.add([replace(row, content="other words"), replace(row, content="and others")])
        assert await tables.outbox.pending() == (row,)
        await tables.outbox.sent(row.txn_id, "$sent")
        await tables.outbox.add([row])
        assert await tables.outbox.pending() == ()


async def test_pending_rows_are_those_neither_sent_nor_failed(database: Database) -> None:
    rows = [build.outbox_row(room_id=room) for room in (build.ROOM, build.OTHER_ROOM) for _ in range(3)]
    async with database.transaction() as tables:
        await tables.outbox.add(rows)
        await tables.outbox.sent(rows[0].txn_id, "$sent")
        await tables.outbox.failed(rows[4].txn_id, "not in the room")
        await tables.outbox.sent("unknown", "$x")
        assert await tables.outbox.pending() == (rows[1], rows[2], rows[3], rows[5])
        assert await tables.outbox.pending(build.ROOM) == (rows[1], rows[2])
        assert await tables.outbox.pending("!x:y") == ()


async def test_what_the_homeserver_has_is_sent_whatever_was_thought_before(database: Database) -> None:
    row = build.outbox_row()
    async with database.transaction() as tables:
        await tables.outbox.add([row])
        await tables.outbox.failed(row.txn_id, "unclear")
        await tables.outbox.sent(row.txn_id, "$sent")
        await tables.outbox.failed(row.txn_id, "too late")
        found = await tables.outbox._sql.rows("SELECT sent_event_id, failure FROM outbox")
    assert found == [("$sent", None)]


async def test_pruning_deletes_old_rows_that_are_done(database: Database) -> None:
    later = NOW + timedelta(microseconds=1)
    old_sent, old_failed, old_pending = (build.outbox_row() for _ in range(3))
    recent = build.outbox_row(created_at=later)
    async with database.transaction() as tables:
        await tables.outbox.add([old_sent, old_failed, old_pending, recent])
        for row in (old_sent, recent):
            await tables.outbox.sent(row.txn_id, "$sent")
        await tables.outbox.failed(old_failed.txn_id, "no")
        assert await tables.outbox.prune(later) == 2
        found = await tables.outbox._sql.rows("SELECT txn_id FROM outbox ORDER BY seq")
    assert found == [(old_pending.txn_id,), (recent.txn_id,)]
