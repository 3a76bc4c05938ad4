"""One search over several lists, and what it means for saves of the same turn (D2, D3, D4, D9, D13)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from memory.model import ToolCall
from memory.settings import MemorySettings
from memory.types import ScopeKind
from tests.actors.conftest import BAU, Bot, texts, until
from tests.actors.test_saving import lay_down, of_room
from tests.actors.topic_embedder import TopicEmbedder

PIANO = "Plays the piano"
BOAT = "Has a boat"
TALK = "shall we have tea?"


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    each = Bot(tmp_path / "data", TopicEmbedder())
    await each.start()
    yield each
    await each.crash()


async def test_d2_a_reply_takes_one_embedding_whatever_number_of_lists_is_searched(bot: Bot) -> None:
    assert isinstance(bot.embedder, TopicEmbedder)
    await lay_down(bot, PIANO, unused_days=0)
    await lay_down(bot, BOAT, owner=BAU, unused_days=0)
    for sender in ("@juno:hs", BAU):
        await bot.say(TALK, sender=sender)
    bot.embedder.asked.clear()
    await bot.say("and a dog?")
    assert bot.embedder.asked == ["and a dog?"]


async def test_d3_ties_of_several_lists_go_to_the_lower_id(bot: Bot) -> None:
    for number in range(2):
        await lay_down(bot, f"piano {number}", owner=BAU, unused_days=8)
    for number in range(2):
        await lay_down(bot, f"piano of the room {number}", scope=ScopeKind.ROOM, unused_days=8)
    await lay_down(bot, PIANO, unused_days=8)
    await bot.say(TALK, sender=BAU)
    await bot.say("the piano")
    everything = [*await bot.memories(), *await bot.memories(BAU), *await of_room(bot)]
    assert sorted(memory.id for memory in everything if memory.unused_days == 0) == [1, 2, 3]


async def test_d2_what_nobody_can_see_is_no_text_and_an_emoji_is(bot: Bot) -> None:
    await lay_down(bot, PIANO, unused_days=0)
    await bot.say("")  # loads the list, which then gets its vectors
    bot.next_day()
    for nothing in (" ", "\u200b", "\n\t", "\u00ad\u2060"):
        await bot.say(nothing)
    assert [memory.unused_days for memory in await bot.memories()] == [0]
    await bot.say("\N{PARTY POPPER}")
    assert [memory.unused_days for memory in await bot.memories()] == [1]


async def test_d4_a_global_memory_gains_one_day_in_two_rooms(bot: Bot) -> None:
    await lay_down(bot, PIANO, scope=ScopeKind.GLOBAL, persona="", unused_days=0)
    await bot.say("")
    bot.next_day()
    await bot.say(TALK)
    await bot.say(TALK, room="!garden:hs")
    assert [memory.unused_days for memory in await bot.memories()] == [1]


async def test_d9_what_this_turn_recalled_is_not_forgotten_by_its_save(bot: Bot) -> None:
    """Else the piano would go, which was saved first."""
    bot.settings.rules = MemorySettings(capacity_personal=2)
    await lay_down(bot, PIANO, BOAT, unused_days=8)
    await bot.say("")
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": "Likes bread"})]
    await bot.say("the piano")
    assert texts(await bot.memories()) == [PIANO, "Likes bread"]


async def test_d13_d6_switched_off_before_a_turn_is_taken_up_again_every_memory_is_there_once(bot: Bot) -> None:
    await lay_down(bot, PIANO, BOAT, unused_days=8)
    await bot.say("")
    bot.clock.advance(timedelta(minutes=1))
    bot.model.gates["piano"] = asyncio.Event()
    await bot.deliver(bot.message("the piano"))
    await until(lambda: bool(bot.model.replying))
    bot.settings.rules = MemorySettings(decay_enabled=False)
    bot.model.gates.clear()
    await bot.restart()
    await bot.settle()
    asked = bot.model.prompts[-1]
    everything = "".join(b.text for b in (*asked.system, *(b for said in asked.messages for b in said.blocks)))
    assert (everything.count(PIANO), everything.count(BOAT)) == (1, 1)
