"""Decryption of room events: at once, or later when a key comes."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

from nio.events.room_events import MegolmEvent
from nio.events.to_device import ToDeviceEvent
from nio.responses import SyncResponse
from vodozemac import MegolmMessage

from matrix.client import Client
from matrix.errors import MALFORMED
from matrix.http import Json
from matrix.ports import Journal
from matrix.translate import sent_at
from memory.events import Undecryptable

log = logging.getLogger(__name__)

# What a homeserver lets through by power level, which it cannot where it does not see it, and what would be read twice.
_NEVER_ENCRYPTED = frozenset({"m.room.redaction", "m.room.member", "m.room.encrypted"})


class KeyMissing(Exception):
    """The key of an event's Megolm session is not here (yet)."""

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id)
        self.session_id = session_id


class Decryptor:
    """Decrypts raw room events and asks, once per session, for keys that are missing."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._requested: set[str] = set()
        self._owned: set[tuple[str, str]] = set()

    def decrypt(self, room_id: str, raw: Mapping[str, Any]) -> Json:
        """Return the event with its decrypted type and content in place of the encrypted ones.

        Raises KeyMissing, or one of MALFORMED for an event that no key can make readable.
        """
        machine = self._client.machine
        event = self._megolm(room_id, raw)
        session = machine.inbound_group_store.get(room_id, event.sender_key or "", event.session_id or "")
        if session is None:
            self._request(event)
            raise KeyMissing(str(event.session_id))
        if session.first_known_index > _message_index(event.ciphertext):
            raise KeyMissing(str(event.session_id))
        self._check_owner(event.sender, session.sender_key)
        text, index = session.decrypt(event.ciphertext)
        if not machine.message_index_ok(index, event):
            raise ValueError("the message index was used by another event")
        plain = json.loads(text)
        if plain.get("room_id") != room_id:
            raise ValueError("encrypted for another room")
        if not isinstance(plain["type"], str) or plain["type"] in _NEVER_ENCRYPTED:
            raise ValueError("of a type that is not encrypted")
        content = dict(plain["content"])
        relation = raw["content"].get("m.relates_to")
        if relation is not None:
            content.setdefault("m.relates_to", relation)
        return {**raw, "type": plain["type"], "content": content}

    def _megolm(self, room_id: str, raw: Mapping[str, Any]) -> MegolmEvent:
        content = dict(raw["content"])
        # Both fields are deprecated and may be left out; nio asks for them.
        content.setdefault("device_id", "")
        if "sender_key" not in content:
            content["sender_key"] = self._sender_key(room_id, content.get("session_id"))
        event = MegolmEvent.from_dict({**raw, "content": content, "room_id": room_id})
        if not isinstance(event, MegolmEvent):
            raise TypeError("not a Megolm event")
        return event

    def _sender_key(self, room_id: str, session_id: object) -> str:
        for sender_key, sessions in self._client.machine.inbound_group_store[room_id].items():
            if session_id in sessions:
                return sender_key
        return ""

    def _check_owner(self, user_id: str, sender_key: str) -> None:
        """Refuse a sender who uses the session of another user's device, as far as devices are known."""
        if (user_id, sender_key) in self._owned:
            return
        owners = {device.user_id for device in self._client.machine.device_store if device.curve25519 == sender_key}
        if owners and user_id not in owners:
            raise ValueError("encrypted by a device of another user")
        if owners:
            self._owned.add((user_id, sender_key))

    def _request(self, event: MegolmEvent) -> None:
        """Queue a key request to the sending device. Rarely answered; a key mostly comes late by itself."""
        machine, session_id = self._client.machine, str(event.session_id)
        if session_id in self._requested or session_id in machine.outgoing_key_requests:
            return
        self._requested.add(session_id)
        waiting = len(machine.outgoing_to_device_messages)
        machine.check_if_wedged(event)  # may queue the same request, now or once a broken Olm session is mended
        device_id = event.device_id or None
        if len(machine.outgoing_to_device_messages) == waiting and event.sender != machine.user_id:
            request = event.as_key_request(event.sender, machine.device_id, session_id, device_id)
            machine.outgoing_to_device_messages.append(request)


class LateKeys:
    """Finds events of earlier batches that can be decrypted now."""

    def __init__(self, decryptor: Decryptor, journal: Journal) -> None:
        self._decryptor = decryptor
        self._journal = journal
        self._first = True

    async def readable(self, response: SyncResponse) -> AsyncIterator[tuple[str, Json]]:
        """Yield (room id, decrypted event) for what waited for a key of this sync.

        The first time all waiting events are tried: before a crash a key may have reached the crypto store although
        its sync was never journalled, and the same to-device event is not readable twice.
        """
        sessions: set[tuple[str, str]] | None = set(filter(None, map(_session_of, response.to_device_events)))
        if self._first:
            waiting = list(await self._journal.waiting())
        else:
            waiting = [event for session in sorted(sessions or ()) for event in await self._journal.waiting(*session)]
        self._first = False
        for event in waiting:
            try:
                yield event.room_id, self._decryptor.decrypt(event.room_id, json.loads(event.raw))
            except KeyMissing:
                continue
            except MALFORMED as error:
                log.warning("waiting event %s cannot be read: %s", event.event_id, type(error).__name__)


def undecryptable(room_id: str, raw: Mapping[str, Any], session_id: str) -> Undecryptable:
    """Return what has to be stored of an event until its key comes. Raises one of MALFORMED."""
    return Undecryptable(
        event_id=str(raw["event_id"]),
        room_id=room_id,
        sender=str(raw["sender"]),
        session_id=session_id,
        sent_at=sent_at(raw),
        raw=json.dumps(raw),
    )


def _session_of(event: ToDeviceEvent | None) -> tuple[str, str] | None:
    room_id, session_id = getattr(event, "room_id", None), getattr(event, "session_id", None)
    return (room_id, session_id) if isinstance(room_id, str) and isinstance(session_id, str) else None


def _message_index(ciphertext: str) -> int:
    return MegolmMessage.from_base64(ciphertext).message_index()
