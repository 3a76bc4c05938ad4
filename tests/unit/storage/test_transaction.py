from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from memory.errors import StorageError
from storage import Database
from storage.sql import uninterrupted
from tests.unit.storage import build
from tests.unit.storage.stepping import CancelledAt, outcome


async def _write_two(database: Database, name: str) -> None:
    async with database.transaction() as tables:
        await tables.account.set(f"{name}.1", "x")
        await tables.account.set(f"{name}.2", "x")


async def _written(database: Database, name: str) -> int:
    async with asyncio.timeout(5), database.transaction() as tables:
        return sum(key.startswith(f"{name}.") for key in await tables.account.all())


def assert_nothing_is_open(database: Database) -> None:
    """Asked of SQLite at once, not behind what may still be waiting for the connection's thread."""
    connection = database._connection
    assert connection is not None
    assert not connection.in_transaction


async def test_a_transaction_is_committed_at_its_end(database: Database) -> None:
    await _write_two(database, "a")
    assert await _written(database, "a") == 2


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_any_exception_rolls_back_and_passes_on(database: Database, error: BaseException) -> None:
    with pytest.raises(type(error)):
        async with database.transaction() as tables:
            await tables.account.set("a.1", "x")
            raise error
    assert await _written(database, "a") == 0


async def test_an_error_of_sqlite_rolls_back_as_a_storage_error_without_any_value(database: Database) -> None:
    with pytest.raises(StorageError, match="CHECK constraint") as caught:
        async with database.transaction() as tables:
            await tables.account.set("a.1", "x")
            await tables.memories.insert(build.draft("a secret", mentions=0), build.NOW)
    assert "a secret" not in str(caught.value)
    assert str(database.path) in str(caught.value)
    assert await _written(database, "a") == 0


async def test_cancelled_at_every_await_a_transaction_is_there_whole_or_not_at_all(database: Database) -> None:
    """DESIGN, Storage: a task cancelled inside a transaction must not leave it open; BEGIN and COMMIT included."""
    seen = set()
    for step in range(100):
        stepped = CancelledAt(_write_two(database, f"n{step}"), step)
        ended = await outcome(stepped)
        assert_nothing_is_open(database)
        written = await _written(database, f"n{step}")
        assert written in {0, 2}
        seen.add((ended, written))
        if stepped.awaits <= step:
            break
    assert ("done", 2) in seen
    assert ("cancelled", 0) in seen
    assert step >= 4  # begin, two statements, commit


async def test_cancelled_twice_in_a_row_a_transaction_still_ends(database: Database) -> None:
    """The second cancellation hits the rollback (or whatever the first one left to do)."""
    for step in range(20):
        for gap in (1, 2):
            name = f"n{step}x{gap}"
            stepped = CancelledAt(_write_two(database, name), step, step + gap)
            await outcome(stepped)
            assert_nothing_is_open(database)
            assert await _written(database, name) in {0, 2}


async def test_a_cancelled_transaction_ends_only_when_it_is_undone_however_often_it_is_cancelled(
    database: Database,
) -> None:
    """A statement is still running in the connection's thread, so the rollback has to wait for it."""
    connection = database._connection
    assert connection is not None
    running, go_on = threading.Event(), threading.Event()

    def hold() -> int:
        running.set()
        return go_on.wait(5)

    await connection.create_function("hold", 0, hold)

    async def work() -> None:
        async with database.transaction() as tables:
            await tables.account.set("a.1", "x")
            await tables.account._sql.run("SELECT hold()")

    task = asyncio.create_task(work())
    await asyncio.to_thread(running.wait, 5)
    for _ in range(3):
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=0.01)
        assert not done
    go_on.set()
    await asyncio.wait({task})
    assert task.cancelled()
    assert_nothing_is_open(database)
    assert await _written(database, "a") == 0


async def test_cancelled_while_it_waits_for_the_writer_it_never_begins(database: Database) -> None:
    async with database.transaction() as tables:
        waiting = asyncio.create_task(_write_two(database, "waiter"))
        behind = asyncio.create_task(_write_two(database, "behind"))
        await tables.account.set("holder.1", "x")
        waiting.cancel()
        await asyncio.wait({waiting})
    await behind
    assert waiting.cancelled()
    assert [await _written(database, name) for name in ("waiter", "behind", "holder")] == [0, 2, 1]


