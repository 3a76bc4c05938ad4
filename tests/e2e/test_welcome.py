"""The word of welcome over a real Synapse: once a join, also across kills and restarts; encrypted where the room is."""

from __future__ import annotations

from pathlib import Path

import pytest

from davenport.homeserver import Homeserver
from matrix.person import Heard, Person
from tests.e2e.conftest import NewUser, People
from tests.e2e.people import PASSWORD, texts
from tests.e2e.test_kills import CONFIG, Process
from tests.e2e.test_matrix_rooms import ROOMS
from tests.e2e.whole import echoing, meet, settings_for, whole
from tests.fakes.model_server import ModelServer

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]


async def welcome(person: Person, room_id: str) -> Heard:
    return await person.wait_for(
        lambda event: event.room_id == room_id and event.content.get("msgtype") == "m.notice", seconds=60
    )


@ROOMS
async def test_a_room_is_greeted_once_and_not_again_at_a_restart(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path, encrypted: bool
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    async with ModelServer(replies=echoing) as model:
        settings = settings_for(
            homeserver.url, bot_id, tmp_path / "bot", model, bot={"welcome": True, "language": "de"}
        )
        async with whole(settings) as bot:
            room = await meet(juno, bot=bot_id, encrypted=encrypted)
            told = await welcome(juno, room)
            assert told.encrypted is encrypted
            assert "ich bin ein Bot mit Gedächtnis" in told.body
            assert "`!memories clear`" in told.body
            assert told.content["m.mentions"] == {}
            assert "m.relates_to" not in told.content
            direct = await meet(juno, bot=bot_id, direct=True, encrypted=encrypted)
            assert "Schreib mir hier einfach" in (await welcome(juno, direct)).body
            assert (await bot.ask(juno, room, "hello")).body == "You said: hello"
        async with whole(settings) as bot:
            assert (await bot.ask(juno, room, "again")).body == "You said: again"
            assert texts(juno, room, bot_id) == [told.body, "You said: hello", "You said: again"]
            assert len(texts(juno, direct, bot_id)) == 1


async def test_a_bot_that_starts_in_rooms_of_old_greets_only_those_it_comes_into(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    async with ModelServer(replies=echoing) as model:
        async with whole(settings_for(homeserver.url, bot_id, tmp_path / "first", model)):
            old = await meet(juno, bot=bot_id)
        settings = settings_for(homeserver.url, bot_id, tmp_path / "second", model, bot={"welcome": True})
        invited = await juno.create_room(invite=[bot_id])
        async with whole(settings) as bot:
            await welcome(juno, invited)
            assert (await bot.ask(juno, old, "hello")).body == "You said: hello"
            assert texts(juno, old, bot_id) == ["You said: hello"]


@pytest.mark.slow
@ROOMS
async def test_killed_when_journalled_when_answered_and_when_sent_it_is_still_said_once(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path, encrypted: bool
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    process = Process(tmp_path / "bot")
    async with ModelServer(replies=echoing) as model:
        config = CONFIG.format(homeserver=homeserver.url, user_id=bot_id, password=PASSWORD, model=model.base_url)
        process.prepare(config.replace("welcome = false", "welcome = true"))
        room = await juno.create_room(invite=[bot_id], encrypted=encrypted)
        try:
            for point in ("journalled", "outbox", "sent"):
                await process.start(point)
                await process.dies()
            await process.start()
            event_id = await juno.say(room, "hello", mention=bot_id)
            answer = await juno.wait_for_answer(event_id, seconds=60)
            said = await welcome(juno, room)
            assert texts(juno, room, bot_id) == [said.body, answer.body]
            assert said.encrypted is encrypted
        finally:
            if process.running is not None and process.running.exitcode is None:
                await process.kill()
