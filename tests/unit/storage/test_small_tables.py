"""Users, rooms, effects, usage, the account and settings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import StorageError
from memory.events import JournalState
from memory.model import Usage, UsageTotal
from memory.types import Privacy
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
        await tables.rooms.set_persona(build.ROOM, "pirate")
        assert await tables.rooms.persona(build.ROOM) == "pirate"
        both = [build.ROOM, build.OTHER_ROOM]
        assert await tables.rooms.personas(both) == {build.ROOM: "pirate", build.OTHER_ROOM: "default"}


async def test_a_privacy_level_is_open_unless_set_and_leaves_the_counters_alone(database: Database) -> None:
    async with database.transaction() as tables:
        assert await tables.users.privacy(build.ALICE) is Privacy.OPEN
        await tables.users.add_promoting_pass(build.ALICE)
        await tables.users.set_privacy(build.ALICE, Privacy.SILENT)
        await tables.users.set_privacy(build.BAU, Privacy.NO_MEMORY)
        assert await tables.users.privacy(build.ALICE) is Privacy.SILENT
        assert await tables.users.silent([build.ALICE, build.BAU, "@new:hs"]) == {build.ALICE}
        assert await tables.users.add_promoting_pass(build.ALICE) == 2


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


async def test_old_usage_is_deleted_the_oldest_first(database: Database) -> None:
    async with database.transaction() as tables:
        for days in (3, 0, 2, 1):
            await tables.usage.add("$1", build.ALICE, build.ROOM, "reply", Usage("model"), NOW - days * build.DAY)
        assert await tables.usage.prune(NOW - build.DAY, 1) == 1
        assert await tables.usage.prune(NOW, 10) == 2
        rows = await tables.usage._sql.rows("SELECT substr(at, 1, 10) FROM usage")
    assert rows == [(NOW.date().isoformat(),)]


async def test_usage_is_summed_by_utc_day_and_by_whatever_is_asked_for(database: Database) -> None:
    midnight = datetime(2026, 3, 2, tzinfo=UTC)
    last = midnight - timedelta(microseconds=1)
    east = last.astimezone(timezone(timedelta(hours=9)))  # the third of March there, the first in UTC
    rows = [
        ("@a:hs", "!x:hs", "reply", "big", last),
        ("@a:hs", "!x:hs", "extraction", "small", east),
        ("@b:hs", "!x:hs", "reply", "big", last),
        ("@a:hs", "!y:hs", "reply", "big", midnight),
    ]
    async with database.transaction() as tables:
        for user, room, purpose, model, at in rows:
            await tables.usage.add("$1", user, room, purpose, Usage(model, 1, 10, 100, 1000), at)
        first, second = last.date(), midnight.date()
        assert await tables.usage.totals(first, first, ["model"]) == (
            UsageTotal(("big",), 2, 2, 20, 200, 2000),
            UsageTotal(("small",), 1, 1, 10, 100, 1000),
        )
        by_day = await tables.usage.totals(first, second, ["day", "user"])
        assert [(total.group, total.calls) for total in by_day] == [
            (("2026-03-01", "@a:hs"), 2),
            (("2026-03-01", "@b:hs"), 1),
            (("2026-03-02", "@a:hs"), 1),
        ]
        assert [t.group for t in await tables.usage.totals(first, second, ["room", "purpose"])] == [
            ("!x:hs", "extraction"),
            ("!x:hs", "reply"),
            ("!y:hs", "reply"),
        ]
        assert await tables.usage.totals(second, second, []) == (UsageTotal((), 1, 1, 10, 100, 1000),)
        assert await tables.usage.totals(first - timedelta(days=9), first - timedelta(days=1), []) == ()
        of_one = await tables.usage.totals(first, second, ["day"], user_id="@a:hs")
        assert [(total.group, total.calls) for total in of_one] == [(("2026-03-01",), 2), (("2026-03-02",), 1)]
        assert await tables.usage.totals(first, second, [], user_id="@nobody:hs") == ()


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


async def test_what_is_set_in_chat_is_one_value_for_key_and_room(database: Database) -> None:
    async with database.transaction() as tables:
        await tables.overrides.set("memory.enabled", build.ROOM, "false")
        await tables.overrides.set("memory.enabled", "", "true")
        await tables.overrides.set("bot.language", "", '"de"')
        await tables.overrides.set("memory.enabled", "", "false")
        assert await tables.overrides.all() == {
            ("bot.language", ""): '"de"',
            ("memory.enabled", ""): "false",
            ("memory.enabled", build.ROOM): "false",
        }
        await tables.overrides.reset("memory.enabled", "")
        await tables.overrides.reset("memory.enabled", "!nowhere:hs")
        assert list(await tables.overrides.all()) == [("bot.language", ""), ("memory.enabled", build.ROOM)]
