"""nio's client with the remedies for its crash windows, its endless waits and what it does not know of encryption.

Nothing here registers a callback: nio would await it in the middle of a sync.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from nio.api import Api
from nio.client.async_client import AsyncClientConfig
from nio.crypto.olm_machine import Olm
from nio.events.misc import BadEventType
from nio.events.room_events import Event, MegolmEvent, RoomCreateEvent
from nio.events.to_device import ToDeviceEvent
from nio.exceptions import EncryptionError, LocalProtocolError
from nio.responses import KeysUploadResponse, RoomInfo, ShareGroupSessionResponse, SyncResponse, Timeline
from nio.rooms import MatrixRoom
from nio.store.database import MatrixStore
from peewee import PeeweeException

from matrix.errors import MALFORMED
from matrix.fallback_key import FALLBACK_TYPE, fallback_keys
from matrix.http import HttpClient, Json, endpoint
from matrix.parse import creators_of, parse_sync
from memory.errors import MatrixError, StorageError

log = logging.getLogger(__name__)
logging.getLogger("nio").setLevel(logging.CRITICAL)  # it quotes messages and keys in its warnings

MARKER = "davenport.txn"
"""Content key that carries the outbox row's transaction id, in clear, to find an own event by (see Sender)."""

_TWO = 2  # members: the bot and one person


