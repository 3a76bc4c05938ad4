"""Turns side by side where their order matters: over midnight (D4, D16), and the start after a restart (D14)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from actors.ports import Vector
from memory.model import ToolCall
from memory.types import ScopeKind
from tests.actors.conftest import BAU, JUNO, Bot, until
from tests.actors.test_saving import lay_down, of_room
from tests.actors.topic_embedder import TopicEmbedder

PIANO = "Plays the piano"
TALK = "shall we have tea?"


class HeldEmbedder(TopicEmbedder):
    """What is said with `word` waits for the gate."""

    word = "norway"

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.waiting = False

    async def embed_query(self, text: str) -> Vector:
        if self.word in text:
            self.waiting = True
            await self.gate.wait()
        return await super().embed_query(text)


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    each = Bot(tmp_path / "data", HeldEmbedder())
    await each.start()
    yield each
    await each.crash()


def nearly_midnight(bot: Bot) -> None:
    bot.next_day()
    bot.clock.set(bot.clock.now().replace(hour=23, minute=59))


async def test_d4_d16_a_save_of_yesterdays_turn_takes_no_date_back_that_today_has_settled(bot: Bot) -> None:
    """P16: an equal text is a match; it was matched today as well, so that it gains nothing today."""
    await lay_down(bot, PIANO, unused_days=0)
    await bot.say("")  # loads the list
    nearly_midnight(bot)
    gate = bot.model.gates["chess"] = asyncio.Event()
    await bot.deliver(bot.message("chess; and remember what I play", thread_root="$thread"))
    await until(lambda: bool(bot.model.replying))
    bot.clock.advance(timedelta(minutes=2))
    first = bot.message("do I still play the piano?")
    await bot.deliver(first)
    await until(lambda: len(bot.matrix.bodies()) == 2)
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": PIANO})]
    gate.set()
    await bot.settle()
    bot.model.tool_calls = []
    bot.clock.advance(timedelta(minutes=1))
    await bot.say(TALK)
    [memory] = await bot.memories()
    assert (memory.unused_days, memory.counted_on) == (0, bot.clock.today())


async def test_d4_d16_a_search_that_took_over_midnight_takes_no_date_back(bot: Bot) -> None:
    assert isinstance(bot.embedder, HeldEmbedder)
    await lay_down(bot, "Norway has a piano", scope=ScopeKind.ROOM, unused_days=0)
    await bot.say("")  # loads the list
    nearly_midnight(bot)
    await bot.deliver(bot.message("norway"))
    await until(lambda: bot.embedder.waiting)  # type: ignore[union-attr]
    bot.clock.advance(timedelta(minutes=2))
    await bot.deliver(bot.message("the piano", sender=BAU))
    await until(lambda: len(bot.matrix.bodies()) == 2)
    bot.embedder.gate.set()
    await bot.settle()
    await bot.say(TALK, sender=BAU)
    [memory] = await of_room(bot)
    assert (memory.unused_days, memory.counted_on) == (0, bot.clock.today())


async def test_d14_who_was_answered_first_stands_first_after_a_restart_too(bot: Bot) -> None:
    await lay_down(bot, PIANO, unused_days=0)
    await lay_down(bot, "Has a boat", owner=BAU, unused_days=0)
    gate = bot.model.gates["chess"] = asyncio.Event()
    await bot.deliver(bot.message("chess", sender=JUNO), bot.message(TALK, sender=BAU))
    await until(lambda: len(bot.matrix.bodies()) == 1)
    bot.clock.advance(timedelta(seconds=5))
    gate.set()
    await bot.settle()
    await bot.say("dog")
    before = [block.text for block in bot.model.prompts[-1].system]
    said = [block.text for message in bot.model.prompts[-1].messages[:-1] for block in message.blocks]
    await bot.restart()
    await bot.say("dog")
    assert [block.text for block in bot.model.prompts[-1].system] == before
    after = [block.text for message in bot.model.prompts[-1].messages[:-1] for block in message.blocks]
    assert after[: len(said)] == said


async def test_d14_after_a_trim_a_restart_brings_nobody_back_and_changes_no_order(bot: Bot) -> None:
    """Ivo's only words are older than what the trim left; Juno joined first, though Bau's words are the first left."""
    for owner, text in ((JUNO, PIANO), (BAU, "Has a boat"), ("@ivo:hs", "Bakes bread")):
        await lay_down(bot, text, owner=owner, unused_days=0)
    for sender, minutes in ((JUNO, 0), ("@ivo:hs", 12), (BAU, 10), (JUNO, 30), (BAU, 9)):
        bot.clock.advance(timedelta(minutes=minutes))
        await bot.say("hello", sender=sender)
    await bot.say("hello")
    before = prompt(bot)
    assert "Bakes bread" not in "".join(before)
    await bot.restart()
    await bot.say("hello")
    assert prompt(bot)[: len(before)] == before


@pytest.mark.parametrize("back", [timedelta(minutes=5), timedelta(days=35)])
async def test_d14_a_restart_reads_what_was_said_in_its_order_though_the_clock_was_set_back(
    bot: Bot, back: timedelta
) -> None:
    """Bau spoke before the clock was put right and Juno after it; what Juno said is not old for that."""
    await lay_down(bot, PIANO, unused_days=0)
    await lay_down(bot, "Has a boat", owner=BAU, unused_days=0)
    await bot.say("hello", sender=BAU)
    bot.clock.advance(-back)
    await bot.say("good morning")
    await bot.say("hello", sender=BAU)
    before = prompt(bot)
    await bot.restart()
    await bot.say("hello", sender=BAU)
    assert prompt(bot)[: len(before)] == before


async def test_d14_what_was_answered_while_the_clock_was_set_back_was_said_before_what_came_after_it(bot: Bot) -> None:
    await lay_down(bot, PIANO, unused_days=0)
    await lay_down(bot, "Has a boat", owner=BAU, unused_days=0)
    await lay_down(bot, "Bakes bread", owner="@ivo:hs", unused_days=0)
    await bot.say("hello", sender="@ivo:hs")
    gate = bot.model.gates["chess"] = asyncio.Event()
    await bot.deliver(bot.message("chess"))
    await until(lambda: bool(bot.model.replying))
    bot.clock.advance(timedelta(minutes=-10))
    gate.set()
    await bot.settle()
    bot.clock.advance(timedelta(minutes=15))
    await bot.say("hello", sender=BAU)
    await bot.say("hello", sender=BAU)
    before = prompt(bot)
    await bot.restart()
    await bot.say("hello", sender=BAU)
    assert prompt(bot)[: len(before)] == before


def prompt(bot: Bot) -> list[str]:
    """Return the texts of the last prompt up to its last message."""
    asked = bot.model.prompts[-1]
    return [block.text for block in (*asked.system, *(b for said in asked.messages[:-1] for b in said.blocks))]
