"""A look at a data folder from outside, whoever uses it: nothing is created, migrated or put right."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from memory.errors import StorageError
from storage.folder import DATABASE, LOCK
from storage.migrate import migrations
from storage.sql import storage_error

_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class Contents:
    """What a database says of itself: its schema, the newest this program knows, and the account's values (secret)."""

    schema: int
    known: int
    account: dict[str, str]


def holder(folder: Path) -> str | None:
    """Return the process id of the bot that uses a data folder, None when none does. Raises StorageError."""
    try:
        lock = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"{folder / LOCK}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # two who look do not see each other
    except BlockingIOError:
        return os.read(lock, 32).decode(errors="replace").strip() or "unknown"
    finally:
        os.close(lock)
    return None


def folder_faults(folder: Path) -> Iterator[str]:
    """Yield what is wrong with a data folder, by owner, modes and access; one that is missing must be creatable."""
    if not folder.exists():
        above = next(path for path in folder.parents if path.exists())
        if not (above.is_dir() and os.access(above, os.W_OK | os.X_OK)):
            yield f"{folder} is not there, and {above} lets this account create nothing"
        return
    if not folder.is_dir():
        yield f"{folder} is not a folder"
        return
    for path, rights in ((folder, os.W_OK | os.X_OK), *((each, os.W_OK) for each in _files(folder))):
        status = path.stat()
        if status.st_uid != os.geteuid():
            yield f"{path} belongs to another account (uid {status.st_uid})"
        elif not os.access(path, rights):
            yield f"{path} cannot be written"
        if status.st_mode & _OTHERS:
            wanted = 700 if path.is_dir() else 600
            yield f"{path} is open to others (mode {status.st_mode & 0o777:o}): chmod {wanted} it"


def read(folder: Path) -> Contents | None:
    """Return what the database of a folder says of itself, None where there is none yet. Raises StorageError."""
    with looking(folder) as connection:
        if connection is None:
            return None
        schema, known = schema_of(connection), len(migrations())
        if not schema or schema > known:
            return Contents(schema, known, {})
        return Contents(schema, known, dict(connection.execute("SELECT key, value FROM account")))


@contextmanager
def looking(folder: Path) -> Iterator[sqlite3.Connection | None]:
    """Open the database of a folder to read it; None where there is none yet. Raises StorageError."""
    path = folder / DATABASE
    if not path.exists() or not path.stat().st_size:
        yield None
        return
    try:
        # A file that was closed in good order is whole by itself; to open it as usual would leave a -shm beside it.
        mode = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "immutable=1"
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=5.0)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise storage_error(error, path) from error


def schema_of(connection: sqlite3.Connection) -> int:
    """Return the number of the schema, 0 before the first migration."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of the folder that hold something to protect, where they exist."""
    for path in sorted(folder.rglob("*")):
        if path.is_dir() or path.is_file():
            yield path
