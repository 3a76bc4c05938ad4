"""One step back: what a command took away, for how long it can be undone, and what undoing it changes. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

from memory.errors import Refused
from memory.types import Memory, ScopeKind, Source

KEPT_FOR = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Kept:
    """A memory as it was, with the ids of the events that mentioned it.

    parts: of a merged one, what it was put together from.
    """

    memory: Memory
    mentioned_by: tuple[str, ...] = ()
    parts: tuple[Kept, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """What one command changed: `was` before it, and in `now` the rows it left in their place.

    A deletion leaves none; an edit leaves a row of the same id; a cleanup leaves the merged memories.
    """

    was: tuple[Kept, ...]
    now: tuple[Memory, ...] = ()

    def joined(self, later: Taken) -> Taken:
        """Return this and what the same event took later on, as one step."""
        return Taken((*self.was, *later.was), (*self.now, *later.now))

    def without_event(self, event_id: str) -> Taken:
        """Return what is left when an event is taken back: its mentions go, and what only it had taught with them.

        The same rule as for memories that are there.
        """
        return replace(self, was=tuple(left for kept in self.was for left in left_without(kept, event_id)))


@dataclass(frozen=True, slots=True)
class Restoration:
    """What undoing changes: memories that come back, rows that get their old wording back, and ids that go."""

    back: tuple[Kept, ...]
    reworded: tuple[Kept, ...]
    gone: tuple[int, ...]


def restoration(taken: Taken, current: Iterable[Memory]) -> Restoration:
    """Return how to undo a command; `current` are those of the rows of `taken.now` that still exist.

    Counters, and the visibility of a reworded memory, stay as they are by now. Raises Refused when a row that would be
    replaced was changed or deleted since.
    """
    there = {memory.id: memory for memory in current}
    before = {kept.memory.id: kept for kept in taken.was}
    changed = [left.id for left in taken.now if _changed(left, there.get(left.id), reworded=left.id in before)]
    if changed:
        raise Refused("undo-changed", ids=", ".join(f"#{memory_id}" for memory_id in changed))
    left = {memory.id for memory in taken.now}
    return Restoration(
        back=tuple(kept for memory_id, kept in before.items() if memory_id not in left),
        reworded=tuple(_reworded(before[each], there[each]) for each in left if each in before),
        gone=tuple(each for each in left if each not in before),
    )


def left_without(kept: Kept, event_id: str) -> tuple[Kept, ...]:
    """Return what is left of a memory when an event is taken back: its mention goes, and what only that had taught.

    What is protected or was saved on request stays. A merged memory that lacks a part is taken apart: the other parts
    come back, as visible as it is and with its counters, since nobody can cut one out of its text.
    """
    if event_id not in kept.mentioned_by:
        return (kept,)
    others = tuple(each for each in kept.mentioned_by if each != event_id)
    parts = tuple(left for part in kept.parts for left in left_without(part, event_id))
    left = replace(kept, mentioned_by=others, parts=parts)
    if kept.memory.protected:
        return (left,)
    if len(parts) < len(kept.parts):
        return tuple(_by_itself(part, kept.memory) for part in parts)
    return (left,) if others or kept.memory.source is not Source.PROMOTION else ()


def _by_itself(part: Kept, whole: Memory) -> Kept:
    memory = replace(
        part.memory,
        shared=whole.shared,
        rooms=whole.rooms,
        tags=whole.tags,
        unused_days=whole.unused_days,
        counted_on=whole.counted_on,
        last_matched_at=whole.last_matched_at,
    )
    return replace(part, memory=memory)


def _changed(left: Memory, current: Memory | None, *, reworded: bool) -> bool:
    """Whether a row is no longer what the command left. What is only reworded may have got another visibility."""
    if current is None or (current.text, current.protected) != (left.text, left.protected):
        return True
    return not reworded and _visibility(current) != _visibility(left)


def _visibility(memory: Memory) -> tuple[object, ...]:
    return memory.scope, memory.persona, memory.shared, memory.rooms, memory.tags


def _reworded(was: Kept, current: Memory) -> Kept:
    protected = was.memory.protected or current.scope is ScopeKind.GLOBAL  # D11: whatever is global is protected
    old = was.memory
    return replace(was, memory=replace(current, text=old.text, protected=protected, updated_at=old.updated_at))
