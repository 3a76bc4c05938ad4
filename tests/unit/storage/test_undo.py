"""One step back: kept whole, used once, gone after ten minutes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from memory.types import Memory, Origin, Source
from memory.undo import Kept, Taken
from storage import Database
from storage.memory_codec import decode, encode
from tests.unit.storage import build
from tests.unit.storage.conftest import STORAGE
from tests.unit.storage.test_query_plans import scans, traced

NOW = build.NOW
MINUTE = timedelta(minutes=1)


async def promoted(database: Database, *events: str, text: str = "has a cat") -> Memory:
    """Save what these events taught."""
    async with database.transaction() as tables:
        candidate = await tables.candidates.insert(build.ALICE, text, Origin(build.ROOM, events[0], False), NOW)
        for event in events[1:]:
            await tables.candidates.reinforce(candidate.id, event, NOW)
        draft = build.draft(text, source=Source.PROMOTION, mentions=len(events))
        memory = await tables.memories.insert(draft, NOW)
        await tables.candidates.promoted(candidate.id, memory.id)
    return memory


async def keep(database: Database, *ids: int, event_id: str = "$del") -> Taken:
    async with database.transaction() as tables:
        taken = Taken(await tables.undo.as_they_are(ids))
        await tables.undo.keep(build.ALICE, event_id, NOW, taken)
    return taken


async def take(database: Database, since_minutes: int = 10, owner: str = build.ALICE) -> Taken | None:
    async with database.transaction() as tables:
        return await tables.undo.take(owner, NOW - since_minutes * MINUTE)


@STORAGE
@given(draft=build.drafts(), rooms=st.lists(build.words, max_size=3), tags=st.lists(build.words, max_size=3))
async def test_a_memory_written_as_a_row_reads_back_equal(
    database: Database, draft: object, rooms: list[str], tags: list[str]
) -> None:
    async with database.transaction() as tables:
        memory = await tables.memories.insert(draft, NOW)  # type: ignore[arg-type]
    changed = replace(memory, rooms=tuple(rooms), tags=tuple(tags), shared=True, last_matched_at=NOW, unused_days=9)
    assert decode(encode(changed)) == changed


async def test_what_was_deleted_comes_back_with_id_counters_dates_tags_and_mentions(database: Database) -> None:
    memory = await promoted(database, "$1", "$2")
    marked = replace(memory, shared=True, rooms=(build.ROOM,), tags=("Café",))
    async with database.transaction() as tables:
        await tables.memories.set_visibility(marked)
    taken = await keep(database, memory.id)
    assert taken.was == (Kept(marked, ("$1", "$2")),)
    async with database.transaction() as tables:
        await tables.memories.delete([memory.id])
    async with database.transaction() as tables:
        found = await tables.undo.take(build.ALICE, NOW)
        assert found == taken
        await tables.memories.restore(found.was)
    async with database.transaction() as tables:
        assert await tables.undo.as_they_are([memory.id]) == taken.was


async def test_it_is_taken_once_and_only_by_its_owner(database: Database) -> None:
    memory = await promoted(database, "$1")
    taken = await keep(database, memory.id)
    assert await take(database, owner=build.BAU) is None
    assert await take(database) == taken
    assert await take(database) is None


async def test_each_command_replaces_what_was_kept_and_calls_of_one_event_are_one_step(database: Database) -> None:
    one, two, three = [(await promoted(database, f"${each}", text=f"fact {each}")).id for each in range(3)]
    await keep(database, one)
    await keep(database, two, event_id="$tools")
    await keep(database, three, event_id="$tools")
    taken = await take(database)
    assert taken is not None
    assert [kept.memory.id for kept in taken.was] == [two, three]


async def test_it_is_gone_when_it_is_too_old(database: Database) -> None:
    memory = await promoted(database, "$1")
    await keep(database, memory.id)
    assert await take(database, since_minutes=-1) is None
    async with database.transaction() as tables:
        await tables.undo.keep(build.BAU, "$1", NOW, Taken(()))
        assert await tables.undo.prune(NOW, NOW) == 0
        assert await tables.undo.prune(NOW + MINUTE, NOW + MINUTE) == 1
        await tables.undo.keep(build.BAU, "$1", NOW, Taken(()))
        assert await tables.undo.prune(NOW - 2 * MINUTE, NOW - MINUTE) == 1


async def test_an_event_taken_back_takes_what_only_it_had_taught(database: Database) -> None:
    only, also = await promoted(database, "$1", text="a"), await promoted(database, "$1", "$2", text="b")
    await keep(database, only.id, also.id)
    async with database.transaction() as tables:
        await tables.undo.forget_event(build.ALICE, "$other")
        await tables.undo.forget_event(build.BAU, "$1")
        await tables.undo.forget_event(build.ALICE, "$1")
    taken = await take(database)
    assert taken is not None
    assert taken.was == (Kept(also, ("$2",)),)


async def test_when_nothing_is_left_the_whole_step_goes(database: Database) -> None:
    await keep(database, (await promoted(database, "$1")).id)
    async with database.transaction() as tables:
        await tables.undo.forget_event(build.ALICE, "$1")
    assert await take(database) is None


async def test_d11_global_is_protected_and_keeps_text_counters_and_vector(database: Database) -> None:
    async with database.transaction() as tables:
        memory = await tables.memories.insert(build.draft(), NOW)
        made = await tables.memories.make_global(memory.id)
        assert made == replace(memory, scope=made.scope, persona="", protected=True)
        assert made.scope == "global"


async def test_reworded_is_text_protection_and_date_only(database: Database) -> None:
    async with database.transaction() as tables:
        memory = await tables.memories.insert(build.draft(), NOW)
        edited = await tables.memories.edit(memory.id, "other", NOW + MINUTE)
        old = replace(edited, text=memory.text, protected=False, updated_at=NOW)
        await tables.memories.reword(Kept(old))
        assert await tables.memories.get([memory.id]) == (memory,)


async def test_nothing_here_looks_through_a_table(database: Database) -> None:
    memory = await promoted(database, "$1")
    async with traced(database) as statements, database.transaction() as tables:
        kept = await tables.undo.as_they_are([memory.id])
        await tables.memories.set_visibility(memory)
        await tables.memories.make_global(memory.id)
        await tables.memories.reword(kept[0])
        await tables.memories.delete([memory.id])
        await tables.undo.keep(build.ALICE, "$1", NOW, Taken(kept, (memory,)))
        await tables.undo.forget_event(build.ALICE, "$2")
        await tables.undo.prune(NOW, NOW)
        await tables.undo.take(build.ALICE, NOW)
        await tables.memories.restore(kept)
    assert len(statements) > 12
    assert await scans(database, statements) == []
