"""Users, rooms, effects, usage, the account and settings."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import StorageError
from memory.events import JournalState
from memory.model import Usage
from storage import Database
from tests.unit.storage import build
from tests.unit.storage.conftest import STORAGE

NOW = build.NOW


async def test_promoting_passes_are_counted_per_user(database: Database) -> None:
    """P13."""
    async with database.transaction() as tables:
        counts = [await tables.users.add_promoting_pass(user) for user in (build.ALICE, build.ALICE, build.BAU)]
    assert counts == [1, 2, 1]


async def test_a_room_once_encrypted_is_so_for_ever(database: Database) -> None:
    async with database.transaction() as tables:
        await tables.rooms.mark_encrypted([])
        await tables.rooms.mark_encrypted([build.ROOM, build.ROOM])
        await tables.rooms.mark_encrypted([build.ROOM])
        assert await tables.rooms.encrypted(build.ROOM)
        assert not await tables.rooms.encrypted(build.OTHER_ROOM)


async def test_a_rooms_persona_is_default_unless_set(database: Database) -> None:
    async with database.transaction() as tables:
        assert await tables.rooms.persona(build.ROOM) == "default"
        await tables.rooms.mark_encrypted([build.ROOM])
        assert await tables.rooms.persona(build.ROOM) == "default"
        await tables.rooms._sql.run("UPDATE room_state SET persona = 'pirate'")
        assert await tables.rooms.persona(build.ROOM) == "pirate"


async def test_an_effect_is_recorded_once_for_each_call(database: Database) -> None:
    async with database.transaction() as tables:
        assert await tables.effects.recorded("$1", 0) is None
        await tables.effects.record("$1", 0, "saved as 5")
        await tables.effects.record("$1", 1, "saved as 6")
        await tables.effects.record("$2", 0, "")
        found = [await tables.effects.recorded(*key) for key in (("$1", 0), ("$1", 1), ("$2", 0), ("$2", 1))]
    assert found == ["saved as 5", "saved as 6", "", None]
    with pytest.raises(StorageError, match="UNIQUE"):
        async with database.transaction() as tables:
            await tables.effects.record("$1", 0, "again")


async def test_pruning_effects_keeps_those_of_unfinished_and_recent_events(database: Database) -> None:
    old, unfinished, recent = (build.incoming() for _ in range(3))
    later = NOW + timedelta(microseconds=1)
    async with database.transaction() as tables:
        await tables.journal.record(build.batch(old, unfinished), [old, unfinished], (), NOW)
        await tables.journal.record(build.batch(recent), [recent], (), later)
        for event in (old, recent):
            await tables.journal.finish(event.event_id, JournalState.LEARNED)
        for event in (old, unfinished, recent):
            await tables.effects.record(event.event_id, 0, "saved")
        assert await tables.effects.prune(later) == 1
        kept = [await tables.effects.recorded(event.event_id, 0) for event in (old, unfinished, recent)]
    assert kept == [None, "saved", "saved"]


async def test_usage_is_one_row_for_each_call(database: Database) -> None:
    async with database.transaction() as tables:
        for purpose in ("reply", "extraction"):
            await tables.usage.add("$1", build.ALICE, build.ROOM, purpose, Usage("model", 1, 2, 3, 4), NOW)
        rows = await tables.usage._sql.rows("SELECT * FROM usage")
    at = "2026-03-01T12:00:00.000250+00:00"
    assert rows == [
        (1, "$1", build.ALICE, build.ROOM, "reply", "model", 1, 2, 3, 4, at),
        (2, "$1", build.ALICE, build.ROOM, "extraction", "model", 1, 2, 3, 4, at),
    ]


@STORAGE
@given(values=st.dictionaries(build.words, st.none() | build.texts, max_size=6))
async def test_the_account_is_key_and_value_and_none_removes(database: Database, values: dict[str, str | None]) -> None:
    async with database.transaction() as tables:
        for key in await tables.account.all():
            await tables.account.set(key, None)
        for key, value in values.items():
            await tables.account.set(key, "before")
            await tables.account.set(key, value)
        kept = {key: value for key, value in values.items() if value is not None}
        assert await tables.account.all() == kept
        assert {key: await tables.account.get(key) for key in values} == values


async def test_an_override_is_unique_for_key_and_room(database: Database) -> None:
    insert = "INSERT INTO settings (key, room_id, value) VALUES ('memory.enabled', ?, 'false')"
    async with database.transaction() as tables:
        for room_id in ("", build.ROOM):
            await tables.account._sql.run(insert, room_id)
        with pytest.raises(StorageError, match="UNIQUE"):
            await tables.account._sql.run(insert, "")
