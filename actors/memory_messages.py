"""What the owner of lists, a user's or a room's actor, is asked about single memories; see actors/messages.py.

Nobody else's memory can be told from one that does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass

from actors.messages import EffectKey, OfMemories
from memory.marking import Mark
from memory.types import Conversation, Memory
from memory.words import NOTHING, Heard


@dataclass(frozen=True, slots=True)
class ShowMemory(OfMemories[Memory]):
    """Return one memory, if it may be shown in this conversation (D8). Raises Refused, without any of its text."""

    memory_id: int
    conversation: Conversation
    heard: Heard = NOTHING


@dataclass(frozen=True, slots=True)
class Marked:
    """Ids that were marked, ids for which the mark means nothing, and ids that are not the caller's."""

    done: tuple[int, ...]
    needless: tuple[int, ...]
    unknown: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MarkMemories(OfMemories[Marked]):
    """Share, limit or tag some of the user's own memories (D8)."""

    ids: tuple[int, ...]
    mark: Mark
    effect: EffectKey


@dataclass(frozen=True, slots=True)
class MadeGlobal:
    """Ids that are global now, ids with the global memory that says the same already, and ids not the caller's."""

    done: tuple[int, ...]
    equal: tuple[tuple[int, int], ...]
    unknown: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MakeGlobal(OfMemories[MadeGlobal]):
    """Let some of the user's own memories hold for every persona, which protects them (D11)."""

    ids: tuple[int, ...]
    effect: EffectKey


@dataclass(frozen=True, slots=True)
class UndoLast(OfMemories[tuple[int, ...]]):
    """Bring back what the last command took away; answers the ids that are as before. Raises Refused.

    persona: that of a room's list.
    """

    effect: EffectKey
    persona: str | None = None
