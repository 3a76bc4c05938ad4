"""The daily budget in turns and passes, and the sentences for a model that is not asked."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import timedelta

import pytest

from actors.spending import Spending
from llm.client import AnthropicModel
from memory.errors import BudgetSpent, ModelError, ModelPaused
from memory.events import JournalState
from memory.model import Usage, UsageTotal
from memory.spending import BudgetSettings, Price
from tests.actors.conftest import JUNO, ROOM, Bot, until
from tests.fakes.model_server import ModelServer
from texts.catalogue import Speaker

REPLY, PASS = 12, 6  # tokens that FakeModel's reply and extraction cost
SPENT = Speaker()("budget-spent")


def budget(bot: Bot, daily: float, **settings: object) -> Spending:
    """Give the bot a budget; before its first event, since actors keep what they were built from."""
    spending = Spending(BudgetSettings(daily, **settings))  # type: ignore[arg-type]
    bot.parts = replace(bot.parts, spending=spending)
    return spending


def said(bot: Bot) -> list[str]:
    return bot.matrix.bodies()


async def test_at_the_cap_a_turn_is_refused_with_one_sentence_until_midnight_utc(bot: Bot) -> None:
    budget(bot, REPLY + PASS)
    await bot.say("hello")
    refused = await bot.say("hello again")
    assert said(bot) == ["answer", SPENT]
    assert "00:00" in SPENT and "UTC" in SPENT
    assert len(bot.model.prompts) == 1
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(refused.event_id)
    assert entry is not None and entry.state is JournalState.FAILED
    bot.next_day()
    await bot.say("good morning")
    assert said(bot)[2:] == ["answer"]


async def test_d2_a_refused_turn_has_searched_all_the_same(bot: Bot) -> None:
    spending = budget(bot, 0)
    bot.learns({"Mochi": "Cat is named Mochi"})
    bot.settings.rules = replace(bot.settings.rules, promotion_threshold=1)
    await bot.say("my cat is named Mochi")
    bot.next_day()
    async with bot.store.transaction() as tables:
        await tables.usage.add("$x", JUNO, ROOM, "reply", Usage("fake", 1), bot.clock.now())
    spending.use(BudgetSettings(1))
    await bot.say("what is the capital of Norway?")
    assert said(bot)[-1] == SPENT
    [memory] = await bot.memories()
    assert (memory.unused_days, memory.counted_on) == (1, bot.clock.today())


async def test_p17_at_the_cap_a_pass_is_skipped_in_silence_and_prunes_p4(bot: Bot) -> None:
    spending = budget(bot, 0)
    bot.learns({"Mochi": "Cat is named Mochi", "tea": "Likes tea"})
    await bot.say("my cat is named Mochi")
    bot.clock.advance(timedelta(days=15))
    spending.use(BudgetSettings(REPLY))
    await bot.say("I like tea")
    assert said(bot) == ["answer", "answer"]
    assert len(bot.model.requests) == 1
    assert await bot.candidates() == ()


async def test_a_call_that_runs_is_not_cut(bot: Bot) -> None:
    budget(bot, 1)
    bot.model.gates["slow"] = asyncio.Event()
    slow = bot.message("slow")
    await bot.deliver(slow)
    await until(lambda: "slow" in bot.model.replying)
    await bot.deliver(bot.message("quick", room="!other:hs"))
    await until(lambda: len(bot.matrix.sent) == 1)
    bot.model.gates["slow"].set()
    await bot.settle()
    assert said(bot) == ["answer", "answer"]
    await bot.say("next")
    assert said(bot)[2:] == [SPENT]


async def test_what_was_spent_counts_right_after_a_restart(bot: Bot) -> None:
    budget(bot, REPLY + PASS)
    await bot.say("hello")
    await bot.crash()
    await bot.start()
    budget(bot, REPLY + PASS)
    await bot.say("hello again")
    assert said(bot) == ["answer", SPENT]


async def test_the_sums_in_memory_are_those_of_the_database(bot: Bot) -> None:
    spending = budget(bot, 10_000)
    for text in ("one", "two", "three"):
        await bot.say(text)
        in_memory = await spending.spent(bot.store, bot.clock.today())
        assert in_memory == await Spending(spending.settings).spent(bot.store, bot.clock.today())
    assert in_memory == 3 * (REPLY + PASS)
    bot.clock.advance(timedelta(days=-1))
    assert await spending.spent(bot.store, bot.clock.today()) == 0, "a clock set back counts the day it shows"
    bot.clock.advance(timedelta(days=1))
    assert await spending.spent(bot.store, bot.clock.today()) == 3 * (REPLY + PASS)


async def test_what_failed_calls_cost_counts_too(bot: Bot) -> None:
    bot.model.answer = lambda prompt: ModelError("refused", [Usage("fake", 7), Usage("fake", 1)])
    await bot.say("hello")
    bot.model.answer = lambda prompt: "answer"
    bot.model.find = lambda request: ModelError("not of the schema", [Usage("fake", 4)])
    await bot.say("hello")
    async with bot.store.transaction() as tables:
        today = bot.clock.today()
        totals = await tables.usage.totals(today, today, ["user", "room", "purpose"])
    assert totals == (
        UsageTotal((JUNO, ROOM, "extraction"), 1, 4, 0, 0, 0),
        UsageTotal((JUNO, ROOM, "reply"), 3, 18, 2, 0, 0),
    )


async def test_a_budget_in_money_goes_by_the_prices(bot: Bot) -> None:
    price = Price(input=1_000_000, output=0)  # one a token
    spending = budget(bot, 15, unit="currency", prices={"fake": price})
    await bot.say("hello")
    assert await spending.spent(bot.store, bot.clock.today()) == 15
    await bot.say("hello again")
    assert said(bot) == ["answer", SPENT]
    spending.use(BudgetSettings(100, "currency", {"fake": price}))
    await bot.say("and now")
    assert said(bot)[2:] == ["answer"]


async def test_admins_see_it_in_the_log_once_a_day(bot: Bot, caplog: pytest.LogCaptureFixture) -> None:
    spending = budget(bot, 1)
    await bot.say("hello")
    for _ in range(3):
        await bot.say("again")
    told = [record for record in caplog.records if "llm.daily_budget" in record.getMessage()]
    assert [record.levelno for record in told] == [logging.ERROR]
    assert "until 2026-03-03T00:00:00+00:00" in told[0].getMessage()
    bot.next_day()
    await bot.say("hello")
    with pytest.raises(BudgetSpent):
        await spending.check(bot.store, bot.clock.today())
    assert len([record for record in caplog.records if "llm.daily_budget" in record.getMessage()]) == 2


async def test_a_model_that_is_left_alone_is_said_to_be_so(bot: Bot) -> None:
    bot.model.answer = lambda prompt: ModelPaused("open")
    await bot.say("hello")
    assert said(bot) == [Speaker()("model-paused")]
    assert bot.model.requests == []


async def test_no_turn_that_waited_for_a_place_is_let_through_after_the_cap(bot: Bot) -> None:
    spending = budget(bot, 1)

    async def admit() -> None:
        await spending.check(bot.store, bot.clock.today())

    async with ModelServer() as server:
        model = AnthropicModel(server.settings(max_in_flight=1), admit=admit, spent=spending.ended)
        bot.parts = replace(bot.parts, model=model)
        await bot.deliver(*[bot.message("hi", sender=f"@u{n}:hs", room=f"!r{n}:hs") for n in range(10)])
        await until(lambda: len(bot.matrix.sent) == 10)
        await bot.settle()
        await model.aclose()
    assert sorted(said(bot)) == sorted(["Noted.", *[SPENT] * 9])
    assert len(server.requests) == 1
    in_memory = await spending.spent(bot.store, bot.clock.today())
    assert in_memory == await Spending(spending.settings).spent(bot.store, bot.clock.today()) > 0, "counted once"


async def test_a_row_that_is_rolled_back_is_not_counted_and_a_call_that_ended_is(bot: Bot) -> None:
    spending = budget(bot, 100)
    today, event, usage = bot.clock.today(), bot.message("x"), Usage("fake", 7)
    assert await spending.spent(bot.store, today) == 0
    with pytest.raises(RuntimeError):
        async with bot.store.transaction() as tables:
            await spending.of_reply(tables, event, [usage], bot.clock.now())
            raise RuntimeError
    assert await spending.spent(bot.store, today) == 0
    spending.ended(usage)
    assert await spending.spent(bot.store, today) == 7
    async with bot.store.transaction() as tables:
        recorded = await spending.of_reply(tables, event, [usage], bot.clock.now())
    spending.committed(recorded)
    assert await spending.spent(bot.store, today) == 7


async def test_a_row_from_before_the_day_is_first_read_is_counted_once(bot: Bot) -> None:
    spending = budget(bot, 100)
    usage = Usage("fake", 7)
    spending.ended(usage)
    async with bot.store.transaction() as tables:
        recorded = await spending.of_reply(tables, bot.message("x"), [usage], bot.clock.now())
    await spending.spent(bot.store, bot.clock.today())
    spending.committed(recorded)
    assert await spending.spent(bot.store, bot.clock.today()) == 7
