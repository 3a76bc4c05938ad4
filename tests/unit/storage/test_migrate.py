from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import aiosqlite
import pytest

from memory.errors import StorageError
from storage import Database
from storage.migrate import Migration, migrate, migrations
from tests.unit.storage import build
from tests.unit.storage.stepping import CancelledAt, outcome

FIRST = Migration(1, "-- people\n\nCREATE TABLE people (\n  name TEXT -- not a nick; really\n);\n")
SECOND = Migration(
    2,
    """
CREATE TABLE visits (name TEXT);
CREATE TRIGGER greet AFTER INSERT ON people BEGIN
    INSERT INTO visits VALUES (new.name);
    INSERT INTO visits VALUES ('the; cat');
END;
INSERT INTO people VALUES ('Bau;
and a second line');
""",
)
BROKEN = Migration(3, "CREATE TABLE half_done (x);\nINSERT INTO people VALUES ('gone');\nCREATE TABLE people (x);\n")


@pytest.fixture
async def connection(tmp_path: Path) -> AsyncIterator[aiosqlite.Connection]:
    async with aiosqlite.connect(tmp_path / "test.db", isolation_level=None) as opened:
        yield opened


async def state(connection: aiosqlite.Connection) -> tuple[int, list[str], list[str]]:
    """Return schema number, table names and people."""
    ((version,),) = await connection.execute_fetchall("PRAGMA user_version")
    names = await connection.execute_fetchall("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    tables = [name for (name,) in names]
    people = await connection.execute_fetchall("SELECT name FROM people") if "people" in tables else []
    return version, tables, [name for (name,) in people]


def test_a_script_is_split_into_single_statements() -> None:
    assert len(list(FIRST.statements())) == 1
    assert [statement.split()[1] for statement in SECOND.statements()] == ["TABLE", "TRIGGER", "INTO"]


def test_a_script_that_ends_within_a_statement_is_refused() -> None:
    with pytest.raises(StorageError, match="migration 4 ends within a statement: DROP TABLE"):
        list(Migration(4, "CREATE TABLE a (b);\nDROP TABLE a").statements())


async def test_each_migration_runs_once(connection: aiosqlite.Connection) -> None:
    where = Path("test.db")
    await migrate(connection, where, [FIRST])
    assert await state(connection) == (1, ["people"], [])
    for _ in range(2):
        await migrate(connection, where, [FIRST, SECOND])
        assert await state(connection) == (2, ["people", "visits"], ["Bau;\nand a second line"])


async def test_a_migration_that_fails_leaves_the_schema_of_the_one_before(connection: aiosqlite.Connection) -> None:
    with pytest.raises(StorageError, match="people already exists"):
        await migrate(connection, Path("test.db"), [FIRST, SECOND, BROKEN])
    assert await state(connection) == (2, ["people", "visits"], ["Bau;\nand a second line"])


async def test_a_migration_cancelled_at_any_await_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    whole = {
        0: (0, [], []),
        1: (1, ["people"], []),
        2: (2, ["people", "visits"], ["Bau;\nand a second line"]),
    }
    seen = set()
    for step in range(100):
        async with aiosqlite.connect(tmp_path / f"{step}.db", isolation_level=None) as connection:
            stepped = CancelledAt(migrate(connection, Path("test.db"), [FIRST, SECOND]), step)
            await outcome(stepped)
            found = await state(connection)
            assert found == whole[found[0]]
            seen.add(found[0])
        if stepped.awaits <= step:
            break
    assert seen == {0, 1, 2}


def schema(file: Path) -> tuple[int, list[tuple[str, ...]]]:
    connection = sqlite3.connect(file)
    try:
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        return version, connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize("number", range(1, len(migrations()) + 1))
async def test_a_database_of_every_schema_since_the_first_opens_with_its_rows(tmp_path: Path, number: int) -> None:
    """schemas/NNNN.sql is a dump of a database with rows, made when that schema was the newest."""
    await (await Database.open(tmp_path / "fresh")).close()
    old = tmp_path / "old"
    old.mkdir()
    connection = sqlite3.connect(old / "davenport.db")
    connection.executescript((Path(__file__).parent / "schemas" / f"{number:04}.sql").read_text("utf-8"))
    connection.execute(f"PRAGMA user_version = {number}")
    connection.close()
    async with await Database.open(old) as database, database.transaction() as tables:
        (memory,) = await tables.memories.of_list(build.ALICE_LIST)
        assert memory.text == "has a cat named Mochi"
        assert memory.mentions == 2
        (candidate,) = await tables.candidates.of_user(build.ALICE)
        assert candidate.text == "plays the cello"
        assert await tables.journal.sync_token() == "s1"
        assert [entry.said for entry in await tables.journal.unfinished()] == ["and I play the cello"]
        assert len(await tables.outbox.pending()) == 1
        assert await tables.rooms.encrypted(build.OTHER_ROOM)
        assert await tables.account.all() == {"device_id": "DEVICE"}
        ids, vectors = await tables.memories.vectors_of_list(build.ALICE_LIST, "model", 2)
        assert ids == (memory.id,)
        assert vectors.tolist() == [[0.5, -0.5]]
        deleted = await tables.memories.insert(build.draft("new"), build.NOW)
        assert deleted.id > memory.id + 1  # the id of a memory deleted before the dump is not used again
    assert schema(old / "davenport.db") == schema(tmp_path / "fresh" / "davenport.db")


@pytest.mark.parametrize("gone", ["$e4", "$e%"], ids=["the last row deleted", "every row deleted"])
async def test_building_the_journal_anew_gives_no_number_out_again(tmp_path: Path, gone: str) -> None:
    connection = sqlite3.connect(tmp_path / "davenport.db")
    connection.executescript((Path(__file__).parent / "schemas" / "0001.sql").read_text("utf-8"))
    connection.execute("DELETE FROM journal WHERE event_id LIKE ?", (gone,))
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()
    event = build.incoming()
    async with await Database.open(tmp_path) as database, database.transaction() as tables:
        (entry,) = await tables.journal.record(build.batch(event, next_batch="s2"), [event], [], build.NOW)
        assert entry.seq == 5


async def test_two_openings_one_after_the_other_change_nothing(tmp_path: Path) -> None:
    await (await Database.open(tmp_path)).close()
    before = schema(tmp_path / "davenport.db")
    await (await Database.open(tmp_path)).close()
    assert schema(tmp_path / "davenport.db") == before
