"""What the state machine of D1-D18 found, as plain tests."""

from __future__ import annotations

import asyncio

from tests.actors.conftest import Bot, until
from tests.actors.test_recall import GAMES, knows_mochi, prompt_start


async def test_d14_d2_a_turn_taken_up_again_still_holds_what_came_to_rest_by_its_own_search(bot: Bot) -> None:
    """A move shows in the start from the next reply on, and this is the same reply."""
    await knows_mochi(bot)
    for _ in range(6):
        bot.next_day()
        await bot.say(GAMES)
    bot.next_day()
    bot.model.gates["game"] = asyncio.Event()
    await bot.deliver(bot.message(GAMES))
    await until(lambda: "game" in bot.model.replying)
    assert [m.unused_days for m in await bot.memories()] == [7]
    start = prompt_start(bot)
    assert "Mochi" in start
    bot.model.gates.clear()
    await bot.restart()
    await bot.settle()
    assert prompt_start(bot) == start
    await bot.say(GAMES)
    assert "Mochi" not in prompt_start(bot)
