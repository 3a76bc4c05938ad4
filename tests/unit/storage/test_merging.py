"""Merged memories in storage (P15): values, mentions, parts, and the counter of P13."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np

from memory.cleanup import Apart, Merged, merged
from memory.types import Memory, Origin, Source
from memory.undo import Kept
from storage import Database
from storage.tables import Tables
from tests.unit.storage import build
from tests.unit.storage.test_query_plans import scans, traced

NOW = build.NOW
LATER = NOW + timedelta(days=3)


async def learned(tables: Tables, text: str, *events: str) -> Memory:
    candidate = await tables.candidates.insert(build.ALICE, text, Origin(build.ROOM, events[0], False), NOW)
    for event_id in events[1:]:
        await tables.candidates.reinforce(candidate.id, event_id, NOW)
    draft = build.draft(text, source=Source.PROMOTION, mentions=len(events), origin=candidate.origin)
    memory = await tables.memories.insert(draft, NOW)
    await tables.candidates.promoted(candidate.id, memory.id)
    return memory


async def two(tables: Tables) -> tuple[Memory, Memory]:
    return await learned(tables, "has a cat", "$1", "$2"), await learned(tables, "cat is Mochi", "$2", "$3")


async def test_p15_a_merged_memory_is_stored_with_the_values_it_was_given(database: Database) -> None:
    async with database.transaction() as tables:
        one, other = await two(tables)
        plan = merged([one, other], "has a cat, Mochi", LATER)
        values = replace(
            plan.memory, unused_days=4, counted_on=LATER.date(), last_matched_at=NOW, rooms=("!a:b",), tags=("tea",)
        )
        made = await tables.memories.merge(Merged(plan.sources, values))
        assert made == replace(values, id=made.id)
        assert made.id > other.id
        assert await tables.memories.of_user(build.ALICE) == (made,)


async def test_p15_vectors_of_the_sources_go_and_mentions_pass_over_each_once(database: Database) -> None:
    async with database.transaction() as tables:
        one, other = await two(tables)
        vector = np.ones(2, dtype=np.float32)
        await tables.memories.put_vectors("model", [(one.id, one.text, vector), (other.id, other.text, vector)])
        made = await tables.memories.merge(merged([one, other], "has a cat, Mochi", LATER))
        ids, _ = await tables.memories.vectors_of_list(build.ALICE_LIST, "model", 2)
        assert ids == ()
        [kept] = await tables.undo.as_they_are([made.id])
    assert sorted(kept.mentioned_by) == ["$1", "$2", "$3"]
    assert kept.parts == (Kept(one, ("$1", "$2")), Kept(other, ("$2", "$3")))


async def test_an_event_taken_back_is_taken_off_the_parts_and_takes_apart_what_lacks_one(database: Database) -> None:
    async with database.transaction() as tables:
        one, other = await two(tables)
        made = await tables.memories.merge(merged([one, other], "has a cat, Mochi", LATER))
        assert await tables.memories.take_apart("$1") == Apart()
        await tables.candidates.take_back("$1")
        [kept] = await tables.undo.as_they_are([made.id])
        assert [part.mentioned_by for part in kept.parts] == [("$2",), ("$2", "$3")]
        assert await tables.memories.take_apart("$2") == Apart((made.id,), (Kept(other, ("$3",)),))
        await tables.candidates.take_back("$2")
        assert await tables.memories.of_user(build.ALICE) == (other,)
        assert await tables.undo.as_they_are([other.id]) == (Kept(other, ("$3",)),)


async def test_what_a_person_edits_is_no_longer_put_together_from_anything(database: Database) -> None:
    async with database.transaction() as tables:
        made = await tables.memories.merge(merged(await two(tables), "has a cat, Mochi", LATER))
        await tables.memories.edit(made.id, "my cat is Mochi", LATER)
        [kept] = await tables.undo.as_they_are([made.id])
        assert kept.parts == ()
        assert await tables.memories.take_apart("$2") == Apart()


async def test_p13_what_was_counted_at_its_start_goes_and_what_came_meanwhile_stays(database: Database) -> None:
    async with database.transaction() as tables:
        assert await tables.users.promoting_passes(build.ALICE) == 0
        for _ in range(4):
            await tables.users.add_promoting_pass(build.ALICE)
        await tables.users.cleaned_up(build.ALICE, 3)
        assert await tables.users.promoting_passes(build.ALICE) == 1
        await tables.users.cleaned_up(build.ALICE, 3)
        await tables.users.cleaned_up(build.BAU, 3)
        assert await tables.users.promoting_passes(build.ALICE) == await tables.users.promoting_passes(build.BAU) == 0


async def test_nothing_here_looks_through_a_table(database: Database) -> None:
    async with traced(database) as statements, database.transaction() as tables:
        made = await tables.memories.merge(merged(await two(tables), "has a cat, Mochi", LATER))
        await tables.memories.take_apart("$2")
        await tables.memories.delete([made.id])
        await tables.users.promoting_passes(build.ALICE)
        await tables.users.cleaned_up(build.ALICE, 1)
    assert await scans(database, statements) == []
