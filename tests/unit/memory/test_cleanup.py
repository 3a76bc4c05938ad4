"""Which memories are tidied together (P14), and every reason that rejects a cleanup whole (P15)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.cleanup import (
    Changes,
    CleanupAnswer,
    CleanupGroup,
    Drop,
    Merge,
    Reason,
    Rejected,
    check,
    due,
    groups,
    merged,
)
from memory.settings import MemorySettings
from memory.types import Memory, ScopeKind, Source
from tests.unit.memory.build import BAU, NOON, PRIVATE, ROOM, day, memory, noon, room_memory

OURS = (memory(1), memory(2), memory(3), memory(4, protected=True))
PRIVATELY = (memory(11, origin=PRIVATE), memory(12, origin=PRIVATE), memory(13, origin=PRIVATE))
ASKED = (CleanupGroup(OURS), CleanupGroup(PRIVATELY))
STORED = (*OURS, *PRIVATELY)
NOTHING = CleanupAnswer()


def drop(*pairs: tuple[int, int]) -> CleanupAnswer:
    return CleanupAnswer(drops=tuple(Drop(*pair) for pair in pairs))


def merge(*ids: int, text: str = "Has a cat and a dog") -> CleanupAnswer:
    return CleanupAnswer(merges=(Merge(ids, text),))


def outcome(ours: CleanupAnswer, privately: CleanupAnswer = NOTHING, now: Sequence[Memory] = STORED) -> Any:
    return check(ASKED, (ours, privately), now, NOON)


# --- when and what ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passes", "interval", "runs"),
    [(1, 1, True), (2, 3, False), (3, 3, True), (7, 3, True), (5, 0, False), (0, 0, False), (0, 1, False)],
)
def test_p13_a_cleanup_is_due_at_the_interval_and_never_with_none(passes: int, interval: int, *, runs: bool) -> None:
    assert due(passes, MemorySettings(cleanup_interval=interval)) is runs


@pytest.mark.parametrize(
    "other",
    [
        {"persona": "pirate"},
        {"scope": ScopeKind.GLOBAL, "persona": ""},
        {"scope_id": BAU},
        {"scope": ScopeKind.ROOM, "scope_id": ROOM},
        {"origin": PRIVATE},
        {"shared": True},
        {"rooms": (ROOM,)},
        {"tags": ("garden",)},
    ],
)
def test_p14_a_group_is_one_scope_and_one_visibility(other: dict[str, Any]) -> None:
    first, second = memory(1), memory(2, **other)
    third, fourth = memory(3), memory(4, **other)
    assert groups((fourth, second, third, first)) == (CleanupGroup((first, third)), CleanupGroup((second, fourth)))
    assert groups((first, second)) == ()


def test_p14_the_order_of_rooms_and_the_case_of_tags_make_no_other_visibility() -> None:
    one = memory(1, rooms=("!a:hs", "!b:hs"), tags=("Garden", "tea"))
    other = memory(2, rooms=("!b:hs", "!a:hs"), tags=("TEA", "garden"))
    assert groups((one, other)) == (CleanupGroup((one, other)),)


def test_p14_one_memory_or_protected_ones_alone_are_no_group() -> None:
    assert groups(()) == groups((memory(1),)) == ()
    assert groups((memory(1, protected=True), memory(2, protected=True))) == ()
    assert len(groups((memory(1, protected=True), memory(2)))) == 1


# --- what is carried out ------------------------------------------------------------------------------------------


def test_p15_drops_and_merges_of_every_group_are_carried_out() -> None:
    both = CleanupAnswer((Drop(1, 4),), (Merge((3, 2), "  Has a \u202ecat \n and a dog "),))
    found = outcome(both, drop((12, 11), (13, 11)))
    assert found.drops == (Drop(1, 4), Drop(12, 11), Drop(13, 11))
    assert [(each.sources, each.memory.text) for each in found.merges] == [((2, 3), "Has a cat and a dog")]
    assert found.removed == (1, 2, 3, 12, 13)


def test_p15_a_merged_memory_takes_the_kindest_of_each_value() -> None:
    old = memory(
        1, unused_days=9, counted_on=day(1), created_at=noon(-5), first_seen=noon(-6), mentions=2, source=Source.TOOL
    )
    young = memory(
        2,
        unused_days=3,
        counted_on=day(4),
        created_at=noon(-2),
        first_seen=noon(-9),
        last_matched_at=noon(2),
        mentions=5,
        protected=False,
    )
    found = merged([young, old], "Has cats", noon(5)).memory
    assert (found.unused_days, found.counted_on, found.last_matched_at) == (3, day(4), noon(2))
    assert (found.created_at, found.first_seen, found.updated_at) == (noon(-5), noon(-9), noon(5))
    assert (found.source, found.protected, found.mentions, found.id) == (Source.MERGE, False, 5, 0)


def test_p15_a_merged_memory_keeps_scope_visibility_and_the_earliest_origin() -> None:
    first = memory(8, created_at=noon(-3), origin=replace(PRIVATE, event="$first"), shared=True, tags=("tea",))
    second = memory(5, origin=replace(PRIVATE, event="$second"), shared=True, tags=("Tea",))
    found = merged([second, first], "Has cats", NOON).memory
    assert found.origin == replace(PRIVATE, event="$first")
    assert (found.shared, found.tags, found.scope, found.persona) == (True, ("tea",), first.scope, first.persona)


def test_p15_never_matched_memories_stay_never_matched() -> None:
    assert merged([memory(1), memory(2)], "Has cats", NOON).memory.last_matched_at is None


def test_p15_a_protected_memory_may_be_the_survivor() -> None:
    assert outcome(drop((1, 4))) == Changes((Drop(1, 4),))


def test_p15_nothing_to_change_is_no_rejection() -> None:
    assert outcome(NOTHING) == Changes()


# --- what rejects it whole ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "reason", "ids"),
    [
        (drop((99, 1)), Reason.UNKNOWN_ID, (99,)),
        (merge(1, 99), Reason.UNKNOWN_ID, (99,)),
        (drop((1, 2), (1, 3)), Reason.USED_TWICE, (1,)),
        (merge(1, 2, 2), Reason.USED_TWICE, (2,)),
        (CleanupAnswer((Drop(1, 4),), (Merge((1, 2), "Has cats"),)), Reason.USED_TWICE, (1,)),
        (CleanupAnswer(merges=(Merge((1, 2), "x"), Merge((2, 3), "x"))), Reason.USED_TWICE, (2,)),
        (merge(1), Reason.MERGE_OF_ONE, (1,)),
        (merge(), Reason.MERGE_OF_ONE, ()),
        (drop((1, 99)), Reason.NO_SURVIVOR, (1,)),
        (drop((1, 11)), Reason.NO_SURVIVOR, (1,)),
        (drop((1, 1)), Reason.SURVIVOR_GOES, (1,)),
        (drop((1, 2), (2, 3)), Reason.SURVIVOR_GOES, (1,)),
        (drop((1, 2), (2, 1)), Reason.SURVIVOR_GOES, (1, 2)),
        (CleanupAnswer((Drop(1, 2),), (Merge((2, 3), "Has cats"),)), Reason.SURVIVOR_GOES, (1,)),
        (drop((11, 12)), Reason.TWO_GROUPS, (11,)),
        (merge(1, 11), Reason.TWO_GROUPS, (11,)),
        (merge(1, 2, text=" \u200b\n"), Reason.BLANK, (1, 2)),
        (merge(1, 2, text=""), Reason.BLANK, (1, 2)),
        (merge(1, 2, text="x" * 501), Reason.TOO_LONG, (1, 2)),
        (drop((4, 1)), Reason.PROTECTED, (4,)),
        (merge(1, 4), Reason.PROTECTED, (4,)),
    ],
)
def test_p15_a_wrong_answer_rejects_everything(answer: CleanupAnswer, reason: Reason, ids: tuple[int, ...]) -> None:
    assert outcome(answer) == Rejected(reason, ids)
    good = drop((12, 11))
    assert outcome(answer, good) == Rejected(reason, ids)  # a good answer for another group is not carried out either


def test_p15_the_last_group_rejects_the_first_ones_changes_too() -> None:
    assert outcome(drop((1, 2)), drop((11, 99))) == Rejected(Reason.NO_SURVIVOR, (11,))


@pytest.mark.parametrize("exactly", [500, 499])
def test_p15_p18_length_counts_after_cleaning(exactly: int) -> None:
    assert isinstance(outcome(merge(1, 2, text=f"  {'x' * exactly}\n\u202e")), Changes)


CHANGES: list[dict[str, Any]] = [
    {"text": "Has a dog"},
    {"text": "has a cat"},
    {"protected": True},
    {"scope": ScopeKind.GLOBAL, "persona": ""},
    {"persona": "pirate"},
    {"origin": PRIVATE},
    {"shared": True},
    {"rooms": (ROOM,)},
    {"tags": ("tea",)},
]


def with_one(number: int, **changes: Any) -> tuple[Memory, ...]:
    return tuple(replace(each, **changes) if each.id == number else each for each in STORED)


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_p15_a_change_of_a_memory_it_touches_rejects_it(number: int, changes: dict[str, Any]) -> None:
    """1 is dropped, 2 and 3 are merged; in a second answer 2 is the survivor."""
    now = with_one(number, **changes)
    answer = CleanupAnswer((Drop(1, 4),), (Merge((2, 3), "Has cats"),))
    assert outcome(answer, now=now) == Rejected(Reason.CHANGED, (number,))
    if number == 2:
        assert outcome(drop((1, 2)), now=now) == Rejected(Reason.CHANGED, (2,))


@pytest.mark.parametrize("changes", CHANGES)
def test_p15_a_change_of_a_memory_it_does_not_touch_does_not_matter(changes: dict[str, Any]) -> None:
    assert outcome(drop((1, 2)), now=with_one(3, **changes)) == Changes((Drop(1, 2),))


@pytest.mark.parametrize("gone", [1, 2])
def test_p15_p20_a_memory_it_touches_that_is_gone_rejects_it(gone: int) -> None:
    now = [each for each in STORED if each.id != gone]
    assert outcome(drop((1, 2)), now=now) == Rejected(Reason.CHANGED, (gone,))
    assert outcome(drop((1, 2)), now=()) == Rejected(Reason.CHANGED, (1, 2))


def test_p15_counters_are_no_change_and_a_merge_takes_them_as_they_are_now() -> None:
    now = with_one(1, unused_days=4, counted_on=day(6), last_matched_at=noon(6), mentions=9, updated_at=noon(6))
    found = outcome(merge(1, 2), now=now)
    assert (found.merges[0].memory.counted_on, found.merges[0].memory.mentions) == (day(6), 9)


def test_p14_a_new_memory_of_the_group_does_not_matter() -> None:
    assert outcome(drop((1, 2)), now=(*STORED, memory(99))) == Changes((Drop(1, 2),))


def test_p14_a_group_is_of_memories_that_stand_together_in_a_room_too() -> None:
    ours = (room_memory(1), room_memory(2))
    assert check(groups(ours), (drop((2, 1)),), ours, NOON) == Changes((Drop(2, 1),))


# --- against the rule read word for word --------------------------------------------------------------------------

_ids = st.sampled_from([1, 2, 3, 4, 11, 12, 13, 99])
_texts = st.sampled_from(["Has cats", "Has cats", "", "x" * 501])
_answers = st.builds(
    CleanupAnswer,
    st.lists(st.builds(Drop, _ids, _ids), max_size=2).map(tuple),
    st.lists(st.builds(Merge, st.lists(_ids, max_size=3).map(tuple), _texts), max_size=2).map(tuple),
)
_nows = st.lists(
    st.tuples(st.sampled_from([each.id for each in STORED]), st.sampled_from([None, *CHANGES, {"unused_days": 3}])),
    max_size=1,
)


@given(_answers, _answers, _nows)
def test_p15_agrees_with_the_rule_read_word_for_word(
    ours: CleanupAnswer, privately: CleanupAnswer, happened: list[tuple[int, dict[str, Any] | None]]
) -> None:
    now = {each.id: each for each in STORED}
    for number, changes in happened:
        if changes is None:
            now.pop(number)
        else:
            now[number] = replace(now[number], **changes)
    found = outcome(ours, privately, tuple(now.values()))
    accepted = _word_for_word(ours, {1, 2, 3, 4}, now) and _word_for_word(privately, {11, 12, 13}, now)
    assert isinstance(found, Changes) is accepted
    if isinstance(found, Changes):
        stays = {drop.survivor for answer in (ours, privately) for drop in answer.drops} | {4}
        assert not stays & set(found.removed)


def _word_for_word(answer: CleanupAnswer, group: set[int], now: dict[int, Memory]) -> bool:
    used = Counter([each.memory_id for each in answer.drops])
    for each in answer.merges:
        used.update(each.memory_ids)
    if any(len(set(each.memory_ids)) < 2 or not 0 < len(each.text) <= 500 for each in answer.merges):
        return False
    if not set(used) <= group or max(used.values(), default=0) > 1 or 4 in used:
        return False
    survivors = {each.survivor for each in answer.drops}
    if not survivors <= group or survivors & set(used):
        return False
    then = {each.id: each for each in STORED}
    return all(
        number in now and replace(now[number], unused_days=0) == replace(then[number], unused_days=0)
        for number in set(used) | survivors
    )
