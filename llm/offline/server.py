"""The HTTP side: POST /v1/messages on a free loopback port, streamed or whole, errors in the API's shape."""

from __future__ import annotations

import itertools
import json
import logging
from types import TracebackType
from typing import Self

from aiohttp import web

from llm.offline.api import Answered, ApiFault, Brain, JsonObject, Request, refused
from llm.offline.checks import check_request
from llm.offline.events import Finished, finish
from llm.offline.usage import PromptCache

MAX_REQUEST_BYTES = 32 * 1024 * 1024  # the API's own limit
_STOP_SECONDS = 1.0

logger = logging.getLogger(__name__)


class MessagesServer:
    """Serves a brain as a Messages API. Use as an async context manager, or start and stop."""

    def __init__(self, brain: Brain, cache: PromptCache | None = None) -> None:
        self._brain = brain
        self._cache = cache or PromptCache()
        self._numbers = itertools.count(1)
        self._runner: web.AppRunner | None = None
        self._port = 0

    @property
    def base_url(self) -> str:
        """What the SDK is given, once started: `http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Listen on a free port of the loopback interface."""
        application = web.Application(client_max_size=MAX_REQUEST_BYTES)
        application.router.add_post("/v1/messages", self._handle)
        # A client that gave up waits for nothing: its handler is cancelled.
        self._runner = web.AppRunner(
            application, access_log=None, shutdown_timeout=_STOP_SECONDS, handler_cancellation=True
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._port = int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        request_id = f"req_offline_{next(self._numbers):06d}"
        try:
            request = await self._read(http)
            answer = await self._brain(request)
        except ApiFault as fault:
            body = {**fault.body(), "request_id": request_id}
            headers = {"request-id": request_id, **fault.headers}
            return web.json_response(body, status=fault.status, headers=headers)
        message_id = request_id.replace("req_", "msg_")
        message = finish(message_id, request.body, answer, self._cache.spend(request.body))
        headers = {"request-id": request_id}
        if not request.body.get("stream"):
            return web.json_response(message.body(), headers=headers)
        return await self._stream(http, message, answer, headers)

    async def _read(self, http: web.Request) -> Request:
        if not (http.headers.get("x-api-key") or http.headers.get("authorization")):
            raise ApiFault(401, "authentication_error", "x-api-key header is required")
        if not http.headers.get("anthropic-version"):
            raise refused("anthropic-version: header is required")
        try:
            body: JsonObject = json.loads(await http.read())
        except web.HTTPRequestEntityTooLarge:
            raise ApiFault(413, "request_too_large", "Request exceeds the maximum size") from None
        except (ValueError, RecursionError):
            raise refused("The request body is not valid JSON") from None
        if not isinstance(body, dict):
            raise refused("The request body must be an object")
        check_request(body)
        return Request(body, dict(http.headers))

    async def _stream(
        self, http: web.Request, message: Finished, answer: Answered, headers: dict[str, str]
    ) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={**headers, "content-type": "text/event-stream", "cache-control": "no-cache"}
        )
        await response.prepare(http)
        try:
            await self.send_events(http, response, message, answer)
        except ConnectionError:
            logger.debug("the client left in the middle of %s", message.id)
        return response

    async def send_events(
        self, http: web.Request, response: web.StreamResponse, message: Finished, answer: Answered
    ) -> None:
        """Send a message's events and end the stream. The scripted double overrides this to break off or stall."""
        for event in message.events():
            await response.write(event)
        await response.write_eof()
