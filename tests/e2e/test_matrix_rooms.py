"""The Matrix layer over a real Synapse: what comes in, and in which words."""

from __future__ import annotations

import asyncio
import time

import pytest

from matrix.http import endpoint
from memory.events import Answer, Incoming, IncomingKind
from tests.e2e.conftest import NewUser, People
from tests.e2e.matrix_bot import MatrixBot, outbox_row
from tests.e2e.people import PASSWORD, Person

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

ROOMS = pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])


async def room_with(person: Person, bot: MatrixBot, **options: bool) -> str:
    room_id = await person.create_room(invite=[bot.client.user_id], **options)
    await person.wait_for_member(room_id, bot.client.user_id)
    return room_id


@ROOMS
async def test_message_and_answer_go_round(people: People, matrix_bot: MatrixBot, encrypted: bool) -> None:
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot, encrypted=encrypted, direct=True)

    asked = await alice.say(room_id, "How are you?")
    [heard] = await matrix_bot.hears(asked)
    assert (heard.body, heard.sender, heard.kind) == ("How are you?", alice.user_id, IncomingKind.MESSAGE)
    assert heard.private
    assert (room_id in matrix_bot.journal.encrypted_rooms) is encrypted

    [content] = matrix_bot.sender.render(Answer(room_id, asked, alice.user_id, "Well"))
    row = outbox_row(room_id, content, event_id=asked)
    sent = await matrix_bot.sender.send(row)
    answer = await alice.wait_for_answer(asked)
    assert (answer.event_id, answer.body, answer.encrypted) == (sent, "Well", encrypted)
    await matrix_bot.journal.until(lambda: any(echo.txn_id == row.txn_id for echo in matrix_bot.journal.echoes))
    assert sent not in matrix_bot.journal.events, "own events are no incoming ones"

    assert await matrix_bot.sender.send(row) == sent, "the homeserver recognises the transaction id"
    assert await matrix_bot.sender.find_sent(row) == sent
    assert await matrix_bot.sender.find_sent(outbox_row(room_id, "{}", txn_id="never sent")) is None


@ROOMS
async def test_edits_redactions_threads_and_what_is_not_read(
    people: People, matrix_bot: MatrixBot, encrypted: bool
) -> None:
    alice, ghost = await people("alice"), await people("ghost")
    room_id = await alice.create_room(invite=[matrix_bot.client.user_id, ghost.user_id], encrypted=encrypted)
    await ghost.join(room_id)
    await alice.wait_for_member(room_id, matrix_bot.client.user_id)
    await alice.wait_for_member(room_id, ghost.user_id)

    root = await alice.say(room_id, "Davenport: first", mention=matrix_bot.client.user_id)
    threaded = await alice.say(room_id, "in a thread", thread=root)
    replied = await alice.say(room_id, "a reply", reply_to=root)
    notice = await alice.say(room_id, "beep", msgtype="m.notice")
    haunted = await ghost.say(room_id, "boo")
    edited = await alice.edit(room_id, root, "second")
    forged = await ghost.edit(room_id, root, "not mine")
    removed = await alice.redact(room_id, threaded)
    last = await alice.say(room_id, "last")

    await matrix_bot.hears(root, threaded, replied, edited, removed, last)
    events = matrix_bot.journal.events
    assert not {notice, haunted, forged} & events.keys()
    assert (events[root].addressed, events[root].alone, events[root].direct) == (True, False, False)
    assert (events[threaded].thread_root, events[threaded].reply_to) == (root, None)
    assert (events[replied].thread_root, events[replied].reply_to) == (None, root)
    assert (events[edited].kind, events[edited].target, events[edited].body) == (IncomingKind.EDIT, root, "second")
    assert (events[removed].kind, events[removed].target) == (IncomingKind.REDACTION, threaded)


async def test_edit_of_somebody_elses_message_is_not_read(people: People, matrix_bot: MatrixBot) -> None:
    alice, mallory = await people("alice"), await people("mallory")
    room_id = await room_with(alice, matrix_bot)
    await alice.invite(room_id, mallory.user_id)
    await mallory.join(room_id)
    said = await alice.say(room_id, "I have a cat")
    forged = await mallory.edit(room_id, said, "I have a snake")
    last = await alice.say(room_id, "done")
    await matrix_bot.hears(last)
    assert forged not in matrix_bot.journal.events


