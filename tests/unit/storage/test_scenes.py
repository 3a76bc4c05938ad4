"""Who is in a scene, by room, thread and person."""

from __future__ import annotations

from datetime import timedelta

from storage import Database
from tests.unit.storage import build

NOW = build.NOW
LATER = NOW + timedelta(minutes=15)


async def test_scenes_are_apart_by_room_thread_and_person(database: Database) -> None:
    async with database.transaction() as tables:
        scenes = tables.scenes
        assert not await scenes.any()
        await scenes.put("!a", None, "@x", NOW)
        await scenes.put("!a", None, "@x", LATER)
        await scenes.put("!a", "$t", "@x", NOW)
        await scenes.put("!b", None, "@y", NOW)
        assert await scenes.any()
        assert await scenes.until("!a", None, "@x") == LATER
        assert await scenes.until("!a", "$t", "@x") == NOW
        assert await scenes.until("!a", None, "@y") is None
        assert await scenes.end("!a", None, "@x") == LATER
        assert await scenes.end("!a", None, "@x") is None
        assert await scenes.until("!a", "$t", "@x") == NOW


async def test_ending_all_of_a_person_and_pruning_leave_the_others(database: Database) -> None:
    async with database.transaction() as tables:
        scenes = tables.scenes
        for room, user, until in (("!a", "@x", LATER), ("!b", "@x", NOW), ("!a", "@y", NOW), ("!b", "@y", LATER)):
            await scenes.put(room, None, user, until)
        await scenes.end_of("@x")
        assert await scenes.until("!a", None, "@x") is await scenes.until("!b", None, "@x") is None
        assert await scenes.prune(NOW) == 0
        assert await scenes.prune(NOW + timedelta(seconds=1)) == 1
        assert await scenes.until("!a", None, "@y") is None
        assert await scenes.until("!b", None, "@y") == LATER
