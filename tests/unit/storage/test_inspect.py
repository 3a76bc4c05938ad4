"""A look at a data folder from outside changes nothing in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.errors import StorageError
from storage import Database, inspect
from storage.folder import DATABASE, LOCK
from storage.migrate import migrations


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {path.name: (path.stat().st_mode, path.read_bytes()) for path in folder.iterdir() if path.is_file()}


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A folder that a bot has used and left."""
    data = tmp_path / "data"
    async with await Database.open(data) as database, database.transaction() as tables:
        await tables.account.set("key", "value")
    return data


async def test_the_holder_is_named_while_a_bot_uses_the_folder(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with await Database.open(data):
        assert inspect.holder(data) == str(os.getpid())
        assert inspect.holder(data) == str(os.getpid())
    assert inspect.holder(data) is None
    assert inspect.holder(tmp_path / "nowhere") is None


async def test_to_look_takes_the_folder_from_nobody(folder: Path) -> None:
    before = everything(folder)
    assert inspect.holder(folder) is None
    assert inspect.read(folder) == inspect.Contents(len(migrations()), len(migrations()), {"key": "value"})
    assert list(inspect.folder_faults(folder)) == []
    assert everything(folder) == before
    async with await Database.open(folder):
        pass


def test_a_folder_to_come_is_no_fault_where_it_can_be_made(tmp_path: Path) -> None:
    assert list(inspect.folder_faults(tmp_path / "a" / "b")) == []
    assert not (tmp_path / "a").exists()
    assert inspect.read(tmp_path / "a" / "b") is None
    (tmp_path / "file").touch()
    [fault] = inspect.folder_faults(tmp_path / "file" / "b")
    assert fault == f"{tmp_path / 'file' / 'b'} is not there, and {tmp_path / 'file'} lets this account create nothing"
    assert list(inspect.folder_faults(tmp_path / "file")) == [f"{tmp_path / 'file'} is not a folder"]


def test_modes_that_let_others_in_are_named_with_the_remedy(folder: Path) -> None:
    folder.chmod(0o755)
    (folder / DATABASE).chmod(0o640)
    assert list(inspect.folder_faults(folder)) == [
        f"{folder} is open to others (mode 755): chmod 700 it",
        f"{folder / DATABASE} is open to others (mode 640): chmod 600 it",
    ]


@pytest.fixture
def another_account(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    yield owner


def test_a_folder_of_another_account_is_named(folder: Path, another_account: int) -> None:
    faults = list(inspect.folder_faults(folder))
    assert faults[0] == f"{folder} belongs to another account (uid {another_account})"
    assert len(faults) == 1 + len([path for path in folder.iterdir() if path.name in {DATABASE, LOCK}])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_what_cannot_be_written_is_named(folder: Path) -> None:
    (folder / DATABASE).chmod(0o400)
    assert list(inspect.folder_faults(folder)) == [f"{folder / DATABASE} cannot be written"]


async def test_a_newer_schema_is_told_without_reading_further(folder: Path) -> None:
    async with await Database.open(folder) as database, database.transaction() as tables:
        await tables.account._sql.run("PRAGMA user_version = 999")
    assert inspect.read(folder) == inspect.Contents(999, len(migrations()), {})


def test_what_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"something else" * 100)
    with pytest.raises(StorageError, match=r"davenport\.db: this is not a Davenport database"):
        inspect.read(tmp_path)
    (tmp_path / DATABASE).write_bytes(b"")
    assert inspect.read(tmp_path) is None
