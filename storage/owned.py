"""What is kept of one person or room, read from outside with every column there is (P19); nothing is changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory.errors import StorageError
from storage.inspect import looking, schema_of
from storage.migrate import migrations

Record = dict[str, Any]  # by column

_PEOPLE = """
SELECT user_id, sum(candidates) AS candidates, sum(memories) AS memories FROM (
    SELECT user_id, count(*) AS candidates, 0 AS memories FROM memory_candidates GROUP BY user_id
    UNION ALL
    SELECT scope_id, 0, count(*) FROM memories WHERE scope_kind <> 'room' GROUP BY scope_id
) GROUP BY user_id ORDER BY user_id
"""
_CANDIDATES = "SELECT * FROM memory_candidates WHERE user_id = ? ORDER BY id"
_MEMORIES = "SELECT * FROM memories WHERE scope_id = ? ORDER BY id"
_DOCUMENTS = """
SELECT *, (SELECT count(*) FROM chunks WHERE document_id = documents.id) AS chunks
FROM documents WHERE room_id = ? ORDER BY id
"""
_STATE = "SELECT * FROM user_state WHERE user_id = ?"


@dataclass(frozen=True, slots=True)
class Owned:
    """Rows of `memory_candidates`, `memories` and `documents` by id, and the one of `user_state` if there is one."""

    candidates: tuple[Record, ...]
    memories: tuple[Record, ...]
    state: tuple[Record, ...]
    documents: tuple[Record, ...] = ()


def people(folder: Path) -> tuple[Record, ...]:
    """Return who has candidates or memories, with how many. Raises StorageError."""
    return next(_read(folder, (_PEOPLE, ())))


def owned_by(folder: Path, owner: str) -> Owned:
    """Return what is kept of a user or a room, as of one moment. Raises StorageError."""
    return Owned(*_read(folder, *((query, (owner,)) for query in (_CANDIDATES, _MEMORIES, _STATE, _DOCUMENTS))))


def _read(folder: Path, *queries: tuple[str, tuple[str, ...]]) -> Iterator[tuple[Record, ...]]:
    with looking(folder) as connection:
        if connection is None:
            raise StorageError(f"{folder}: there is no database yet; the bot makes it at its first start")
        schema, known = schema_of(connection), len(migrations())
        if schema > known:
            raise StorageError(f"{folder}: the database is of a newer version (schema {schema}, known {known})")
        connection.row_factory = sqlite3.Row
        connection.execute("BEGIN")
        found = [tuple(dict(row) for row in connection.execute(query, values)) for query, values in queries]
    return iter(found)
