"""A running bot as its operators see it: what the control socket, the health checks and the metrics look at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic

from actors.ports import Embedder
from actors.runtime import ActorSystem
from actors.store import Store, Tables
from actors.sweep import Progress
from davenport.day import DayTurn
from davenport.settings import Settings
from llm.client import AnthropicModel
from matrix.client import Client
from matrix.gateway import Gateway
from memory.errors import StorageError
from memory.types import Clock

LOOK_SECONDS = 5.0


@dataclass(slots=True)
class Panel:
    """The parts that are open by now; None: not yet, the bot still waits for the homeserver. `settings`: in force."""

    settings: Settings
    store: Store
    clock: Clock
    began: float = field(default_factory=monotonic)
    client: Client | None = None
    gateway: Gateway | None = None
    system: ActorSystem | None = None
    model: AnthropicModel | None = None
    embedder: Embedder | None = None
    sweep: Progress | None = None
    day: DayTurn | None = None

    @property
    def sync_age(self) -> float | None:
        """Seconds since the last batch was stored, None before the first."""
        last = None if self.gateway is None else self.gateway.last_sync_at
        return None if last is None else monotonic() - last

    @asynccontextmanager
    async def look(self) -> AsyncIterator[Tables]:
        """Give the tables for a short look. Raises StorageError, also when others keep the database for long."""
        try:
            async with asyncio.timeout(LOOK_SECONDS), self.store.transaction() as tables:
                yield tables
        except TimeoutError:
            raise StorageError(f"the database was not free within {LOOK_SECONDS:.0f} s") from None

    async def outbox(self) -> tuple[int, float | None]:
        """Return how many events wait to be sent, and for how many seconds the oldest has. Raises StorageError."""
        async with self.look() as tables:
            backlog = await tables.overview.backlog()
        age = None if backlog.oldest is None else (self.clock.now() - backlog.oldest).total_seconds()
        return backlog.rows, age
