"""The turn of the UTC day (D16): housekeeping only. Which day a memory was counted for is a date beside it."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from actors.store import Store
from memory.undo import KEPT_FOR

LAST_KEY = "day_turn"  # in the account table

log = logging.getLogger(__name__)


class DayTurn:
    """Called by the scheduler at 00:00 UTC, and by whoever moves the clock. Late, missed or repeated calls do no harm.

    retention_days: how long the texts of done events are kept.
    """

    def __init__(self, store: Store, *, retention_days: int) -> None:
        self._store = store
        self.keep(retention_days)
        self.last: datetime | None = None

    def keep(self, retention_days: int) -> None:
        """Set how long texts are kept, from the next turn of the day on."""
        self._retention = timedelta(days=retention_days)

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
        if gone:
            log.info("%d deletions or edits can no longer be undone", gone)

    async def day_turn(self, now: datetime) -> None:
        """Blank texts of done events; delete sent rows and results past the retention. Candidates are not touched."""
        before = now - self._retention
        async with self._store.transaction() as tables:
            texts = await tables.journal.prune(before)
            rows = await tables.outbox.prune(before)
            await tables.effects.prune(before)
            await tables.account.set(LAST_KEY, now.isoformat())
        self.last = now
        log.info("day turn: blanked %d old events, deleted %d sent rows", texts, rows)
