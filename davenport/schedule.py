"""When the housekeeping of davenport/day.py is done, by APScheduler in UTC."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from davenport.day import DayTurn
from memory.errors import DavenportError
from memory.types import Clock

DAY, MINUTE = "day turn", "every minute"  # names of the jobs
_ALWAYS_ONCE = {"misfire_grace_time": None, "coalesce": True}  # however late; runs that were missed are one

log = logging.getLogger(__name__)


@contextmanager
def scheduled(day: DayTurn, clock: Clock) -> Iterator[AsyncIOScheduler]:
    """Turn the day at 00:00 UTC (D16) while the block runs, and every minute let go what can no longer be undone.

    A midnight at which the bot was off, or the job failed, is made up for by the job of every minute, which first runs
    at once.
    """

    async def every_minute(now: datetime) -> None:
        await day.forget_taken(now)
        await day.catch_up(now)

    scheduler = AsyncIOScheduler(timezone=UTC)
    midnight = CronTrigger(hour=0, minute=0, timezone=UTC)
    minute = IntervalTrigger(minutes=1, timezone=UTC)
    scheduler.add_job(_job(day.day_turn, clock), midnight, name=DAY, **_ALWAYS_ONCE)
    scheduler.add_job(_job(every_minute, clock), minute, name=MINUTE, next_run_time=datetime.now(UTC), **_ALWAYS_ONCE)
    scheduler.start()
    try:
        yield scheduler
    finally:
        scheduler.shutdown(wait=False)


def _job(work: Callable[[datetime], Awaitable[None]], clock: Clock) -> Callable[[], Awaitable[None]]:
    async def job() -> None:
        try:
            await work(clock.now())
        except asyncio.CancelledError:
            pass  # the bot stops; what was open is rolled back, and APScheduler would log it as a failure
        except DavenportError as error:
            log.error("housekeeping failed and is tried again within a minute: %s", error)

    return job
