"""P19: operators read candidates and memories with every column, also while the bot runs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from davenport.cli import app
from davenport.inspection import report
from memory.documents import Document
from memory.errors import StorageError
from memory.types import Draft, Origin, ScopeKind, Source
from storage import Database
from storage.folder import DATABASE

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
JUNO, ROOM = "@juno:example.org", "!room:example.org"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Path]:
    """The data folder of a bot that runs and remembers a few things."""
    folder = tmp_path / "data"
    async with await Database.open(folder) as database:
        async with database.transaction() as tables:
            here = Origin(ROOM, "$event", private=True)
            await tables.candidates.insert(JUNO, "Plays chess", here, NOW)
            await tables.candidates.insert("@bau:example.org", "Has a boat", here, NOW)
            for scope, owner in ((ScopeKind.PERSONAL, JUNO), (ScopeKind.GLOBAL, JUNO), (ScopeKind.ROOM, ROOM)):
                persona = "" if scope is ScopeKind.GLOBAL else "default"
                await tables.memories.insert(
                    Draft(scope, owner, persona, f"a {scope.value} memory", Source.TOOL, here, NOW), NOW
                )
            await tables.users.add_promoting_pass(JUNO)
        yield folder


def objects(folder: Path, owner: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in report(folder, owner, as_json=True)]


def everything(folder: Path) -> dict[str, bytes]:
    """Return the files; of the index of the log, which readers mark, the name alone."""
    return {path.name: b"" if path.suffix == ".db-shm" else path.read_bytes() for path in folder.iterdir()}


async def columns(folder: Path, table: str) -> set[str]:
    with sqlite3.connect(folder / DATABASE) as connection:
        return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


async def test_p19_all_columns_of_a_user_s_candidates_and_memories_and_nobody_else_s(running: Path) -> None:
    found = objects(running, JUNO)
    assert [(each["kind"], each.get("text")) for each in found] == [
        ("candidates", "Plays chess"),
        ("memories", "a personal memory"),
        ("memories", "a global memory"),
        ("state", None),
    ]
    assert found[0].keys() == await columns(running, "memory_candidates") | {"kind"}
    assert found[1].keys() == await columns(running, "memories") | {"kind"}
    assert (found[0]["mentions"], found[0]["origin_private"], found[3]["promoting_passes"]) == (1, 1, 1)


async def test_p19_the_text_form_shows_the_same(running: Path) -> None:
    lines = [*report(running, JUNO, as_json=False)]
    assert lines[0] == "candidates: 1"
    assert "  text            Plays chess" in lines
    assert "  last_seen       2026-03-01T12:00:00.000000+00:00" in lines
    assert "  last_matched_at  -" in lines


async def test_a_room_has_memories_alone_and_everybody_is_counted(running: Path) -> None:
    assert [each["text"] for each in objects(running, ROOM)] == ["a room memory"]
    assert objects(running, "") == [
        {"kind": "people", "user_id": "@bau:example.org", "candidates": 1, "memories": 0},
        {"kind": "people", "user_id": JUNO, "candidates": 1, "memories": 2},
    ]


async def test_to_look_changes_nothing_and_sees_what_was_committed_last(running: Path) -> None:
    before = everything(running)
    assert objects(running, JUNO)
    assert everything(running) == before


async def test_no_database_and_a_newer_one_are_named(running: Path, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no database yet"):
        objects(tmp_path / "nowhere", JUNO)
    with sqlite3.connect(running / DATABASE) as connection:
        connection.execute("PRAGMA user_version = 999")
    with pytest.raises(StorageError, match="newer version"):
        objects(running, JUNO)


async def test_text_commands_no_terminal(running: Path) -> None:
    with sqlite3.connect(running / DATABASE) as connection:
        connection.execute("UPDATE memory_candidates SET text = 'a' || char(27) || '[2Jb' || char(10) || 'c'")
    lines = "\n".join(report(running, JUNO, as_json=False))
    assert "\x1b" not in lines
    assert "a[2Jb c" in lines


async def test_p19_the_command_of_operators(running: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        '[matrix]\nhomeserver = "https://a.org"\nuser_id = "@b:a.org"\npassword = "sesame-open"\n'
        f'[storage]\ndata_dir = "{running}"\n'
    )
    done = CliRunner().invoke(app, ["inspect", JUNO, "--config", str(config)])
    assert (done.exit_code, done.output.splitlines()[0]) == (0, "candidates: 1")
    assert "Plays chess" in done.output


async def test_a_rooms_documents_are_listed_without_what_they_say(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with await Database.open(folder) as database, database.transaction() as tables:
        await tables.documents.add(Document(0, ROOM, "Handbook", "text/plain", 9, "$f", JUNO, NOW, 0), ["one", "two"])
        await tables.documents.add(Document(0, "!other:hs", "Else", "text/plain", 9, "$f", JUNO, NOW, 0), ["three"])
    found = [each for each in objects(folder, ROOM) if each["kind"] == "documents"]
    assert [(each["title"], each["chunks"], each["added_by"]) for each in found] == [("Handbook", 2, JUNO)]
    assert "text" not in found[0]
    assert all(each["kind"] != "documents" for each in objects(folder, JUNO))
