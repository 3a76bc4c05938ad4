"""Questions to a homeserver that leave nothing behind: is it there, and would it let the bot in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nio.client.async_client import AsyncClientConfig

from matrix.errors import Rejected, TokenRejected
from matrix.http import HttpClient, endpoint
from memory.errors import LoginFailed, MatrixError

SECONDS = 15.0


async def reachable(homeserver: str) -> None:
    """Ask for the versions of the specification it speaks. Raises MatrixError."""
    async with _client(homeserver, "") as client:
        answer = await client.request("GET", "/_matrix/client/versions", seconds=SECONDS, authenticated=False)
    if not isinstance(answer.get("versions"), list):
        raise MatrixError(f"{homeserver} does not speak Matrix: its answer names no versions", permanent=True)


async def whoami(client: HttpClient) -> str:
    """Return the user id of a client's login, renewing its token where it must be. Raises MatrixError."""
    answer = await client.request("GET", endpoint("account", "whoami"), seconds=SECONDS)
    return str(answer.get("user_id"))


def has_token(stored: str) -> bool:
    """Whether a stored login (matrix.account.Login as JSON) got as far as a token."""
    return bool(json.loads(stored).get("access_token"))


async def stored_login(homeserver: str, user: str, stored: str) -> bool:
    """Whether the access token of a stored login (matrix.account.Login as JSON) is accepted.

    False when it has run out but can be renewed at the next start; renewing it here would take it from the bot.
    Raises LoginFailed when it is neither, MatrixError when the homeserver cannot be asked.
    """
    login = json.loads(stored)
    async with _client(homeserver, login["user_id"]) as client:
        client.access_token = login["access_token"]
        try:
            found = await whoami(client)
        except TokenRejected as error:
            if login.get("refresh_token"):
                return False
            raise LoginFailed(f"{homeserver} no longer accepts the stored login", permanent=True) from error
    if user not in {found, found[1:].partition(":")[0]}:
        raise LoginFailed(f"the data folder belongs to {found}, matrix.user_id names {user}", permanent=True)
    return True


async def password_login(homeserver: str, user: str, password: str) -> None:
    """Log in with a password and out again at once. Raises LoginFailed, MatrixError."""
    body = {
        "type": "m.login.password",
        "identifier": {"type": "m.id.user", "user": user},
        "password": password,
        "initial_device_display_name": "davenport check",
    }
    async with _client(homeserver, user) as client:
        try:
            answer = await client.request("POST", endpoint("login"), body, seconds=SECONDS, authenticated=False)
        except Rejected as error:
            if not error.permanent:
                raise
            raise LoginFailed(
                f"{homeserver} does not accept the login of {user} ({error.errcode}): check matrix.password and "
                "matrix.user_id",
                permanent=True,
            ) from error
        client.access_token = str(answer.get("access_token"))
        await client.request("POST", endpoint("logout"), {}, seconds=SECONDS)


@asynccontextmanager
async def _client(homeserver: str, user: str) -> AsyncIterator[HttpClient]:
    config = AsyncClientConfig(encryption_enabled=False, store_sync_tokens=False)
    client = HttpClient(homeserver.rstrip("/"), user, config=config)
    try:
        yield client
    finally:
        await client.close()  # type: ignore[no-untyped-call]  # nio leaves it untyped
