"""Requests to the homeserver: one way in and out for nio's calls and for those nio does not know.

nio retries 429 and time-outs without end and returns errors as values. Here every request is made once, errors are
raised as MatrixError, and a rejected access token is renewed once through `renew`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import aiohttp
from nio.client.async_client import AsyncClient
from nio.responses import ErrorResponse

from matrix.errors import TokenRejected, rejection
from memory.errors import MatrixError

Json = dict[str, Any]

REQUEST_SECONDS = 60.0


def endpoint(*segments: str, version: str = "v3", **query: str) -> str:
    """Return the path of a client API endpoint, each segment and query value quoted."""
    path = "/".join(quote(segment, safe="") for segment in segments)
    return f"/_matrix/client/{version}/{path}" + (f"?{urlencode(query)}" if query else "")


class HttpClient(AsyncClient):
    """nio's client with our way of making requests."""

    renew: Callable[[str], Awaitable[None]] | None = None
    """Called with the token that was rejected; returns when `access_token` may be tried again, or raises."""

    async def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        seconds: float = REQUEST_SECONDS,
        authenticated: bool = True,
    ) -> Json:
        """Make one request and return the JSON object answered.

        Raises MatrixError: Rejected with the homeserver's errcode, TokenRejected when the token could not be renewed.
        """
        data = None if body is None else json.dumps(body, separators=(",", ":"))
        answer = await self._request(method, path, data, seconds, authenticated)
        if not isinstance(answer, dict):
            raise MatrixError(f"{_action(method, path)}: the answer is not a JSON object")
        return answer

    async def request_list(self, path: str) -> list[Any]:
        """Make one GET request of an endpoint that answers with a JSON array. Raises MatrixError."""
        answer = await self._request("GET", path, None, REQUEST_SECONDS, authenticated=True)
        if not isinstance(answer, list):
            raise MatrixError(f"{_action('GET', path)}: the answer is not a JSON array")
        return answer

    async def _request(self, method: str, path: str, data: str | None, seconds: float, authenticated: bool) -> Any:
        token = self.access_token if authenticated else ""
        try:
            return await self._exchange(method, path, data, seconds, token)
        except TokenRejected:
            if not authenticated or self.renew is None:
                raise
        await self.renew(token)
        return await self._exchange(method, path, data, seconds, self.access_token)

    async def _exchange(self, method: str, path: str, data: str | None, seconds: float, token: str) -> Any:
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        try:
            response = await self.send(method, path, data, headers, timeout=aiohttp.ClientTimeout(total=seconds))
            async with response:
                answer = _parsed(await response.read())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise MatrixError(f"{_action(method, path)}: {type(error).__name__}") from error
        if not response.ok:
            body = answer if isinstance(answer, dict) else {}
            raise rejection(_action(method, path), response.status, body, response.headers)
        return answer

    async def _send(  # type: ignore[override]  # nio's uploads and downloads are not used here
        self,
        response_class: type[Any],
        method: str,
        path: str,
        data: str | None = None,
        response_data: tuple[Any, ...] | None = None,
    ) -> Any:
        """Carry out a request of nio itself; nio takes the answer in, errors are raised (see module)."""
        parts = urlsplit(path)
        query = [(name, value) for name, value in parse_qsl(parts.query) if name != "access_token"]
        address = parts.path + (f"?{urlencode(query)}" if query else "")
        raw = await self._request(method, address, data, REQUEST_SECONDS, authenticated=True)
        answer = response_class.from_dict(raw, *(response_data or ()))
        if isinstance(answer, ErrorResponse):
            raise MatrixError(f"{_action(method, path)}: the answer has an unexpected shape")
        await self.receive_response(answer)
        return answer


def _action(method: str, path: str) -> str:
    """Name a request in an error message: without its query, which may hold a filter or a token."""
    return f"{method} {urlsplit(path).path}"


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None
