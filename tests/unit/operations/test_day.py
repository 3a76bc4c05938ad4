"""What the scheduler does between the turns of the day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from actors.runtime import ActorSystem
from davenport.clock import MovableClock
from davenport.day import DayTurn, Keeping
from davenport.wiring import _scheduled
from memory.undo import KEPT_FOR, Taken
from storage import Database

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


async def kept(store: Database) -> bool:
    """Whether anything is kept, however old; it stays."""
    async with store.transaction() as tables:
        taken = await tables.undo.take("@ana:hs", NOW - timedelta(days=999))
        if taken is not None:
            await tables.undo.keep("@ana:hs", "$del", NOW, taken)
    return taken is not None


async def test_every_minute_what_is_too_old_to_be_undone_goes(tmp_path: Path) -> None:
    clock = MovableClock(NOW)
    async with await Database.open(tmp_path) as store:
        async with store.transaction() as tables:
            await tables.undo.keep("@ana:hs", "$del", NOW, Taken(()))
        scheduler = _scheduled(DayTurn(store, ActorSystem({}), Keeping()), clock)
        try:
            [job] = [each for each in scheduler.get_jobs() if each.name.endswith("forget")]
            assert job.trigger.interval == timedelta(minutes=1)
            clock.set(NOW + KEPT_FOR)
            await job.func()
            assert await kept(store)
            clock.set(NOW + KEPT_FOR + timedelta(seconds=1))
            await job.func()
            assert not await kept(store)
        finally:
            scheduler.shutdown(wait=False)


async def test_what_a_clock_that_was_wrong_dated_far_ahead_goes_too(tmp_path: Path) -> None:
    async with await Database.open(tmp_path) as store:
        async with store.transaction() as tables:
            await tables.undo.keep("@ana:hs", "$del", NOW, Taken(()))
        day = DayTurn(store, ActorSystem({}), Keeping())
        await day.forget_taken(NOW - KEPT_FOR)
        assert await kept(store)
        await day.forget_taken(NOW - KEPT_FOR - timedelta(seconds=1))
        assert not await kept(store)
