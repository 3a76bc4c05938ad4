from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory.errors import StorageError
from storage import Database
from storage.migrate import migrations
from tests.unit.storage import build
from tests.unit.storage.stepping import CancelledAt, outcome

FILES = ("davenport.db", "davenport.db-wal", "davenport.db-shm", "davenport.lock")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


async def refusal(data_dir: Path) -> str:
    """Return why the database cannot be opened; one that opens all the same is closed, lest the tests never end."""
    with pytest.raises(StorageError) as caught:
        await (await Database.open(data_dir)).close()
    return str(caught.value)


def loosen(data_dir: Path) -> None:
    data_dir.chmod(0o755)
    for name in FILES:
        (data_dir / name).touch()
        (data_dir / name).chmod(0o644)


def wal_size(data_dir: Path) -> int:
    return (data_dir / "davenport.db-wal").stat().st_size


def database_file(data_dir: Path, content: bytes = b"") -> Path:
    """Put a file with this content where the database belongs."""
    data_dir.mkdir(exist_ok=True)
    file = data_dir / "davenport.db"
    file.write_bytes(content)
    return file


def statement(file: Path, sql: str) -> list[tuple[object, ...]]:
    """Run one statement on a database file, as some other program would."""
    with closing(sqlite3.connect(file)) as connection, connection:
        return connection.execute(sql).fetchall()


def connection_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "_connection_worker_thread" in thread.name]


def assert_no_thread_is_left() -> None:
    for thread in connection_threads():
        thread.join(timeout=5)
    assert connection_threads() == []


# --- modes --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("umask")
async def test_folder_and_files_are_readable_by_their_owner_only_whatever_the_umask(data_dir: Path) -> None:
    async with await Database.open(data_dir) as database, database.transaction() as tables:
        await tables.account.set("access_token", "secret")
        assert mode(data_dir) == 0o700
        assert {name: mode(data_dir / name) for name in FILES} == dict.fromkeys(FILES, 0o600)


async def test_modes_of_what_is_there_already_are_put_right(data_dir: Path) -> None:
    async with await Database.open(data_dir) as database, database.transaction() as tables:
        await tables.account.set("a", "b")
    loosen(data_dir)
    async with await Database.open(data_dir) as database, database.transaction() as tables:
        assert await tables.account.get("a") == "b"
        assert mode(data_dir) == 0o700
        assert {name: mode(data_dir / name) for name in FILES} == dict.fromkeys(FILES, 0o600)


async def test_the_connection_is_set_up_as_the_design_says(database: Database) -> None:
    connection = database._connection
    assert connection is not None
    found = {}
    for pragma in ("journal_mode", "foreign_keys", "busy_timeout", "synchronous"):
        ((found[pragma],),) = await connection.execute_fetchall(f"PRAGMA {pragma}")
    assert found == {"journal_mode": "wal", "foreign_keys": 1, "busy_timeout": 5000, "synchronous": 1}


# --- one process --------------------------------------------------------------------------------------------------

HOLD = """
import asyncio, sys
from pathlib import Path
from storage import Database

async def main():
    async with await Database.open(Path(sys.argv[1])):
        print("ready", flush=True)
        sys.stdin.readline()

asyncio.run(main())
"""


