"""Whether the bot does its work: what /readyz answers, and what a running bot says to `davenport check`."""

from __future__ import annotations

import asyncio

from davenport.panel import Panel
from matrix import probe
from memory.errors import MatrixError, StorageError

SYNC_SECONDS = 120.0  # an answer without news comes every 30 s
OUTBOX_SECONDS = 600.0
WRITE_SECONDS = 5.0
_PROBE_KEY = "health.probed_at"


async def unready(panel: Panel) -> tuple[str, ...]:
    """Return the reasons why the bot cannot serve now; empty when it can."""
    reasons = [*_sync_faults(panel)]
    if (fault := await database_fault(panel)) is not None:
        return (*reasons, fault)
    try:
        _, oldest = await panel.outbox()
    except StorageError as error:
        return (*reasons, f"the database cannot be read: {error}")
    if oldest is not None and oldest > OUTBOX_SECONDS:
        reasons.append(f"an answer has been waiting to be sent for {oldest:.0f} s")
    return tuple(reasons)


async def database_fault(panel: Panel) -> str | None:
    """Write to the database and return what prevented it."""
    try:
        async with asyncio.timeout(WRITE_SECONDS), panel.store.transaction() as tables:
            await tables.account.set(_PROBE_KEY, panel.clock.now().isoformat())
    except StorageError as error:
        return f"the database cannot be written: {error}"
    except TimeoutError:
        return f"the database was not free to write within {WRITE_SECONDS:.0f} s"
    return None


async def login_fault(panel: Panel) -> str | None:
    """Ask the homeserver who the bot is and return what is wrong with that."""
    if panel.client is None:
        return "the bot is not logged in yet: it waits for the homeserver"
    try:
        await probe.whoami(panel.client)
    except MatrixError as error:
        return f"the login does not work: {error}"
    return None


def _sync_faults(panel: Panel) -> list[str]:
    age = panel.sync_age
    if age is None:
        return ["nothing was synced yet"]
    return [f"the last sync was {age:.0f} s ago"] if age > SYNC_SECONDS else []
