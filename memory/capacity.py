"""How much a list holds, and which memory a save into a full one forgets (D9, D10)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.errors import Refused
from memory.settings import MemorySettings
from memory.types import Memory, ScopeKind


class _Why(StrEnum):
    """Why nothing is forgotten to make room (D10)."""

    NONE = "none"
    DECAY_OFF = "decay-off"
    NO_SEARCH = "no-search"


_REFUSALS = {  # ids of texts
    (ScopeKind.PERSONAL, _Why.NONE): "list-full-personal",
    (ScopeKind.PERSONAL, _Why.DECAY_OFF): "list-full-personal-decay-off",
    (ScopeKind.PERSONAL, _Why.NO_SEARCH): "list-full-personal-no-search",
    (ScopeKind.ROOM, _Why.NONE): "list-full-room",
    (ScopeKind.ROOM, _Why.DECAY_OFF): "list-full-room-decay-off",
    (ScopeKind.ROOM, _Why.NO_SEARCH): "list-full-room-no-search",
}
# No capacity counts a person's global memories, but all of them are sent wherever that person speaks: without a bound
# one person could make every prompt of a room too long.
MOST_GLOBAL = 200
LIST_FULL = frozenset(_REFUSALS.values())  # the refusals that D10 promises to the one who asked


@dataclass(frozen=True, slots=True)
class Named:
    """A memory as a confirmation names it. shown: whether the room in which it was saved may see its text (D12)."""

    id: int
    text: str
    shown: bool


@dataclass(frozen=True, slots=True)
class Saved:
    """What came of an explicit save (P16, D9).

    new: False when an equal text was there already. protected: that one is protected from now on (D11). of_room: it is
    on a room's list. forgotten: the memory that was forgotten to make room. in_private: whoever asked was alone with
    the bot then.
    """

    memory: Named
    new: bool = True
    protected: bool = False
    of_room: bool = False
    forgotten: Named | None = None
    in_private: bool = False


def capacity_of(scope: ScopeKind, settings: MemorySettings) -> int | None:
    """Return how many memories a list of this scope holds (D9); None for global memories, which no capacity counts."""
    if scope is ScopeKind.GLOBAL:
        return None
    return settings.capacity_room if scope is ScopeKind.ROOM else settings.capacity_personal


def refuse_too_many_global(count: int) -> None:
    """Raise Refused, saying what to do, where a person would have more global memories than can be sent along."""
    if count > MOST_GLOBAL:
        raise Refused("global-full", limit=MOST_GLOBAL)


def to_forget(
    scope: ScopeKind, in_list: Iterable[Memory], settings: MemorySettings, *, searchable: bool
) -> Memory | None:
    """Return the memory that one save into a list forgets (D9); None when there is room.

    scope: of what is to be saved. in_list: the list as it stands after this turn's search; a person's global memories
    on it count for nothing. searchable: this turn's search did not fail and the new text could be embedded.
    Raises Refused, saying why and what to do, where nothing may be forgotten (D10).
    """
    counted = [memory for memory in in_list if memory.scope is scope]
    capacity = capacity_of(scope, settings)
    if capacity is None or len(counted) < capacity:
        return None
    resting = [memory for memory in counted if _may_be_forgotten(memory, settings)]
    why = _why_not(resting, settings, searchable=searchable)
    if why is not None:
        raise Refused(_REFUSALS[scope, why], n=len(counted), capacity=capacity)
    return min(resting, key=_order)


def _may_be_forgotten(memory: Memory, settings: MemorySettings) -> bool:
    """Whether a memory rests and is not protected (D9, D11)."""
    return memory.resting(settings.rest_after_days) and not memory.protected


def _why_not(resting: Sequence[Memory], settings: MemorySettings, *, searchable: bool) -> _Why | None:
    if not settings.decay_enabled:
        return _Why.DECAY_OFF
    if not searchable:
        return _Why.NO_SEARCH
    return None if resting else _Why.NONE


def _order(memory: Memory) -> tuple[bool, datetime, int]:
    """Sort what was never matched first, oldest saved first, then what was matched longest ago; ties by id (D9)."""
    matched = memory.last_matched_at
    return matched is not None, memory.created_at if matched is None else matched, memory.id
