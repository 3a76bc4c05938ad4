"""Direct rooms and files over a real Synapse, by the Matrix layer alone."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from davenport.homeserver import Homeserver
from matrix.http import endpoint
from memory.errors import MatrixError, Refused
from memory.events import Answer
from memory.media import Attachment, MediaKind
from tests.e2e.conftest import People
from tests.e2e.files import open_file, send_file, wait_for_file, wait_for_invitation
from tests.e2e.matrix_bot import MatrixBot, outbox_row
from tests.e2e.people import PASSWORD, Person
from tests.e2e.test_matrix_crash import say_without_key
from tests.e2e.test_matrix_rooms import ROOMS, room_with

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

FILE = Attachment("memories.json", "application/json", b'{"version": 1, "text": "Mochi \xe2\x99\xa5"}')


async def state_of(person: Person, room_id: str, kind: str) -> dict[str, object]:
    return await person.client.request("GET", endpoint("rooms", room_id, "state", kind, ""))


async def send_attachment(bot: MatrixBot, room_id: str, event_id: str) -> str:
    """Send a file as the outbox does: upload, then the event with what came of it."""
    answer = Answer(room_id, event_id, None, "", notice=True, attachment=FILE)
    [content] = bot.sender.render(answer)
    row = replace(outbox_row(room_id, content, event_id=event_id), attachment=FILE.data)
    return await bot.sender.send(replace(row, content=await bot.sender.upload(row), attachment=None))


async def test_a_direct_room_is_made_once_encrypted_and_its_file_is_read_after_joining(
    people: People, matrix_bot: MatrixBot
) -> None:
    alice = await people("alice")
    rooms = await asyncio.gather(*(matrix_bot.sender.direct_room(alice.user_id) for _ in range(3)))
    room_id = rooms[0]
    assert set(rooms) == {room_id}, "asked for at once, made once"
    assert room_id in matrix_bot.journal.encrypted_rooms, "remembered before anything is sent"
    await send_attachment(matrix_bot, room_id, "$asked")

    assert await wait_for_invitation(alice, matrix_bot.client.user_id) == room_id
    await alice.join(room_id)
    event = await wait_for_file(alice, room_id, matrix_bot.client.user_id)
    assert event.encrypted, "the keys went to who was only invited"
    assert await open_file(alice, event) == FILE.data
    assert event.content["info"] == {"mimetype": FILE.media_type, "size": len(FILE.data)}
    assert (event.content["body"], event.content["m.mentions"]) == (FILE.name, {})
    assert await matrix_bot.sender.direct_room(alice.user_id) == room_id
    levels = await state_of(alice, room_id, "m.room.power_levels")
    assert levels["users"][alice.user_id] == 50  # type: ignore[index]
    assert (await state_of(alice, room_id, "m.room.join_rules"))["join_rule"] == "invite"
    visibility = await state_of(alice, room_id, "m.room.history_visibility")
    assert visibility["history_visibility"] == "invited", "whoever may come later reads nothing of it"

    asked = await alice.say(room_id, "hello")
    [heard] = await matrix_bot.hears(asked)
    assert heard.private
    assert not any(event.room_id == room_id for event in matrix_bot.journal.events.values() if event != heard), (
        "the bot was not invited there, and does not greet itself in"
    )
    await matrix_bot.stop()
    await matrix_bot.start()
    assert await matrix_bot.sender.direct_room(alice.user_id) == room_id, "the account data outlives a restart"


async def test_the_room_a_person_made_is_used_and_none_that_others_are_in(
    people: People, matrix_bot: MatrixBot
) -> None:
    alice, bob, me = await people("alice"), await people("bob"), matrix_bot.client.user_id
    own = await room_with(alice, matrix_bot, encrypted=True, direct=True)
    assert await matrix_bot.sender.direct_room(alice.user_id) == own
    await alice.invite(own, bob.user_id)
    made = await matrix_bot.sender.direct_room(alice.user_id)
    assert made != own, "somebody else is invited"
    await bob.join(own)
    assert await matrix_bot.sender.direct_room(alice.user_id) == made, "somebody else is there"
    assert await wait_for_invitation(alice, me) == made
    await alice.join(made)
    await alice.client.request("POST", endpoint("rooms", made, "leave"), {})
    assert await matrix_bot.sender.direct_room(alice.user_id) == made, "who left is invited again"
    assert await wait_for_invitation(alice, me) == made


async def test_a_room_anybody_may_enter_is_no_direct_room(people: People, matrix_bot: MatrixBot) -> None:
    alice = await people("alice")
    own = await room_with(alice, matrix_bot, direct=True)
    path = endpoint("rooms", own, "state", "m.room.join_rules", "")
    await alice.client.request("PUT", path, {"join_rule": "public"})
    await matrix_bot.hears(await alice.say(own, "open now"))
    assert await matrix_bot.sender.direct_room(alice.user_id) != own


async def test_nobody_can_be_had_in_a_direct_room_who_does_not_exist(matrix_bot: MatrixBot) -> None:
    with pytest.raises(MatrixError):
        await matrix_bot.sender.direct_room("@nobody:unknown.invalid")


@ROOMS
async def test_files_are_fetched_decrypted_and_bounded_while_they_are_read(
    people: People, matrix_bot: MatrixBot, encrypted: bool
) -> None:
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot, encrypted=encrypted)
    await matrix_bot.hears(await alice.say(room_id, "a file comes"))
    sent = await send_file(alice, room_id, FILE.data, size=1)
    words = await alice.say(room_id, "no file")
    await matrix_bot.hears(words)
    fetch = matrix_bot.sender.attachment
    assert await fetch(room_id, sent, 1000) == replace(FILE, kind=MediaKind.FILE, sender=alice.user_id)
    assert (await fetch(room_id, sent, len(FILE.data))).data == FILE.data
    with pytest.raises(Refused, match="file-too-large"):
        await fetch(room_id, sent, len(FILE.data) - 1)  # whatever size was announced
    assert await fetch(room_id, words, 1000) is None
    assert await fetch(room_id, "$none", 1000) is None
    own = await send_attachment(matrix_bot, room_id, words)
    assert await fetch(room_id, own, 1000) == replace(FILE, kind=MediaKind.FILE, sender=matrix_bot.client.user_id)


async def test_a_file_that_was_changed_is_refused(people: People, matrix_bot: MatrixBot) -> None:
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot, encrypted=True)
    await matrix_bot.hears(await alice.say(room_id, "a file comes"))
    good = await send_file(alice, room_id, FILE.data)
    event = await alice.wait_for(lambda each: each.event_id == good)
    for change in ({"hashes": {"sha256": "A" * 43}}, {"url": "mxc://../x"}, {"v": "v9"}, {"url": 3}, {"key": None}):
        content = {**event.content, "file": {**event.content["file"], **change}}
        sent = await alice.send(room_id, content)
        await matrix_bot.hears(await alice.say(room_id, "sent"))
        with pytest.raises(Refused, match="file-unreadable"):
            await matrix_bot.sender.attachment(room_id, sent, 1000)


async def test_a_room_into_which_somebody_is_invited_is_no_longer_private_also_after_a_restart(
    people: People, matrix_bot: MatrixBot
) -> None:
    """D8: who is invited may read later what was said."""
    alice, bob = await people("alice"), await people("bob")
    room_id = await room_with(alice, matrix_bot, direct=True)
    [before] = await matrix_bot.hears(await alice.say(room_id, "alone"))
    await alice.invite(room_id, bob.user_id)
    [after] = await matrix_bot.hears(await alice.say(room_id, "no longer"))
    await matrix_bot.stop()
    await matrix_bot.start()
    [restarted] = await matrix_bot.hears(await alice.say(room_id, "nor now"))
    assert [event.private for event in (before, after, restarted)] == [True, False, False]
    await alice.client.request("POST", endpoint("rooms", room_id, "kick"), {"user_id": bob.user_id})
    [again] = await matrix_bot.hears(await alice.say(room_id, "alone again"))
    assert again.private


async def test_a_room_whose_making_was_cut_off_before_the_invitation_is_used(
    people: People, matrix_bot: MatrixBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, request, cut = await people("alice"), matrix_bot.client.request, []

    async def cut_off(method: str, path: str, *details: Any, **more: Any) -> Any:
        if method == "PUT" and "m.room.member" in path and not cut:
            cut.append(path)
            raise MatrixError("cut off")
        return await request(method, path, *details, **more)

    monkeypatch.setattr(matrix_bot.client, "request", cut_off)
    with pytest.raises(MatrixError, match="cut off"):
        await matrix_bot.sender.direct_room(alice.user_id)
    [made] = matrix_bot.journal.encrypted_rooms
    assert await matrix_bot.sender.direct_room(alice.user_id) == made
    assert await wait_for_invitation(alice, matrix_bot.client.user_id) == made


async def test_a_file_whose_key_never_came_is_refused(people: People, matrix_bot: MatrixBot) -> None:
    alice = await people("alice")
    room_id = await room_with(alice, matrix_bot, encrypted=True)
    await matrix_bot.hears(await alice.say(room_id, "readable"))
    early, _ = await say_without_key(alice, room_id)
    with pytest.raises(Refused, match="file-unreadable"):
        await matrix_bot.sender.attachment(room_id, early, 1000)


async def test_direct_rooms_are_made_where_creators_stand_above_all_power_levels(tmp_path: Path) -> None:
    """Room version 12: the bot is named in no power levels, and the person is no creator."""
    async with Homeserver(extra={"default_room_version": "12"}) as homeserver:
        me, them = await homeserver.register("bot", PASSWORD), await homeserver.register("alice", PASSWORD)
        bot = MatrixBot(homeserver.url, me, PASSWORD, tmp_path / "bot")
        await bot.start()
        async with Person(homeserver.url, "alice", PASSWORD, tmp_path / "alice") as alice:
            room_id = await bot.sender.direct_room(them)
            await alice.join(room_id)
            await bot.hears(await alice.say(room_id, "hello"))
            assert await bot.sender.direct_room(them) == room_id
            assert bot.sender.can_write_state(room_id, them)
            assert (await state_of(alice, room_id, "m.room.power_levels"))["users"] == {them: 50}
        await bot.stop()
