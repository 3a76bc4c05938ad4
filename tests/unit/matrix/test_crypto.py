"""What an encrypted event may turn out to be: a message, and nothing that only a homeserver may let through."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from nio.crypto.memorystores import GroupSessionStore
from nio.crypto.sessions import InboundGroupSession, OutboundGroupSession

from matrix.client import Client
from matrix.crypto import Decryptor
from matrix.http import Json

ROOM, SENDER, KEY = "!room:example.org", "@mallory:example.org", "curve25519"


def decryptor(session: OutboundGroupSession) -> Decryptor:
    """Return one that has the key of a session."""
    store = GroupSessionStore()
    store.add(InboundGroupSession(session.session_key, "ed25519", KEY, ROOM))
    machine = SimpleNamespace(
        inbound_group_store=store, device_store=(), message_index_ok=lambda index, event: True, user_id="@bot:hs"
    )
    return Decryptor(cast(Client, SimpleNamespace(machine=machine)))


def encrypted(session: OutboundGroupSession, plain: Json) -> Json:
    content = {
        "algorithm": "m.megolm.v1.aes-sha2",
        "sender_key": KEY,
        "device_id": "DEVICE",
        "session_id": session.id,
        "ciphertext": session.encrypt(json.dumps({"room_id": ROOM, **plain})),
    }
    fields: dict[str, Any] = {"event_id": "$one", "sender": SENDER, "origin_server_ts": 1_700_000_000_000}
    return {"type": "m.room.encrypted", "content": content, **fields}


@pytest.fixture
def session() -> OutboundGroupSession:
    outbound = OutboundGroupSession()
    outbound.mark_as_shared()
    return outbound


async def test_a_message_takes_the_place_of_its_encrypted_form(session: OutboundGroupSession) -> None:
    reading = decryptor(session)  # a key is of what comes after it was given
    plain = reading.decrypt(
        ROOM, encrypted(session, {"type": "m.room.message", "content": {"msgtype": "m.text", "body": "hello"}})
    )
    assert (plain["type"], plain["content"]["body"], plain["sender"]) == ("m.room.message", "hello", SENDER)


@pytest.mark.parametrize("event_type", ["m.room.redaction", "m.room.member", "m.room.encrypted", None])
async def test_nothing_else_is_hidden_in_one(session: OutboundGroupSession, event_type: str | None) -> None:
    """Who may redact is for the homeserver to say, which does not see into an encrypted event."""
    reading = decryptor(session)
    with pytest.raises(ValueError, match="not encrypted"):
        reading.decrypt(ROOM, encrypted(session, {"type": event_type, "content": {"redacts": "$file"}}))
