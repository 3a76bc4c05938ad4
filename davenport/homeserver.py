"""A real Synapse on loopback for the demo and the tests: own folder, own port, gone without a trace at the end."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import importlib.util
import json
import logging
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from davenport import keeper
from memory.errors import MatrixError

log = logging.getLogger(__name__)

_START_SECONDS = 60.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.05
_TAIL_LINES = 30
_OPEN = {"per_second": 1_000_000, "burst_count": 1_000_000}


class Homeserver:
    """Async context manager around one Synapse process with an SQLite database.

    `url` is the client API's address once started; `server_name` the part of user ids after the colon. `extra` is laid
    over the configuration. Everything lies in a temporary folder that is removed on leaving, also after a failed start
    or a cancellation; when this very process is killed, `davenport.keeper` ends Synapse and removes the folder. The
    port stays the same over `stop()`, `start()` and `restart()`.
    """

    server_name = "localhost"

    def __init__(self, *, extra: Mapping[str, Any] | None = None) -> None:
        self._extra = dict(extra or {})
        self._secret = secrets.token_urlsafe(24)
        self._folder: Path | None = None
        self._port = 0
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        """Base address of the client API, without a trailing slash."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def folder(self) -> Path:
        """The temporary folder; what others put there goes with it."""
        if self._folder is None:
            raise MatrixError("the homeserver is used outside its `async with` block", permanent=True)
        return self._folder

    @property
    def log_tail(self) -> str:
        """Last lines that Synapse wrote, for an error message."""
        if self._folder is None or not (path := self._folder / "homeserver.log").exists():
            return ""
        return "\n".join(path.read_text("utf-8", "replace").splitlines()[-_TAIL_LINES:])

    async def __aenter__(self) -> Self:
        if importlib.util.find_spec("synapse") is None:
            raise MatrixError("matrix-synapse is not installed; run `make setup`", permanent=True)
        self._folder = Path(tempfile.mkdtemp(prefix="davenport-homeserver-"))
        try:
            self._port = _free_port()
            self._write_configuration(self._folder)
            await self.start()
        except BaseException:
            await self._remove()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._remove()

    async def start(self) -> None:
        """Start the process and wait until it answers. Raises MatrixError with the log's tail when it does not."""
        launching = asyncio.ensure_future(self._launch())
        try:
            # A cancellation must not come between the process and our knowing of it.
            self._process = await asyncio.shield(launching)
        except asyncio.CancelledError:
            self._process = await launching
            await self.stop()
            raise
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._until_it_answers(self._process)
        except TimeoutError:
            tail = self.log_tail
            await self.stop()
            raise MatrixError(f"Synapse did not answer within {_START_SECONDS:.0f} s:\n{tail}") from None
        except BaseException:
            await self.stop()
            raise

    async def _launch(self) -> asyncio.subprocess.Process:
        with (self.folder / "homeserver.log").open("ab") as output:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", keeper.__file__, str(self.folder)),
                *(sys.executable, "-m", "synapse.app.homeserver"),
                *("--config-path", str(self.folder / "homeserver.yaml")),
                cwd=self.folder,
                stdin=asyncio.subprocess.PIPE,  # held open for as long as this process lives
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    async def stop(self) -> None:
        """Stop the process, its data kept: politely first, then its whole process group by force."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            _signal_group(process, signal.SIGTERM)
            async with asyncio.timeout(_STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            log.warning("Synapse did not stop within %.0f s and is killed", _STOP_SECONDS)
        finally:
            _signal_group(process, signal.SIGKILL)
        await process.wait()

    async def restart(self) -> None:
        """Stop and start on the same port with the same data."""
        await self.stop()
        await self.start()

    async def register(self, localpart: str, password: str, *, admin: bool = False) -> str:
        """Create an account through the shared-secret endpoint and return its user id. Raises MatrixError."""
        address = f"{self.url}/_synapse/admin/v1/register"
        async with aiohttp.ClientSession() as session:
            async with session.get(address) as response:
                nonce = (await response.json())["nonce"]
            signed = "\0".join((nonce, localpart, password, "admin" if admin else "notadmin"))
            mac = hmac.new(self._secret.encode(), signed.encode(), hashlib.sha1).hexdigest()
            account = {"username": localpart, "password": password, "admin": admin, "inhibit_login": True}
            body = {"nonce": nonce, "mac": mac, **account}
            async with session.post(address, json=body) as response:
                answer = await response.json()
                if not response.ok:
                    raise MatrixError(f"Synapse did not register {localpart}: {answer.get('error')}", permanent=True)
        return str(answer["user_id"])

    def _write_configuration(self, folder: Path) -> None:
        seed = base64.b64encode(secrets.token_bytes(32)).decode().rstrip("=")
        (folder / "signing.key").write_text(f"ed25519 a_1 {seed}\n", "utf-8")
        (folder / "log.yaml").write_text(json.dumps(_logging()), "utf-8")
        # JSON is YAML too, so nothing has to be quoted or appended by hand.
        settings = {**_configuration(folder, self.server_name, self._port, self._secret), **self._extra}
        (folder / "homeserver.yaml").write_text(json.dumps(settings, indent=1), "utf-8")

    async def _until_it_answers(self, process: asyncio.subprocess.Process) -> None:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as session:
            while True:
                if process.returncode is not None:
                    raise MatrixError(f"Synapse ended with status {process.returncode}:\n{self.log_tail}")
                try:
                    async with session.get(f"{self.url}/_matrix/client/versions") as response:
                        if response.ok:
                            return
                except (aiohttp.ClientError, TimeoutError) as error:
                    log.debug("Synapse does not answer yet: %s", type(error).__name__)
                await asyncio.sleep(_POLL_SECONDS)

    async def _remove(self) -> None:
        folder, self._folder = self._folder, None
        try:
            # A second cancellation must not leave the process behind.
            await asyncio.shield(asyncio.ensure_future(self.stop()))
        finally:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _signal_group(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        log.debug("Synapse's process group is gone already")


def _logging() -> dict[str, Any]:
    return {
        "version": 1,
        "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
        "root": {"level": "WARNING", "handlers": ["console"]},
        "disable_existing_loggers": False,
    }


def _limits() -> dict[str, Any]:
    """Open every rate limit; left as they are they would decide how long tests take."""
    flat = (
        *("message", "registration", "admin_redaction", "joins_per_room", "3pid_validation", "third_party_invite"),
        *("user_directory", "room_creation", "reports", "key_requests", "delayed_event_mgmt"),
    )
    nested = {
        "login": ("address", "account", "failed_attempts"),
        "joins": ("local", "remote"),
        "invites": ("per_room", "per_user", "per_issuer"),
        "presence": ("per_user",),
    }
    limits: dict[str, Any] = {f"rc_{name}": _OPEN for name in flat}
    return limits | {f"rc_{name}": dict.fromkeys(kinds, _OPEN) for name, kinds in nested.items()}


def _configuration(folder: Path, server_name: str, port: int, secret: str) -> dict[str, Any]:
    return {
        "server_name": server_name,
        "pid_file": str(folder / "homeserver.pid"),
        "listeners": [
            {
                "port": port,
                "type": "http",
                "tls": False,
                "bind_addresses": ["127.0.0.1"],
                "resources": [{"names": ["client"], "compress": False}],
            }
        ],
        "database": {"name": "sqlite3", "args": {"database": str(folder / "homeserver.db")}},
        "log_config": str(folder / "log.yaml"),
        "media_store_path": str(folder / "media"),
        "signing_key_path": str(folder / "signing.key"),
        "registration_shared_secret": secret,
        "macaroon_secret_key": secrets.token_urlsafe(24),
        "form_secret": secrets.token_urlsafe(24),
        "bcrypt_rounds": 4,  # throw-away passwords
        "trusted_key_servers": [],
        "federation_domain_whitelist": [],
        "report_stats": False,
        "url_preview_enabled": False,
        "enable_search": False,
        "presence": {"enabled": False},
        "caches": {"sync_response_cache_duration": "0s"},  # else an old first /sync is served for two minutes
        **_limits(),
    }