async def test_others_wait_while_a_cancelled_transaction_is_undone(database: Database) -> None:
    """The writer is not handed on before the rollback is through, at whichever await the cancellation came."""
    for step in range(12):
        stepped = asyncio.create_task(outcome(CancelledAt(_write_two(database, f"n{step}"), step)))
        others = [asyncio.create_task(_write_two(database, f"o{step}_{number}")) for number in range(3)]
        await asyncio.gather(stepped, *others)
        assert await _written(database, f"n{step}") in {0, 2}
        for number in range(3):
            assert await _written(database, f"o{step}_{number}") == 2


async def test_a_timeout_inside_a_transaction_rolls_back(database: Database) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01), database.transaction() as tables:
            await tables.account.set("a.1", "x")
            await asyncio.Event().wait()
    assert await _written(database, "a") == 0


async def test_one_writer_at_a_time(database: Database) -> None:
    inside = 0

    async def count_up() -> None:
        nonlocal inside
        async with database.transaction() as tables:
            inside += 1
            assert inside == 1
            before = int(await tables.account.get("n") or 0)
            await tables.account.set("n", str(before + 1))
            inside -= 1

    await asyncio.gather(*(count_up() for _ in range(30)))
    async with database.transaction() as tables:
        assert await tables.account.get("n") == "30"


async def test_another_program_cannot_write_between_our_reading_and_writing(database: Database) -> None:
    """An operator's shell, say: BEGIN IMMEDIATE takes the write lock at once."""
    async with database.transaction() as tables:
        assert await tables.account.get("n") is None
        with closing(sqlite3.connect(database.path, timeout=0)) as shell:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                shell.execute("INSERT INTO account (key, value) VALUES ('n', '1')")
            assert shell.execute("SELECT * FROM account").fetchall() == []


async def test_a_nested_transaction_is_refused_instead_of_waiting_for_itself(database: Database) -> None:
    async with asyncio.timeout(5), database.transaction():
        with pytest.raises(StorageError, match="already inside a transaction"):
            async with database.transaction():
                pass
        with pytest.raises(StorageError, match="already inside a transaction"):
            await database.close()


async def test_tables_are_of_no_use_after_the_end(database: Database) -> None:
    async with database.transaction() as tables:
        pass
    with pytest.raises(StorageError, match="is over"):
        await tables.account.set("a.1", "x")
    with pytest.raises(StorageError, match="is over"):
        await tables.outbox.add([build.outbox_row()])


async def test_a_full_disk_rolls_back_and_names_the_fix(database: Database) -> None:
    connection = database._connection
    assert connection is not None
    ((pages,),) = await connection.execute_fetchall("PRAGMA page_count")
    await connection.execute_fetchall(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StorageError, match="the disk is full"):
        async with database.transaction() as tables:
            await tables.account.set("a.1", "x")
            await tables.account.set("a.2", "x" * 100_000)
    assert await _written(database, "a") == 0


async def test_a_database_that_cannot_be_written_names_the_fix(database: Database) -> None:
    connection = database._connection
    assert connection is not None
    await connection.execute_fetchall("PRAGMA query_only = ON")
    with pytest.raises(StorageError, match="cannot be written"):
        await _write_two(database, "a")


async def test_no_message_text_reaches_the_log_even_at_debug(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with database.transaction() as tables:
        await tables.memories.insert(build.draft("something private"), build.NOW)
    assert "something private" not in caplog.text


async def test_a_rollback_that_fails_is_logged_and_hides_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The connection is closed under the transaction: the caller still sees its own error."""
    database = await Database.open(tmp_path / "data")
    try:
        with pytest.raises(RuntimeError, match="mine"):
            async with database.transaction():
                connection = database._connection
                assert connection is not None
                await connection._execute(connection._conn.close)  # type: ignore[no-untyped-call]
                raise RuntimeError("mine")
        assert "rolling back failed" in caplog.text
    finally:
        with pytest.raises(StorageError):
            await database.close()


async def test_uninterrupted_finishes_the_work_before_the_cancellation_goes_on() -> None:
    gate, done = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await gate.wait()
        done.set()

    task = asyncio.create_task(uninterrupted(work()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done.is_set()
