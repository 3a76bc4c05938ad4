"""Commands over a real Synapse in an encrypted room, as members, moderators and admins of the bot write them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from davenport.homeserver import Homeserver
from tests.e2e.conftest import NewUser, People
from tests.e2e.people import PASSWORD, Person
from tests.e2e.test_kills import CONFIG, Process
from tests.e2e.whole import Whole, echoing, learning, meet, settings_for, whole
from tests.fakes.model_server import ModelServer

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

FACTS = learning({"Mochi": "Cat is named Mochi", "dark": "Fears the dark"})
BACK = " `{}` brings that back within 10 minutes."
PERSONAS = {
    "pirate": {
        "prompt": "You speak like a captain.",
        "answers_to": ("Cap'n",),
        "lorebook": ({"keys": ("kraken",), "text": "The kraken took a left boot."},),
    }
}


class Talk:
    """What one person writes in one room, without any mention, and what the bot answers."""

    def __init__(self, bot: Whole, person: Person, room: str) -> None:
        self.bot, self.person, self.room = bot, person, room

    async def __call__(self, text: str, **details: str) -> str:
        answer = await self.bot.ask(self.person, self.room, text, **{"mention": None, **details})
        assert (answer.encrypted, answer.room_id) == (True, self.room)
        print(f"\n{self.person.user_id}: {text}\n    {answer.body}")
        return answer.body


async def test_the_list_of_a_member_and_that_of_the_room(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    """D8, D11, D18: own memories for everybody, the room's for its moderator, nobody's for another person."""
    bot_id, mod, juno, bau = await new_user("bot"), await people("mod"), await people("juno"), await people("bau")
    async with (
        ModelServer(replies=echoing, extractions=FACTS) as model,
        whole(settings_for(homeserver.url, bot_id, tmp_path / "bot", model)) as bot,
    ):
        room = await meet(mod, juno, bau, bot=bot_id, encrypted=True)
        juno_says, bau_says, mod_says = (Talk(bot, person, room) for person in (juno, bau, mod))

        overview = (await juno_says("!help")).splitlines()
        assert len(overview) < 15, "a line for each command, not for each of its forms"
        assert "!config" not in "".join(overview), "a member may not give it"
        assert (await juno_says("!help memories tag")).startswith("- `!memories tag ID [WORD…]` Use a memory only when")

        assert await juno_says("!memories add I own a boat") == "Saved as **#1**: I own a boat"
        assert await juno_says("!Memories ADD  I own a boat!") == "That is remembered already, as **#1**."
        assert await juno_says("!memories edit #1: I own two boats") == "**#1** now reads: I own two boats"
        assert await juno_says("!memories add I like tea") == "Saved as **#2**: I like tea"
        listed = await juno_says("!memory list")
        assert listed.startswith("I remember 2 things about you:")

        for form in ("show 1", "edit 1 mine now", "tag 1 sea"):
            assert await bau_says(f"!memories {form}") == "You have no memory 1."
        for form in ("del 1-2", "share 1 2", "global 1 2", "limit 1 and 2 here"):
            assert (await bau_says(f"!memories {form}")).endswith("Not among your memories: #1, #2.")
        assert await juno_says("!memories list") == listed

        gone = await juno_says("!memories delete #2, 9")
        assert gone == f"Forgotten: #2.{BACK.format('!memories undo')} Not among your memories: #9."
        assert await juno_says("!memories undo") == "Undone. As before: #2."
        assert (await juno_says("!memories clear")).startswith("Forgotten: 2 memories of you. `!memories undo` brings")
        assert await juno_says("!memories undo") == "Undone. As before: #1, #2."
        assert await juno_says("!memories") == listed

        only_editors = "Only people who may change this room's memories may do that."
        for form in ("add x", "del 3", "edit 3 x", "cleanup", "undo"):
            assert await juno_says(f"!memories room {form}") == only_editors
        assert await mod_says("!memories room add Tea is at four") == "Saved for the room as **#3**: Tea is at four"
        assert "Tea is at four" in await juno_says("!memories room")
        gone = await mod_says("!memories room del 1 3")
        assert gone == f"Forgotten: #3.{BACK.format('!memories room undo')} Not among this room's memories: #1."
        assert await mod_says("!memories room undo") == "Undone. As before: #3."

        thread = await bau.say(room, "a thread of Bau's")
        answer = await bot.ask(juno, room, "!memories", mention=None, thread=thread)
        assert (answer.body, answer.relates_to["event_id"]) == (listed, thread)
        command = await juno.say(room, "!memories del 99")
        await juno.wait_for_answer(command)
        await juno.edit(room, command, "!memories clear")
        await juno.redact(room, command)
        assert await juno_says("!memories") == listed, "an edit gives no command"


async def test_privacy_personas_settings_and_why(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    """D8, D14, P5, P10: in English, and in German from the next word on."""
    bot_id, mod, juno, admin = await new_user("bot"), await people("mod"), await people("juno"), await people("admin")
    async with (
        ModelServer(replies=echoing, extractions=FACTS) as model,
        whole(
            settings_for(
                homeserver.url,
                bot_id,
                tmp_path / "bot",
                model,
                matrix={"admins": (admin.user_id,)},
                personas=PERSONAS,
            )
        ) as bot,
    ):
        room = await meet(mod, juno, admin, bot=bot_id, encrypted=True)
        private = Talk(bot, juno, await meet(juno, bot=bot_id, direct=True, encrypted=True))
        juno_says, mod_says, admin_says = (Talk(bot, person, room) for person in (juno, mod, admin))

        assert (await mod_says("!config memory.promotion_threshold 1")).startswith(
            "Only admins of the bot may do that."
        )
        set_to_one = await admin_says("!config plugins.LLM.memoryPromotionThreshold 1")
        assert set_to_one == "`memory.promotion_threshold` is now `1`."
        await private("I fear the dark")
        await juno_says("my cat is named Mochi", mention=bot_id)
        listed = await juno_says("!memories")
        assert "Mochi" in listed
        assert "dark" not in listed
        assert "1 more is private or not meant for here" in listed
        assert "Fears the dark" in await private("!memories")
        await juno_says("what is she called, Mochi?", mention=bot_id)
        why = await juno_says("!why")
        assert why.startswith("My last answer to you here was given 1 memory:")
        assert "Cat is named Mochi" in why

        assert await juno_says("!persona pirate") == "Only people who may change this room's settings may do that."
        assert (await mod_says("!persona PIRATE")).startswith("From the next message on I am `pirate` in this room.")
        assert await juno_says("Cap\u2019n, where is the kraken?") == "You said: where is the kraken?"
        assert "left boot" in str(model.reply_requests[-1].body)
        assert await juno_says("!why") == "My last answer to you here was given no memories."
        assert (await juno_says("!memories")).count("*(only as the persona default)*") == 1

        asked = len(model.reply_requests)
        assert (await juno_says("!privacy silent")).startswith("Your privacy level is **silent**")
        await juno.say(room, "Cap'n, XYZZY", mention=bot_id)
        await juno.say(room, "!ask XYZZY")
        assert (await juno_says("!memories add I like tea")).startswith("Nothing was saved: you have set that")
        assert len(model.reply_requests) == asked
        with closing(sqlite3.connect(tmp_path / "bot" / "davenport.db")) as database:
            assert not [line for line in database.iterdump() if "XYZZY" in line]
        assert (await juno_says("!privacy open")).startswith("Your privacy level is **open**")

        assert await mod_says("!config room bot.language de") == '`bot.language` is now `"de"` in this room.'
        assert (await juno_says("!forget")).startswith("Wir fangen neu an:")
        assert await juno_says("!memories edit 2") == "So wird es verwendet: `!memories edit ID TEXT`."
        assert (await juno_says("!memories room foo")).startswith("Diese Form habe ich nicht. `!help memories room`")
        assert "Einstellen lassen sich hier: `bot.language`" in await mod_says("!config room")
        assert (await private("!privacy")).startswith("Your privacy level is **open**"), (
            "another room, another language"
        )


async def test_a_kill_between_a_command_and_its_answer_gives_one_effect_and_one_answer(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    process = Process(tmp_path / "bot")
    async with ModelServer(replies=echoing) as model:
        process.prepare(
            CONFIG.format(homeserver=homeserver.url, user_id=bot_id, password=PASSWORD, model=model.base_url)
        )
        room = await juno.create_room(invite=[bot_id], encrypted=True)
        await process.start("outbox")
        await juno.wait_for_member(room, bot_id, seconds=60)
        given = await juno.say(room, "!memories add I own a boat")
        await process.dies()
        await process.start()
        told = (await juno.wait_for_answer(given, seconds=60)).body
        assert told == "Saved as **#1**: I own a boat"
        listed = await juno.wait_for_answer(await juno.say(room, "!memories"))  # whatever was to come has come
        assert listed.body.startswith("I remember 1 thing about you:")
        await process.stop()
        assert [event.body for event in juno.heard if event.replies_to == given] == [told]
        assert len(await process.rows(juno.user_id)) == 1
