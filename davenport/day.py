"""The turn of the UTC day (D16): housekeeping only. Which day a memory was counted for is a date beside it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from actors.messages import UnloadIdle
from actors.runtime import ActorSystem
from actors.store import Store, Tables
from davenport.settings import Settings
from memory.undo import KEPT_FOR

LAST_KEY = "day_turn"  # in the account table
STEP = 500  # rows deleted in one transaction, so that no turn waits long

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long what is done with is kept, and how long what is not used stays loaded.

    texts: of answered messages, but never shorter than the conversation window needs them: `window`, or what a room has
    of its own in `windows`. ids: of events that nothing was done on. usage: records of calls of the model.
    """

    texts: timedelta = timedelta(days=7)
    window: timedelta = timedelta(hours=1)
    windows: Mapping[str, timedelta] = field(default_factory=dict)
    ids: timedelta = timedelta(days=30)
    usage: timedelta = timedelta(days=400)
    idle: timedelta = timedelta(minutes=10)

    @classmethod
    def of(cls, settings: Settings) -> Keeping:
        """Return what the settings say."""
        journal = settings.journal
        own = {
            room_id: room.context.timeout_minutes
            for room_id, room in settings.rooms.items()
            if "timeout_minutes" in room.context.model_fields_set
        }
        return cls(
            timedelta(days=journal.retention_days),
            timedelta(minutes=settings.context.timeout_minutes),
            {room_id: timedelta(minutes=minutes) for room_id, minutes in own.items()},
            timedelta(days=journal.event_ids_days),
            timedelta(days=journal.usage_days),
            timedelta(minutes=settings.limits.idle_minutes),
        )


class DayTurn:
    """Called by the scheduler at 00:00 UTC, and by whoever moves the clock. Late, missed or repeated calls do no harm.

    last: when it was last done to its end, None for never.
    """

    def __init__(self, store: Store, system: ActorSystem, keeping: Keeping) -> None:
        self._store = store
        self._system = system
        self._keeping = keeping
        self._turning = asyncio.Lock()
        self.last: datetime | None = None

    def keep(self, keeping: Keeping) -> None:
        """Set how long things are kept, from the next turn of the day on."""
        self._keeping = keeping

    async def recall(self) -> None:
        """Read when the day last turned, before a restart too."""
        async with self._store.transaction() as tables:
            last = await tables.account.get(LAST_KEY)
        self.last = None if last is None else datetime.fromisoformat(last)

    async def forget_taken(self, now: datetime) -> None:
        """Delete what commands took away longer ago than it can be undone, so that deleted texts do not linger.

        Called every minute and at the start.
        """
        async with self._store.transaction() as tables:
            gone = await tables.undo.prune(now - KEPT_FOR, now + KEPT_FOR)
            await tables.effects.prune(now - KEPT_FOR)  # of done events: they tell what was saved
        if gone:
            log.info("%d deletions or edits can no longer be undone", gone)

    async def catch_up(self, now: datetime) -> None:
        """Turn the day if that was not done on this date: the bot was off at midnight, or it failed then."""
        async with self._turning:
            if self.last is None or _date(self.last) != _date(now):
                await self._turn(now)

    async def day_turn(self, now: datetime) -> None:
        """Blank and delete what no window needs any more, unload lists out of use, and fold the log into the database.

        Memories, candidates and their mentions are not touched. It counts as done at its end only.
        """
        async with self._turning:
            await self._turn(now)

    async def _turn(self, now: datetime) -> None:
        keeping = self._keeping
        before = now - keeping.texts
        in_rooms = {room_id: min(before, now - window) for room_id, window in keeping.windows.items()}
        async with self._store.transaction() as tables:
            texts = await tables.journal.prune(min(before, now - keeping.window), in_rooms)
            rows = await tables.outbox.prune(before)
            await tables.effects.prune(before)
            await tables.scenes.prune(now)
        ids = await self._in_steps(lambda tables: tables.journal.forget(now - keeping.ids, STEP))
        calls = await self._in_steps(lambda tables: tables.usage.prune(now - keeping.usage, STEP))
        await self._unload_idle(now - keeping.idle)
        async with self._store.transaction() as tables:
            await tables.account.set(LAST_KEY, now.isoformat())
        self.last = now
        folded = await self._store.checkpoint()
        log.info("day turn: blanked %d old events, deleted %d sent rows, %d ids, %d calls", texts, rows, ids, calls)
        if not folded:
            log.info("another program reads the database, so that its log stays for now")

    async def _in_steps(self, delete: Callable[[Tables], Awaitable[int]]) -> int:
        """Delete step by step, each its own transaction, between which others get theirs."""
        done = 0
        while True:
            async with self._store.transaction() as tables:
                gone = await delete(tables)
            done += gone
            if gone < STEP:
                return done

    async def _unload_idle(self, before: datetime) -> None:
        """Let the loaded rooms and users go of their lists that were not used since."""
        for address in (*self._system.loaded("room"), *self._system.loaded("user")):
            if address in self._system.cells:  # else it has gone meanwhile
                await self._system.tell(address, UnloadIdle(before))


def _date(moment: datetime) -> date:
    return moment.astimezone(UTC).date()