def started(program: str, data_dir: Path) -> subprocess.Popen[str]:
    """Start a program on a data folder; it has said that it is ready, and waits for a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(data_dir)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


async def test_a_second_process_is_refused_naming_folder_holder_and_fix(data_dir: Path) -> None:
    with started(HOLD, data_dir) as process:
        message = await refusal(data_dir)
        assert "in use by another davenport process" in message
        assert str(data_dir) in message
        assert f"pid {process.pid}" in message
        assert "its own data_dir" in message
        process.communicate("\n")
        assert process.returncode == 0
    assert_no_thread_is_left()
    await (await Database.open(data_dir)).close()


async def test_the_lock_goes_with_its_holder_even_when_killed(data_dir: Path) -> None:
    with started(HOLD, data_dir) as process:
        assert f"pid {process.pid}" in await refusal(data_dir)
        process.send_signal(signal.SIGKILL)
        process.wait()
    await (await Database.open(data_dir)).close()


async def test_a_second_opening_in_the_same_process_is_refused_too(database: Database) -> None:
    assert "in use" in await refusal(database.path.parent)


# --- files that cannot be used ------------------------------------------------------------------------------------


async def assert_refused(data_dir: Path, message: str) -> None:
    """Opening fails with this message that names the file, and leaves neither thread nor lock behind."""
    for _ in range(2):  # the second time shows that the lock was released
        said = await refusal(data_dir)
        assert re.search(message, said)
        assert str(data_dir) in said
    assert_no_thread_is_left()


async def test_a_newer_schema_is_refused_and_left_untouched(data_dir: Path) -> None:
    await (await Database.open(data_dir)).close()
    newer = len(migrations()) + 1
    statement(data_dir / "davenport.db", f"PRAGMA user_version = {newer}")
    before = (data_dir / "davenport.db").read_bytes()
    await assert_refused(data_dir, f"schema {newer}, newer than the {newer - 1} this program knows; install")
    assert (data_dir / "davenport.db").read_bytes() == before


async def test_a_file_that_is_no_database_is_refused_and_left_untouched(data_dir: Path) -> None:
    content = b"my shopping list, which is no database at all\n" * 100
    file = database_file(data_dir, content)
    await assert_refused(data_dir, "not a Davenport database; move it away")
    assert file.read_bytes() == content


async def test_the_database_of_some_other_program_is_refused(data_dir: Path) -> None:
    statement(database_file(data_dir), "CREATE TABLE bookmarks (url TEXT)")
    await assert_refused(data_dir, "belongs to some other program; move it away")


async def test_a_damaged_database_names_the_fix(data_dir: Path) -> None:
    async with await Database.open(data_dir) as database, database.transaction() as tables:
        for number in range(200):
            await tables.memories.insert(build.draft(f"fact {number} " + "x" * 200), build.NOW)
    file = data_dir / "davenport.db"
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)  # the schema's first page is whole, everything after is not
    file.write_bytes(content)
    with pytest.raises(StorageError, match="restore the file from a backup"):
        async with await Database.open(data_dir) as database, database.transaction() as tables:
            await tables.memories.of_list(build.ALICE_LIST)
    assert_no_thread_is_left()


async def test_a_folder_in_the_place_of_the_file_is_refused(data_dir: Path) -> None:
    (data_dir / "davenport.db").mkdir(parents=True)
    await assert_refused(data_dir, "cannot be used .*set another data_dir")


async def test_a_file_in_the_place_of_the_folder_is_refused(data_dir: Path) -> None:
    await assert_refused(database_file(data_dir), "cannot be used .*set another data_dir")


# --- the log ------------------------------------------------------------------------------------------------------


async def test_a_checkpoint_folds_the_log_into_the_file_and_empties_it(data_dir: Path) -> None:
    async with await Database.open(data_dir) as database:
        async with database.transaction() as tables:
            await tables.account.set("a", "x" * 100_000)
            with pytest.raises(StorageError, match="inside a transaction"):
                await database.checkpoint()
        assert wal_size(data_dir) > 100_000
        assert await database.checkpoint()
        assert wal_size(data_dir) == 0
        async with database.transaction() as tables:
            assert len(await tables.account.get("a") or "") == 100_000


async def test_a_checkpoint_waits_for_no_reader_and_leaves_the_wait_as_it_was(data_dir: Path) -> None:
    async with await Database.open(data_dir) as database:
        async with database.transaction() as tables:
            await tables.account.set("a", "b")
        with closing(sqlite3.connect(data_dir / "davenport.db", isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM account").fetchall()
            async with database.transaction() as tables:
                await tables.account.set("a", "c")
            async with asyncio.timeout(2):  # the wait for readers would take five seconds
                assert not await database.checkpoint()
        assert await database.checkpoint()
        connection = database._connection
        assert connection is not None
        assert [tuple(row) for row in await connection.execute_fetchall("PRAGMA busy_timeout")] == [(5000,)]


async def test_a_closed_database_has_no_checkpoint(data_dir: Path) -> None:
    database = await Database.open(data_dir)
    await database.close()
    with pytest.raises(StorageError, match="is closed"):
        await database.checkpoint()


# --- closing ------------------------------------------------------------------------------------------------------


async def test_closing_folds_the_log_into_the_file_and_leaves_no_thread(data_dir: Path) -> None:
    database = await Database.open(data_dir)
    async with database.transaction() as tables:
        await tables.account.set("a", "b")
    await database.close()
    await database.close()
    assert_no_thread_is_left()
    assert not (data_dir / "davenport.db-wal").exists()
    assert statement(data_dir / "davenport.db", "SELECT value FROM account") == [("b",)]
    with pytest.raises(StorageError, match="is closed"):
        async with database.transaction():
            pass


async def test_closing_waits_for_the_open_transaction_even_when_cancelled(data_dir: Path) -> None:
    database = await Database.open(data_dir)
    async with database.transaction() as tables:
        closing = asyncio.create_task(database.close())
        await tables.account.set("a", "b")
        closing.cancel()
        await tables.account.set("c", "d")
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert_no_thread_is_left()
    async with await Database.open(data_dir) as again, again.transaction() as tables:
        assert await tables.account.all() == {"a": "b", "c": "d"}


async def test_opening_can_be_cancelled_at_any_await_and_leaves_nothing_behind(data_dir: Path) -> None:
    async def open_and_close() -> None:
        await (await Database.open(data_dir)).close()

    for step in range(200):
        stepped = CancelledAt(open_and_close(), step)
        await outcome(stepped)
        assert_no_thread_is_left()
        if stepped.awaits <= step:
            break
    assert step > 5
    async with await Database.open(data_dir) as database, database.transaction() as tables:
        assert await tables.account.all() == {}


def test_the_interpreter_exits_after_an_opening_that_failed(data_dir: Path) -> None:
    database_file(data_dir, b"no database\n" * 1000)
    program = f"import asyncio, pathlib, storage; asyncio.run(storage.Database.open(pathlib.Path({str(data_dir)!r})))"
    ended = subprocess.run([sys.executable, "-c", program], timeout=20, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "StorageError" in ended.stderr


# --- crashes ------------------------------------------------------------------------------------------------------

CRASH = """
import asyncio, sys
from pathlib import Path
from storage import Database

async def main():
    database = await Database.open(Path(sys.argv[1]))
    async with database.transaction() as tables:
        await tables.account.set("committed", "x" * 50_000)
    async with database.transaction() as tables:
        for number in range(200):
            await tables.account.set(f"lost {number}", "x" * 50_000)
        print("ready", flush=True)
        sys.stdin.readline()

asyncio.run(main())
"""


async def test_killed_inside_a_transaction_the_database_is_whole(data_dir: Path) -> None:
    """10 MB are uncommitted, so that pages have spilled into the log when SIGKILL comes.

    The log that stays behind is made readable by its owner only, if somebody changed that.
    """
    with started(CRASH, data_dir) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert wal_size(data_dir) > 1_000_000
    loosen(data_dir)
    async with await Database.open(data_dir) as database:
        assert {name: mode(data_dir / name) for name in FILES} == dict.fromkeys(FILES, 0o600)
        async with database.transaction() as tables:
            assert list(await tables.account.all()) == ["committed"]
        connection = database._connection
        assert connection is not None
        assert [tuple(row) for row in await connection.execute_fetchall("PRAGMA integrity_check")] == [("ok",)]
