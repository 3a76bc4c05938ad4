"""The sync loop: what happens in Matrix, batch by batch, each stored before the next is asked for."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from nio.responses import SyncResponse

from matrix.backoff import Outage
from matrix.client import Client
from matrix.cross_signing import CrossSigner
from matrix.crypto import LateKeys
from matrix.direct_rooms import DirectRooms
from matrix.errors import MALFORMED, Rejected
from matrix.http import Json, endpoint
from matrix.invitations import Invitations
from matrix.ports import Journal, Sink
from matrix.reader import Read, Reader
from matrix.timeline import Timelines
from memory.errors import LoginFailed, MatrixError
from memory.events import SyncBatch

log = logging.getLogger(__name__)

T = TypeVar("T")

_NOTHING = {"not_types": ["*"]}
_FILTER = json.dumps(
    {
        "room": {
            "timeline": {"limit": 1000, "lazy_load_members": True},  # homeservers cap it; the rest is asked for
            "state": {"lazy_load_members": True},
            "ephemeral": _NOTHING,
            "account_data": _NOTHING,
        },
        "presence": _NOTHING,
        "account_data": {"types": ["m.direct"]},
    }
)


class _StoppedError(Exception):
    """`stop()` was called."""


class Gateway:
    """Reads the account's rooms until stopped.

    `last_sync_at` is the moment of the last batch that was stored, by the monotonic clock, None before the first.
    """

    def __init__(
        self,
        client: Client,
        journal: Journal,
        signer: CrossSigner | None = None,
        *,
        direct: DirectRooms | None = None,
        ignore_users: Iterable[str] = (),
        display_name: str = "",
        wait_seconds: float = 30.0,
    ) -> None:
        """`direct`: shared with whoever makes direct rooms. `display_name`: what the account shall be called, "" for
        the name it has.

        `wait_seconds`: how long the homeserver may hold back an answer without news.
        """
        self._client = client
        self._signer = signer
        self._journal = journal
        self._wait_seconds = wait_seconds
        self._display_name = display_name
        self._direct = direct or DirectRooms(client)
        self._reader = Reader(client, self._direct.__contains__, ignore_users)
        self._timelines = Timelines(client, journal)
        self._late_keys = LateKeys(self._reader.decryptor, journal)
        self._invitations = Invitations(client, self._direct, lambda user_id: not self._reader.ignores(user_id))
        self._outage = Outage(client.homeserver)
        self._stop = asyncio.Event()
        self._upkeep_due = asyncio.Event()
        self._first = True
        self.last_sync_at: float | None = None

    async def run(self, sink: Sink, since: str | None) -> None:
        """Hand batch after batch to the sink, beginning after `since`; return when stopped.

        Without `since` the first batch holds no events: what was said before the bot ever ran is not for it. Waits out
        every failure of the homeserver; raises LoginFailed when the login is lost for good, and what the sink raises.
        """
        upkeep = asyncio.create_task(self._keep_up(), name="encryption upkeep")
        try:
            await self._unless_stopped(self._persistently(self._prepare))
            if since is not None:  # without it the first sync brings every open invitation
                await self._unless_stopped(self._persistently(self._invitations.accept_open))
            while True:
                raw, batch = await self._unless_stopped(self._next(since))
                await sink.take(batch)
                self._invitations.accept(raw)  # once stored: what follows from a join is then never before `since`
                since = batch.next_batch
                self.last_sync_at = time.monotonic()
                self._upkeep_due.set()
                if upkeep.done():
                    upkeep.result()  # it ends only by an error that nobody foresaw
        except _StoppedError:
            log.info("sync stopped")
        finally:
            upkeep.cancel()
            await asyncio.gather(upkeep, return_exceptions=True)
            await self._invitations.close()

    @property
    def rooms(self) -> int:
        """How many rooms the bot is in, as last synced."""
        return len(self._client.rooms)

    def ignore(self, users: Iterable[str]) -> None:
        """Replace whom the bot does not listen to, from the next batch on."""
        self._reader.ignore(users)

    def stop(self) -> None:
        """Make `run` return as soon as the batch in the sink's hands is stored."""
        self._stop.set()

    async def _prepare(self) -> None:
        await self._client.upkeep()  # before anybody is answered, so that others can encrypt for this device
        self._upkeep_due.set()
        await self._direct.load()
        self._reader.display_name = await self._named()

    async def _named(self) -> str:
        """Return the account's display name, after giving it the one it shall have."""
        client, wanted = self._client, self._display_name
        try:
            name = (await client.request("GET", endpoint("profile", client.user_id))).get("displayname")
        except Rejected as error:
            if not error.permanent:
                raise
            name = None  # no profile yet
        if wanted and name != wanted:
            try:
                await client.request("PUT", endpoint("profile", client.user_id, "displayname"), {"displayname": wanted})
            except Rejected as error:
                if not error.permanent:
                    raise
                log.warning("the homeserver does not let the bot take the name of matrix.display_name: %s", error)
            else:
                name = wanted
        return name if isinstance(name, str) else ""

    async def _next(self, since: str | None) -> tuple[Mapping[str, Any], SyncBatch]:
        raw, response = await self._persistently(lambda: self._fetch(since))
        batch = await self._digest(raw, response, since)
        self._first = False
        return raw, batch

    async def _fetch(self, since: str | None) -> tuple[Mapping[str, Any], SyncResponse]:
        raw = await self._client.fetch_sync(
            since, sync_filter=_FILTER, full_state=self._first, wait_seconds=self._wait_seconds
        )
        return raw, await self._client.apply_sync(raw)

    async def _digest(self, raw: Mapping[str, Any], response: SyncResponse, since: str | None) -> SyncBatch:
        client = self._client
        for event in raw.get("account_data", {}).get("events", []):
            if event.get("type") == "m.direct" and isinstance(event.get("content"), dict):
                self._direct.replace(event["content"])
        rooms = raw.get("rooms", {})
        for room_id in rooms.get("leave", {}):
            client.rooms.pop(room_id, None)
        found, late = Read(), Read()
        if since is not None:
            for room_id, room in rooms.get("join", {}).items():
                await self._read_room(room_id, room.get("timeline", {}), since, found)
        async for room_id, event in self._late_keys.readable(response):
            await self._read(room_id, [event], late)
        return SyncBatch(
            next_batch=response.next_batch,
            events=tuple(found.events),
            undecryptable=tuple(found.undecryptable),
            echoes=tuple(found.echoes),
            encrypted_rooms=tuple(room_id for room_id in rooms.get("join", {}) if client.rooms[room_id].encrypted),
            late=tuple(late.events),
        )

    async def _read_room(self, room_id: str, timeline: Mapping[str, Any], since: str, found: Read) -> None:
        if timeline.get("limited") is True:
            self._client.forget_members(room_id)
        try:
            events = await self._persistently(lambda: self._timelines.complete(room_id, timeline, since), decided=True)
        except MatrixError as error:
            log.warning("gap in %s cannot be read, only the newest events are: %s", room_id, error)
            events = timeline.get("events", [])
        await self._read(room_id, events, found)

    async def _read(self, room_id: str, events: list[Json], into: Read) -> None:
        """Read a room's events; a room that the bot can no longer see is passed over."""

        async def attempt() -> Read:
            read = Read()
            await self._reader.read(room_id, events, read)
            return read

        try:
            read = await self._persistently(attempt, decided=True)
        except MatrixError as error:
            log.warning("%d events of %s cannot be read: %s", len(events), room_id, error)
            return
        into.events += read.events
        into.undecryptable += read.undecryptable
        into.echoes += read.echoes

    async def _persistently(self, attempt: Callable[[], Awaitable[T]], *, decided: bool = False) -> T:
        """Try until it succeeds. Raises LoginFailed; with `decided` also what the homeserver refuses for good."""
        while True:
            try:
                result = await attempt()
            except LoginFailed:
                raise
            except MatrixError as error:
                if decided and error.permanent:
                    raise
                await asyncio.sleep(self._outage.failed(error))
            else:
                self._outage.over()
                return result

    async def _keep_up(self) -> None:
        """After each batch, off its path: upload and query keys, send key requests, sign the device."""
        while True:
            await self._upkeep_due.wait()
            self._upkeep_due.clear()
            try:
                await self._client.upkeep()
                if self._client.signing_due and self._signer is not None:
                    await self._signer.ensure()
            except (MatrixError, *MALFORMED) as error:
                log.warning("encryption upkeep is tried again after the next sync: %s", error)

    async def _unless_stopped(self, coroutine: Coroutine[Any, Any, T]) -> T:
        work = asyncio.create_task(coroutine)
        stopped = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not stopped.done():
                return work.result()
        finally:
            work.cancel()
            stopped.cancel()
            await asyncio.gather(work, stopped, return_exceptions=True)
        raise _StoppedError
