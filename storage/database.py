"""The database: opened once, closed for certain, used in transactions by one writer at a time."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType

import aiosqlite

from memory.errors import StorageError
from storage.folder import DataFolder
from storage.migrate import migrate, migrations
from storage.sql import atomic, storage_error, uninterrupted
from storage.tables import Tables

# At DEBUG aiosqlite logs every statement with its values, and values are message texts.
logging.getLogger("aiosqlite").setLevel(logging.WARNING)

_OLDEST_SQLITE = (3, 37, 0)  # STRICT tables; RETURNING came with 3.35

# NORMAL does not sync at each commit, so a power cut may take the last commits, never the file's integrity. That is
# enough here: the sync token goes with them, so the homeserver sends the lost events again, and the transaction ids of
# replies derive from the events, so it recognises what was already sent. A killed process loses nothing.
_WAIT = "busy_timeout = 5000"
_PRAGMAS = (_WAIT, "foreign_keys = ON", "synchronous = NORMAL")


class Database:
    """The open database of one data folder."""

    def __init__(self, connection: aiosqlite.Connection, folder: DataFolder) -> None:
        self._connection: aiosqlite.Connection | None = connection
        self._folder = folder
        self._writer = asyncio.Lock()
        self._owner: asyncio.Task[object] | None = None

    @property
    def path(self) -> Path:
        """The database file."""
        return self._folder.database

    @classmethod
    async def open(cls, data_dir: Path) -> Database:
        """Open `data_dir`/davenport.db, creating or migrating it as needed, and lock the folder.

        Folder and files are readable by their owner only. Raises StorageError, leaving no thread and no lock, when
        another process uses the folder, the file is no database of ours or of a newer schema, or cannot be written.
        """
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise StorageError(f"SQLite {sqlite3.sqlite_version} is too old; 3.37 or newer is needed")
        folder = DataFolder.take(data_dir)
        try:
            connection = await _connect(folder.database)
        except BaseException:
            folder.release()
            raise
        try:
            await _prepare(connection, folder.database)
        except BaseException:
            await uninterrupted(connection.close())
            folder.release()
            raise
        return cls(connection, folder)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tables]:
        """Open a transaction; committed at the end, rolled back on any exception, cancellation included.

        One at a time: others wait. Not to be nested. The tables are of no use after the end. Raises StorageError.
        """
        self._refuse_nesting()
        async with self._writer:
            if self._connection is None:
                raise StorageError(f"{self.path} is closed")
            self._owner = asyncio.current_task()
            try:
                async with atomic(self._connection, self.path) as sql:
                    yield Tables.over(sql)
            finally:
                self._owner = None

    async def checkpoint(self) -> bool:
        """Fold what is committed into the file and empty the log; return whether all of it could be.

        False: somebody reads the database at the moment, and is not waited for. Outside any transaction. Raises
        StorageError.
        """
        self._refuse_nesting()
        async with self._writer:
            if self._connection is None:
                raise StorageError(f"{self.path} is closed")
            return await uninterrupted(_checkpoint(self._connection, self.path))

    async def close(self) -> None:
        """Wait for the open transaction, fold the log into the file, stop the thread and release the folder.

        Done to the end even if cancelled meanwhile: a connection left open would keep the interpreter from exiting.
        Safe to call twice.
        """
        self._refuse_nesting()
        await uninterrupted(self._close())

    async def __aenter__(self) -> Database:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _close(self) -> None:
        async with self._writer:
            connection, self._connection = self._connection, None
            if connection is None:
                return
            try:
                await connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                raise storage_error(error, self.path) from error
            finally:
                try:
                    await connection.close()
                finally:
                    self._folder.release()

    def _refuse_nesting(self) -> None:
        """A transaction inside a transaction would wait for itself for ever."""
        if self._owner is not None and self._owner is asyncio.current_task():
            raise StorageError(f"{self.path}: this task is already inside a transaction")


async def _checkpoint(connection: aiosqlite.Connection, path: Path) -> bool:
    """Waiting for a reader would hold every turn up, so the wait is off meanwhile."""
    try:
        await connection.execute_fetchall("PRAGMA busy_timeout = 0")
        try:
            ((busy, _, _),) = await connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            await connection.execute_fetchall(f"PRAGMA {_WAIT}")
    except sqlite3.Error as error:
        raise storage_error(error, path) from error
    return not busy


async def _connect(path: Path) -> aiosqlite.Connection:
    try:
        # isolation_level None: sqlite3 opens no transaction of its own accord.
        return await aiosqlite.connect(path, isolation_level=None)
    except sqlite3.Error as error:
        raise storage_error(error, path) from error


async def _prepare(connection: aiosqlite.Connection, path: Path) -> None:
    """Set the pragmas and migrate."""
    try:
        for pragma in _PRAGMAS:
            await connection.execute_fetchall(f"PRAGMA {pragma}")
        ((mode,),) = await connection.execute_fetchall("PRAGMA journal_mode = WAL")
    except sqlite3.Error as error:
        raise storage_error(error, path) from error
    if mode != "wal":
        raise StorageError(f"{path}: the file system does not support WAL; set data_dir to a folder on a local disk")
    await migrate(connection, path, migrations())