class Client(HttpClient):
    """One logged-in device: sync state, end-to-end encryption, sending.

    `store_dir` holds nio's store and is made readable by its owner only. The sync token is not kept here: whoever
    calls `apply_sync` keeps it, in the transaction of what the sync brought.
    """

    def __init__(self, homeserver: str, user_id: str, *, store_dir: Path, pickle_key: str) -> None:
        """`pickle_key` encrypts the store; it has to be the same for the life of the store."""
        store_dir.mkdir(parents=True, exist_ok=True)
        store_dir.chmod(0o700)
        config = AsyncClientConfig(
            encryption_enabled=True,
            store_sync_tokens=False,
            pickle_key=pickle_key,
            max_limit_exceeded=0,
            max_timeouts=0,
        )
        super().__init__(homeserver.rstrip("/"), user_id, store_path=str(store_dir), config=config)
        self.creators: dict[str, frozenset[str]] = {}
        self.made: set[str] = set()  # rooms that this account created
        self.signing_due = True
        self._fallback_due = False
        self._sharing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def machine(self) -> Olm:
        """The encryption state. Raises MatrixError before login."""
        if self.olm is None:
            raise MatrixError("not logged in: there is no encryption state yet")
        return self.olm

    @property
    def crypto_store(self) -> MatrixStore:
        """nio's database of keys. Raises MatrixError before login."""
        if self.store is None:
            raise MatrixError("not logged in: the crypto store is not open")
        return self.store

    async def close(self) -> None:
        """Close connections and the crypto store; the login stays valid."""
        await super().close()  # type: ignore[no-untyped-call]  # nio leaves it untyped
        if self.store is not None:
            self.store.database.close()

    # --- /sync -------------------------------------------------------------------------------------------------

    async def fetch_sync(
        self, since: str | None, *, sync_filter: str, full_state: bool, wait_seconds: float
    ) -> Mapping[str, Any]:
        """Ask for what happened after `since`, waiting up to `wait_seconds` for something to happen."""
        query = {"filter": sync_filter, "timeout": str(int(wait_seconds * 1000))}
        if since is not None:
            query |= {"since": since, "full_state": str(full_state).lower()}
        seconds = wait_seconds + (300 if full_state or since is None else 30)
        return await self.request("GET", endpoint("sync", **query), seconds=seconds)

    async def apply_sync(self, raw: Mapping[str, Any]) -> SyncResponse:
        """Take a sync into nio's state and store, in one transaction: all of it or nothing.

        nio writes an Olm session and the room keys that came through it separately; a crash between the two would
        lose the keys for good. The same response may be applied again, which decrypts again.
        """
        response = parse_sync(raw)
        self.next_batch = ""  # nio skips a response whose token it has seen
        try:
            with self.crypto_store.database.atomic():
                await self._handle_sync(response)
        except BaseException as error:
            # What is in memory ran ahead of what was rolled back.
            self.olm = Olm(self.machine.user_id, self.machine.device_id, self.crypto_store)
            if isinstance(error, PeeweeException):
                raise StorageError(f"the crypto store in {self.store_path} cannot be written: {error}") from error
            if isinstance(error, MALFORMED):
                raise MatrixError(f"a sync could not be taken in: {type(error).__name__}") from error
            raise
        unused = raw.get("device_unused_fallback_key_types")
        if isinstance(unused, list):
            self._fallback_due = FALLBACK_TYPE not in unused
        return response

    def _handle_decrypt_to_device(self, to_device_event: ToDeviceEvent) -> ToDeviceEvent | None:
        try:
            return super()._handle_decrypt_to_device(to_device_event)
        except (*MALFORMED, EncryptionError, LocalProtocolError) as error:
            sender = getattr(to_device_event, "sender", "?")
            log.warning("to-device event of %s skipped: %s", sender, type(error).__name__)
            return None

    def _handle_joined_state(self, room_id: str, join_info: RoomInfo, encrypted_rooms: set[str]) -> None:
        for event in join_info.state:
            one = replace(join_info, state=[event], summary=None, unread_notifications=None)
            try:
                super()._handle_joined_state(room_id, one, encrypted_rooms)
            except MALFORMED as error:
                log.warning("state event %s skipped: %s", getattr(event, "event_id", "?"), type(error).__name__)
            if isinstance(event, RoomCreateEvent):
                self._was_created(room_id, event)
        super()._handle_joined_state(room_id, replace(join_info, state=[]), encrypted_rooms)

    def _handle_timeline_event(
        self, event: Event | BadEventType, room_id: str, room: MatrixRoom, encrypted_rooms: set[str]
    ) -> Event | BadEventType | None:
        if isinstance(event, MegolmEvent):
            return None  # decrypted by matrix.crypto, together with gaps and late keys
        if isinstance(event, RoomCreateEvent):
            self._was_created(room_id, event)
        try:
            super()._handle_timeline_event(event, room_id, room, encrypted_rooms)
        except MALFORMED as error:
            log.warning("timeline event %s skipped: %s", getattr(event, "event_id", "?"), type(error).__name__)
        return None

    def _was_created(self, room_id: str, event: RoomCreateEvent) -> None:
        self.creators[room_id] = creators_of(event)
        if event.sender == self.user_id:
            self.made.add(room_id)

    # --- keys ----------------------------------------------------------------------------------------------------

    async def upkeep(self) -> None:
        """Do what a sync left to do: upload keys, ask for devices, mend broken Olm sessions, send key requests."""
        if self.should_upload_keys or self._fallback_due:
            await self._upload_keys()
        if self.should_query_keys:
            await self.keys_query()
        if self.should_claim_keys:
            await self.keys_claim(self.get_users_for_key_claiming())
        await self.send_to_device_messages()

    async def _upload_keys(self) -> None:
        machine = self.machine
        keys: Json = machine.share_keys() if self.should_upload_keys else {}
        fallback = self._fallback_due or "device_keys" in keys
        if fallback:
            keys["fallback_keys"] = fallback_keys(machine, self.user_id)
        # Saved before the request: keys that were uploaded but not saved would block every later upload.
        machine.save_account()
        await self._send(KeysUploadResponse, "POST", endpoint("keys", "upload"), Api.to_json(keys))
        if fallback:
            self._fallback_due = False

    def forget_upload(self) -> None:
        """Upload device keys and signatures anew, after the homeserver forgot or replaced the login."""
        self.machine.account.shared = False
        self.machine.uploaded_key_count = None
        self.machine.save_account()
        self.signing_due = True

    async def share_group_session(
        self, room_id: str, ignore_unverified_devices: bool = False
    ) -> ShareGroupSessionResponse:
        """Give the room's Megolm session to every device in the room. Raises MatrixError unless all were reached.

        nio's own version marks the session as shared even where the homeserver refused, and hangs later senders when
        claiming keys fails.
        """
        machine = self.machine
        async with self._sharing[room_id]:
            if not machine.should_share_group_session(room_id):
                return ShareGroupSessionResponse(room_id, set())
            reached: set[tuple[str, str]] = set()
            while devices := await self._share_once(machine, room_id, ignore_unverified_devices):
                reached |= devices  # again, for who came in while the last ones were served
            machine.outbound_group_sessions[room_id].shared = True
            return ShareGroupSessionResponse(room_id, reached)

    async def _share_once(self, machine: Olm, room_id: str, ignore_unverified: bool) -> set[tuple[str, str]]:
        if missing := self.get_missing_sessions(room_id):
            await self.keys_claim(missing)
        reached: set[tuple[str, str]] = set()
        for devices, messages in machine.share_group_session_parallel(
            room_id, list(self.rooms[room_id].users), ignore_unverified_devices=ignore_unverified
        ):
            await self.request("PUT", endpoint("sendToDevice", "m.room.encrypted", uuid4().hex), messages)
            machine.outbound_group_sessions[room_id].users_shared_with.update(devices)
            reached |= devices
        return reached

    def encrypt(self, room_id: str, message_type: str, content: Json) -> tuple[str, dict[str, str]]:
        """Encrypt as nio does, leaving our marker readable."""
        kind, encrypted = super().encrypt(room_id, message_type, content)
        if MARKER in content:
            encrypted[MARKER] = content[MARKER]
        return kind, encrypted

    # --- rooms ---------------------------------------------------------------------------------------------------

    async def room(self, room_id: str) -> MatrixRoom:
        """Return a joined room, asking for its state where the sync has not brought it. Raises MatrixError."""
        if room_id not in self.rooms:
            await self._load_state(room_id)
        return self.rooms[room_id]

    async def room_with_members(self, room_id: str) -> MatrixRoom:
        """Return a joined room with all of its members, not only those that lazy loading brought."""
        room = await self.room(room_id)
        if not room.members_synced:
            await self.joined_members(room_id)
            if len(room.users) <= _TWO:  # it may be a room for private words; who is invited can read them later
                await self._add_invited(room)
        return room

    async def _add_invited(self, room: MatrixRoom) -> None:
        answer = await self.request("GET", endpoint("rooms", room.room_id, "members", membership="invite"))
        for event in answer.get("chunk", []):
            user_id = event.get("state_key") if isinstance(event, dict) else None
            if isinstance(user_id, str):
                room.add_member(user_id, None, None, invited=True)
        if room.encrypted:
            self.machine.update_tracked_users(room)

    def forget_members(self, room_id: str) -> None:
        """Ask for a room's members again before they are used: a gap in the timeline may hide who joined or left."""
        if room := self.rooms.get(room_id):
            room.members_synced = False
            self.invalidate_outbound_session(room_id)

    async def reload(self, room_id: str) -> None:
        """Ask for a room's state and members anew, after a change of our own that no sync has brought yet.

        Who is in the room then, invited or joined, gets its next keys. Raises MatrixError.
        """
        await self._load_state(room_id)
        self.forget_members(room_id)
        self.machine.update_tracked_users(self.rooms[room_id])

    async def _load_state(self, room_id: str) -> None:
        raw = await self.request_list(endpoint("rooms", room_id, "state"))
        state = [event for event in map(Event.parse_event, raw) if event is not None]
        found: set[str] = set()
        self._handle_joined_state(room_id, RoomInfo(Timeline([], False, None), state, [], []), found)
        self.encrypted_rooms |= found
        self.crypto_store.save_encrypted_rooms(found)

    # --- sending -------------------------------------------------------------------------------------------------

    async def send_event(self, room_id: str, event_type: str, content: Json, txn_id: str) -> str:
        """Send an event, encrypted where the room is, and return its id. Raises MatrixError.

        The same `txn_id` may be sent again: the homeserver answers with the event it already has.
        """
        room = await self.room(room_id)
        if room.encrypted:
            await self.room_with_members(room_id)
            if self.should_query_keys:
                await self.keys_query()
        try:
            response = await self.room_send(room_id, event_type, content, tx_id=txn_id, ignore_unverified_devices=True)
        except (EncryptionError, LocalProtocolError) as error:
            raise MatrixError(f"event for {room_id} was not encrypted: {type(error).__name__}") from error
        return str(response.event_id)
