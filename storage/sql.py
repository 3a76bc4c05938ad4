"""Statements inside one transaction, and the errors of SQLite in words an operator can act on."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from memory.errors import StorageError

Row = tuple[Any, ...]
Value = str | int | float | bytes | None
T = TypeVar("T")

logger = logging.getLogger(__name__)

_FIXES = {
    sqlite3.SQLITE_NOTADB: "this is not a Davenport database; move it away or set another data_dir",
    sqlite3.SQLITE_CORRUPT: "the database is damaged; stop the bot and restore the file from a backup",
    sqlite3.SQLITE_READONLY: "the database cannot be written; give the bot's account write access to file and folder",
    sqlite3.SQLITE_CANTOPEN: "the database cannot be opened; give the bot's account access to file and folder",
    sqlite3.SQLITE_FULL: "the disk is full; free some space and start again",
    sqlite3.SQLITE_IOERR: "reading or writing failed; check the disk and its free space",
    sqlite3.SQLITE_BUSY: "another program holds the database; close it",
}
_PRIMARY_CODE = 0xFF


def storage_error(error: Exception, where: Path) -> StorageError:
    """Map an error of sqlite3, or of a value it cannot store, onto StorageError; names the file and the fix."""
    code = getattr(error, "sqlite_errorcode", None)
    fix = None if code is None else _FIXES.get(code & _PRIMARY_CODE)
    return StorageError(f"{where}: {fix} ({error})" if fix else f"{where}: {error}")


async def uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end even if the caller is cancelled meanwhile; the cancellation is raised afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled from task.exception()
    return task.result()


class Sql:
    """One open transaction. Every method is one visit to the connection's thread and raises StorageError."""

    def __init__(self, connection: aiosqlite.Connection, where: Path) -> None:
        self._connection = connection
        self._where = where
        self._over = False

    async def rows(self, statement: str, *values: Value) -> list[Row]:
        """Run one statement and return every row."""
        self._check()
        try:
            found: Iterable[Any] = await self._connection.execute_fetchall(statement, values)
        except (sqlite3.Error, UnicodeError, OverflowError) as error:
            raise storage_error(error, self._where) from error
        return list(found)

    async def row(self, statement: str, *values: Value) -> Row | None:
        """Run one statement and return its first row, or None."""
        found = await self.rows(statement, *values)
        return found[0] if found else None

    async def run(self, statement: str, *values: Value) -> None:
        """Run one statement for its effect."""
        await self.rows(statement, *values)

    async def changed(self, statement: str, *values: Value) -> int:
        """Run one statement that changes rows and return how many."""
        await self.rows(statement, *values)
        counted = await self.row("SELECT changes()")
        return int(counted[0]) if counted else 0

    async def many(self, statement: str, values: Iterable[Iterable[Value]]) -> None:
        """Run one statement for each tuple of values."""
        self._check()
        try:
            await self._connection.executemany(statement, values)
        except (sqlite3.Error, UnicodeError, OverflowError) as error:
            raise storage_error(error, self._where) from error

    async def roll_back(self) -> None:
        """Undo what is open, if anything is. Queued behind every statement sent before, finished or not."""
        try:
            await self._connection.rollback()
        except sqlite3.Error:
            # The error that led here matters more; should the transaction still be open, the next BEGIN says so.
            logger.exception("%s: rolling back failed", self._where)

    def end(self) -> None:
        """Refuse every later statement: it would run outside the transaction, or inside somebody else's."""
        self._over = True

    def _check(self) -> None:
        if self._over:
            raise StorageError(f"{self._where}: this transaction is over; open a new one")


@asynccontextmanager
async def atomic(connection: aiosqlite.Connection, where: Path) -> AsyncIterator[Sql]:
    """Open a write transaction: committed at the end, rolled back on any exception, cancellation included.

    A statement whose caller was cancelled still runs in the connection's thread, BEGIN and COMMIT too. The rollback
    stands in the same queue behind whatever was sent, and is waited for: when this raises, the transaction is over. A
    cancellation that arrives while COMMIT runs comes too late to undo it, and finds nothing to roll back.
    """
    sql = Sql(connection, where)
    try:
        await sql.run("BEGIN IMMEDIATE")
        yield sql
        await sql.run("COMMIT")
    except BaseException:
        await uninterrupted(sql.roll_back())
        raise
    finally:
        sql.end()
