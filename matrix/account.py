"""The bot's login: a password once, then the stored token and device, renewed as the homeserver asks. Never logs out.

Everything about the login is one value in the account store, since a new access token without its refresh token would
be worth nothing after a crash. The key of the crypto store is kept there too, and not beside that store: it is written
before the store's first use, by the same durable means as the device id it belongs to.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import string
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from matrix.backoff import Outage
from matrix.client import Client
from matrix.errors import Rejected, TokenRejected
from matrix.http import Json, endpoint
from matrix.ports import AccountStore
from memory.errors import LoginFailed, MatrixError

log = logging.getLogger(__name__)

DISPLAY_NAME = "Davenport"
LOGIN_KEY = "matrix.login"
_PICKLE_KEY = "matrix.pickle_key"
_ALPHABET = string.ascii_uppercase + string.digits


@dataclass(frozen=True, slots=True)
class Login:
    """What is stored of a login. The device id is chosen before the first request and kept for good.

    `fingerprint` is the device's Ed25519 key: a crypto store with another one is not the store of this device.
    """

    device_id: str
    user_id: str = ""
    access_token: str = ""
    refresh_token: str = ""
    fingerprint: str = ""


class Account:
    """Opens a client for the configured user and renews its token."""

    def __init__(
        self, store: AccountStore, *, homeserver: str, user: str, password: str | None, data_dir: Path
    ) -> None:
        """`user`: a Matrix user id or its localpart. `data_dir` gets the folder `crypto`, readable by its owner."""
        self._store = store
        self._homeserver = homeserver.rstrip("/")
        self._user = user
        self._password = password or None
        self._folder = data_dir / "crypto"
        self._login: Login | None = None
        self._client: Client | None = None
        self._renewing = asyncio.Lock()

    async def connect(self) -> Client:
        """Open a client, waiting out an unreachable homeserver. Raises LoginFailed; may be cancelled at any time."""
        outage = Outage(self._homeserver)
        while True:
            try:
                client = await self.open()
            except MatrixError as error:
                if error.permanent:
                    raise
                await asyncio.sleep(outage.failed(error))
            else:
                outage.over()
                return client

    async def open(self) -> Client:
        """Open a client, logging in only where no token is stored.

        Raises LoginFailed when the credentials are not accepted, MatrixError when the homeserver cannot be reached.
        """
        login = await self._stored() or await self._save(Login(_new_device_id()))
        self._check_user(login)
        client = await self._client_for(login)
        if _lost_keys(client, login):
            log.error("the keys in %s are gone or belong to another device", self._folder)
            if self._password is None:
                log.error("set matrix.password, so that the bot can log in as a new device others will encrypt for")
            else:
                await client.close()
                client = await self._client_for(await self._save(Login(_new_device_id())))
        client.renew = self._renew
        self._client = client
        return client

    async def _client_for(self, login: Login) -> Client:
        client = Client(
            self._homeserver, login.user_id or self._user, store_dir=self._folder, pickle_key=await self._pickle_key()
        )
        try:
            if not login.access_token:
                login = await self._log_in(client, login)
            client.restore_login(login.user_id, login.device_id, login.access_token)
            self._folder_is_private()
        except BaseException:
            await client.close()
            raise
        if not login.fingerprint:
            await self._save(replace(login, fingerprint=_fingerprint(client)))
        return client

    async def _log_in(self, client: Client, login: Login) -> Login:
        if self._password is None:
            raise LoginFailed(
                "there is no stored login: run `davenport init`, or set matrix.password or matrix.password_file",
                permanent=True,
            )
        body = {
            "type": "m.login.password",
            "identifier": {"type": "m.id.user", "user": self._user},
            "password": self._password,
            "device_id": login.device_id,
            "initial_device_display_name": DISPLAY_NAME,
            "refresh_token": True,
        }
        try:
            answer = await client.request("POST", endpoint("login"), body, authenticated=False)
        except Rejected as error:
            if not error.permanent:
                raise
            raise LoginFailed(
                f"{self._homeserver} does not accept the login of {self._user} ({error.errcode}): "
                "check matrix.password and matrix.user_id",
                permanent=True,
            ) from error
        log.info("logged in as device %s", login.device_id)
        return await self._save(_with_tokens(replace(login, user_id=_text(answer, "user_id")), answer))

    async def _renew(self, rejected: str) -> None:
        """Get a token that works in place of a rejected one; others who were rejected too wait for it."""
        async with self._renewing:
            client, login = self._client, self._login
            if client is None or login is None or client.access_token != rejected:
                return
            if not login.refresh_token or (renewed := await self._refresh(client, login)) is None:
                renewed = await self._log_in(client, replace(login, access_token="", refresh_token=""))
                client.forget_upload()
            client.access_token = renewed.access_token

    async def _refresh(self, client: Client, login: Login) -> Login | None:
        body = {"refresh_token": login.refresh_token}
        try:
            answer = await client.request("POST", endpoint("refresh"), body, authenticated=False)
        except Rejected as error:
            if not error.permanent and not isinstance(error, TokenRejected):
                raise
            log.warning("the homeserver does not refresh the login (%s): logging in again", error.errcode)
            return None
        log.info("access token refreshed")
        return await self._save(_with_tokens(login, answer))

    async def _stored(self) -> Login | None:
        text = await self._store.get(LOGIN_KEY)
        self._login = None if text is None else Login(**json.loads(text))
        return self._login

    async def _save(self, login: Login) -> Login:
        await self._store.set(LOGIN_KEY, json.dumps(asdict(login)))
        self._login = login
        return login

    async def _pickle_key(self) -> str:
        key = await self._store.get(_PICKLE_KEY)
        if key is None:
            key = secrets.token_urlsafe(32)
            await self._store.set(_PICKLE_KEY, key)
        return key

    def _check_user(self, login: Login) -> None:
        if login.user_id and self._user not in {login.user_id, login.user_id[1:].partition(":")[0]}:
            raise LoginFailed(
                f"the data folder belongs to {login.user_id}, matrix.user_id names {self._user}: "
                "correct matrix.user_id or use another data folder",
                permanent=True,
            )

    def _folder_is_private(self) -> None:
        """Only what is the crypto store's own: no folder, and nothing that a link leads to."""
        with os.scandir(self._folder) as entries:
            for path in [Path(entry) for entry in entries if entry.is_file(follow_symlinks=False)]:
                path.chmod(0o600)


def _new_device_id() -> str:
    return "DAVENPORT" + "".join(secrets.choice(_ALPHABET) for _ in range(8))


def _fingerprint(client: Client) -> str:
    return client.machine.account.identity_keys["ed25519"]


def _lost_keys(client: Client, login: Login) -> bool:
    return bool(login.fingerprint) and login.fingerprint != _fingerprint(client)


def _with_tokens(login: Login, answer: Json) -> Login:
    return replace(
        login,
        access_token=_text(answer, "access_token"),
        refresh_token=str(answer.get("refresh_token") or login.refresh_token),
    )


def _text(answer: Json, name: str) -> str:
    if not isinstance(value := answer.get(name), str):
        raise MatrixError(f"the homeserver's answer to the login has no {name}")
    return value