@ROOMS
async def test_reads_from_the_invitation_on_and_nothing_before(
    people: People, matrix_bot: MatrixBot, encrypted: bool
) -> None:
    alice = await people("alice")
    room_id = await alice.create_room(encrypted=encrypted)
    before = await alice.say(room_id, "Davenport: long ago", mention=matrix_bot.client.user_id)
    await alice.invite(room_id, matrix_bot.client.user_id)
    await alice.wait_for(lambda e: e.type == "m.room.member" and e.content.get("membership") == "invite")
    at_once = await alice.say(room_id, "right after the invitation")
    await alice.wait_for_member(room_id, matrix_bot.client.user_id)
    after = await alice.say(room_id, "after the join")
    await matrix_bot.hears(at_once, after)
    assert before not in matrix_bot.journal.events
    assert before not in matrix_bot.journal.undecryptable


async def test_direct_rooms_stay_direct_over_a_restart(people: People, matrix_bot: MatrixBot) -> None:
    alice = await people("alice")
    direct = await room_with(alice, matrix_bot, direct=True)
    group = await room_with(alice, matrix_bot)
    await matrix_bot.stop()
    await matrix_bot.start()
    assert {direct, group} <= matrix_bot.client.rooms.keys(), "known before anything is said in them"
    assert matrix_bot.sender.can_write_state(group, alice.user_id)
    one, other = await alice.say(direct, "one"), await alice.say(group, "other")
    in_direct, in_group = await matrix_bot.hears(one, other)
    assert (in_direct.direct, in_group.direct) == (True, False)
    assert in_direct.alone
    assert in_group.alone


async def test_invitation_during_an_absence_is_accepted(people: People, matrix_bot: MatrixBot) -> None:
    alice = await people("alice")
    old = await room_with(alice, matrix_bot)
    await matrix_bot.stop()
    missed = await alice.say(old, "while you were away")
    room_id = await alice.create_room(invite=[matrix_bot.client.user_id], direct=True)
    await matrix_bot.start()
    await alice.wait_for_member(room_id, matrix_bot.client.user_id)
    said = await alice.say(room_id, "there you are")
    _, heard = await matrix_bot.hears(missed, said)
    assert heard.private


async def test_members_and_who_may_write_state(people: People, matrix_bot: MatrixBot) -> None:
    alice, bob = await people("alice"), await people("bob")
    room_id = await room_with(alice, matrix_bot)
    await alice.invite(room_id, bob.user_id)
    await bob.join(room_id)
    said = await bob.say(room_id, "hello")
    await matrix_bot.hears(said)
    me = matrix_bot.client.user_id
    assert await matrix_bot.sender.members(room_id) == {alice.user_id, bob.user_id, me}
    assert matrix_bot.sender.can_write_state(room_id, alice.user_id)
    assert not matrix_bot.sender.can_write_state(room_id, bob.user_id)
    await bob.client.request("POST", endpoint("rooms", room_id, "leave"), {})
    said = await alice.say(room_id, "only us")
    [heard] = await matrix_bot.hears(said)
    assert heard.alone
    assert await matrix_bot.sender.members(room_id) == {alice.user_id, me}


async def test_odd_events_are_skipped_and_the_sync_goes_on(people: People, matrix_bot: MatrixBot) -> None:
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot, encrypted=True)
    odd = [
        {},
        {"msgtype": "m.text"},
        {"msgtype": 7, "body": []},
        {"msgtype": "m.text", "body": "x", "m.relates_to": "no object"},
        {"msgtype": "m.text", "body": "x", "m.relates_to": {"rel_type": "m.replace", "event_id": 3}},
        {"msgtype": "m.text", "body": "x", "m.mentions": 3, "formatted_body": 5},
    ]
    sent = [await alice.send(room_id, content) for content in odd]
    megolm = {"algorithm": "m.megolm.v1.aes-sha2"}
    for number, content in enumerate([{}, megolm, {**megolm, "ciphertext": "AwgA", "session_id": 5}]):
        path = endpoint("rooms", room_id, "send", "m.room.encrypted", f"odd {number}")
        await alice.client.request("PUT", path, content)  # past the client, as it is
    long = await alice.say(room_id, "long " * 8000)
    [heard] = await matrix_bot.hears(long)
    assert len(heard.body) == 40_000
    assert set(sent[:5]).isdisjoint(matrix_bot.journal.events)


