"""Cleanup (P14, P15): which memories may be tidied together, and what of a model's answer is carried out."""

from __future__ import annotations

from dataclasses import dataclass

from memory.types import Memory


@dataclass(frozen=True, slots=True)
class CleanupGroup:
    """Memories of one scope and one visibility, by id, as they stood when the model was asked (P14)."""

    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class Drop:
    """A redundant memory, and the one of its group that says the same (P15)."""

    memory_id: int
    survivor: int


@dataclass(frozen=True, slots=True)
class Merge:
    """Overlapping memories, and the text that takes their place."""

    memory_ids: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class CleanupAnswer:
    """What the model answered for one group, unchecked."""

    drops: tuple[Drop, ...] = ()
    merges: tuple[Merge, ...] = ()
