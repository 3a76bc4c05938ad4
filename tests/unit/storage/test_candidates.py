from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.types import Candidate, Memory, Origin, Source
from storage import Database
from storage.tables import Tables
from tests.unit.storage import build
from tests.unit.storage.conftest import STORAGE

NOW, ALICE = build.NOW, build.ALICE


def origin(event_id: str) -> Origin:
    return Origin(build.ROOM, event_id, False)


async def candidate_with(tables: Tables, *events: str, user_id: str = ALICE) -> Candidate:
    """Insert a candidate mentioned by each of these events."""
    candidate = await tables.candidates.insert(user_id, "has a cat", origin(events[0]), NOW)
    for event_id in events[1:]:
        reinforced = await tables.candidates.reinforce(candidate.id, event_id, NOW)
        assert reinforced is not None
        candidate = reinforced
    return candidate


async def promote(tables: Tables, candidate: Candidate, **changes: Any) -> Memory:
    """Promote as a pass does (P12): the memory first."""
    draft = build.draft(
        candidate.text, source=Source.PROMOTION, origin=candidate.origin, mentions=candidate.mentions, **changes
    )
    memory = await tables.memories.insert(draft, NOW)
    await tables.candidates.promoted(candidate.id, memory.id)
    return memory


async def mentions(tables: Tables) -> list[tuple[object, ...]]:
    return await tables.candidates._sql.rows("SELECT event_id, candidate_id, memory_id FROM mentions ORDER BY rowid")


@STORAGE
@given(text=build.words, source=build.origins, now=build.moments)
async def test_a_candidate_comes_back_as_it_was_inserted(
    database: Database, text: str, source: Origin, now: datetime
) -> None:
    """P7: one mention, first_seen = last_seen = now."""
    user_id = build.fresh("@user")
    async with database.transaction() as tables:
        candidate = await tables.candidates.insert(user_id, text, source, now)
        assert candidate == Candidate(candidate.id, user_id, text, 1, now, now, source)
        assert await tables.candidates.of_user(user_id) == (candidate,)


async def test_reinforcement_adds_a_mention_and_sets_last_seen_and_nothing_else(database: Database) -> None:
    """P8."""
    later = NOW + timedelta(days=3)
    async with database.transaction() as tables:
        before = await candidate_with(tables, "$1")
        after = await tables.candidates.reinforce(before.id, "$2", later)
        assert after == Candidate(before.id, ALICE, before.text, 2, NOW, later, before.origin)
        assert await mentions(tables) == [("$1", before.id, None), ("$2", before.id, None)]


@pytest.mark.parametrize("event_id", ["$1", "$2"])
async def test_an_event_gives_a_candidate_at_most_one_mention_insertion_included(
    database: Database, event_id: str
) -> None:
    """P8: neither the inserting nor a reinforcing event counts a second time; last_seen stays."""
    async with database.transaction() as tables:
        before = await candidate_with(tables, "$1", "$2")
        assert await tables.candidates.reinforce(before.id, event_id, NOW + build.DAY) is None
        assert await tables.candidates.of_user(ALICE) == (before,)
        assert len(await mentions(tables)) == 2


async def test_one_event_may_mention_several_candidates(database: Database) -> None:
    async with database.transaction() as tables:
        first, second = await candidate_with(tables, "$1"), await candidate_with(tables, "$1")
        assert [candidate.mentions for candidate in await tables.candidates.of_user(ALICE)] == [1, 1]
        assert await mentions(tables) == [("$1", first.id, None), ("$1", second.id, None)]


async def test_reinforcing_what_is_gone_is_none_and_leaves_no_mention(database: Database) -> None:
    """P12: ids that vanished meanwhile are ignored."""
    async with database.transaction() as tables:
        assert await tables.candidates.reinforce(99, "$1", NOW) is None
        assert await mentions(tables) == []


async def test_pruning_keeps_exactly_that_old_and_other_users(database: Database) -> None:
    """P4."""
    async with database.transaction() as tables:
        for age in (-1, 0, 1):
            await tables.candidates.insert(ALICE, f"{age}", origin("$1"), NOW + timedelta(microseconds=age))
        of_bau = await tables.candidates.insert(build.BAU, "old", origin("$1"), NOW - build.DAY)
        assert await tables.candidates.prune(ALICE, NOW) == 1
        assert [candidate.text for candidate in await tables.candidates.of_user(ALICE)] == ["0", "1"]
        assert await tables.candidates.of_user(build.BAU) == (of_bau,)
        assert len(await mentions(tables)) == 3
        assert await tables.candidates.prune(ALICE, NOW) == 0


async def test_a_promoted_candidate_goes_and_its_mentions_become_the_memorys(database: Database) -> None:
    """P12."""
    async with database.transaction() as tables:
        memory = await promote(tables, await candidate_with(tables, "$1", "$2"))
        assert await tables.candidates.of_user(ALICE) == ()
        assert await mentions(tables) == [("$1", None, memory.id), ("$2", None, memory.id)]


