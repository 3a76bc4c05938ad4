"""The remedies for nio's crash windows and for what strangers send, without a homeserver."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from matrix.client import Client
from matrix.crypto import Decryptor, KeyMissing
from matrix.direct_rooms import DirectRooms
from matrix.errors import MALFORMED
from matrix.sender import Sender
from memory.errors import MatrixError
from memory.events import OutboxRow

ME, DEVICE, ROOM = "@davenport:example.org", "BOT", "!room:example.org"


def make(folder: Path) -> Client:
    client = Client("http://127.0.0.1:9", ME, store_dir=folder, pickle_key="secret")
    client.restore_login(ME, DEVICE, "token")
    return client


@pytest_asyncio.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    client = make(tmp_path)
    yield client
    await client.close()


def sync(*, timeline: Any = (), state: Any = (), to_device: Any = (), **more: Any) -> dict[str, Any]:
    room = {
        "timeline": {"events": list(timeline), "limited": False, "prev_batch": "p"},
        "state": {"events": list(state)},
    }
    return {
        "next_batch": "s2",
        "rooms": {"join": {ROOM: room}},
        "to_device": {"events": list(to_device)},
        "device_one_time_keys_count": {"signed_curve25519": 50},
        **more,
    }


def state(kind: str, content: Any, key: str = "", number: int = 0) -> dict[str, Any]:
    base = {"event_id": f"$s{number}", "sender": "@alice:example.org", "origin_server_ts": 1}
    return {**base, "type": kind, "state_key": key, "content": content}


ENCRYPTION = state("m.room.encryption", {"algorithm": "m.megolm.v1.aes-sha2"})


def olm_message(client: Client, **body: Any) -> dict[str, Any]:
    own_key = client.machine.account.identity_keys["curve25519"]
    content = {"algorithm": "m.olm.v1.curve25519-aes-sha2", "sender_key": "K", "ciphertext": {own_key: body}}
    return {"type": "m.room.encrypted", "sender": "@mallory:example.org", "content": content}


async def test_sync_is_taken_whole_or_not_at_all(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = client.machine
    with monkeypatch.context() as patch:
        patch.setattr(client, "_handle_olm_events", lambda response: (_ for _ in ()).throw(RuntimeError("power cut")))
        with pytest.raises(RuntimeError):
            await client.apply_sync(sync(state=[ENCRYPTION]))
    assert client.crypto_store.load_encrypted_rooms() == set()
    assert client.machine is not machine, "what is in memory was loaded again from what is stored"
    await client.apply_sync(sync(state=[ENCRYPTION]))
    assert client.crypto_store.load_encrypted_rooms() == {ROOM}


async def test_same_sync_may_be_applied_twice(client: Client) -> None:
    for _ in range(2):
        response = await client.apply_sync(sync(state=[ENCRYPTION]))
        assert response.next_batch == "s2"
        assert client.rooms[ROOM].encrypted
        client.rooms.clear()


@pytest.mark.parametrize(
    "body",
    [{}, {"type": 0, "body": "not base64 ^^"}, {"type": 0, "body": ""}, {"type": 1, "body": "AAAA"}, {"type": 9}],
)
async def test_broken_to_device_events_do_not_stop_the_sync(client: Client, body: dict[str, Any]) -> None:
    await client.apply_sync(
        sync(to_device=[olm_message(client, **body), {"type": "m.room.encrypted"}], state=[ENCRYPTION])
    )
    assert client.rooms[ROOM].encrypted


async def test_odd_room_events_do_not_stop_the_sync(client: Client) -> None:
    odd = [
        state("m.room.member", {"membership": "join", "displayname": ["x"]}, "@alice:example.org", 1),
        state("m.room.power_levels", {"users": {"@alice:example.org": "a lot"}}, "", 2),
        state("m.room.create", {"room_version": 5, "additional_creators": 3}, "", 3),
        {
            "type": "m.room.message",
            "event_id": "$m",
            "sender": "@a:b",
            "origin_server_ts": 1,
            "unsigned": 5,
            "content": {},
        },
        {"type": "m.room.message"},
        {},
    ]
    await client.apply_sync(sync(state=[*odd[:3], ENCRYPTION], timeline=odd))
    assert client.rooms[ROOM].encrypted


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 2**60) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
PLAINTEXT = JSON | st.fixed_dictionaries(
    {"room_id": st.just(ROOM), "type": st.just("m.room.message") | JSON, "content": JSON}, optional={"unsigned": JSON}
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PLAINTEXT)
async def test_any_plaintext_is_read_or_malformed(client: Client, plaintext: Any) -> None:
    """What is inside an encrypted event was checked by nobody."""
    raw, decryptor = encrypted(client, json.dumps(plaintext)), Decryptor(client)
    try:
        plain = decryptor.decrypt(ROOM, raw)
    except MALFORMED:
        return
    assert plain["event_id"] == raw["event_id"]
    assert isinstance(plain["content"], dict)


def encrypted(client: Client, plaintext: str, *, room_id: str = ROOM, number: int = 0) -> dict[str, Any]:
    machine = client.machine
    if room_id not in machine.outbound_group_sessions:
        machine.create_outbound_group_session(room_id)
    session = machine.outbound_group_sessions[room_id]
    session.shared = True
    content = {
        "algorithm": "m.megolm.v1.aes-sha2",
        "sender_key": machine.account.identity_keys["curve25519"],
        "ciphertext": session.encrypt(plaintext),
        "session_id": session.id,
        "device_id": DEVICE,
    }
    base = {"type": "m.room.encrypted", "event_id": f"$e{number}", "sender": ME, "origin_server_ts": 1 + number}
    return {**base, "content": content}


async def test_deprecated_sender_key_may_be_missing(client: Client) -> None:
    client_event = encrypted(client, json.dumps({"room_id": ROOM, "type": "m.x", "content": {"a": 1}}))
    del client_event["content"]["sender_key"], client_event["content"]["device_id"]
    assert Decryptor(client).decrypt(ROOM, client_event)["content"] == {"a": 1}


async def test_event_copied_from_elsewhere_is_refused(client: Client) -> None:
    decryptor = Decryptor(client)
    raw = encrypted(client, json.dumps({"room_id": "!other:example.org", "type": "m.x", "content": {}}))
    with pytest.raises(ValueError, match="another room"):
        decryptor.decrypt(ROOM, raw)
    raw = encrypted(client, json.dumps({"room_id": ROOM, "type": "m.x", "content": {}}), number=1)
    decryptor.decrypt(ROOM, raw)
    decryptor.decrypt(ROOM, raw)  # the same event may be read again
    with pytest.raises(ValueError, match="another event"):
        decryptor.decrypt(ROOM, {**raw, "event_id": "$copied"})


async def test_missing_key_is_reported_with_its_session(client: Client) -> None:
    raw = encrypted(client, "{}")
    raw["content"]["session_id"] = "unknown"
    with pytest.raises(KeyMissing) as caught:
        Decryptor(client).decrypt(ROOM, raw)
    assert caught.value.session_id == "unknown"


async def test_keys_are_saved_before_they_are_uploaded(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash right after the upload finds the very keys that were uploaded."""
    uploaded: list[dict[str, Any]] = []

    async def cut_off(method: str, path: str, data: str, *rest: Any, **options: Any) -> dict[str, Any]:
        uploaded.append(json.loads(data))
        raise MatrixError("the connection broke")

    monkeypatch.setattr(client, "_request", cut_off)
    with pytest.raises(MatrixError):
        await client.upkeep()
    stored = client.crypto_store.load_account()
    assert stored is not None
    keys = {f"signed_curve25519:{name}": key for name, key in stored.one_time_keys["curve25519"].items()}
    assert keys
    assert {name: key["key"] for name, key in uploaded[0]["one_time_keys"].items()} == keys


