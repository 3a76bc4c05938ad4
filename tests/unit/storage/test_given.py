"""What the last answer to somebody was given (`!why`)."""

from __future__ import annotations

from memory.events import JournalState
from memory.types import Given
from storage import Database
from tests.unit.storage import build

NOW = build.NOW
TEA, CAT, DOG = Given((1, 2), (3,)), Given((4,)), Given()


async def answer(database: Database, given: Given | None, **changes: object) -> str:
    """Journal a message and its answer; None: it is not answered."""
    event = build.incoming(**changes)
    async with database.transaction() as tables:
        await tables.journal.record(build.batch(event), [event], [], NOW)
        if given is not None:
            await tables.journal.answered(event.event_id, "answer", JournalState.ANSWERED, NOW, given)
    return event.event_id


async def last(database: Database, room: str = build.ROOM, thread: str | None = None) -> Given | None:
    async with database.transaction() as tables:
        return await tables.journal.last_given(room, thread, build.ALICE)


async def test_the_last_answer_to_the_asker_in_the_room_counts(database: Database) -> None:
    assert await last(database) is None
    await answer(database, TEA)
    await answer(database, CAT)
    await answer(database, None)
    await answer(database, DOG, sender=build.BAU)
    await answer(database, DOG, room_id=build.OTHER_ROOM)
    assert await last(database) == CAT
    assert await last(database, build.OTHER_ROOM) == DOG


async def test_threads_and_the_main_timeline_are_apart(database: Database) -> None:
    await answer(database, TEA)
    await answer(database, CAT, thread_root="$root")
    assert (await last(database), await last(database, thread="$root")) == (TEA, CAT)
    assert await last(database, thread="$other") is None


async def test_in_a_thread_without_an_answer_the_one_to_its_root_counts_for_who_wrote_the_root(
    database: Database,
) -> None:
    mine = await answer(database, CAT)
    others = await answer(database, DOG, sender=build.BAU)
    assert (await last(database, thread=mine), await last(database, thread=others)) == (CAT, None)
    assert await last(database, build.OTHER_ROOM, mine) is None
    await answer(database, TEA, thread_root=mine)
    assert await last(database, thread=mine) == TEA
    async with database.transaction() as tables:
        await tables.journal.retract_answer(mine)
    assert await last(database, thread=mine) == TEA


async def test_an_answer_that_was_retracted_leaves_the_one_before(database: Database) -> None:
    await answer(database, TEA)
    redacted, unsaid = await answer(database, CAT), await answer(database, DOG)
    async with database.transaction() as tables:
        await tables.journal.retract(redacted)
        await tables.journal.retract_answer(unsaid)
    assert await last(database) == TEA


async def test_it_outlives_the_texts(database: Database) -> None:
    await answer(database, TEA)
    async with database.transaction() as tables:
        for entry in await tables.journal.unfinished():
            await tables.journal.finish(entry.incoming.event_id, JournalState.LEARNED)
        assert await tables.journal.prune(NOW + build.DAY) == 1
    assert await last(database) == TEA
