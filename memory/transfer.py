"""A person's memories as a file: written for an export, read and checked for an import (D11, P18). Pure.

The file is one JSON object: `version`, `exported_at`, `user` and the list `memories`, each with `scope` (personal or
global), `persona`, `text`, `created_at`, `first_seen`, `mentions`, `unused_days`, `protected`, `private`, `shared`,
`rooms` and `tags`. Of a memory only `text` is needed. What the file says of user, dates of saving, unused days and
protection is not taken over: an imported memory is the importer's, saved now and unused for 0 days. A key that is not
known is refused, for it may be a misspelt limit on who sees a memory.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from memory.capacity import capacity_of, refuse_too_many_global
from memory.errors import Refused
from memory.settings import MemorySettings
from memory.text import canonical
from memory.transfer_entry import Entry, Item, refuse_unknown
from memory.types import Draft, Memory, Origin, ScopeKind, Source
from memory.words import fold

VERSION = 1
MEDIA_TYPE = "application/json"
MOST_MEMORIES = 1000
MOST_BYTES = 1_000_000
_FIELDS = frozenset({"version", "exported_at", "user", "memories"})


def written(memories: Iterable[Memory], user_id: str, at: datetime) -> bytes:
    """Return the file with these memories of a user, in UTF-8."""
    whole = {
        "version": VERSION,
        "exported_at": _time(at),
        "user": user_id,
        "memories": [_fields(memory) for memory in memories],
    }
    return (json.dumps(whole, ensure_ascii=False, indent=2) + "\n").encode()


def file_name(at: datetime) -> str:
    """Return what the file of an export is called."""
    return f"memories-{at.astimezone(UTC).date().isoformat()}.json"


def is_of(data: bytes, user_id: str) -> bool:
    """Whether a file says that it is of this user's memories; whoever makes one may write there whom they like."""
    try:
        return bool(_loaded(data).get("user") == user_id)
    except Refused:
        return False


def read(data: bytes, *, private: bool) -> tuple[Item, ...]:
    """Read a file. `private`: whether a memory of which it does not say so was said in private (D8).

    Raises Refused, with the reason, where anything in it is not as it has to be.
    """
    whole = _loaded(data)
    version, entries = whole.get("version"), whole.get("memories")
    if type(version) is not int or not isinstance(entries, list):
        raise Refused("import-not-export")
    if version != VERSION:
        raise Refused("import-version", version=VERSION)
    refuse_unknown(whole, _FIELDS, "import-unknown-key")
    if len(entries) > MOST_MEMORIES:
        raise Refused("import-too-many", n=len(entries), limit=MOST_MEMORIES)
    return tuple(Entry(number, entry).item(private=private) for number, entry in enumerate(entries, 1))


def new_ones(
    items: Iterable[Item], existing: Iterable[Memory], settings: MemorySettings
) -> tuple[tuple[Item, ...], int]:
    """Return the items that are not there yet, each once, and how many are there already.

    existing: the user's memories over all personas. There already: an equal text (P9) in the same list and visibility.
    Raises Refused where one of the lists cannot take all that is new for it (D9, D11): nothing is forgotten for it.
    """
    counts: Counter[str] = Counter()  # by persona, "" for global ones
    seen = set()
    for memory in existing:
        seen.add(_key_of(memory))
        counts[memory.persona] += 1
    fresh: list[Item] = []
    there = 0
    for item in items:
        key = _key(item)
        if key in seen:
            there += 1
        else:
            seen.add(key)
            fresh.append(item)
    wanted = Counter(item.persona for item in fresh)
    if wanted[""]:
        refuse_too_many_global(counts[""] + wanted.pop(""))
    capacity = capacity_of(ScopeKind.PERSONAL, settings) or 0
    for persona, count in sorted(wanted.items()):
        free = max(0, capacity - counts[persona])
        if count > free:
            raise Refused("import-list-full", persona=persona, n=count, free=free)
    return tuple(fresh), there


def draft_of(item: Item, user_id: str, room_id: str, event_id: str, now: datetime) -> Draft:
    """Return the memory an item becomes, a memory of this user first said in this room and event as far as is known.

    It is not protected, unless it is global (D11). When it was first seen is the file's word, if that is past.
    """
    seen = item.first_seen
    return Draft(
        scope=item.scope,
        scope_id=user_id,
        persona=item.persona,
        text=item.text,
        source=Source.IMPORT,
        origin=Origin(room_id, event_id, item.private),
        first_seen=seen if seen is not None and seen < now else now,
        mentions=item.mentions,
        protected=item.scope is ScopeKind.GLOBAL,
        shared=item.shared,
        rooms=item.rooms,
        tags=item.tags,
    )


def _fields(memory: Memory) -> dict[str, Any]:
    return {
        "scope": memory.scope.value,
        "persona": memory.persona,
        "text": memory.text,
        "created_at": _time(memory.created_at),
        "first_seen": _time(memory.first_seen),
        "mentions": memory.mentions,
        "unused_days": memory.unused_days,
        "protected": memory.protected,
        "private": memory.origin.private,
        "shared": memory.shared,
        "rooms": list(memory.rooms),
        "tags": list(memory.tags),
    }


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()


def _loaded(data: bytes) -> Mapping[str, Any]:
    try:
        whole = json.loads(data.decode("utf-8-sig"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Refused("import-not-json") from error
    if not isinstance(whole, dict):
        raise Refused("import-not-export")
    return whole


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


_Key = tuple[ScopeKind, str, str, bool, bool, frozenset[str], frozenset[str]]


def _key_of(memory: Memory) -> _Key:
    private = memory.origin.private
    return _key(
        Item(
            memory.text,
            memory.scope,
            memory.persona,
            private=private,
            shared=memory.shared and private,
            rooms=memory.rooms,
            tags=memory.tags,
        )
    )


def _key(item: Item) -> _Key:
    """Return what makes two memories of a person the same: list, visibility and text (P9)."""
    return (
        item.scope,
        item.persona,
        canonical(item.text),
        item.private,
        item.shared,
        frozenset(item.rooms),
        frozenset(map(fold, item.tags)),
    )
