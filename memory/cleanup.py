"""Cleanup (P13-P15): which memories may be tidied together, and what of a model's answer is carried out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import groupby

from memory.settings import MemorySettings
from memory.text import MAX_CHARACTERS, blank, clean
from memory.types import Memory, Source
from memory.undo import Kept
from memory.words import fold

_SMALLEST = 2  # memories of a group, and of a merge

_Where = tuple[str, str, str, bool, bool, tuple[str, ...], tuple[str, ...]]


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


class Reason(StrEnum):
    """Why a cleanup is rejected as a whole (P15)."""

    UNKNOWN_ID = "unknown-id"
    USED_TWICE = "used-twice"
    MERGE_OF_ONE = "merge-of-one"
    NO_SURVIVOR = "no-survivor"
    SURVIVOR_GOES = "survivor-goes"
    TWO_GROUPS = "two-groups"
    BLANK = "blank"
    TOO_LONG = "too-long"
    PROTECTED = "protected"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Rejected:
    """Nothing of a cleanup is carried out: why, and the ids it is about."""

    reason: Reason
    ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Merged:
    """Memories that go, and the one that takes their place: `memory` as it is to be saved, its id (0) still to come."""

    sources: tuple[int, ...]
    memory: Memory


@dataclass(frozen=True, slots=True)
class Apart:
    """Merged memories that are taken apart, and those of their parts that come back."""

    gone: tuple[int, ...] = ()
    back: tuple[Kept, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """What a cleanup does, over all its groups."""

    drops: tuple[Drop, ...] = ()
    merges: tuple[Merged, ...] = ()

    @property
    def removed(self) -> tuple[int, ...]:
        """The ids that go, ascending."""
        merged = (source for merge in self.merges for source in merge.sources)
        return tuple(sorted((*(drop.memory_id for drop in self.drops), *merged)))


def due(promoting_passes: int, settings: MemorySettings) -> bool:
    """Whether so many passes that promoted are followed by a cleanup (P13); an interval of 0 is never reached."""
    return 0 < settings.cleanup_interval <= promoting_passes


def groups(memories: Iterable[Memory]) -> tuple[CleanupGroup, ...]:
    """Return the groups there are to tidy (P14): one scope and one visibility, two memories or more, not all protected.

    In the order of their lowest ids. `memories`: of one person over all personas, or of one room's list.
    """
    by_place = sorted(memories, key=lambda memory: (_place(memory), memory.id))
    found = [tuple(together) for _, together in groupby(by_place, key=_place)]
    worth = (each for each in found if len(each) >= _SMALLEST and not all(memory.protected for memory in each))
    return tuple(CleanupGroup(each) for each in sorted(worth, key=lambda each: each[0].id))


def check(
    asked: Sequence[CleanupGroup], answers: Sequence[CleanupAnswer], now: Iterable[Memory], at: datetime
) -> Changes | Rejected:
    """Return what the answers change, or why none of it is carried out: all or nothing over all groups (P15).

    asked, answers: the groups with the model's answer for each. now: the same memories as they are stored at this
    moment, `at`; a counter that has changed since does not matter, and neither does a memory that no answer touches.
    """
    group_of = {memory.id: number for number, group in enumerate(asked) for memory in group.memories}
    for number, (group, answer) in enumerate(zip(asked, answers, strict=True)):
        fault = _fault(answer, number, group_of, {memory.id: memory for memory in group.memories})
        if fault is not None:
            return fault
    then = {memory.id: memory for group in asked for memory in group.memories}
    current = {memory.id: memory for memory in now}
    touched = sorted({each for answer in answers for each in _touched(answer)})
    changed = tuple(each for each in touched if each not in current or _differs(then[each], current[each]))
    if changed:
        return Rejected(Reason.CHANGED, changed)
    merges = (merge for answer in answers for merge in answer.merges)
    return Changes(
        tuple(drop for answer in answers for drop in answer.drops),
        tuple(merged([current[each] for each in merge.memory_ids], merge.text, at) for merge in merges),
    )


def merged(sources: Sequence[Memory], text: str, at: datetime) -> Merged:
    """Return the memory that takes the place of two or more of one group (P15): the kindest of each of their counters.

    It takes the most mentions of one of them, not all together: one message may have mentioned several (P8).
    """
    first = min(sources, key=lambda memory: (memory.created_at, memory.id))
    matched = [memory.last_matched_at for memory in sources if memory.last_matched_at is not None]
    memory = replace(
        first,
        id=0,
        text=clean(text),
        source=Source.MERGE,
        protected=False,
        unused_days=min(memory.unused_days for memory in sources),
        counted_on=max(memory.counted_on for memory in sources),
        last_matched_at=max(matched, default=None),
        mentions=max(memory.mentions for memory in sources),
        first_seen=min(memory.first_seen for memory in sources),
        updated_at=at,
    )
    return Merged(tuple(sorted(memory.id for memory in sources)), memory)


def _place(memory: Memory) -> _Where:
    """Return what the memories of one group have in common: scope and visibility."""
    return (
        memory.scope.value,
        memory.scope_id,
        memory.persona,
        memory.origin.private,
        memory.shared,
        tuple(sorted(set(memory.rooms))),
        tuple(sorted({fold(tag) for tag in memory.tags})),
    )


def _differs(then: Memory, now: Memory) -> bool:
    return (then.text, then.protected, _place(then)) != (now.text, now.protected, _place(now))


def _removed(answer: CleanupAnswer) -> list[int]:
    return [drop.memory_id for drop in answer.drops] + [each for merge in answer.merges for each in merge.memory_ids]


def _touched(answer: CleanupAnswer) -> list[int]:
    """A survivor is touched too: what was dropped for it must still be said by it."""
    return _removed(answer) + [drop.survivor for drop in answer.drops]


def _fault(
    answer: CleanupAnswer, number: int, group_of: Mapping[int, int], group: Mapping[int, Memory]
) -> Rejected | None:
    """Return what is wrong with the answer for one group, the first fault in this order."""
    removed = _removed(answer)
    gone = frozenset(removed)
    small = [merge for merge in answer.merges if len(set(merge.memory_ids)) < _SMALLEST]
    texts = [(merge.memory_ids, clean(merge.text)) for merge in answer.merges]
    found: dict[Reason, list[int]] = {
        Reason.UNKNOWN_ID: [each for each in removed if each not in group_of],
        Reason.TWO_GROUPS: [each for each in removed if group_of.get(each, number) != number],
        Reason.USED_TWICE: [each for each, times in Counter(removed).items() if times > 1],
        Reason.MERGE_OF_ONE: [each for merge in small for each in merge.memory_ids],
        Reason.NO_SURVIVOR: [drop.memory_id for drop in answer.drops if drop.survivor not in group],
        Reason.SURVIVOR_GOES: [drop.memory_id for drop in answer.drops if drop.survivor in gone],
        Reason.BLANK: [each for ids, text in texts if blank(text) for each in ids],
        Reason.TOO_LONG: [each for ids, text in texts if len(text) > MAX_CHARACTERS for each in ids],
        Reason.PROTECTED: [each for each in removed if each in group and group[each].protected],
    }
    if small and not found[Reason.MERGE_OF_ONE]:
        return Rejected(Reason.MERGE_OF_ONE)  # a merge of nothing names no ids
    return next((Rejected(reason, tuple(sorted(set(ids)))) for reason, ids in found.items() if ids), None)
