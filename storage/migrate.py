"""Numbered migrations: each is applied whole, together with its number, or not at all."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import aiosqlite

from memory.errors import StorageError
from storage.sql import atomic

_NAME = re.compile(r"\d{4}_[a-z0-9_]+\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema: its number, counted from 1, and its statements."""

    number: int
    script: str

    def statements(self) -> Iterator[str]:
        """Split the script into single statements; a statement ends at the end of a line."""
        lines: list[str] = []
        for line in self.script.splitlines(keepends=True):
            if not lines and (not line.strip() or line.lstrip().startswith("--")):
                continue
            lines.append(line)
            if sqlite3.complete_statement("".join(lines)):
                yield "".join(lines)
                lines.clear()
        if lines:
            raise StorageError(f"migration {self.number} ends within a statement: {lines[0].strip()}")


def migrations() -> tuple[Migration, ...]:
    """Return the migrations that came with the program, in order."""
    files = resources.files("storage.migrations").iterdir()
    named = sorted((file.name, file) for file in files if _NAME.fullmatch(file.name))
    found = [Migration(int(name[:4]), file.read_text("utf-8")) for name, file in named]
    if [migration.number for migration in found] != list(range(1, len(found) + 1)):
        raise StorageError("the program's migrations are incomplete; install davenport again")
    return tuple(found)


async def migrate(connection: aiosqlite.Connection, where: Path, steps: Sequence[Migration]) -> None:
    """Bring the database at `where` to the schema of the last step. Raises StorageError.

    The schema's number is SQLite's user_version, which is part of the transaction. A newer schema than the program's
    and a database of some other program are refused untouched.
    """
    async with atomic(connection, where) as sql:
        ((version,),) = await sql.rows("PRAGMA user_version")
        ((tables,),) = await sql.rows("SELECT count(*) FROM sqlite_master")
    if version > len(steps):
        raise StorageError(
            f"{where} has schema {version}, newer than the {len(steps)} this program knows; install the davenport that "
            "wrote it, or restore a backup from before"
        )
    if version == 0 and tables:
        raise StorageError(f"{where} belongs to some other program; move it away or set another data_dir")
    for step in steps[version:]:
        await _apply(connection, where, step)


async def _apply(connection: aiosqlite.Connection, where: Path, step: Migration) -> None:
    async with atomic(connection, where) as sql:
        for statement in step.statements():
            await sql.run(statement)
        await sql.run(f"PRAGMA user_version = {step.number}")
