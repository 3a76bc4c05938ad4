"""How much a list holds, and what a full one says (D9, D10). Nothing is forgotten to make room yet."""

from __future__ import annotations

from memory.errors import Refused
from memory.settings import MemorySettings
from memory.types import ScopeKind


def capacity_of(scope: ScopeKind, settings: MemorySettings) -> int | None:
    """Return how many memories a list of this scope holds (D9); None for global memories, which no capacity counts."""
    if scope is ScopeKind.GLOBAL:
        return None
    return settings.capacity_room if scope is ScopeKind.ROOM else settings.capacity_personal


def refuse_if_full(scope: ScopeKind, count: int, settings: MemorySettings, prefix: str = "!") -> None:
    """Raise Refused, saying why and what to do (D10), when a list with `count` memories is at or over its capacity.

    `count`: memories of one scope and persona. `prefix`: what commands begin with.
    """
    capacity = capacity_of(scope, settings)
    if capacity is None or count < capacity:
        return
    if scope is ScopeKind.ROOM:
        raise Refused(
            f"Nothing was saved: this room's list is full ({count} memories, room for {capacity}). "
            "A memory of the room has to be deleted first."
        )
    raise Refused(
        f"Nothing was saved: your list is full ({count} memories, room for {capacity}). See it with "
        f"`{prefix}memories`, delete what is no longer needed with `{prefix}memories del ID`, then ask again."
    )
