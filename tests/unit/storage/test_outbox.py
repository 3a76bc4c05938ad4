from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from memory.events import JournalState, OutboxRow, SyncBatch
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


async def test_a_newer_edit_takes_the_place_of_unsent_ones_of_the_same_row(database: Database) -> None:
    line, other = build.outbox_row(), build.outbox_row()
    edits = [build.outbox_row(edits=line.txn_id, content=f'{{"body": "{number}"}}') for number in range(4)]
    elsewhere = build.outbox_row(edits=other.txn_id)
    async with database.transaction() as tables:
        await tables.outbox.add([line, other, elsewhere, edits[0]])
        await tables.outbox.sent(edits[0].txn_id, "$edit0")
        await tables.outbox.add([edits[1]])
        await tables.outbox.add([edits[2]])
        assert await tables.outbox.pending() == (line, other, elsewhere, edits[2])
        await tables.outbox.add([edits[3], replace(edits[1], content="again")])
        assert await tables.outbox.pending() == (line, other, elsewhere, edits[3]), "one added again replaces nothing"
        # It was on its way when it was superseded, and the homeserver took it.
        await tables.outbox.sent(edits[1].txn_id, "$edit1")
        found = await tables.outbox._sql.rows("SELECT txn_id, failure FROM outbox WHERE failure IS NOT NULL")
        assert await tables.outbox.event_of(edits[1].txn_id) == "$edit1"
    assert found == [(edits[2].txn_id, "superseded")]


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


async def test_pruning_leaves_rows_of_an_event_that_is_still_worked_on(database: Database) -> None:
    """A bot that was off for long goes on with it, and adds no row that was sent already."""
    event = build.incoming()
    row = build.outbox_row(event_id=event.event_id)
    later = NOW + build.DAY
    async with database.transaction() as tables:
        await tables.journal.record(build.batch(event), [event], (), NOW)
        await tables.outbox.add([row])
        await tables.outbox.sent(row.txn_id, "$sent")
        assert await tables.outbox.prune(later) == 0
        await tables.journal.finish(event.event_id, JournalState.LEARNED)
        assert await tables.outbox.prune(later) == 1


async def files(database: Database) -> list[str]:
    """The transaction ids of the rows whose file is stored."""
    async with database.transaction() as tables:
        return [txn_id for (txn_id,) in await tables.outbox._sql.rows("SELECT txn_id FROM attachments ORDER BY txn_id")]


async def test_the_first_row_comes_with_its_file_until_that_is_uploaded(database: Database) -> None:
    row = replace(build.outbox_row(), attachment=b"\x00file")
    later = replace(build.outbox_row(), room_id=row.room_id)
    async with database.transaction() as tables:
        await tables.outbox.add([row, later])
        assert await tables.outbox.first(row.room_id) == row
        assert await tables.outbox.first("!x:y") is None
        assert await tables.outbox.pending() == (replace(row, attachment=None), later), "of all rows no files are read"
        await tables.outbox.uploaded(row.txn_id, '{"url": "mxc://a/b"}')
        assert await tables.outbox.first(row.room_id) == replace(row, attachment=None, content='{"url": "mxc://a/b"}')
    assert await files(database) == []


async def test_an_upload_counts_once_and_only_for_a_row_still_to_be_sent(database: Database) -> None:
    """A repeated transaction id never stands for two files, whatever finished late."""
    row = replace(build.outbox_row(), attachment=b"file")
    async with database.transaction() as tables:
        await tables.outbox.add([row])
        await tables.outbox.uploaded(row.txn_id, '{"url": "mxc://a/first"}')
        await tables.outbox.uploaded(row.txn_id, '{"url": "mxc://a/second"}')
        await tables.outbox.add([row])
        found = await tables.outbox.first(row.room_id)
        assert found is not None
        assert (found.content, found.attachment) == ('{"url": "mxc://a/first"}', None)
        await tables.outbox.retract(row.event_id)
        await tables.outbox.uploaded(row.txn_id, '{"url": "mxc://a/third"}')
        assert (await tables.outbox._sql.rows("SELECT content FROM outbox")) == [("{}",)]
    assert await files(database) == []


async def test_a_file_goes_with_its_row_however_that_ends(database: Database) -> None:
    rows = [replace(build.outbox_row(), attachment=b"file", event_id=f"$e{number}") for number in range(5)]
    async with database.transaction() as tables:
        await tables.outbox.add(rows)
        await tables.outbox.sent(rows[0].txn_id, "$sent")
        await tables.outbox.failed(rows[1].txn_id, "too large")
        await tables.outbox.retract(rows[2].event_id)
    assert await files(database) == sorted([rows[3].txn_id, rows[4].txn_id])
    async with database.transaction() as tables:
        await tables.outbox._sql.run("UPDATE outbox SET failure = 'gone' WHERE txn_id = ?", rows[3].txn_id)
        await tables.outbox.prune(rows[3].created_at + timedelta(days=1))
    assert await files(database) == [rows[4].txn_id]


async def test_a_word_said_elsewhere_on_account_of_an_event_is_no_answer_its_room_could_take_back(
    database: Database,
) -> None:
    event = build.incoming()
    here, elsewhere = build.outbox_row(), build.outbox_row()
    here = replace(here, event_id=event.event_id, room_id=event.room_id)
    elsewhere = replace(elsewhere, event_id=event.event_id, room_id="!direct:x")
    async with database.transaction() as tables:
        await tables.journal.record(SyncBatch("s1", (event,)), [event], [], NOW)
        await tables.outbox.add([here, elsewhere])
        await tables.outbox.sent(here.txn_id, "$here")
        await tables.outbox.sent(elsewhere.txn_id, "$elsewhere")
        assert await tables.outbox.answers("$here", event.room_id) == event.event_id
        assert await tables.outbox.answers("$here", "!direct:x") is None
        assert await tables.outbox.answers("$elsewhere", "!direct:x") is None
