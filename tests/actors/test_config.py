"""`!config` in a whole bot: a change acts on the next turn and pass (P5), outlives a crash, and is made once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from commands.ports import Configuring
from davenport.in_force import InForce
from davenport.overrides import ChatSettings
from davenport.settings_load import load
from davenport.settings_source import ConfiguredSettings
from storage import Database
from tests.actors.conftest import BAU, JUNO, ROOM, Bot, texts, until

CONFIG = f"""
[matrix]
homeserver = "https://hs"
user_id = "@bot:hs"
admins = ["{JUNO}"]
"""
OTHER = "!other:hs"


@pytest.fixture
async def configured(bot: Bot, tmp_path: Path) -> Bot:
    """A bot whose settings are those of a file, and set in chat by JUNO."""
    path = tmp_path / "config.toml"
    path.write_text(CONFIG, encoding="utf-8")

    async def opened(store: Database) -> Configuring:
        in_force = InForce(load(path, {}))
        chat = ChatSettings(in_force, store)
        await chat.load()
        source = ConfiguredSettings(in_force.settings, embedder_threshold=0.25)
        in_force.follow(source.use)
        bot.settings = source  # type: ignore[assignment]
        return chat

    bot.configured = opened
    await bot.restart()
    return bot


async def test_p10_a_threshold_set_in_chat_acts_on_the_next_pass(configured: Bot) -> None:
    bot = configured
    bot.learns({"chess": "Likes chess", "tea": "Likes tea"})
    await bot.say("I like chess", BAU)
    assert texts(await bot.memories(BAU)) == []
    await bot.say("!config memoryPromotionThreshold 1")
    assert texts(await bot.memories(BAU)) == []  # lowering it promotes nothing by itself
    await bot.say("I like tea", BAU)
    assert texts(await bot.memories(BAU)) == ["Likes tea"]
    assert texts(await bot.candidates(BAU)) == ["Likes chess"]
    await bot.say("!config reset memoryPromotionThreshold")
    await bot.say("I like chess", BAU)
    assert texts(await bot.memories(BAU)) == ["Likes tea", "Likes chess"]


async def test_p5_a_pass_in_flight_keeps_what_it_read(configured: Bot) -> None:
    bot = configured
    bot.learns({"chess": "Likes chess"})
    gate = bot.model.extraction_gates["chess"] = asyncio.Event()
    await bot.deliver(bot.message("I like chess", BAU))
    await until(lambda: bool(bot.model.requests))
    await bot.deliver(bot.message("!config memoryPromotionThreshold 1"))
    await until(lambda: bot.settings.memory(ROOM).promotion_threshold == 1)
    gate.set()
    await bot.settle()
    assert texts(await bot.memories(BAU)) == []
    assert texts(await bot.candidates(BAU)) == ["Likes chess"]


async def test_p2_a_room_is_switched_off_by_those_who_may_change_it(configured: Bot) -> None:
    bot = configured
    bot.learns({"chess": "Likes chess", "tea": "Likes tea"})
    await bot.say("!config room memoryEnabled off", BAU)
    assert bot.matrix.bodies(ROOM)[-1].startswith("Only admins of the bot and, for this room, those who may change")
    bot.matrix.admins.add(BAU)
    await bot.say("!config room memoryEnabled off", BAU)
    assert bot.matrix.bodies(ROOM)[-1] == "`memory.enabled` is now `false` in this room."
    await bot.say("I like chess", BAU)
    await bot.say("I like tea", BAU, room=OTHER)
    assert texts(await bot.candidates(BAU)) == ["Likes tea"]


async def test_p3_p4_p13_each_setting_of_the_source_reaches_the_rules(configured: Bot) -> None:
    bot = configured
    for name, value in (("memoryMaxPerUser", 7), ("memoryCandidateTTLDays", 0), ("memoryCleanupInterval", 0)):
        await bot.say(f"!config plugins.LLM.{name} {value}")
    await bot.restart()
    rules = bot.settings.memory(ROOM)
    assert (rules.max_per_user, rules.candidate_ttl_days, rules.cleanup_interval) == (7, 0, 0)


async def test_a_command_taken_up_again_after_a_crash_is_carried_out_once(configured: Bot) -> None:
    bot = configured
    first = await bot.say("!config memoryMaxPerUser 3")
    await bot.say("!config memoryMaxPerUser 4")
    async with bot.store.transaction() as tables:  # as if the answer to the first had never been stored
        await tables.journal._sql.run("UPDATE journal SET state = 'received' WHERE event_id = ?", first.event_id)
    await bot.restart()
    await bot.settle()
    assert bot.settings.memory(ROOM).max_per_user == 4
    async with bot.store.transaction() as tables:
        assert await tables.overrides.all() == {("memory.max_per_user", ""): "4"}


async def test_a_language_set_in_chat_is_spoken_from_the_next_answer_on(configured: Bot) -> None:
    bot = configured
    await bot.say("!config room bot.language de")
    await bot.say("!config room bot.language")
    assert bot.matrix.bodies(ROOM)[-1].startswith('`bot.language` ist `"de"` (im Chat für diesen Raum gesetzt).')


@pytest.mark.parametrize("name", ["verse_enabled", "verseEnabled", "verse.enabled"])
async def test_scenes_are_switched_on_for_a_room_under_each_of_their_names(configured: Bot, name: str) -> None:
    bot = configured
    await bot.say(f"!config room {name} true")
    assert bot.settings.kinds(ROOM).verse_enabled
    assert not bot.settings.kinds(OTHER).verse_enabled
    await bot.say("!verse on", BAU)
    await bot.say("I draw my sword", BAU, addressed=False)
    assert bot.matrix.bodies(ROOM)[-1] == "answer"
    await bot.say(f"!config room {name} off")
    await bot.say("I wait", BAU, addressed=False)
    assert len(bot.model.prompts) == 1
