"""What `davenport inspect` prints: candidates and memories with every column, from the database (P19)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from memory.text import visible
from storage.owned import Record, owned_by, people


def report(folder: Path, owner: str, *, as_json: bool) -> Iterator[str]:
    """Yield the lines on a user or room, or one on each person where none is named. Raises StorageError."""
    if not owner:
        yield from _lines("people", people(folder), as_json=as_json)
        return
    owned = owned_by(folder, owner)
    kinds = [("memories", owned.memories), ("documents", owned.documents)]
    if not owner.startswith("!"):
        kinds = [("candidates", owned.candidates), ("memories", owned.memories), ("state", owned.state)]
    for kind, records in kinds:
        yield from _lines(kind, records, as_json=as_json)


def _lines(kind: str, records: Sequence[Record], *, as_json: bool) -> Iterator[str]:
    if as_json:
        yield from (json.dumps({"kind": kind, **record}, ensure_ascii=True) for record in records)
        return
    yield f"{kind}: {len(records)}"
    for record in records:
        yield ""
        width = max(map(len, record))
        yield from (f"  {column:<{width}}  {_shown(value)}" for column, value in record.items())
    yield ""


def _shown(value: object) -> str:
    """Show a value on one line; what people wrote commands no terminal."""
    return "-" if value is None else " ".join(visible(str(value)).split())
