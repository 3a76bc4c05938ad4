"""No statement that a turn runs looks through a whole table."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from memory.events import JournalState
from memory.types import Privacy, Recall, Settlement, Source
from storage import Database
from tests.unit.storage import build

NOW = build.NOW
# What is walked whole on purpose: partial indexes that hold only what is open, one row, the bot's own few keys.
_SMALL = re.compile(
    r"SCAN (journal USING INDEX journal_unfinished|outbox USING INDEX outbox_pending|sync_state|account|"
    r"json_each VIRTUAL TABLE|CONSTANT ROW)"
)


@asynccontextmanager
async def traced(database: Database) -> AsyncIterator[list[str]]:
    """Collect every statement as SQLite runs it, values filled in."""
    connection = database._connection
    assert connection is not None
    statements: list[str] = []
    await connection.set_trace_callback(statements.append)
    try:
        yield statements
    finally:
        await connection.set_trace_callback(None)  # type: ignore[arg-type]


async def plan(database: Database, statements: list[str]) -> list[str]:
    """Return the steps of the statements' query plans, each with its statement."""
    connection = database._connection
    assert connection is not None
    steps = []
    for statement in statements:
        if not statement.lstrip().startswith(("BEGIN", "COMMIT", "--")):
            found = await connection.execute_fetchall(f"EXPLAIN QUERY PLAN {statement}")
            steps += [f"{step}: {statement}" for *_, step in found]
    return steps


async def scans(database: Database, statements: list[str]) -> list[str]:
    """Return those steps that look through a whole table."""
    return [step for step in await plan(database, statements) if step.startswith("SCAN") and not _SMALL.match(step)]


async def test_an_edit_on_its_way_scans_no_table(database: Database) -> None:
    async with traced(database) as statements, database.transaction() as tables:
        await tables.outbox.add([build.outbox_row(edits="txn")])
        await tables.outbox.event_of("txn")
        await tables.effects.drop("$e")
    assert await scans(database, statements) == []


async def test_no_hot_statement_scans_a_table(database: Database) -> None:
    event, late = build.incoming(), build.undecryptable()
    async with traced(database) as statements, database.transaction() as tables:
        # a batch arrives
        await tables.journal.sync_token()
        await tables.journal.record(build.batch(event, undecryptable=(late,)), [event], [], NOW)
        await tables.journal.known([event.event_id])
        await tables.journal.welcomed(build.ROOM, NOW, event.event_id)
        await tables.outbox.answers("$sent", build.ROOM)
        await tables.outbox.retract("$e")
        await tables.users.forgotten_through("@a:hs")
        await tables.journal.waiting(build.ROOM, "session")
        await tables.rooms.encrypted(build.ROOM)
        # a turn
        await tables.rooms.persona(build.ROOM)
        await tables.journal.unfinished(room_id=build.ROOM)
        await tables.journal.window(build.ROOM, None, NOW, 20)
        await tables.journal.window(build.ROOM, "$root", NOW, 20)
        await tables.journal.begin_turn(event.event_id, "default", "hi")
        memory = await tables.memories.insert(build.draft(source=Source.PROMOTION), NOW)
        await tables.memories.put_vectors("model", [(memory.id, memory.text, np.ones(2, dtype=np.float32))])
        await tables.memories.of_list(build.ALICE_LIST)
        await tables.memories.of_list(build.ROOM_LIST)
        await tables.memories.vectors_of_list(build.ALICE_LIST, "model", 2)
        ids = (memory.id,)
        await tables.memories.settle(Settlement(NOW, NOW.date(), ids, ids, ids))
        await tables.journal.record_recall(event.event_id, Recall(NOW.date()))
        await tables.outbox.add([build.outbox_row("txn")])
        await tables.outbox.pending(build.ROOM)
        await tables.outbox.pending()
        await tables.outbox.sent("txn", "$sent")
        await tables.outbox.failed("txn", "no")
        await tables.effects.recorded(event.event_id, 0)
        await tables.journal.answered(event.event_id, "hello", JournalState.ANSWERED, NOW)
        # a pass and the commands
        await tables.memories.of_user(build.ALICE)
        await tables.memories.count_of_user(build.ALICE)
        await tables.memories.count_of_list(build.ALICE_LIST)
        await tables.memories.get(ids)
        await tables.memories.edit(memory.id, "text", NOW)
        await tables.candidates.prune(build.ALICE, NOW)
        candidate = await tables.candidates.insert(build.ALICE, "fact", build.draft().origin, NOW)
        await tables.candidates.reinforce(candidate.id, "$2", NOW)
        await tables.candidates.of_user(build.ALICE)
        await tables.candidates.take_back("$2")
        await tables.candidates.promoted(candidate.id, memory.id)
        await tables.candidates.take_back("$origin")
        await tables.memories.delete(ids)
        await tables.users.add_promoting_pass(build.ALICE)
        await tables.journal.finish(event.event_id, JournalState.LEARNED)
        await tables.journal.retract(event.event_id)
    assert len(statements) > 45
    assert await scans(database, statements) == []


