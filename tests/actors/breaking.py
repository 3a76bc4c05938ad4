"""Failures at a chosen statement, and what the database holds meanwhile: for tests that something is atomic.

with Breakage(at=7) as breakage:
    ...  # the 8th statement fails
assert dump(database.path) in states
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from actors.actor import Address
from actors.runtime import Context
from memory.errors import StorageError
from storage.sql import Sql

Dump = dict[str, list[tuple[Any, ...]]]

_CHANGED = ("memories", "memory_candidates", "mentions", "user_state", "usage", "effects", "undo")
_TABLES = {name: f"SELECT * FROM {name} ORDER BY 1, 2" for name in _CHANGED} | {  # noqa: S608 - names of ours
    "journal": "SELECT event_id, state, answer FROM journal ORDER BY seq"
}


class Breakage:
    """Counts every statement of every transaction, BEGIN and COMMIT too, and lets one fail.

    at: the number of the statement that fails, from 0; None: none does. done: it is carried out before it fails, as
    when the answer of a disk is lost. on_commit: called after each COMMIT that was carried out. task: the name of the
    task whose statements count; None: those of all.
    """

    def __init__(
        self,
        at: int | None = None,
        *,
        done: bool = False,
        on_commit: Callable[[], object] = lambda: None,
        task: str | None = None,
    ) -> None:
        self.at = at
        self.done = done
        self.task = task
        self.on_commit = on_commit
        self.statements: list[str] = []

    def __enter__(self) -> Self:
        self._rows, self._many = Sql.rows, Sql.many
        rows, many = self._rows, self._many

        async def broken_rows(sql: Sql, statement: str, *values: Any) -> Any:
            return await self._run(statement, lambda: rows(sql, statement, *values))

        async def broken_many(sql: Sql, statement: str, values: Any) -> None:
            await self._run(statement, lambda: many(sql, statement, values))

        Sql.rows, Sql.many = broken_rows, broken_many  # type: ignore[method-assign]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Sql.rows, Sql.many = self._rows, self._many  # type: ignore[method-assign]

    async def _run(self, statement: str, run: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        current = asyncio.current_task()
        if self.task is not None and (current is None or current.get_name() != self.task):
            return await run()
        number = len(self.statements)
        self.statements.append(statement)
        if number == self.at and not self.done:
            raise StorageError(f"broken at {number}")
        result = await run()
        if statement == "COMMIT":
            self.on_commit()
        if number == self.at:
            raise StorageError(f"broken after {number}")
        return result


def dump(database: Path) -> Dump:
    """Return what was committed, without what no pass or cleanup touches."""
    with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        return {name: connection.execute(query).fetchall() for name, query in _TABLES.items()}


@dataclass
class Alone:
    """The context of an actor that a test drives by hand, without a runtime. spawned: the tasks it wants run."""

    address: Address
    spawned: list[Coroutine[Any, Any, object | None]] = field(default_factory=list)

    def spawn(self, work: Coroutine[Any, Any, object | None]) -> None:
        self.spawned.append(work)

    def close(self) -> None:
        """Give up what was not run."""
        for work in self.spawned:
            work.close()
        self.spawned.clear()

    @property
    def context(self) -> Context:
        return cast("Context", self)
