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

    parts: of a merged one, which memory that it was made of each event had taught.
    """

    memory: Memory
    mentioned_by: tuple[str, ...] = ()
    parts: tuple[tuple[int, str], ...] = ()


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

        The same rule as for memories that are there: unprotected, learned, and mentioned by nothing else; a merged one
        goes with any part of it.
        """
        return replace(self, was=tuple(left for kept in self.was if (left := _without(kept, event_id)) is not None))


@dataclass(frozen=True, slots=True)
class Restoration:
    """What undoing changes: memories that come back, rows that get their old wording back, and ids that go."""

    back: tuple[Kept, ...]
    reworded: tuple[Memory, ...]
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
        reworded=tuple(_reworded(before[each].memory, there[each]) for each in left if each in before),
        gone=tuple(each for each in left if each not in before),
    )


def _without(kept: Kept, event_id: str) -> Kept | None:
    """Return what is left of a memory when an event is taken back; None: nothing."""
    parts = {part for part, _ in kept.parts}
    left = replace(
        kept,
        mentioned_by=tuple(each for each in kept.mentioned_by if each != event_id),
        parts=tuple(each for each in kept.parts if each[1] != event_id),
    )
    bare = kept.mentioned_by != left.mentioned_by and not left.mentioned_by
    torn = parts != {part for part, _ in left.parts}
    learned = kept.memory.source in (Source.PROMOTION, Source.MERGE) and not kept.memory.protected
    return None if learned and (bare or torn) else left


def _changed(left: Memory, current: Memory | None, *, reworded: bool) -> bool:
    """Whether a row is no longer what the command left. What is only reworded may have got another visibility."""
    if current is None or (current.text, current.protected) != (left.text, left.protected):
        return True
    return not reworded and _visibility(current) != _visibility(left)


def _visibility(memory: Memory) -> tuple[object, ...]:
    return memory.scope, memory.persona, memory.shared, memory.rooms, memory.tags


def _reworded(was: Memory, current: Memory) -> Memory:
    protected = was.protected or current.scope is ScopeKind.GLOBAL  # D11: whatever is global is protected
    return replace(current, text=was.text, protected=protected, updated_at=was.updated_at)