async def test_taking_back_an_event_takes_one_mention_each_and_keeps_the_times(database: Database) -> None:
    async with database.transaction() as tables:
        both = await candidate_with(tables, "$1", "$2")
        only = await candidate_with(tables, "$2")
        untouched = await candidate_with(tables, "$3", user_id=build.BAU)
        assert await tables.candidates.take_back("$2") == ((both.id, only.id), ())
        assert await tables.candidates.of_user(ALICE) == (
            Candidate(both.id, ALICE, both.text, 1, both.first_seen, both.last_seen, both.origin),
        )
        assert await tables.candidates.of_user(build.BAU) == (untouched,)
        assert await tables.candidates.take_back("$2") == ((), ())
        assert await tables.candidates.take_back("$unknown") == ((), ())


async def test_a_promoted_memory_goes_with_its_last_mention_only(database: Database) -> None:
    async with database.transaction() as tables:
        memory = await promote(tables, await candidate_with(tables, "$1", "$2"))
        assert await tables.candidates.take_back("$1") == ((), ())
        assert await tables.memories.get([memory.id]) == (memory,)
        assert await tables.candidates.take_back("$2") == ((), (memory.id,))
        assert await tables.memories.get([memory.id]) == ()


async def test_a_protected_memory_stays_without_mentions(database: Database) -> None:
    """D11: what a person edited is theirs."""
    async with database.transaction() as tables:
        memory = await promote(tables, await candidate_with(tables, "$1"))
        edited = await tables.memories.edit(memory.id, "has two cats", NOW)
        assert await tables.candidates.take_back("$1") == ((), ())
        assert await tables.memories.get([memory.id]) == (edited,)


async def test_only_what_promotion_made_goes_with_its_mentions(database: Database) -> None:
    """A memory merged from several is another matter (`memories.take_apart`)."""
    async with database.transaction() as tables:
        candidate = await candidate_with(tables, "$1")
        merged = await tables.memories.insert(build.draft(source=Source.MERGE), NOW)
        await tables.candidates.promoted(candidate.id, merged.id)
        assert await tables.candidates.take_back("$1") == ((), ())
        assert await tables.memories.of_user(ALICE) == (merged,)


async def test_an_explicit_save_by_the_same_event_stays(database: Database) -> None:
    async with database.transaction() as tables:
        saved = await tables.memories.insert(build.draft(origin=origin("$1")), NOW)
        gone = await promote(tables, await candidate_with(tables, "$1"))
        assert await tables.candidates.take_back("$1") == ((), (gone.id,))
        assert await tables.memories.of_user(ALICE) == (saved,)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), st.integers(0, 4)),
        st.tuples(st.just("reinforce"), st.integers(0, 4), st.integers(0, 5)),
        st.tuples(st.just("promote"), st.integers(0, 5)),
        st.tuples(st.just("take back"), st.integers(0, 4)),
        st.tuples(st.just("delete"), st.integers(0, 5)),
        st.tuples(st.just("prune")),
    ),
    max_size=25,
)


@settings(parent=STORAGE, max_examples=80)
@given(steps=steps)
async def test_whatever_happens_a_candidates_count_equals_its_mentions(
    database: Database, steps: list[tuple[object, ...]]
) -> None:
    """P8, and the model: per candidate or promoted memory the set of events that mentioned it."""
    user_id = build.fresh("@user")
    key = build.fresh()
    candidates: dict[int, set[str]] = {}
    promoted: dict[int, set[str]] = {}
    async with database.transaction() as tables:
        for step in steps:
            await _apply(tables, user_id, key, step, candidates, promoted)
            found = await tables.candidates.of_user(user_id)
            assert {candidate.id: candidate.mentions for candidate in found} == {
                candidate_id: len(events) for candidate_id, events in candidates.items()
            }
            assert {memory.id for memory in await tables.memories.of_user(user_id)} == set(promoted)


async def _apply(
    tables: Tables,
    user_id: str,
    key: str,
    step: tuple[object, ...],
    candidates: dict[int, set[str]],
    promoted: dict[int, set[str]],
) -> None:
    match step:
        case ("insert", event):
            made = await tables.candidates.insert(user_id, "fact", origin(f"{key}/{event}"), NOW)
            candidates[made.id] = {f"{key}/{event}"}
        case ("reinforce", event, int(place)) if place < len(candidates):
            candidate_id = sorted(candidates)[place]
            await tables.candidates.reinforce(candidate_id, f"{key}/{event}", NOW)
            candidates[candidate_id].add(f"{key}/{event}")
        case ("promote", int(place)) if place < len(candidates):
            candidate = (await tables.candidates.of_user(user_id))[place]
            memory = await promote(tables, candidate, scope_id=user_id)
            promoted[memory.id] = candidates.pop(candidate.id)
        case ("take back", event):
            touched, deleted = await tables.candidates.take_back(f"{key}/{event}")
            _take_back(f"{key}/{event}", candidates, promoted, touched, deleted)
        case ("delete", int(place)) if place < len(promoted):
            memory_id = sorted(promoted)[place]
            await tables.memories.delete([memory_id])
            del promoted[memory_id]
        case ("prune",):
            await tables.candidates.prune(user_id, NOW)  # nobody is older than now


def _take_back(
    event_id: str,
    candidates: dict[int, set[str]],
    promoted: dict[int, set[str]],
    touched: tuple[int, ...],
    deleted: tuple[int, ...],
) -> None:
    assert touched == tuple(sorted(key for key, events in candidates.items() if event_id in events))
    assert deleted == tuple(sorted(key for key, events in promoted.items() if events == {event_id}))
    for facts in (candidates, promoted):
        for key, events in list(facts.items()):
            events.discard(event_id)
            if not events:
                del facts[key]
