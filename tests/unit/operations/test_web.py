"""/healthz, /readyz and /metrics over a real port."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic

import aiohttp
import pytest

from actors.actor import Actor, Address
from actors.runtime import ActorSystem
from davenport import health, web
from davenport import panel as panel_module
from davenport.metrics import PrometheusMetrics
from davenport.panel import Panel
from davenport.status import status
from memory.errors import SettingsError, StorageError
from memory.events import OutboxRow
from tests.unit.operations.conftest import NOW, settings_for


@dataclass
class SyncedGateway:
    """The part of a gateway that is looked at."""

    last_sync_at: float
    rooms: int = 3


async def get(address: tuple[str, int] | None, path: str) -> tuple[int, str]:
    assert address is not None
    async with aiohttp.ClientSession() as session, session.get(f"http://{address[0]}:{address[1]}{path}") as response:
        return response.status, await response.text()


def served(panel: Panel, **http: object) -> Panel:
    panel.settings = settings_for(panel.settings.storage.data_dir, **({"enabled": True, "port": 0} | http))
    return panel


def synced(panel: Panel, seconds_ago: float) -> None:
    panel.gateway = SyncedGateway(monotonic() - seconds_ago)  # type: ignore[assignment]


async def test_no_port_is_opened_unless_it_is_switched_on(panel: Panel) -> None:
    assert panel.settings.http.enabled is False
    async with web.serving(panel, PrometheusMetrics()) as address:
        assert address is None


async def test_it_listens_on_loopback_and_says_where(panel: Panel, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with web.serving(served(panel), PrometheusMetrics()) as address:
        assert address is not None
        assert address[0] == "127.0.0.1"
        assert f"served at 127.0.0.1 port {address[1]}" in caplog.text
        assert await get(address, "/healthz") == (200, "ok\n")
        assert (await get(address, "/nothing"))[0] == 404


async def test_another_address_is_taken_when_it_is_set_and_warned_of(
    panel: Panel, caplog: pytest.LogCaptureFixture
) -> None:
    async with web.serving(served(panel, host="0.0.0.0"), PrometheusMetrics()) as address:  # noqa: S104 - what is tested
        assert address is not None
        assert "whoever reaches it may read the metrics" in caplog.text


async def test_a_taken_port_is_a_fault_that_names_the_keys(panel: Panel) -> None:
    async with web.serving(served(panel), PrometheusMetrics()) as address:
        assert address is not None
        with pytest.raises(SettingsError, match=rf"http\.host and http\.port: 127\.0\.0\.1 port {address[1]}"):
            async with web.serving(served(panel, port=address[1]), PrometheusMetrics()):
                raise AssertionError("the port was opened twice")


async def test_ready_means_synced_writable_and_nothing_stuck(panel: Panel) -> None:
    async with web.serving(served(panel), PrometheusMetrics()) as address:
        assert await get(address, "/readyz") == (503, '{"ready": false, "reasons": ["nothing was synced yet"]}')
        synced(panel, 1)
        assert await get(address, "/readyz") == (200, '{"ready": true, "reasons": []}')
        synced(panel, health.SYNC_SECONDS + 1)
        assert await get(address, "/readyz") == (503, '{"ready": false, "reasons": ["the last sync was 121 s ago"]}')


async def test_an_answer_that_waits_too_long_is_a_reason(panel: Panel) -> None:
    synced(panel, 1)
    stuck = OutboxRow("t1", "!r:hs", "$e", 0, "{}", NOW - timedelta(seconds=health.OUTBOX_SECONDS + 5))
    async with panel.store.transaction() as tables:
        await tables.outbox.add([stuck])
    assert await health.unready(panel) == ("an answer has been waiting to be sent for 605 s",)


async def test_a_database_that_another_program_holds_is_a_reason(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "WRITE_SECONDS", 0.3)
    synced(panel, 1)
    with closing(sqlite3.connect(panel.settings.storage.data_dir / "davenport.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        [reason] = await health.unready(panel)
        other.rollback()
    assert reason == "the database was not free to write within 0 s"
    assert await health.unready(panel) == ()


async def test_nobody_waits_long_for_metrics_or_status_while_a_transaction_is_held(
    panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panel_module, "LOOK_SECONDS", 0.1)
    async with web.serving(served(panel), PrometheusMetrics()) as address, asyncio.timeout(5):
        async with panel.store.transaction():
            assert await asyncio.create_task(get(address, "/metrics")) == (503, "the database cannot be read\n")
            with pytest.raises(StorageError, match="not free within"):
                await asyncio.create_task(status(panel))
        assert (await get(address, "/metrics"))[0] == 200


async def test_an_outbox_that_cannot_be_looked_at_is_a_reason(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panel_module, "LOOK_SECONDS", 0)
    synced(panel, 1)
    assert await health.unready(panel) == ("the database cannot be read: the database was not free within 0 s",)


async def test_a_closed_database_is_a_reason_and_metrics_are_unavailable(panel: Panel) -> None:
    synced(panel, 1)
    async with web.serving(served(panel), PrometheusMetrics()) as address:
        await panel.store.close()  # type: ignore[attr-defined]
        code, text = await get(address, "/readyz")
        assert code == 503
        assert "the database cannot be written" in text
        assert await get(address, "/metrics") == (503, "the database cannot be read\n")


async def test_metrics_are_a_page_for_prometheus(panel: Panel) -> None:
    metrics = PrometheusMetrics()
    panel.system = ActorSystem({"room": Actor})
    await panel.system.tell(Address("room", "!r:hs"), object())
    synced(panel, 2)
    async with web.serving(served(panel), metrics) as address:
        code, text = await get(address, "/metrics")
    assert code == 200
    assert 'davenport_actors{kind="room"} 1.0' in text
    assert 'davenport_actors{kind="user"} 0.0' in text
    assert "davenport_rooms 3.0" in text
    assert "davenport_outbox_rows 0.0" in text
    assert "process_resident_memory_bytes" in text
    await panel.system.close()
