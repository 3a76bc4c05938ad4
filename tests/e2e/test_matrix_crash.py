"""Bursts, crashes and late keys: every message arrives, once and in order (traps of nio and Synapse)."""

from __future__ import annotations

import asyncio

import pytest

from matrix.http import endpoint
from matrix.person import Person
from tests.e2e.conftest import People
from tests.e2e.matrix_bot import MatrixBot
from tests.e2e.test_matrix_rooms import ROOMS, room_with

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

IN_FLIGHT = 50


async def burst(person: Person, room_id: str, count: int) -> list[str]:
    """Send numbered messages as fast as the homeserver takes them; return their ids by number."""
    sent: list[str] = []
    for start in range(0, count, IN_FLIGHT):
        sent += await asyncio.gather(*(person.say(room_id, f"number {start + n}") for n in range(IN_FLIGHT)))
    return sent


async def order_on_server(person: Person, room_id: str) -> list[str]:
    """Return the ids of the room's messages in the homeserver's own order."""
    found: list[str] = []
    query = {"dir": "b", "limit": "500"}
    while True:
        page = await person.client.request("GET", endpoint("rooms", room_id, "messages", **query))
        found += [e["event_id"] for e in page["chunk"] if e["type"] in {"m.room.message", "m.room.encrypted"}]
        if "end" not in page:
            return found[::-1]
        query["from"] = page["end"]


@pytest.mark.parametrize(("encrypted", "count"), [(False, 250), (True, 500)], ids=["plain", "encrypted"])
async def test_burst_arrives_whole_and_in_order(
    people: People, matrix_bot: MatrixBot, encrypted: bool, count: int
) -> None:
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot, encrypted=encrypted)
    first = await alice.say(room_id, "before the burst")
    await matrix_bot.hears(first)
    await matrix_bot.stop()
    sent = await burst(alice, room_id, count)
    await matrix_bot.start()

    heard = await matrix_bot.hears(*sent, seconds=60)
    assert [event.body for event in heard] == [f"number {n}" for n in range(count)]
    arrived = [event_id for event_id, event in matrix_bot.journal.said.items() if event.room_id == room_id]
    assert arrived == await order_on_server(alice, room_id)


async def test_burst_while_running_arrives_whole_and_in_order(people: People, matrix_bot: MatrixBot) -> None:
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot)
    sent = await burst(alice, room_id, 500)
    await matrix_bot.hears(*sent, seconds=60)
    assert list(matrix_bot.journal.said) == await order_on_server(alice, room_id)


async def test_burst_before_the_bot_joined_does_not_hide_what_follows_the_invitation(
    people: People, matrix_bot: MatrixBot
) -> None:
    alice = await people("alice")
    room_id = await alice.create_room()
    await burst(alice, room_id, 50)
    await matrix_bot.stop()
    await alice.invite(room_id, matrix_bot.client.user_id)
    sent = await burst(alice, room_id, 150)
    await matrix_bot.start()
    await matrix_bot.hears(*sent, seconds=60)
    assert set(matrix_bot.journal.said) == set(sent)


@ROOMS
async def test_replay_after_a_crash_decrypts_again(people: People, matrix_bot: MatrixBot, encrypted: bool) -> None:
    """nio's store is ahead of the journal: the key came, the event was decrypted, and the process died."""
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot, encrypted=encrypted)
    matrix_bot.journal.crash = lambda batch: any(event.body for event in batch.events)
    said = await alice.say(room_id, "remember me")
    await matrix_bot.crashed()
    assert said not in matrix_bot.journal.events

    await matrix_bot.start()
    [heard] = await matrix_bot.hears(said)
    assert heard.body == "remember me"
    again = await alice.say(room_id, "and again")
    await matrix_bot.hears(again)


async def say_without_key(person: Person, room_id: str) -> tuple[str, dict[str, str]]:
    """Say something whose room key goes to nobody; return the event and the key's content for later."""
    machine = person.client.machine
    await person.client.room_with_members(room_id)
    machine.create_outbound_group_session(room_id)
    session = machine.outbound_group_sessions[room_id]
    key = {
        "algorithm": "m.megolm.v1.aes-sha2",
        "room_id": room_id,
        "session_id": session.id,
        "session_key": session.session_key,
    }
    session.shared = True
    return await person.say(room_id, "said too early"), key


async def give_key(person: Person, bot: MatrixBot, key: dict[str, str]) -> None:
    client, machine = person.client, person.client.machine
    device = machine.device_store[bot.client.user_id][bot.client.device_id]
    if machine.session_store.get(device.curve25519) is None:
        await client.keys_claim({bot.client.user_id: [str(bot.client.device_id)]})
    olm = machine._olm_encrypt(machine.session_store.get(device.curve25519), device, "m.room_key", key)
    path = endpoint("sendToDevice", "m.room.encrypted", key["session_id"][:20])
    await client.request("PUT", path, {"messages": {device.user_id: {device.id: olm}}})


@pytest.mark.parametrize("crash", [False, True], ids=["", "crash before the key's batch was stored"])
async def test_event_is_delivered_late_when_its_key_comes(people: People, matrix_bot: MatrixBot, crash: bool) -> None:
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot, encrypted=True)
    await matrix_bot.hears(await alice.say(room_id, "readable"))
    early, key = await say_without_key(alice, room_id)
    await matrix_bot.journal.until(lambda: early in matrix_bot.journal.undecryptable)
    waiting = matrix_bot.journal.undecryptable[early]
    assert (waiting.session_id, waiting.sender, waiting.room_id) == (key["session_id"], alice.user_id, room_id)

    matrix_bot.journal.crash = lambda batch: crash and bool(batch.late)
    await give_key(alice, matrix_bot, key)
    if crash:
        await matrix_bot.crashed()
        await matrix_bot.start()
    [heard] = await matrix_bot.hears(early)
    assert heard.body == "said too early"
    assert matrix_bot.journal.late == [early]
    assert not matrix_bot.journal.undecryptable


async def test_missing_key_is_asked_for_once_per_session(people: People, matrix_bot: MatrixBot) -> None:
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot, encrypted=True)
    await matrix_bot.hears(await alice.say(room_id, "readable"))
    early, key = await say_without_key(alice, room_id)
    second = await alice.say(room_id, "the same session")
    await matrix_bot.journal.until(lambda: {early, second} <= matrix_bot.journal.undecryptable.keys())
    await matrix_bot.hears(await alice.redact(room_id, second))
    assert list(matrix_bot.client.machine.outgoing_key_requests) == [key["session_id"]]
