"""What the owner of lists is told and asked about tidying them (P13-P15)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from actors.messages import EffectKey, Request
from memory.cleanup import CleanupAnswer, Drop
from memory.model import Usage
from memory.visibility import View


@dataclass(frozen=True, slots=True)
class CleanupSummary:
    """What a cleanup did: how many memories it looked at, what it dropped, and what became of those it merged.

    merges: ids that went, and the id of the new memory. texts: of survivors and new memories, by id, where they may be
    shown to the asker.
    """

    looked_at: int
    drops: tuple[Drop, ...] = ()
    merges: tuple[tuple[tuple[int, ...], int], ...] = ()
    texts: dict[int, str] = field(default_factory=dict)

    @property
    def named(self) -> tuple[int, ...]:
        """The ids of survivors and new memories."""
        return (*(drop.survivor for drop in self.drops), *(new for _, new in self.merges))

    def written(self) -> str:
        """Write it as JSON: ids alone, so that no text outlives its memory there."""
        drops = [[drop.memory_id, drop.survivor] for drop in self.drops]
        return json.dumps({"looked_at": self.looked_at, "drops": drops, "merges": self.merges})

    @classmethod
    def read(cls, text: str) -> CleanupSummary:
        """Read what `written` wrote."""
        read: dict[str, Any] = json.loads(text)
        drops = tuple(Drop(*pair) for pair in read["drops"])
        return cls(read["looked_at"], drops, tuple((tuple(sources), new) for sources, new in read["merges"]))


@dataclass(frozen=True, slots=True)
class CleanUp(Request[asyncio.Future[CleanupSummary]]):
    """Tidy all memories of this user, or a room's list of the view's persona, once for the effect key (P14).

    Answered at once with what the cleanup's end resolves: a summary, or Refused where nothing was changed. Raises
    Refused when it cannot begin.
    """

    view: View
    effect: EffectKey


@dataclass(frozen=True, slots=True)
class CleanupAnswered:
    """The model answered for every group. answers None: not for all of them, and `failed` is the text that says why.

    run: the cleanup these belong to. usage: what the calls cost.
    """

    run: object
    answers: tuple[CleanupAnswer, ...] | None
    usage: tuple[Usage, ...] = ()
    failed: str = ""
