"""A cleanup under way, and what became of it (P13-P15)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from actors.cleanup_messages import CleanupSummary
from actors.messages import EffectKey
from memory.cleanup import Changes, CleanupGroup
from memory.settings import MemorySettings
from memory.types import Memory
from memory.visibility import View


@dataclass(slots=True)
class Asked:
    """Who waits for a cleanup that was asked for, and from where they look at it."""

    view: View
    effect: EffectKey
    told: asyncio.Future[CleanupSummary]


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A cleanup whose model calls are in flight.

    cause: the event, user and room it is for. settings: as they were at its start (P5). looked_at: how many memories
    there are. counted: what the counter of P13 was at its start, 0 for a cleanup that was asked for.
    """

    groups: tuple[CleanupGroup, ...]
    cause: tuple[str, str, str]
    settings: MemorySettings
    looked_at: int
    counted: int = 0
    asked: Asked | None = None

    @property
    def unwanted(self) -> bool:
        """Whether the command that asked for it was taken back (P20)."""
        return self.asked is not None and self.asked.told.cancelled()


@dataclass(frozen=True, slots=True)
class Applied:
    """What was carried out, with the new memories."""

    changes: Changes
    made: tuple[Memory, ...]
    summary: CleanupSummary