async def typing_in(person: Person, room_id: str) -> list[str]:
    """Return who is typing in a room, as a client that starts now is told."""
    raw = await person.client.fetch_sync(None, sync_filter="{}", full_state=False, wait_seconds=0)
    events = raw["rooms"]["join"][room_id]["ephemeral"]["events"]
    return [user for event in events if event["type"] == "m.typing" for user in event["content"]["user_ids"]]


async def test_typing_notice_is_seen_and_cleared(people: People, matrix_bot: MatrixBot) -> None:
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot)
    await matrix_bot.hears(await alice.say(room_id, "hi"))
    await matrix_bot.sender.typing(room_id, on=True)
    assert await typing_in(alice, room_id) == [matrix_bot.client.user_id]
    await matrix_bot.sender.typing(room_id, on=False)
    assert await typing_in(alice, room_id) == []
    await matrix_bot.sender.typing("!nowhere:localhost", on=True)  # never raises


async def test_stopping_ends_the_long_poll_at_once(matrix_bot: MatrixBot) -> None:
    await asyncio.sleep(0)
    begun = time.monotonic()
    await matrix_bot.stop()
    assert time.monotonic() - begun < 15, "the homeserver would answer after 30 s"


async def test_without_a_token_nothing_is_read(people: People, new_user: NewUser, matrix_bot: MatrixBot) -> None:
    """What was said before the bot's first run is not for it."""
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot)
    said = await alice.say(room_id, "hello")
    await matrix_bot.hears(said)
    await matrix_bot.stop()
    fresh = MatrixBot(matrix_bot.homeserver, matrix_bot.user, PASSWORD, matrix_bot.folder.with_name("fresh"))
    await fresh.start()
    later = await alice.say(room_id, "and now?")
    await fresh.hears(later)
    assert said not in fresh.journal.events
    await fresh.close()


@ROOMS
async def test_each_arrival_is_journalled_once_and_a_new_name_is_none(
    people: People, matrix_bot: MatrixBot, encrypted: bool
) -> None:
    alice = await people("alice")
    me = matrix_bot.client.user_id

    def arrivals() -> list[Incoming]:
        return [event for event in matrix_bot.journal.events.values() if event.kind is IncomingKind.JOINED]

    room_id = await room_with(alice, matrix_bot, encrypted=encrypted, direct=True)
    await matrix_bot.hears(await alice.say(room_id, "hello"))
    [first] = arrivals()
    assert (first.sender, first.room_id, first.direct, first.body) == (me, room_id, True, "")
    await matrix_bot.client.request("PUT", endpoint("profile", me, "displayname"), {"displayname": "Another name"})
    await matrix_bot.stop()
    await matrix_bot.start()
    await matrix_bot.hears(await alice.say(room_id, "hello again"))
    assert arrivals() == [first]
    await matrix_bot.client.request("POST", endpoint("rooms", room_id, "leave"), {})
    await alice.wait_for(lambda e: e.type == "m.room.member" and e.content.get("membership") == "leave")
    await alice.invite(room_id, me)
    await matrix_bot.journal.until(lambda: len(arrivals()) == 2)


async def test_the_first_sync_of_all_accepts_invitations_and_sees_the_arrival(
    people: People, new_user: NewUser, matrix_bot: MatrixBot
) -> None:
    """A bot that is invited before it ever ran hears everything from the invitation on, as any other time."""
    alice = await people("alice")
    user_id = await new_user("early")
    room_id = await alice.create_room(invite=[user_id])
    early = MatrixBot(matrix_bot.homeserver, user_id, PASSWORD, matrix_bot.folder.with_name("early"))
    await early.start()
    await alice.wait_for_member(room_id, user_id)
    await early.hears(await alice.say(room_id, "hello"))
    assert [event.kind for event in early.journal.events.values()] == [IncomingKind.JOINED, IncomingKind.MESSAGE]
    await early.close()
