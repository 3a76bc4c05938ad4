"""Which tables of the database something changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path


def tables_of(database: Path) -> dict[str, list[tuple[object, ...]]]:
    """Read every row of every table."""
    with closing(sqlite3.connect(database)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}  # noqa: S608


async def touched(database: Path, work: Callable[[], Awaitable[object]]) -> set[str]:
    """Do something and return the tables whose rows are others by it; SQLite's own are left out."""
    before = tables_of(database)
    await work()
    after = tables_of(database)
    return {name for name in after if after[name] != before.get(name) and not name.startswith("sqlite_")}
