from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import permutations

import pytest

from memory.decay import active, changed, merge, recalled, rest_after, searches, settle
from memory.settings import MemorySettings
from memory.types import Match, Memory, ScopeKind, Settlement
from tests.unit.memory.build import BAU, JUNO, NOON, TODAY, after, day, memory, noon, room_memory


def turn(
    memories: Iterable[Memory], number: int, matched: Iterable[int] = (), owners: Iterable[str] = (JUNO,)
) -> list[Memory]:
    """Search once on day `number` and return the memories as the search leaves them."""
    before = list(memories)
    matches = [Match(one, 0.9) for one in matched]
    settlement = settle(before, matches, day(number), noon(number), frozenset(owners))
    return [after(one, settlement) for one in before]


def test_d3_the_three_best_over_all_lists_ties_to_the_lower_id() -> None:
    lists = [
        (Match(9, 0.8), Match(4, 0.5), Match(6, 0.5)),
        (Match(2, 0.5), Match(8, 0.3)),
        (Match(9, 0.8),),
        (),
    ]
    for order in permutations(lists):
        assert [match.memory_id for match in merge(order)] == [9, 2, 4]


def test_d3_a_memory_found_twice_counts_once_with_its_best_similarity() -> None:
    assert merge([(Match(1, 0.4),), (Match(1, 0.6),), (Match(2, 0.5),)]) == (Match(1, 0.6), Match(2, 0.5))


def test_d3_a_match_is_used_today() -> None:
    (used,) = turn([memory(1, unused_days=9, counted_on=day(-3))], 0, matched=[1])
    assert (used.unused_days, used.last_matched_at, used.counted_on) == (0, NOON, TODAY)


def test_d4_an_unmatched_memory_gains_one_day_on_one_date_however_often_it_is_searched() -> None:
    (one,) = turn(turn(turn([memory(1)], 1), 1), 1)
    assert (one.unused_days, one.counted_on, one.last_matched_at) == (1, day(1), None)


def test_d1_d4_saved_or_matched_today_gains_nothing_more_today() -> None:
    saved, matched = turn(turn([memory(1), memory(2, counted_on=day(-1))], 0, matched=[2]), 0)
    assert (saved.unused_days, matched.unused_days) == (0, 0)


def test_d4_personal_and_global_memories_age_only_if_their_owner_wrote_today() -> None:
    old = {"counted_on": day(-1)}
    searched = [
        memory(1, **old),
        memory(2, scope=ScopeKind.GLOBAL, persona="", **old),
        memory(3, scope_id=BAU, **old),
        memory(4, scope_id=BAU, scope=ScopeKind.GLOBAL, persona="", **old),
        room_memory(5, **old),
    ]
    assert [one.unused_days for one in turn(searched, 0, owners=[BAU])] == [0, 0, 1, 1, 1]


def test_d4_the_memory_of_a_silent_participant_still_returns() -> None:
    (one,) = turn([memory(1, unused_days=9, counted_on=day(-1))], 0, matched=[1], owners=[BAU])
    assert one.unused_days == 0


@pytest.mark.parametrize(("days", "rests"), [(6, False), (7, True), (8, True)])
def test_d5_it_rests_at_seven(days: int, rests: bool) -> None:
    assert memory(1, unused_days=days).resting(7) is rests


def test_d5_a_resting_memory_goes_on_counting() -> None:
    (one,) = turn([memory(1, unused_days=7)], 1)
    assert one.unused_days == 8


def test_d6_only_matches_that_rested_are_recalled_best_first() -> None:
    searched = [memory(1, unused_days=7), memory(2, unused_days=6), memory(3, unused_days=30), memory(4, unused_days=9)]
    assert recalled(searched, [Match(3, 0.9), Match(2, 0.8), Match(1, 0.7)], 7) == (3, 1)


def test_d13_decay_off_searches_nothing_and_rests_nothing() -> None:
    off, on = MemorySettings(decay_enabled=False), MemorySettings(rest_after_days=3)
    assert (searches("hello", off), rest_after(off)) == (False, None)
    assert (searches("hello", on), rest_after(on)) == (True, 3)


@pytest.mark.parametrize("text", ["", " \n\t", "\u200d", "\u202e\x00"])
def test_d2_a_message_without_text_searches_nothing(text: str) -> None:
    assert not searches(text, MemorySettings())


