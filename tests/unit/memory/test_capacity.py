"""Which memory a save into a full list forgets, and when it is refused (D9, D10, D11, D13)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.capacity import LIST_FULL, to_forget
from memory.decay import changed, merge, settle
from memory.errors import Refused
from memory.settings import MemorySettings
from memory.types import Match, Memory, ScopeKind
from tests.unit.memory.build import JUNO, TODAY, memory, noon, room_memory

SETTINGS = MemorySettings(capacity_room=2, capacity_personal=3)
RESTS = 7


def resting(number: int, **other: Any) -> Memory:
    return memory(number, **({"unused_days": RESTS} | other))


def choice(in_list: list[Memory], settings: MemorySettings = SETTINGS, *, searchable: bool = True) -> int | None:
    found = to_forget(ScopeKind.PERSONAL, in_list, settings, searchable=searchable)
    return None if found is None else found.id


def refusal(
    in_list: list[Memory],
    settings: MemorySettings = SETTINGS,
    *,
    searchable: bool = True,
    scope: ScopeKind = ScopeKind.PERSONAL,
) -> Refused:
    with pytest.raises(Refused) as refused:
        to_forget(scope, in_list, settings, searchable=searchable)
    return refused.value


@pytest.mark.parametrize(("scope", "capacity"), [(ScopeKind.ROOM, 2), (ScopeKind.PERSONAL, 3)])
@pytest.mark.parametrize("over", [0, 1])
def test_d9_full_is_at_or_over_the_capacity(scope: ScopeKind, capacity: int, over: int) -> None:
    make = room_memory if scope is ScopeKind.ROOM else memory
    active = [make(number) for number in range(1, capacity + over + 1)]
    assert to_forget(scope, active[: capacity - 1], SETTINGS, searchable=True) is None
    refused = refusal(active, scope=scope)
    assert refused.text_id == f"list-full-{scope}"
    assert refused.values == {"n": capacity + over, "capacity": capacity}


def test_d9_one_save_into_a_list_over_its_capacity_forgets_one() -> None:
    assert choice([resting(number) for number in range(1, 9)]) == 1


def test_d9_global_memories_count_against_no_capacity_and_are_never_forgotten_d11() -> None:
    everywhere = [resting(number, scope=ScopeKind.GLOBAL, persona="", protected=True) for number in range(1, 9)]
    assert choice([*everywhere, memory(9), memory(10)]) is None
    assert refusal([*everywhere, *(memory(number) for number in (9, 10, 11))]).values["n"] == 3
    assert to_forget(ScopeKind.GLOBAL, everywhere, SETTINGS, searchable=True) is None


def test_d9_what_was_never_matched_goes_first_the_oldest_before_the_others() -> None:
    matched_long_ago = resting(1, last_matched_at=noon(-90), created_at=noon(-99))
    younger, older = resting(2, created_at=noon(-20)), resting(3, created_at=noon(-30))
    assert choice([matched_long_ago, younger, older]) == 3


def test_d9_then_what_was_matched_longest_ago_however_old_it_is() -> None:
    first = resting(1, last_matched_at=noon(-20), created_at=noon(-99))
    second = resting(2, last_matched_at=noon(-30), created_at=noon(-40))
    third = resting(3, last_matched_at=noon(-30), created_at=noon(-99))
    assert choice([first, third, second]) == 2


def test_d9_what_was_saved_at_one_moment_goes_by_its_id() -> None:
    assert choice([resting(5), resting(4), resting(6)]) == 4


def test_d11_a_protected_memory_is_kept_even_where_only_it_rests() -> None:
    assert refusal([resting(1, protected=True), memory(2), memory(3)]).text_id == "list-full-personal"
    assert choice([resting(1, protected=True), resting(2), memory(3)]) == 2


def test_d5_d9_one_day_short_of_resting_is_kept() -> None:
    assert refusal([memory(number, unused_days=RESTS - 1) for number in (1, 2, 3)]).text_id == "list-full-personal"


def test_d9_what_this_turns_search_matched_is_not_forgotten_by_its_save() -> None:
    in_list = [resting(1, counted_on=TODAY), resting(2, created_at=noon(-1), counted_on=TODAY), memory(3)]
    found = settle(in_list, merge([[Match(1, 0.9)]]), TODAY, noon(0), {JUNO})
    after = {one.id: one for one in in_list}
    after |= changed(after, found)
    assert choice(in_list) == 2
    only_the_matched_rested = [replace(one, unused_days=0) if one.id == 2 else one for one in after.values()]
    assert refusal(only_the_matched_rested).text_id == "list-full-personal"


@pytest.mark.parametrize("scope", [ScopeKind.ROOM, ScopeKind.PERSONAL])
def test_d10_d13_refused_while_decay_is_off_or_search_is_not_to_be_had_and_says_which(scope: ScopeKind) -> None:
    make = room_memory if scope is ScopeKind.ROOM else memory
    in_list = [make(number, unused_days=RESTS) for number in (1, 2, 3)]
    off = replace(SETTINGS, decay_enabled=False)
    told = [
        refusal(in_list, scope=scope, searchable=False).text_id,
        refusal(in_list, off, scope=scope).text_id,
        refusal(in_list, off, scope=scope, searchable=False).text_id,
    ]
    assert told == [f"list-full-{scope}-no-search", *[f"list-full-{scope}-decay-off"] * 2]
    assert set(told) < LIST_FULL


def test_d10_where_there_is_room_neither_search_nor_decay_is_needed() -> None:
    in_list = [resting(1), resting(2)]
    assert choice(in_list, searchable=False) is None
    assert choice(in_list, replace(SETTINGS, decay_enabled=False), searchable=False) is None


MEMORIES = st.lists(
    st.builds(
        lambda days, protected, created, matched, everywhere: {
            "unused_days": days,
            "protected": protected,
            "created_at": noon(-created),
            "last_matched_at": None if matched is None else noon(-matched),
            "scope": ScopeKind.GLOBAL if everywhere else ScopeKind.PERSONAL,
        },
        st.integers(5, 9),
        st.booleans(),
        st.integers(0, 3),
        st.none() | st.integers(0, 3),
        st.booleans(),
    ),
    max_size=9,
)


@given(MEMORIES, st.booleans(), st.booleans())
def test_d9_d10_against_the_words_of_the_rule(rows: list[dict[str, Any]], searchable: bool, decays: bool) -> None:
    in_list = [memory(number, **row) for number, row in enumerate(rows, 1)]
    counted = [one for one in in_list if one.scope is ScopeKind.PERSONAL]
    may_go = [one for one in counted if one.unused_days >= RESTS and not one.protected]
    never = sorted((one.created_at, one.id) for one in may_go if one.last_matched_at is None)
    once = sorted((one.last_matched_at, one.id) for one in may_go if one.last_matched_at is not None)
    settings = replace(SETTINGS, decay_enabled=decays)
    if len(counted) < SETTINGS.capacity_personal:
        assert choice(in_list, settings, searchable=searchable) is None
    elif not may_go or not searchable or not decays:
        assert refusal(in_list, settings, searchable=searchable).text_id in LIST_FULL
    else:
        assert choice(in_list, settings, searchable=searchable) == (never or once)[0][1]
