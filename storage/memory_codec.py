"""A memory as a row: its columns in order, read and written."""

from __future__ import annotations

import json
from collections.abc import Iterable

from memory.errors import StorageError
from memory.types import Memory, Origin, ScopeKind, Source
from storage.codec import read_date, read_texts, read_time, read_time_or_none, storable, time_text
from storage.sql import Row, Value

NAMES = (
    "id", "scope_kind", "scope_id", "persona", "text", "source", "protected", "unused_days", "counted_on",
    "last_matched_at", "mentions", "first_seen", "created_at", "updated_at", "origin_room", "origin_event",
    "origin_private", "shared", "rooms", "tags",
)  # fmt: skip
COLUMNS = ", ".join(NAMES)

# Enum(value) costs more than the rest of a row.
_SCOPES = {kind.value: kind for kind in ScopeKind}
_SOURCES = {source.value: source for source in Source}


def decode_all(rows: Iterable[Row]) -> tuple[Memory, ...]:
    """Read rows of `COLUMNS`. Raises StorageError, as `decode` does."""
    return tuple([decode(row) for row in rows])


def decode(row: Row) -> Memory:
    """Read a row of `COLUMNS`.

    Raises StorageError, naming the memory, where the row is damaged: the list cannot be read then, and nothing else.
    """
    try:
        return _memory(row)
    except (LookupError, TypeError, ValueError):  # not chained: their words may quote a text
        raise StorageError(f"the row of memory {row[0]} is damaged; restore a backup or delete the row") from None


def _memory(row: Row) -> Memory:
    (
        memory_id, scope, scope_id, persona, text, source, protected, unused_days, counted_on, last_matched_at,
        mentions, first_seen, created_at, updated_at, origin_room, origin_event, origin_private, shared, rooms, tags,
    ) = row  # fmt: skip
    return Memory(
        id=memory_id,
        scope=_SCOPES[scope],
        scope_id=scope_id,
        persona=persona,
        text=text,
        source=_SOURCES[source],
        protected=bool(protected),
        unused_days=unused_days,
        counted_on=read_date(counted_on),
        last_matched_at=read_time_or_none(last_matched_at),
        mentions=mentions,
        first_seen=read_time(first_seen),
        created_at=read_time(created_at),
        updated_at=read_time(updated_at),
        origin=Origin(origin_room, origin_event, bool(origin_private)),
        shared=bool(shared),
        rooms=read_texts(rooms),
        tags=read_texts(tags),
    )


def encode(memory: Memory) -> tuple[Value, ...]:
    """Write a memory as a row of `COLUMNS`; what `decode` reads back is equal."""
    return (
        memory.id,
        memory.scope.value,
        memory.scope_id,
        memory.persona,
        storable(memory.text),
        memory.source.value,
        int(memory.protected),
        memory.unused_days,
        memory.counted_on.isoformat(),
        None if memory.last_matched_at is None else time_text(memory.last_matched_at),
        memory.mentions,
        time_text(memory.first_seen),
        time_text(memory.created_at),
        time_text(memory.updated_at),
        memory.origin.room,
        memory.origin.event,
        int(memory.origin.private),
        int(memory.shared),
        texts_json(memory.rooms),
        texts_json(memory.tags),
    )


def texts_json(texts: Iterable[str]) -> str:
    """Write texts as a JSON array."""
    return json.dumps([storable(text) for text in texts], ensure_ascii=False)
