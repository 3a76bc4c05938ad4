"""`!memories export` and `import` over a real Synapse, as a person's client sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from davenport.homeserver import Homeserver
from memory.types import Source
from tests.e2e.bot_process import FILE_POINTS
from tests.e2e.conftest import NewUser, People
from tests.e2e.files import open_file, send_file, wait_for_file, wait_for_invitation
from tests.e2e.people import PASSWORD, Person, texts
from tests.e2e.test_kills import CONFIG, Process
from tests.e2e.test_matrix_rooms import ROOMS
from tests.e2e.whole import Whole, echoing, learning, meet, settings_for, whole
from tests.fakes.model_server import ModelServer, call_tool, say

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

AT_ONCE = {"memory": {"promotion_threshold": 1}}
FACTS = learning({"Mochi": "Cat is named Mochi", "dark": "Fears the dark"})


async def learn(bot: Whole, juno: Person, room: str, direct: str) -> None:
    await bot.ask(juno, room, "my cat is named Mochi")
    await bot.ask(juno, direct, "I fear the dark", mention=None)
    assert {memory.text for memory in (await bot.facts(juno))[1]} == {"Cat is named Mochi", "Fears the dark"}


def messages_of(person: Person, room: str, sender: str) -> list[dict[str, object]]:
    """What somebody said in a room, as this person heard it."""
    return [
        event.content
        for event in person.heard
        if (event.room_id, event.sender, event.type) == (room, sender, "m.room.message")
    ]


@ROOMS
async def test_export_arrives_in_the_direct_room_the_bot_made_and_is_imported_again_by_a_reply(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path, encrypted: bool
) -> None:
    """D8, D11, D18: from a group room; the direct room is encrypted whatever the room is."""
    bot_id, juno, bau = await new_user("bot"), await people("juno"), await people("bau")
    async with (
        ModelServer(replies=echoing, extractions=FACTS) as model,
        whole(settings_for(homeserver.url, bot_id, tmp_path / "bot", model, **AT_ONCE)) as bot,
    ):
        room = await meet(juno, bau, bot=bot_id, encrypted=encrypted)
        await bot.ask(juno, room, "my cat is named Mochi")
        said = await bot.ask(juno, room, "!memories export", mention=None)
        assert said.body == "What I remember about you goes to our direct room, as a file."

        direct = await wait_for_invitation(juno, bot_id)
        await juno.join(direct)
        file = await wait_for_file(juno, direct, bot_id)
        assert file.encrypted
        whole_file = json.loads(await open_file(juno, file))
        assert whole_file["user"] == juno.user_id
        assert [memory["text"] for memory in whole_file["memories"]] == ["Cat is named Mochi"]
        assert not [event for event in juno.heard if event.room_id == room and event.content.get("msgtype") == "m.file"]
        assert bau.user_id not in await bot.bot.parts.matrix.members(direct)

        assert "Forgotten: 1" in (await bot.ask(juno, direct, "!memories clear", mention=None)).body
        assert (await bot.facts(juno))[1] == ()
        done = await bot.ask(juno, direct, "!memories import", mention=None, reply_to=file.event_id)
        assert done.body == "Taken in: 1 memory."
        [memory] = (await bot.facts(juno))[1]
        assert (memory.text, memory.source, memory.unused_days) == ("Cat is named Mochi", Source.IMPORT, 0)
        assert (memory.protected, memory.origin.private) == (False, False), "the file says it was said in a room"
        assert "Mochi" in (await bot.ask(juno, room, "!memories", mention=None)).body

        again = await bot.ask(juno, room, "!memories export", mention=None)
        assert again.body == said.body
        second = await juno.wait_for(
            lambda event: event.content.get("msgtype") == "m.file" and event.event_id != file.event_id
        )
        assert second.room_id == direct, "one direct room for all that is private"


async def test_export_asked_in_the_persons_own_direct_room_and_import_of_their_file_in_a_group_room(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    bot_id, juno, bau = await new_user("bot"), await people("juno"), await people("bau")
    async with (
        ModelServer(replies=echoing, extractions=FACTS) as model,
        whole(settings_for(homeserver.url, bot_id, tmp_path / "bot", model, **AT_ONCE)) as bot,
    ):
        room = await meet(juno, bau, bot=bot_id, encrypted=True)
        own = await meet(juno, bot=bot_id, direct=True)
        await learn(bot, juno, room, own)
        await bot.ask(juno, room, "!memories export", mention=None)
        file = await wait_for_file(juno, own, bot_id)
        data = await open_file(juno, file)
        by_text = {memory["text"]: memory["private"] for memory in json.loads(data)["memories"]}
        assert by_text == {"Cat is named Mochi": False, "Fears the dark": True}

        event = await send_file(bau, room, data, size=3)
        taken = await bot.ask(bau, room, "!memories import", mention=None, reply_to=event)
        assert taken.body == "Taken in: 2 memories."
        assert {m.scope_id for m in (await bot.facts(bau))[1]} == {bau.user_id}, "whoever the file says it is of"
        shown = (await bot.ask(bau, room, "!memories", mention=None)).body
        assert "Mochi" in shown
        assert "dark" not in shown, "what was private stays so, by import too (D8)"

        too_large = await send_file(bau, room, b" " * 1_000_001, size=3)
        refused = await bot.ask(bau, room, "!memories import", mention=None, reply_to=too_large)
        assert refused.body == "That file is too large: I read no more than 1 MB; please send a smaller one."
        words = await bau.say(room, "no file")
        refused = await bot.ask(bau, room, "!memories import", mention=None, reply_to=words)
        assert refused.body.startswith("There is no file in the message you replied to.")
        assert not [body for body in texts(bau, room, bot_id) if "dark" in body]


async def test_what_was_saved_is_told_in_the_direct_room_the_bot_makes_where_notices_are_private(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    """D12: the room sees the model's answer only, the person the bot's own word, by the tool and by command alike."""
    bot_id, juno, bau = await new_user("bot"), await people("juno"), await people("bau")
    replies = [call_tool("save_memory", {"text": "Likes tea"}), say("Saved.")]
    async with (
        ModelServer(replies=replies) as model,
        whole(settings_for(homeserver.url, bot_id, tmp_path / "bot", model, memory={"notices": "private"})) as bot,
    ):
        room = await meet(juno, bau, bot=bot_id)
        assert (await bot.ask(juno, room, "remember that I like tea")).body == "Saved."
        direct = await wait_for_invitation(juno, bot_id)
        await juno.join(direct)
        told = await juno.wait_for(lambda event: event.room_id == direct and "Likes tea" in event.body)
        assert (told.encrypted, told.sender, told.content["msgtype"]) == (True, bot_id, "m.notice")
        await bot.ask(juno, room, "!memories add I own a boat", mention=None)
        await juno.wait_for(lambda event: event.room_id == direct and "I own a boat" in event.body)
        assert not [body for body in texts(bau, room, bot_id) if "tea" in body or "boat" in body]


QUICK = "upload_stored"  # the others are of the long checks; tests/actors/test_answers.py has them all in little


@pytest.mark.parametrize(
    "point", [pytest.param(point, marks=[] if point == QUICK else [pytest.mark.slow]) for point in FILE_POINTS]
)
async def test_a_kill_between_upload_and_event_sends_one_file(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path, point: str
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    process = Process(tmp_path / "bot")
    async with ModelServer(replies=echoing) as model:
        process.prepare(
            CONFIG.format(homeserver=homeserver.url, user_id=bot_id, password=PASSWORD, model=model.base_url)
        )
        await process.start(point)
        room = await juno.create_room(invite=[bot_id], encrypted=True)
        await juno.wait_for_member(room, bot_id, seconds=60)
        await juno.wait_for_answer(await juno.say(room, "!memories add I own a boat"), seconds=60)
        exported = await juno.say(room, "!memories export")
        await process.dies()
        await process.start()
        await juno.wait_for_answer(exported, seconds=60)
        direct = await wait_for_invitation(juno, bot_id)
        await juno.join(direct)
        file = await wait_for_file(juno, direct, bot_id, seconds=60)
        assert "I own a boat" in (await open_file(juno, file)).decode()
        last = await juno.wait_for_answer(await juno.say(direct, "!memories"))  # whatever was to come has come
        await process.stop()
        said = messages_of(juno, direct, bot_id)
        assert [content.get("msgtype") for content in said] == ["m.notice", "m.file", "m.notice"]
        assert said[-1]["body"] == last.body
