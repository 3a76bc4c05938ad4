from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from index.faiss_index import FaissIndexes
from memory.errors import EmbeddingError
from memory.types import ListKey, Match, ScopeKind

KEY = ListKey(ScopeKind.PERSONAL, "@juno:hs", "default")
OTHER = ListKey(ScopeKind.ROOM, "!room:hs", "default")
THIRD = ListKey(ScopeKind.ROOM, "!other:hs", "default")
DIM = 8

Floats = NDArray[np.float32]


def unit(*numbers: float) -> Floats:
    row = np.zeros(DIM, dtype=np.float32)
    row[: len(numbers)] = numbers
    return row / np.linalg.norm(row)


def rows(*vectors: Floats) -> Floats:
    return np.stack(vectors) if vectors else np.empty((0, DIM), dtype=np.float32)


def loaded(ids: list[int], *vectors: Floats) -> FaissIndexes:
    indexes = FaissIndexes()
    indexes.load(KEY, ids, rows(*vectors))
    return indexes


def found(
    indexes: FaissIndexes, query: Floats, allowed: set[int], limit: int = 3, threshold: float = 0.25
) -> list[int]:
    return [match.memory_id for match in indexes.search(KEY, query, frozenset(allowed), limit, threshold)]


def test_d3_best_first_with_cosine_similarity_and_the_threshold_itself_passes() -> None:
    indexes = loaded([1, 2, 3], unit(3, 4), unit(1), unit(0, 1))
    assert indexes.search(KEY, unit(1), frozenset({1, 2, 3}), 3, 0.6) == (Match(2, 1.0), Match(1, 0.6))
    assert found(indexes, unit(1), {1, 2, 3}, threshold=0.601) == [2]


def test_d3_at_most_the_limit_and_ties_to_the_lower_id_even_at_the_border() -> None:
    ids = list(range(40, 0, -1))
    indexes = loaded([*ids, 99], *[unit(1, 1)] * 40, unit(1))
    assert found(indexes, unit(1), {*ids, 99}) == [99, 1, 2]
    assert found(indexes, unit(1), {*ids, 99}, limit=1) == [99]
    assert found(indexes, unit(1), {*ids, 99}, limit=0) == []


def test_d8_only_allowed_ids_are_searched() -> None:
    indexes = loaded([1, 2, 3], unit(1), unit(1), unit(1))
    assert found(indexes, unit(1), {3, 77}) == [3]
    assert found(indexes, unit(1), set()) == []


def test_put_adds_and_replaces_and_drop_removes() -> None:
    indexes = loaded([1], unit(1))
    indexes.put(KEY, 2, unit(1))
    indexes.put(KEY, 1, unit(0, 1))
    assert indexes.ids(KEY) == {1, 2}
    assert found(indexes, unit(0, 1), {1, 2}) == [1]
    indexes.drop(KEY, [1, 55])
    indexes.drop(OTHER, [1])
    assert indexes.ids(KEY) == {2}


def test_a_list_that_is_not_loaded_is_left_alone_and_cannot_be_searched() -> None:
    indexes = FaissIndexes()
    indexes.put(KEY, 1, unit(1))
    assert not indexes.has(KEY)
    with pytest.raises(LookupError, match="not loaded"):
        found(indexes, unit(1), {1})
    with pytest.raises(LookupError, match="not loaded"):
        indexes.ids(KEY)


def test_an_empty_list_is_loaded_and_grows() -> None:
    indexes = loaded([])
    assert indexes.has(KEY)
    assert found(indexes, unit(1), {1}) == []
    indexes.put(KEY, 1, unit(1))
    assert found(indexes, unit(1), {1}) == [1]


def test_the_list_used_longest_ago_is_unloaded_when_the_budget_is_passed() -> None:
    indexes = FaissIndexes(budget_bytes=12_000)
    indexes.load(KEY, [1], rows(unit(1)))
    indexes.load(OTHER, [2], rows(unit(1)))
    found(indexes, unit(1), {1})
    indexes.load(THIRD, [3], rows(unit(1)))
    assert [indexes.has(key) for key in (KEY, OTHER, THIRD)] == [True, False, True]
    indexes.unload(THIRD)
    assert not indexes.has(THIRD)
    indexes.load(OTHER, [2], rows(unit(1)))
    assert [indexes.has(key) for key in (KEY, OTHER)] == [True, True]


def test_the_budget_counts_what_lists_hold_now() -> None:
    indexes = FaissIndexes(budget_bytes=20_000)
    indexes.load(KEY, [1], rows(unit(1)))
    for _ in range(5):
        indexes.load(OTHER, list(range(1, 51)), rows(*[unit(1)] * 50))
        indexes.drop(OTHER, range(1, 51))
        assert indexes.has(KEY)
    indexes.load(OTHER, list(range(1, 201)), rows(*[unit(1)] * 200))
    assert not indexes.has(KEY)


def test_a_list_larger_than_the_budget_can_still_be_searched() -> None:
    indexes = FaissIndexes(budget_bytes=1)
    indexes.load(OTHER, [1], rows(unit(1)))
    indexes.load(KEY, [1], rows(unit(1)))
    assert (indexes.has(OTHER), found(indexes, unit(1), {1})) == (False, [1])


@pytest.mark.parametrize(
    "bad", [np.full(DIM, np.nan, np.float32), np.full(DIM, np.inf, np.float32), np.ones(3, np.float32)]
)
def test_d7_a_query_that_is_no_vector_is_an_error_and_not_a_search_without_matches(bad: Floats) -> None:
    indexes = loaded([1], unit(1))
    with pytest.raises(EmbeddingError):
        found(indexes, bad, {1})
    with pytest.raises(EmbeddingError):
        indexes.put(KEY, 2, bad)
    assert indexes.ids(KEY) == {1}


def test_a_damaged_row_counts_as_no_vector(caplog: pytest.LogCaptureFixture) -> None:
    indexes = loaded([1, 2], np.full(DIM, np.nan, np.float32), unit(1))
    assert indexes.ids(KEY) == {2}
    assert "memories [1]" in caplog.text
    with pytest.raises(EmbeddingError, match="do not fit"):
        indexes.load(KEY, [1], rows())


# Half of the numbers are 0 and half are +-0.5, so that similarities are exact and many of them tie.
vectors = st.permutations([-1, -1, 1, 1, 0, 0, 0, 0]).map(lambda values: unit(*values))


@settings(deadline=None)
@given(
    st.dictionaries(st.integers(1, 60), vectors, max_size=30),
    st.sets(st.integers(1, 60)),
    vectors,
    st.integers(1, 5),
    st.sampled_from([-1.0, 0.0, 0.25, 0.7]),
)
def test_d3_the_search_agrees_with_sorting_everything(
    stored: dict[int, Floats], allowed: set[int], query: Floats, limit: int, threshold: float
) -> None:
    indexes = FaissIndexes()
    indexes.load(KEY, list(stored), rows(*stored.values()))
    everything = {number: float(np.dot(vector, query)) for number, vector in stored.items() if number in allowed}
    over = {number: similarity for number, similarity in everything.items() if similarity >= threshold}
    expected = sorted(over, key=lambda number: (-over[number], number))[:limit]
    assert found(indexes, query, allowed, limit, threshold) == expected