@pytest.mark.parametrize("text", ["?", "👍", "ok"])
def test_d2_the_shortest_text_is_text(text: str) -> None:
    assert searches(text, MemorySettings())


@pytest.mark.parametrize(("ahead", "counted_on"), [(1, 1), (7, 7), (8, 0), (400, 0)])
def test_d16_a_date_more_than_seven_days_ahead_is_healed_and_gains_no_day(ahead: int, counted_on: int) -> None:
    wrong = memory(1, unused_days=2, counted_on=day(ahead))
    settlement = settle([wrong], [], TODAY, NOON, {JUNO})
    assert settlement.healed == ((1,) if ahead > 7 else ())
    healed = after(wrong, settlement)
    assert (healed.unused_days, healed.counted_on, healed.last_matched_at) == (2, day(counted_on), None)


def test_d16_a_clock_set_back_and_forward_gives_no_second_day_for_a_date() -> None:
    memories = [memory(1)]
    for number in (1, 2, 1, 2, 0, 2, 3, 2, 3):
        memories = turn(memories, number)
    assert (memories[0].unused_days, memories[0].counted_on) == (3, day(3))


def test_d7_no_search_means_no_settlement_and_so_no_day() -> None:
    assert turn(turn([memory(1)], 1), 30)[0].unused_days == 2


def test_d2_applying_a_settlement_again_changes_nothing() -> None:
    memories = [memory(1, counted_on=day(-1)), memory(2, counted_on=day(-1)), memory(3, counted_on=day(9))]
    settlement = settle(memories, [Match(1, 0.5)], TODAY, NOON, {JUNO})
    once = [after(one, settlement) for one in memories]
    assert [after(one, settlement) for one in once] == once
    assert once[1].unused_days == 1


def test_a_settlement_ages_only_what_was_not_settled_for_today_meanwhile() -> None:
    """Another turn may have settled the same memory between search and settlement (D4)."""
    settlement = Settlement(now=NOON, today=TODAY, aged=(1,))
    assert after(memory(1, counted_on=TODAY), settlement) == memory(1, counted_on=TODAY)


def test_worked_example_d1_to_d7() -> None:
    """RULES.md: six chat days, a quiet week, the seventh chat day, and the question that brings it back."""
    (mochi,) = memories = [memory(1, "Juno's cat is named Mochi")]
    assert (mochi.unused_days, mochi.resting(7)) == (0, False)
    for number in range(1, 7):
        memories = turn(memories, number)
    assert (memories[0].unused_days, memories[0].resting(7)) == (6, False)
    memories = turn(memories, 14)  # after a quiet week without any search
    assert (memories[0].unused_days, memories[0].resting(7)) == (7, True)
    assert recalled(memories, [Match(1, 0.9)], 7) == (1,)
    memories = turn(memories, 15, matched=[1])
    assert (memories[0].unused_days, memories[0].resting(7)) == (0, False)


def test_worked_example_d4_seven_visits_rest_the_memories_of_a_rare_visitor() -> None:
    memories = [replace(memory(1), scope_id=BAU)]
    for number in range(1, 7 * 30 + 1):
        if number % 30 == 0:
            assert not memories[0].resting(7)
            memories = turn(memories, number, owners=[JUNO, BAU])
        else:
            memories = turn(memories, number, owners=[JUNO])
    assert (memories[0].unused_days, memories[0].resting(7)) == (7, True)


def test_d5_d13_active_is_what_does_not_rest_and_everything_while_nothing_decays() -> None:
    memories = [memory(number, unused_days=number) for number in range(10)]
    assert active(memories, 7) == [one for one in memories if not one.resting(7)]
    assert active(memories, None) == memories


def test_a_settlement_changes_the_memories_at_hand_and_no_others() -> None:
    memories = {number: memory(number, counted_on=day(-1)) for number in (1, 2, 3)}
    settlement = settle([*memories.values(), memory(4, counted_on=day(-1))], [Match(2, 0.5)], TODAY, NOON, {JUNO})
    assert changed({1: memories[1], 2: memories[2]}, settlement) == {
        1: memory(1, unused_days=1),
        2: memory(2, last_matched_at=NOON),
    }
