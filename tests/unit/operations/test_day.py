"""The turn of the day (D16): when it is done, and what it deletes and leaves."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from apscheduler.job import Job

from actors.runtime import ActorSystem
from actors.store import Tables
from davenport.clock import MovableClock
from davenport.day import STEP, DayTurn, Keeping
from davenport.schedule import DAY, MINUTE, scheduled
from davenport.settings import Settings
from memory.errors import StorageError
from memory.events import JournalState
from memory.model import Usage
from memory.undo import KEPT_FOR, Taken
from storage import Database
from tests.actors.conftest import until
from tests.unit.operations.conftest import settings_for
from tests.unit.storage import build, dump_schema

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 3, tzinfo=UTC)
YEARS = timedelta(days=2000)
# What the rules of memory speak of: no housekeeping touches any of it.
LASTING = ("memory_candidates", "memories", "mentions", "embeddings", "merged_parts", "user_state", "room_state")


def turn_of(store: Database, keeping: Keeping | None = None) -> DayTurn:
    return DayTurn(store, ActorSystem({}), keeping or Keeping())


async def kept(store: Database) -> bool:
    """Whether anything is kept, however old; it stays."""
    async with store.transaction() as tables:
        taken = await tables.undo.take("@ana:hs", NOW - timedelta(days=999))
        if taken is not None:
            await tables.undo.keep("@ana:hs", "$del", NOW, taken)
    return taken is not None


def job_of(jobs: list[Job], name: str) -> Job:
    [job] = [each for each in jobs if each.name == name]
    return job


# --- when ---------------------------------------------------------------------------------------------------------


async def test_d16_the_day_turns_at_midnight_utc_however_late_and_missed_runs_are_one(tmp_path: Path) -> None:
    clock = MovableClock(NOW)
    async with await Database.open(tmp_path) as store:
        day = turn_of(store)
        with scheduled(day, clock) as scheduler:
            job = job_of(scheduler.get_jobs(), DAY)
            assert (job.misfire_grace_time, job.coalesce) == (None, True)
            due = job.trigger.get_next_fire_time(None, NOW)
            assert (due, due.tzinfo) == (MIDNIGHT, UTC)
            assert job.trigger.get_next_fire_time(due, due + timedelta(seconds=1)) == MIDNIGHT + timedelta(days=1)
            clock.set(MIDNIGHT)
            await job.func()
            assert day.last == MIDNIGHT


async def test_d16_a_midnight_at_which_the_bot_was_off_is_made_up_for_once_at_the_start(tmp_path: Path) -> None:
    async with await Database.open(tmp_path) as store:
        await turn_of(store).day_turn(NOW - timedelta(days=3))
    clock = MovableClock(NOW)
    async with await Database.open(tmp_path) as store:
        day = turn_of(store)
        await day.recall()
        with scheduled(day, clock) as scheduler:
            await until(lambda: day.last == NOW)
            clock.advance(timedelta(minutes=1))
            await job_of(scheduler.get_jobs(), MINUTE).func()
            assert day.last == NOW, "that date was done"
            clock.set(NOW - timedelta(days=1))  # the clock was wrong
            await job_of(scheduler.get_jobs(), MINUTE).func()
            assert day.last == clock.now()


class FailsOnce:
    """A database that cannot be used for a moment."""

    def __init__(self, store: Database) -> None:
        self.store = store
        self.fails = True

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tables]:
        if self.fails:
            self.fails = False
            raise StorageError("the disk is full")
        async with self.store.transaction() as tables:
            yield tables

    async def checkpoint(self) -> bool:
        return await self.store.checkpoint()


async def test_d16_a_turn_that_failed_is_made_up_for_within_a_minute(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with await Database.open(tmp_path) as store:
        day = DayTurn(FailsOnce(store), ActorSystem({}), Keeping())
        day.last = NOW
        with scheduled(day, MovableClock(MIDNIGHT)) as scheduler:
            jobs = scheduler.get_jobs()
            await job_of(jobs, DAY).func()
            assert "housekeeping failed and is tried again within a minute: the disk is full" in caplog.text
            assert day.last == NOW
            await job_of(jobs, MINUTE).func()
            assert day.last == MIDNIGHT


async def test_a_bot_that_stops_during_the_turn_leaves_no_error_and_does_it_at_the_next_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with await Database.open(tmp_path) as store:
        day = turn_of(store)
        async with store.transaction():  # it has to wait
            with scheduled(day, MovableClock(NOW)):
                for _ in range(10):
                    await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
        await day.recall()
        assert day.last is None


async def test_every_minute_what_is_too_old_to_be_undone_goes(tmp_path: Path) -> None:
    clock = MovableClock(NOW)
    async with await Database.open(tmp_path) as store:
        async with store.transaction() as tables:
            await tables.undo.keep("@ana:hs", "$del", NOW, Taken(()))
        with scheduled(turn_of(store), clock) as scheduler:
            job = job_of(scheduler.get_jobs(), MINUTE)
            assert job.trigger.interval == timedelta(minutes=1)
            assert (job.misfire_grace_time, job.coalesce) == (None, True)
            clock.set(NOW + KEPT_FOR)
            await job.func()
            assert await kept(store)
            clock.set(NOW + KEPT_FOR + timedelta(seconds=1))
            await job.func()
            assert not await kept(store)


async def test_what_a_clock_that_was_wrong_dated_far_ahead_goes_too(tmp_path: Path) -> None:
    async with await Database.open(tmp_path) as store:
        async with store.transaction() as tables:
            await tables.undo.keep("@ana:hs", "$del", NOW, Taken(()))
        day = turn_of(store)
        await day.forget_taken(NOW - KEPT_FOR)
        assert await kept(store)
        await day.forget_taken(NOW - KEPT_FOR - timedelta(seconds=1))
        assert not await kept(store)


# --- what ---------------------------------------------------------------------------------------------------------


def dump(file: Path, tables: tuple[str, ...]) -> dict[str, list[tuple[object, ...]]]:
    """Every value as SQLite writes it down, so that types and bytes count."""
    with closing(sqlite3.connect(file)) as connection:
        columns = {table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")] for table in tables}
        quoted = {table: ", ".join(f"quote({name})" for name in names) for table, names in columns.items()}
        return {
            table: connection.execute(f"SELECT {names} FROM {table} ORDER BY rowid").fetchall()  # noqa: S608
            for table, names in quoted.items()
        }


async def test_d16_p4_neither_candidates_nor_memories_change_by_a_byte(tmp_path: Path) -> None:
    """However old they are: candidates are pruned by a pass (P4), and no time alone rests a memory (D7)."""
    async with await Database.open(tmp_path) as store:
        async with store.transaction() as tables:
            await dump_schema.fill(tables)
        before = dump(store.path, LASTING)
        assert all(before[table] for table in LASTING if table != "merged_parts")
        day = turn_of(store)
        for when in (NOW, NOW, NOW + YEARS, NOW - YEARS, NOW + 2 * YEARS):
            await day.day_turn(when)
        assert dump(store.path, LASTING) == before


async def test_texts_stay_as_long_as_the_longest_window_of_their_room_needs_them(tmp_path: Path) -> None:
    rooms = {
        "!long:hs": {"context": {"timeout_minutes": 500_000}},
        "!short:hs": {"context": {"timeout_minutes": 5}},
        "!as-all:hs": {"memory": {"enabled": False}},
    }
    window = {"timeout_minutes": 60 * 24 * 10}
    settings = Settings.model_validate(settings_for(tmp_path).model_dump() | {"context": window, "rooms": rooms})
    days = {"!long:hs": 300, "!short:hs": 8, "!as-all:hs": 8, "!other:hs": 11}
    events = [build.incoming(f"${room}", room_id=room) for room in days]
    async with await Database.open(tmp_path) as store:
        for event in events:
            async with store.transaction() as tables:
                at = NOW - timedelta(days=days[event.room_id])
                await tables.journal.record(build.batch(event), [event], (), at)
                await tables.journal.begin_turn(event.event_id, "default", event.text)
                await tables.journal.answered(event.event_id, "Noted.", JournalState.LEARNED, at)
        await turn_of(store, Keeping.of(settings)).day_turn(NOW)
        async with store.transaction() as tables:
            entries = [await tables.journal.get(event.event_id) for event in events]
    assert [entry.said for entry in entries if entry is not None] == ["my cat is Mochi", None, "my cat is Mochi", None]


async def test_ids_and_usage_grown_old_go_step_by_step_while_others_get_their_turn(tmp_path: Path) -> None:
    old = NOW - timedelta(days=400, seconds=1)
    ignored = [build.incoming(f"$i{number}", text="") for number in range(2 * STEP + 10)]
    async with await Database.open(tmp_path) as store:
        async with store.transaction() as tables:
            await tables.journal.record(build.batch(*ignored), (), ignored, old)
            for at in (old, NOW):
                await tables.usage.add("$1", build.ALICE, build.ROOM, "reply", Usage("model"), at)
        turning = asyncio.create_task(turn_of(store).day_turn(NOW))
        seen = []
        while not turning.done():
            async with store.transaction() as tables:
                [(count,)] = await tables.journal._sql.rows("SELECT count(*) FROM journal")
                seen.append(count)
        await turning
        async with store.transaction() as tables:
            [(calls,)] = await tables.journal._sql.rows("SELECT count(*) FROM usage")
    assert {len(ignored), STEP + 10, 10, 1} <= {*seen}
    assert calls == 1


async def test_the_log_of_the_database_is_folded_in(tmp_path: Path) -> None:
    async with await Database.open(tmp_path) as store:
        async with store.transaction() as tables:
            await tables.account.set("something", "x" * 100_000)
        await turn_of(store).day_turn(NOW)
        assert (tmp_path / "davenport.db-wal").stat().st_size == 0
        assert ("'day_turn'", f"'{NOW.isoformat()}'") in dump(store.path, ("account",))["account"]


async def test_changed_settings_act_at_the_next_turn(tmp_path: Path) -> None:
    event = build.incoming(text="")
    last = build.incoming(text="")
    async with await Database.open(tmp_path) as store:
        async with store.transaction() as tables:
            await tables.journal.record(build.batch(event, last), (), (event, last), NOW)
        day = turn_of(store)
        await day.day_turn(NOW + timedelta(days=30))
        day.keep(Keeping(ids=timedelta(days=29)))
        async with store.transaction() as tables:
            assert await tables.journal.known([event.event_id]) == {event.event_id}
        await day.day_turn(NOW + timedelta(days=30))
        async with store.transaction() as tables:
            assert await tables.journal.known([event.event_id, last.event_id]) == {last.event_id}
