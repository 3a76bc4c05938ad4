"""Sending, and who is in a room: what the actors need of Matrix (the `Matrix` port)."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from matrix.client import MARKER, Client
from matrix.direct_rooms import DirectRooms, PrivateRooms
from matrix.formatting import render
from matrix.http import Json, endpoint
from matrix.media import ONLY_FILES, Media
from matrix.ports import EncryptedRooms
from memory.errors import LoginFailed, MatrixError
from memory.events import Answer, OutboxRow
from memory.media import Attachment, MediaKind

log = logging.getLogger(__name__)

_TYPING_MS = 30_000
_PAGE = 100
_HIGHEST_LEVEL = 2**53 - 1  # of Matrix: what a canonical JSON integer holds
_MOST_PAGES = 20
_CLOCK_SLACK = timedelta(minutes=10)  # our clock against the homeserver's


class Sender:
    """Sends outbox rows as events of type m.room.message, with their files."""

    def __init__(self, client: Client, rooms: EncryptedRooms, direct: DirectRooms) -> None:
        """`direct`: shared with the gateway, which then knows a new direct room from its first event on."""
        self._client = client
        self._rooms = rooms
        self._private = PrivateRooms(client, direct, rooms)
        self._media = Media(client)

    @property
    def device_id(self) -> str:
        """The device whose transaction ids the homeserver recognises."""
        return str(self._client.device_id)

    async def send(self, row: OutboxRow) -> str:
        """Send one row under its transaction id and return the event id.

        A room that was ever seen encrypted gets nothing in plaintext, whatever nio knows of it. Raises MatrixError:
        with `retry_after` where the homeserver is too busy, `permanent` where it will never take the row.
        """
        try:
            return await self._send(row)
        except LoginFailed as error:  # no fault of this row: it may be sent once the login is mended
            raise MatrixError(str(error)) from error

    async def _send(self, row: OutboxRow) -> str:
        if await self._encrypts(row.room_id) and self._client.olm is None:
            raise MatrixError(f"refused to send plaintext to the encrypted room {row.room_id}")
        content: Json = {**json.loads(row.content), MARKER: row.txn_id}
        return await self._client.send_event(row.room_id, "m.room.message", content, row.txn_id)

    async def _encrypts(self, room_id: str) -> bool:
        """Whether a room is encrypted, and see to it that nio knows."""
        room = await self._client.room(room_id)
        if await self._rooms.encrypted(room_id) and not room.encrypted:
            log.warning("room %s is encrypted, though its state does not say so (any more)", room_id)
            room.encrypted = True
        return bool(room.encrypted)

    async def upload(self, row: OutboxRow) -> str:
        """Upload a row's attachment, encrypted for an encrypted room, and return the content with url or file.

        Raises MatrixError, as `send` does.
        """
        if row.attachment is None:
            raise ValueError(f"row {row.txn_id} has no attachment")
        try:
            content = await self._media.put(
                json.loads(row.content), row.attachment, encrypted=await self._encrypts(row.room_id)
            )
        except LoginFailed as error:
            raise MatrixError(str(error)) from error
        return json.dumps(content, ensure_ascii=False)

    async def attachment(
        self, room_id: str, event_id: str, most_bytes: int, kinds: frozenset[MediaKind] = ONLY_FILES
    ) -> Attachment | None:
        """Return what an event holds, decrypted; None: nothing of these kinds. See Media.fetch for what it raises."""
        return await self._media.fetch(room_id, event_id, most_bytes, kinds)

    async def is_redacted(self, room_id: str, event_id: str) -> bool:
        """Whether what an event held was deleted; what cannot be seen is not. Raises MatrixError."""
        return await self._media.is_gone(room_id, event_id)

    async def direct_room(self, user_id: str) -> str:
        """Return the direct room of the bot with a user, made (encrypted) and the user invited where there is none.

        Only a room in which nobody but the two is joined or invited will do. Raises MatrixError.
        """
        return await self._private.with_user(user_id)

    async def find_sent(self, row: OutboxRow) -> str | None:
        """Look for the event of a row that may have been sent, by another device or longer than a day ago.

        Own events carry the transaction id as a content key that stays readable in encrypted rooms. Looks back to
        when the row was made. Raises MatrixError.
        """
        oldest = row.created_at.astimezone(UTC) - _CLOCK_SLACK
        query = {"dir": "b", "limit": str(_PAGE)}
        for _ in range(_MOST_PAGES):
            page = await self._client.request("GET", endpoint("rooms", row.room_id, "messages", **query))
            chunk = [event for event in page.get("chunk", []) if isinstance(event, dict)]
            for event in chunk:
                if self._is(event, row):
                    return str(event["event_id"])
            end = page.get("end")
            if not isinstance(end, str) or (chunk and _is_before(chunk[-1], oldest)):
                return None
            query["from"] = end
        log.warning("row %s not found in the last %d events of %s", row.txn_id, _PAGE * _MOST_PAGES, row.room_id)
        return None

    async def typing(self, room_id: str, *, on: bool) -> None:
        """Show the typing notice for half a minute, or clear it. Never raises."""
        body: Json = {"typing": True, "timeout": _TYPING_MS} if on else {"typing": False}
        try:
            await self._client.request("PUT", endpoint("rooms", room_id, "typing", self._client.user_id), body)
        except MatrixError as error:
            log.debug("typing notice in %s: %s", room_id, error)

    async def members(self, room_id: str) -> frozenset[str]:
        """Return the user ids joined to a room, as last synced; asked for at first. Raises MatrixError."""
        room = await self._client.room_with_members(room_id)
        return frozenset(user for user, member in room.users.items() if not member.invited)

    def can_write_state(self, room_id: str, user_id: str) -> bool:
        """Whether this user may change room state: creators from room version 12 on, and by power level."""
        room = self._client.rooms.get(room_id)
        if room is None:
            return False
        if user_id in self._client.creators.get(room_id, frozenset()):
            return True
        levels = room.power_levels
        return int(levels.get_user_level(user_id)) >= int(levels.defaults.state_default)

    def power_level(self, room_id: str, user_id: str) -> int:
        """Return this user's power level, as last synced; a creator's from room version 12 on is the highest."""
        room = self._client.rooms.get(room_id)
        if room is None:
            return 0
        if user_id in self._client.creators.get(room_id, frozenset()):
            return _HIGHEST_LEVEL
        return int(room.power_levels.get_user_level(user_id))

    def render(self, answer: Answer) -> tuple[str, ...]:
        """Turn an answer's Markdown into event contents (JSON texts)."""
        return render(answer)

    def _is(self, event: dict[str, Any], row: OutboxRow) -> bool:
        if event.get("sender") != self._client.user_id:
            return False
        unsigned, content = event.get("unsigned") or {}, event.get("content") or {}
        return row.txn_id in (unsigned.get("transaction_id"), content.get(MARKER))


def _is_before(event: dict[str, Any], moment: datetime) -> bool:
    milliseconds = event.get("origin_server_ts")
    return isinstance(milliseconds, int) and milliseconds < moment.timestamp() * 1000
