"""What the turn of the day means for a running bot (D16): nothing to the rules, whenever and however often it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from davenport.day import DayTurn, Keeping
from memory.events import IncomingKind
from memory.model import ToolCall
from memory.types import ListKey, ScopeKind
from tests.actors.conftest import BAU, JUNO, ROOM, Bot, texts, until
from tests.actors.test_recall import GAMES, MOCHI, knows_mochi
from tests.fakes.word_embedder import WordEmbedder

AGES = timedelta(days=500)
JUNOS = ListKey(ScopeKind.PERSONAL, JUNO, "default")
BAUS = ListKey(ScopeKind.PERSONAL, BAU, "default")


@pytest.fixture
def embedder() -> WordEmbedder:
    """Which texts are alike is not what is tried here."""
    return WordEmbedder()


def turn_of(bot: Bot, keeping: Keeping | None = None) -> DayTurn:
    return DayTurn(bot.store, bot.system, keeping or Keeping())


async def midnight(bot: Bot, keeping: Keeping | None = None) -> None:
    """Run the job as of now, and wait for what it sets going."""
    await turn_of(bot, keeping).day_turn(bot.clock.now())
    await bot.settle()


async def chat(bot: Bot) -> None:
    await bot.say(GAMES)


ON_TIME: tuple[Callable[[Bot], Awaitable[None]], ...] = (midnight, chat)


@pytest.mark.parametrize(
    "steps",
    [
        ON_TIME,
        (chat, midnight),
        (chat,),
        (midnight, midnight, chat, midnight, chat, midnight),
        (chat, midnight, chat),
    ],
    ids=["on time", "late", "missed", "again and again", "between two messages"],
)
async def test_d16_whenever_the_job_comes_a_date_counts_one_day(
    bot: Bot, steps: tuple[Callable[[Bot], Awaitable[None]], ...]
) -> None:
    await knows_mochi(bot)
    for day in (1, 2, 3):
        bot.next_day()
        for step in steps:
            await step(bot)
        [memory] = await bot.memories()
        assert (memory.unused_days, memory.counted_on) == (day, bot.clock.today())


async def test_d16_a_clock_set_back_over_a_midnight_whose_job_ran_counts_no_date_twice(bot: Bot) -> None:
    await knows_mochi(bot)
    bot.next_day()
    for _ in range(2):
        await midnight(bot)
        await chat(bot)
        bot.clock.advance(timedelta(days=-1))
        await midnight(bot)
        await chat(bot)
        bot.clock.advance(timedelta(days=1))
    assert [memory.unused_days for memory in await bot.memories()] == [1]


async def test_d7_days_that_only_turn_age_nothing(bot: Bot) -> None:
    await knows_mochi(bot)
    before = await bot.memories()
    for _ in range(20):
        bot.next_day()
        await midnight(bot)
    assert await bot.memories() == before


async def test_lists_out_of_use_are_unloaded_and_those_in_use_stay(bot: Bot) -> None:
    await bot.say("hello", sender=BAU)
    bot.clock.advance(timedelta(minutes=61))  # Bau is no participant any more
    await knows_mochi(bot)
    indexes = bot.parts.indexes
    assert (indexes.has(JUNOS), indexes.has(BAUS)) == (True, True)
    bot.clock.advance(timedelta(minutes=10))
    await midnight(bot)
    assert (indexes.has(JUNOS), indexes.has(BAUS)) == (True, False)
    await chat(bot)
    bot.clock.advance(timedelta(minutes=9))
    await midnight(bot)
    assert indexes.has(JUNOS), "it was loaded long ago, and used just now"
    bot.next_day()
    await midnight(bot)
    assert not indexes.has(JUNOS)
    await bot.say("how's my cat Mochi doing?")
    [memory] = await bot.memories()
    assert memory.last_matched_at == bot.clock.now()


async def test_d4_d12_midnight_within_a_turn_unloads_its_lists_and_loses_nothing(bot: Bot) -> None:
    """A turn has one date; what it saves into a list that was unloaded meanwhile is found by the next."""
    await knows_mochi(bot)
    bot.next_day()
    asked_on = bot.clock.today()
    bot.clock.set(bot.clock.now().replace(hour=23, minute=59))
    gate = bot.model.gates["games"] = asyncio.Event()
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": "Plays the cello"})]
    await bot.deliver(bot.message("please remember my cello; and which games?"))
    await until(lambda: bool(bot.model.replying))
    bot.clock.advance(timedelta(minutes=2))
    await turn_of(bot, Keeping(idle=timedelta(0))).day_turn(bot.clock.now())
    await until(lambda: not bot.parts.indexes.has(JUNOS))
    gate.set()
    await bot.settle()
    bot.model.tool_calls = []
    mochi, cello = await bot.memories()
    assert (mochi.unused_days, mochi.counted_on) == (1, asked_on)
    assert (cello.text, cello.unused_days, cello.counted_on) == ("Plays the cello", 0, asked_on)
    await bot.say("do I play the cello?")
    mochi, cello = await bot.memories()
    assert (mochi.unused_days, cello.last_matched_at) == (2, bot.clock.now())


async def test_d2_p8_an_event_that_comes_again_after_ages_is_neither_answered_nor_counted(bot: Bot) -> None:
    bot.learns(MOCHI)
    event = await bot.say("my cat is named Mochi")
    [candidate] = await bot.candidates()
    bot.clock.advance(AGES)
    await midnight(bot)
    sent = len(bot.matrix.bodies())
    await bot.deliver(event)
    await bot.settle()
    assert len(bot.matrix.bodies()) == sent
    assert await bot.candidates() == (candidate,)


async def test_p20_what_was_said_ages_ago_still_takes_along_what_it_taught_when_it_is_redacted(bot: Bot) -> None:
    memory = await knows_mochi(bot)
    bot.clock.advance(AGES)
    await midnight(bot)
    assert texts(await bot.memories()) == [memory.text]
    event = bot.message("", kind=IncomingKind.REDACTION, target=memory.origin.event)
    await bot.deliver(event)
    await bot.settle()
    assert await bot.memories() == ()


async def test_a_conversation_goes_on_over_the_turn_of_the_day(bot: Bot) -> None:
    await bot.say("the first word")
    await midnight(bot)
    await bot.restart()
    await bot.say("the second word")
    said = [block.text for message in bot.model.prompts[-1].messages for block in message.blocks]
    assert any("the first word" in text for text in said)
    assert bot.matrix.bodies(ROOM) == ["answer", "answer"]
