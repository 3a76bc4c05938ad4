"""Rows as operators find them in the database, beside those of the naive model."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import Any

Row = dict[str, Any]

# Columns as the tables call them, and as the naive model does.
CANDIDATE = {
    "user_id": "user",
    "text": "text",
    "mentions": "mentions",
    "first_seen": "first_seen",
    "last_seen": "last_seen",
    "origin_room": "room",
    "origin_event": "event",
    "origin_private": "private",
}
MEMORY = {
    "scope_kind": "scope",
    "scope_id": "owner",
    "persona": "persona",
    "text": "text",
    "source": "source",
    "protected": "protected",
    "unused_days": "unused_days",
    "counted_on": "counted_on",
    "last_matched_at": "last_matched_at",
    "mentions": "mentions",
    "first_seen": "first_seen",
    "created_at": "created_at",
    "origin_room": "room",
    "origin_event": "event",
    "origin_private": "private",
    "shared": "shared",
    "rooms": "rooms",
    "tags": "tags",
}
TIMES = ("first_seen", "last_seen", "last_matched_at", "created_at")


def read(row: sqlite3.Row) -> Row:
    """Read what SQLite holds as text."""
    values = dict(row)
    for key in TIMES:
        if values.get(key) is not None:
            values[key] = datetime.fromisoformat(values[key])
    if "counted_on" in values:
        values["counted_on"] = date.fromisoformat(values["counted_on"])
        values["rooms"], values["tags"] = tuple(json.loads(values["rooms"])), tuple(json.loads(values["tags"]))
    return values


def differences(real: list[Row], naive: list[Row], columns: dict[str, str]) -> Iterator[object]:
    """Yield what is not the same, the bot's first."""
    if [row["text"] for row in real] != [row["text"] for row in naive]:
        yield [row["text"] for row in real], [row["text"] for row in naive]
        return
    for one, other in zip(real, naive, strict=True):
        for key, name in columns.items():
            if one[key] != other[name]:
                yield one["text"], key, one[key], other[name]


def by_id(row: Row) -> int:
    return int(row["id"])


def stored(database: Path, table: str) -> list[Row]:
    """Read a table as operators may."""
    with closing(sqlite3.connect(database)) as connection:
        connection.row_factory = sqlite3.Row
        return [read(row) for row in connection.execute(f"SELECT * FROM {table}")]  # noqa: S608 - of the tests alone
