"""`!usage`: own tokens for everybody; the whole bot's for admins, where nobody else reads it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from actors.spending import Spending
from memory.model import Usage
from memory.spending import BudgetSettings, Price
from memory.types import Extraction
from tests.actors.conftest import BAU, JUNO, ROOM, Bot

DIRECT = "!direct:hs"


async def spend(bot: Bot, user: str, days_ago: int, purpose: str = "reply", **tokens: int) -> None:
    at = bot.clock.now() - timedelta(days=days_ago)
    async with bot.store.transaction() as tables:
        await tables.usage.add("$e", user, ROOM, purpose, Usage("model_a", **tokens), at)


async def usage(bot: Bot, sender: str = JUNO, *, private: bool = False) -> list[str]:
    """Ask and return what the bot said, in all rooms."""
    before = len(bot.matrix.bodies())
    if private:
        await bot.say("!usage", sender, DIRECT, direct=True, alone=True)
    else:
        await bot.say("!usage", sender)
    return bot.matrix.bodies()[before:]


async def test_nothing_yet(bot: Bot) -> None:
    (told,) = await usage(bot)
    assert told.endswith("- Today: nothing\n- Last 7 days: nothing\n- Last 30 days: nothing")


async def test_own_calls_by_utc_days_and_nobody_else_s(bot: Bot) -> None:
    await spend(bot, JUNO, 0, input_tokens=100, output_tokens=50, cache_read_tokens=300)
    await spend(bot, JUNO, 6, input_tokens=1000)
    await spend(bot, JUNO, 7, "extraction", input_tokens=10_000)
    await spend(bot, JUNO, 29, input_tokens=100_000)
    await spend(bot, JUNO, 30, input_tokens=1_000_000)
    await spend(bot, BAU, 0, input_tokens=7)
    (told,) = await usage(bot)
    assert told.splitlines() == [
        "Your use of the language model, days in UTC:",
        "",
        "- Today: 450 tokens in 1 call, 75 % of what was sent read from the cache",
        "- Last 7 days: 1450 tokens in 2 calls, 21 % of what was sent read from the cache",
        "- Last 30 days: 111450 tokens in 4 calls, 0 % of what was sent read from the cache",
    ]


async def test_a_turn_and_its_pass_are_counted(bot: Bot) -> None:
    bot.model.find = lambda request: Extraction()
    await bot.say("hello")
    (told,) = await usage(bot)
    assert "- Today: 18 tokens in 2 calls" in told


@pytest.fixture
def admin(bot: Bot) -> Bot:
    bot.settings.admins.add(JUNO)
    return bot


async def test_admins_see_the_whole_bot_by_model_and_purpose_in_private(admin: Bot) -> None:
    await spend(admin, BAU, 0, input_tokens=7)
    await spend(admin, BAU, 3, "extraction", input_tokens=70)
    told = "\n".join(await usage(admin, private=True))
    assert (
        "**Today**\n\n- model\\_a, `reply`: 7 tokens in 1 call, 0 % of what was sent read from the cache\n\n"
        "**Last 30 days**\n\n"
        "- model\\_a, `extraction`: 70 tokens in 1 call, 0 % of what was sent read from the cache\n"
        "- model\\_a, `reply`: 7 tokens in 1 call, 0 % of what was sent read from the cache\n\n"
        "There is no daily budget."
    ) in told


async def test_in_a_room_only_the_admin_s_own_calls_are_shown_and_the_rest_in_private(admin: Bot) -> None:
    await spend(admin, BAU, 0, input_tokens=7)
    await usage(admin)
    (here,) = admin.matrix.bodies(ROOM)
    assert "Today: nothing" in here
    assert "7 tokens" not in here
    (there,) = admin.matrix.bodies(await admin.matrix.direct_room(JUNO))
    assert "model\\_a, `reply`: 7 tokens" in there


async def test_others_see_nothing_of_the_whole_bot(bot: Bot) -> None:
    await spend(bot, BAU, 0, input_tokens=7)
    assert "model_a" not in "".join(await usage(bot, private=True)).replace("\\", "")


async def test_money_where_prices_say_and_what_is_left_of_the_budget(admin: Bot) -> None:
    prices = {"model_a": Price(input=3.0, output=15.0)}
    admin.parts = replace(admin.parts, spending=Spending(BudgetSettings(5.0, "currency", prices)))
    await spend(admin, BAU, 0, input_tokens=500_000)
    await spend(admin, BAU, 2, input_tokens=1_000)
    told = "\n".join(await usage(admin, private=True))
    assert "500000 tokens in 1 call, 0 % of what was sent read from the cache (about 1.50 by `llm.prices`)" in told
    assert told.rstrip().endswith("Left of today’s budget: 3.50 of 5.00 by `llm.prices`.")
    admin.parts.spending.use(BudgetSettings(400_000.0, "tokens"))
    told = "\n".join(await usage(admin, private=True))
    assert "llm.prices" not in told
    assert told.rstrip().endswith("Left of today’s budget: 0 of 400000 tokens.")