async def test_fallback_key_goes_up_first_and_again_when_it_was_used(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploaded: list[dict[str, Any]] = []

    async def take(method: str, path: str, data: str, *rest: Any, **options: Any) -> dict[str, Any]:
        uploaded.append(json.loads(data))
        return {"one_time_key_counts": {"signed_curve25519": 50, "curve25519": 0}}

    monkeypatch.setattr(client, "_request", take)
    await client.upkeep()
    await client.apply_sync(sync(device_unused_fallback_key_types=["signed_curve25519"]))
    await client.upkeep()
    await client.apply_sync(sync(device_unused_fallback_key_types=[]))
    await client.upkeep()
    assert ["fallback_keys" in keys for keys in uploaded] == [True, True]
    first, second = (set(keys["fallback_keys"]) for keys in uploaded)
    assert first != second
    [key] = uploaded[0]["fallback_keys"].values()
    assert key["fallback"] is True
    assert client.machine.verify_json(key, client.machine.account.identity_keys["ed25519"], ME, DEVICE)


class Remembered:
    async def encrypted(self, room_id: str) -> bool:
        return True

    async def mark_encrypted(self, room_ids: Sequence[str]) -> None:
        raise AssertionError("no room is made here")


async def test_plaintext_is_refused_where_nothing_can_be_encrypted(client: Client) -> None:
    await client.apply_sync(sync())
    assert not client.rooms[ROOM].encrypted
    client.olm = None
    row = OutboxRow("t", ROOM, "$asked", 0, '{"msgtype": "m.text", "body": "secret"}', datetime.now(UTC))
    with pytest.raises(MatrixError, match="refused to send plaintext"):
        await Sender(client, Remembered(), DirectRooms(client)).send(row)
