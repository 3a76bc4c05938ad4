"""/healthz, /readyz and /metrics over HTTP, where `http.enabled` opens them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from ipaddress import ip_address

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from davenport.health import unready
from davenport.metrics import PrometheusMetrics
from davenport.panel import Panel
from memory.errors import SettingsError, StorageError

log = logging.getLogger(__name__)


@asynccontextmanager
async def serving(panel: Panel, metrics: PrometheusMetrics) -> AsyncIterator[tuple[str, int] | None]:
    """Serve until the block ends and yield address and port; None where `http.enabled` is off.

    Raises SettingsError when the address cannot be taken.
    """
    http = panel.settings.http
    if not http.enabled:
        yield None
        return
    runner = web.AppRunner(_application(panel, metrics), access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, http.host, http.port).start()
        except OSError as error:
            raise SettingsError(
                f"http.host and http.port: {http.host} port {http.port} cannot be opened: {error.strerror}"
            ) from error
        host, port = runner.addresses[0][:2]
        log.info("health and metrics are served at %s port %d", host, port)
        if not ip_address(http.host).is_loopback:
            log.warning("http.host is %s: whoever reaches it may read the metrics, no password is asked for", http.host)
        yield str(host), int(port)
    finally:
        await runner.cleanup()


def _application(panel: Panel, metrics: PrometheusMetrics) -> web.Application:
    async def healthz(request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(request: web.Request) -> web.Response:
        reasons = await unready(panel)
        status = HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK
        return web.json_response({"ready": not reasons, "reasons": reasons}, status=status)

    async def page(request: web.Request) -> web.Response:
        try:
            body = await metrics.page(panel)
        except StorageError as error:
            log.warning("no metrics: %s", error)
            return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text="the database cannot be read\n")
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    application = web.Application()
    application.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", page)])
    return application