async def test_who_is_silent_and_what_leaves_the_context_is_found_without_a_scan(database: Database) -> None:
    event = build.incoming()
    async with traced(database) as statements, database.transaction() as tables:
        await tables.journal.record(build.batch(event), [event], [], NOW)
        await tables.rooms.personas([build.ROOM])
        await tables.users.silent([build.ALICE])
        await tables.users.privacy(build.ALICE)
        await tables.users.set_privacy(build.ALICE, Privacy.SILENT)
        await tables.journal.leave_context(event.event_id, room_id=build.ROOM, sender=build.ALICE)
    assert len(statements) > 8
    assert await scans(database, statements) == []


@pytest.mark.parametrize(
    ("index", "thread_root"),
    [("journal_unfinished", None), ("journal_window", None), ("journal_window", "$root"), ("journal_waiting", None)],
)
async def test_what_a_room_needs_is_found_without_its_history(
    database: Database, index: str, thread_root: str | None
) -> None:
    """The index of the room alone would do, at the cost of every event the room ever had."""
    async with traced(database) as statements, database.transaction() as tables:
        match index:
            case "journal_unfinished":
                await tables.journal.unfinished(room_id=build.ROOM)
            case "journal_window":
                await tables.journal.window(build.ROOM, thread_root, NOW, 20)
            case "journal_waiting":
                await tables.journal.waiting(build.ROOM, "session")
    steps = await plan(database, statements)
    assert any(f"USING INDEX {index}" in step for step in steps), steps


async def test_what_a_day_cost_is_summed_without_all_that_was_ever_spent(database: Database) -> None:
    async with traced(database) as statements, database.transaction() as tables:
        await tables.usage.totals(NOW.date(), NOW.date(), ["model"])
    steps = await plan(database, statements)
    assert any("SEARCH usage USING INDEX usage_by_time" in step for step in steps), steps


async def test_blanking_old_texts_does_not_look_through_the_whole_journal(database: Database) -> None:
    async with traced(database) as statements, database.transaction() as tables:
        await tables.journal.prune(NOW, {build.ROOM: NOW})
        await tables.journal.forget(NOW, 10)
        await tables.usage.prune(NOW, 10)
    assert await scans(database, statements) == []


async def test_the_check_itself_sees_a_scan(database: Database) -> None:
    async with traced(database) as statements, database.transaction() as tables:
        await tables.memories._sql.rows("SELECT * FROM memories WHERE text = ?", "")
    (step,) = await scans(database, statements)
    assert step.startswith("SCAN memories")


async def test_d17_looking_for_missing_vectors_stays_within_its_span(database: Database) -> None:
    async with traced(database) as statements, database.transaction() as tables:
        await tables.memories.without_vector("model", 0, 10)
        await tables.memories.count_without_vector("model", 0, 10, 512)
        await tables.memories.without_vector_of([build.ALICE], "model", 512)
        await tables.journal.lately(100)
    assert [step for step in await scans(database, statements) if not step.startswith("SCAN (")] == []


async def test_deleting_a_row_finds_what_hangs_on_it_by_index(database: Database) -> None:
    """ON DELETE CASCADE looks for rows of `mentions` and `embeddings` by these columns."""
    statements = [
        "SELECT 1 FROM mentions WHERE memory_id = 1",
        "SELECT 1 FROM mentions WHERE candidate_id = 1",
        "SELECT 1 FROM embeddings WHERE memory_id = 1",
    ]
    assert await scans(database, statements) == []


async def test_why_and_usage_scan_no_table(database: Database) -> None:
    async with traced(database) as statements, database.transaction() as tables:
        await tables.journal.last_given(build.ROOM, None, build.ALICE)
        await tables.journal.last_given(build.ROOM, "$root", build.ALICE)
        await tables.usage.totals(NOW.date(), NOW.date(), ["day"], user_id=build.ALICE)
    assert (
        len([each for each in statements if each.lstrip().startswith("SELECT")]) == 4
    )  # the second asks for the root too
    assert await scans(database, statements) == []
