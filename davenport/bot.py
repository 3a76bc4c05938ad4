"""The running bot: takes in what the gateway brings, and stops in order."""

from __future__ import annotations

import asyncio
import logging

from actors.intake import Intake
from actors.parts import Parts
from actors.runtime import ActorSystem
from davenport.day import DayTurn
from davenport.metrics import PrometheusMetrics
from davenport.panel import Panel
from matrix.gateway import Gateway
from memory.events import SyncBatch

log = logging.getLogger(__name__)

DRAIN_SECONDS = 7.0  # what is not done by then is in the journal and goes on at the next start


class Bot:
    """A running bot. `parts` are the ports as wired; `day_turn` does the day's housekeeping for a given moment;
    `panel` is what operators see; `http` the address and port of health and metrics, where they are served.
    """

    def __init__(
        self,
        parts: Parts,
        system: ActorSystem,
        gateway: Gateway,
        day: DayTurn,
        panel: Panel,
        metrics: PrometheusMetrics,
    ) -> None:
        self.parts = parts
        self.day_turn = day.day_turn
        self.panel = panel
        self.http: tuple[str, int] | None = None
        self._system = system
        self._intake = Intake(parts, system)
        self._gateway = gateway
        self._metrics = metrics
        self._resumed = False

    async def take(self, batch: SyncBatch) -> None:
        """Take one sync batch; after the first, whose echoes confirm what was sent, resume unfinished work."""
        await self._intake.take(batch)
        self._metrics.batch(len(batch.events) + len(batch.late))
        if not self._resumed:
            self._resumed = True
            await self._intake.resume()
            log.info("running as %s in %d rooms", self.panel.settings.matrix.user_id, self._gateway.rooms)

    async def run(self, stop: asyncio.Event) -> None:
        """Sync until `stop` is set; then take no more in and finish what has begun, as far as time allows."""
        async with self.parts.store.transaction() as tables:
            since = await tables.journal.sync_token()
        sync = asyncio.create_task(self._gateway.run(self, since), name="sync")
        stopping = asyncio.create_task(stop.wait(), name="stop")
        try:
            await asyncio.wait((sync, stopping), return_when=asyncio.FIRST_COMPLETED)
            self._gateway.stop()
            await sync
        finally:
            stopping.cancel()
            if not await self.at_rest(DRAIN_SECONDS):
                log.warning("some answers are not finished; they go on at the next start")

    async def at_rest(self, seconds: float) -> bool:
        """Wait until no message is being worked on; False when that took longer."""
        return await self._system.drain(seconds)
