from __future__ import annotations

from datetime import timedelta

import pytest

from memory.promotion import draft_of, may_extract, promotions, prune_before, take_up
from memory.settings import MemorySettings
from memory.types import Extraction, ScopeKind, Source, TakeUp
from tests.unit.memory.build import JUNO, NOON, PRIVATE, candidate, memory

SETTINGS = MemorySettings(promotion_threshold=2, max_per_user=50, capacity_personal=100)


@pytest.mark.parametrize(("count", "allowed"), [(0, True), (49, True), (50, False), (51, False)])
def test_p3_a_user_at_or_over_the_cap_is_not_extracted(count: int, allowed: bool) -> None:
    assert may_extract(count, SETTINGS) is allowed


def test_p4_exactly_the_time_to_live_is_kept() -> None:
    before = prune_before(MemorySettings(candidate_ttl_days=14), NOON)
    assert before == NOON - timedelta(days=14)
    exactly = candidate(1, last_seen=NOON - timedelta(days=14))
    older = candidate(2, last_seen=NOON - timedelta(days=14, microseconds=1))
    assert [one.id for one in (exactly, older) if one.last_seen < before] == [2]


@pytest.mark.parametrize("days", [0, 10_000_000])
def test_p4_zero_disables_pruning_and_more_days_than_a_calendar_has_prune_nothing(days: int) -> None:
    assert prune_before(MemorySettings(candidate_ttl_days=days), NOON) is None


def test_p7_new_facts_are_inserted_cleaned_and_in_order() -> None:
    assert take_up(Extraction((" Has  a\ncat", "Likes tea")), [], []) == TakeUp(insert=("Has a cat", "Likes tea"))


def test_p8_a_candidate_gets_at_most_one_mention_a_pass_by_id_and_by_text() -> None:
    known = [candidate(4, "Has a cat"), candidate(9, "Likes tea")]
    extraction = Extraction(new_facts=("has a cat!", "HAS A CAT"), reinforced=(9, 4, 9))
    assert take_up(extraction, known, []) == TakeUp(reinforce=(9, 4))


def test_p9_equal_to_a_candidate_reinforces_it_and_equal_to_a_memory_is_nothing() -> None:
    extraction = Extraction(new_facts=("LIKES TEA…", "Has a cat.", "Has two cats"))
    taken = take_up(extraction, [candidate(9, "Likes tea")], [memory(1, "Has a cat")])
    assert taken == TakeUp(insert=("Has two cats",), reinforce=(9,))


def test_p9_equal_new_facts_are_one_in_the_wording_said_first() -> None:
    assert take_up(Extraction(("Has a Cat", "has a cat.")), [], []).insert == ("Has a Cat",)


def test_p12_ids_of_no_candidate_are_ignored() -> None:
    assert take_up(Extraction(reinforced=(0, -1, 77, 4)), [candidate(4)], []) == TakeUp(reinforce=(4,))


def test_p18_at_most_ten_new_facts_counted_after_p9() -> None:
    repeated = ("Likes tea", "Has a cat", "", "x" * 501)
    new = tuple(f"Fact {number}" for number in range(12))
    taken = take_up(Extraction(repeated + new), [candidate(9, "Likes tea")], [memory(1, "Has a cat")])
    assert taken == TakeUp(insert=new[:10], reinforce=(9,))


def test_p10_only_touched_candidates_at_the_threshold_promote() -> None:
    touched = [candidate(5, mentions=2), candidate(3, mentions=1), candidate(4, mentions=3)]
    assert [one.id for one in promotions(touched, SETTINGS, 0, 0)] == [4, 5]
    assert promotions([], MemorySettings(promotion_threshold=1), 0, 0) == ()


def test_p10_threshold_one_saves_every_extracted_fact() -> None:
    fresh = [candidate(number) for number in (1, 2, 3)]
    assert len(promotions(fresh, MemorySettings(promotion_threshold=1), 0, 0)) == 3


@pytest.mark.parametrize(
    ("user_count", "list_count", "promoted"),
    [(48, 0, [1, 2]), (49, 0, [1]), (50, 0, []), (60, 0, []), (0, 99, [1]), (0, 100, []), (0, 150, []), (49, 98, [1])],
)
def test_p11_ascending_id_until_a_cap_is_reached(user_count: int, list_count: int, promoted: list[int]) -> None:
    touched = [candidate(number, mentions=2) for number in (3, 1, 2)]
    assert [one.id for one in promotions(touched, SETTINGS, user_count, list_count)] == promoted


def test_p12_a_promotion_keeps_origin_first_seen_mentions_and_the_first_wording() -> None:
    ripe = candidate(7, "Has a cat", 3, first_seen=NOON - timedelta(days=2), origin=PRIVATE)
    draft = draft_of(ripe, "pirate")
    assert (draft.scope, draft.scope_id, draft.persona) == (ScopeKind.PERSONAL, JUNO, "pirate")
    assert (draft.text, draft.origin, draft.mentions) == ("Has a cat", PRIVATE, 3)
    assert draft.first_seen == NOON - timedelta(days=2)
    assert (draft.source, draft.protected) == (Source.PROMOTION, False)
