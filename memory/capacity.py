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


def refuse_if_full(scope: ScopeKind, count: int, settings: MemorySettings) -> None:
    """Raise Refused, saying why and what to do (D10), when a list with `count` memories is at or over its capacity.

    `count`: memories of one scope and persona.
    """
    capacity = capacity_of(scope, settings)
    if capacity is None or count < capacity:
        return
    if scope is ScopeKind.ROOM:
        raise Refused("list-full-room", n=count, capacity=capacity)
    raise Refused("list-full-personal", n=count, capacity=capacity)
