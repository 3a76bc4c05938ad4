"""Periodic cleanups (P13) after passes that promoted: when one runs, and what the counter is afterwards."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from memory.cleanup import CleanupAnswer, Drop, Merge
from memory.errors import ModelError
from memory.settings import MemorySettings
from memory.spending import BudgetSettings
from memory.types import Privacy
from tests.actors.conftest import BAU, JUNO, Bot, texts, until
from tests.actors.tidying import counter, dropping, merging, remember

FACTS = {f"word{number}": f"Fact number {number}" for number in range(1, 10)}


def rules(bot: Bot, interval: int, **other: object) -> None:
    bot.learns(FACTS)
    bot.settings.rules = MemorySettings(promotion_threshold=1, cleanup_interval=interval, **other)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("interval", "asked", "counted"),
    [(0, [0, 0, 0, 0], [1, 2, 3, 4]), (1, [0, 1, 2, 3], [0, 0, 0, 0]), (3, [0, 0, 1, 1], [1, 2, 0, 1])],
)
async def test_p13_it_runs_when_the_counter_reaches_the_interval(
    bot: Bot, interval: int, asked: list[int], counted: list[int]
) -> None:
    """With interval 1 the first pass finds one memory, so there is nothing to do and the counter is 0 all the same."""
    rules(bot, interval)
    found = []
    for number in range(1, 5):
        await bot.say(f"word{number}")
        found.append((len(bot.model.groups), await counter(bot)))
    assert found == list(zip(asked, counted, strict=True))


async def test_p13_a_pass_counts_once_however_much_it_promotes_and_only_if_it_promotes(bot: Bot) -> None:
    rules(bot, 3)
    await bot.say("word1 word2 word3")
    await bot.say("hello")
    await bot.say("word1 again")  # known already
    assert (await counter(bot), bot.model.groups) == (1, [])


async def test_p13_what_it_changes_is_there_and_searched_and_nobody_is_told(bot: Bot) -> None:
    rules(bot, 2)
    await bot.say("word1")
    bot.model.tidier = merging("Both facts", "Fact number 1", "Fact number 2")
    await bot.say("word2")
    [memory] = await bot.memories()
    assert (memory.text, memory.source, memory.mentions) == ("Both facts", "merge", 1)
    assert bot.matrix.bodies() == ["answer", "answer"]
    bot.clock.advance(timedelta(hours=1))
    await bot.say("tell me about Both facts")
    assert (await bot.memories())[0].last_matched_at == bot.clock.now()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda group: ModelError("down"),
        lambda group: CleanupAnswer((Drop(group.memories[0].id, 999),)),
        lambda group: CleanupAnswer(merges=(Merge((group.memories[0].id,), "One"),)),
    ],
    ids=["model down", "rejected", "rejected merge"],
)
async def test_p13_p15_after_a_failure_the_next_promotion_tries_again(bot: Bot, wrong: object) -> None:
    rules(bot, 2)
    bot.model.tidier = wrong  # type: ignore[assignment]
    await bot.say("word1")
    await bot.say("word2")
    assert (await counter(bot), len(bot.model.groups)) == (2, 1)
    await bot.say("hello")  # promotes nothing
    assert len(bot.model.groups) == 1
    bot.model.tidier = dropping("Fact number 2", "Fact number 1")
    await bot.say("word3")
    assert (await counter(bot), len(bot.model.groups)) == (0, 2)
    assert texts(await bot.memories()) == ["Fact number 1", "Fact number 3"]


async def test_p13_what_was_promoted_meanwhile_still_counts(bot: Bot) -> None:
    rules(bot, 3)
    bot.model.cleanup_gate = asyncio.Event()
    for number in (1, 2, 3):
        await bot.deliver(bot.message(f"word{number}"))
    await until(lambda: bool(bot.model.groups))
    await bot.deliver(bot.message("word4"))
    await until(lambda: has_counted(bot, 4))  # no message waits for a cleanup
    bot.model.cleanup_gate.set()
    await bot.settle()
    assert (await counter(bot), len(bot.model.groups)) == (1, 1)
    assert len(await bot.memories()) == 4


async def test_p13_reached_again_while_one_runs_another_follows(bot: Bot) -> None:
    rules(bot, 2)
    bot.model.cleanup_gate = asyncio.Event()
    for number in (1, 2, 3, 4):
        await bot.deliver(bot.message(f"word{number}"))
    await until(lambda: has_counted(bot, 4))
    assert len(bot.model.groups) == 1  # one at a time
    bot.model.cleanup_gate.set()
    await bot.settle()
    assert (await counter(bot), len(bot.model.groups)) == (0, 2)
    assert len(bot.model.groups[1].memories) == 4


async def test_p13_failing_while_a_promotion_came_it_tries_again_at_once(bot: Bot) -> None:
    rules(bot, 2)
    bot.model.cleanup_gate = asyncio.Event()
    bot.model.tidier = lambda group: ModelError("down") if len(bot.model.groups) == 1 else CleanupAnswer()
    for number in (1, 2, 3):
        await bot.deliver(bot.message(f"word{number}"))
    await until(lambda: has_counted(bot, 3))
    bot.model.cleanup_gate.set()
    await bot.settle()
    assert (await counter(bot), len(bot.model.groups)) == (0, 2)


async def test_p13_p16_explicit_saves_and_manual_cleanups_leave_the_counter_alone(bot: Bot) -> None:
    rules(bot, 3)
    await bot.say("word1")
    await remember(bot, "Said to be remembered")
    bot.model.tidier = dropping("Fact number 1", "Said to be remembered")
    await bot.say("!memories cleanup")
    assert (await counter(bot), texts(await bot.memories())) == (1, ["Said to be remembered"])


async def test_p13_an_interval_set_later_acts_on_the_next_promotion(bot: Bot) -> None:
    rules(bot, 0)
    for number in (1, 2, 3, 4):
        await bot.say(f"word{number}")
    rules(bot, 3)
    await bot.say("hello")
    assert bot.model.groups == []
    await bot.say("word5")
    assert (await counter(bot), len(bot.model.groups)) == (0, 1)


async def test_p13_each_users_counter_is_their_own(bot: Bot) -> None:
    rules(bot, 2)
    await bot.say("word1")
    await bot.say("word2", sender=BAU)
    assert (await counter(bot), await counter(bot, BAU), bot.model.groups) == (1, 1, [])


async def test_p3_p13_the_pass_that_reaches_the_cap_still_cleans_up(bot: Bot) -> None:
    rules(bot, 1, max_per_user=2)
    await bot.say("word1")
    bot.model.tidier = dropping("Fact number 2", "Fact number 1")
    await bot.say("word2")
    assert texts(await bot.memories()) == ["Fact number 1"]  # and so there is room again


async def test_p3_at_the_cap_nothing_promotes_and_so_nothing_is_tidied(bot: Bot) -> None:
    rules(bot, 1, max_per_user=2)
    bot.model.tidier = lambda group: ModelError("down")
    await bot.say("word1")
    await bot.say("word2")
    await bot.say("word3")
    assert (len(bot.model.groups), await counter(bot)) == (1, 1)


async def test_p15_what_was_changed_meanwhile_rejects_it_and_the_counter_stays(bot: Bot) -> None:
    rules(bot, 2)
    bot.model.tidier = dropping("Fact number 2", "Fact number 1")
    bot.model.cleanup_gate = asyncio.Event()
    await bot.deliver(bot.message("word1"), bot.message("word2"))
    await until(lambda: bool(bot.model.groups))
    [first, _] = await bot.memories()
    await bot.deliver(bot.message(f"!memories edit {first.id} Fact number 1"))
    await until(lambda: len(bot.matrix.sent) >= 3)
    bot.model.cleanup_gate.set()
    await bot.settle()
    assert texts(await bot.memories()) == ["Fact number 1", "Fact number 2"]
    assert await counter(bot) == 2


async def test_p20_switching_learning_off_meanwhile_drops_it(bot: Bot) -> None:
    rules(bot, 2)
    bot.model.tidier = dropping("Fact number 2", "Fact number 1")
    bot.model.cleanup_gate = asyncio.Event()
    await bot.deliver(bot.message("word1"), bot.message("word2"))
    await until(lambda: bool(bot.model.groups))
    await bot.deliver(bot.message("!privacy no-memory"))
    await until(lambda: has_privacy(bot, Privacy.NO_MEMORY))
    bot.model.cleanup_gate.set()
    await bot.settle()
    assert (len(await bot.memories()), await counter(bot)) == (2, 2)


async def test_p12_p13_a_crash_before_it_is_carried_out_loses_and_repeats_nothing(bot: Bot) -> None:
    rules(bot, 2)
    bot.model.tidier = dropping("Fact number 2", "Fact number 1")
    bot.model.cleanup_gate = asyncio.Event()
    await bot.deliver(bot.message("word1"), bot.message("word2"))
    await until(lambda: bool(bot.model.groups))
    bot.model.cleanup_gate = None
    await bot.restart()
    await bot.settle()
    assert (len(await bot.memories()), await counter(bot)) == (2, 2)
    await bot.say("word3")
    assert texts(await bot.memories()) == ["Fact number 1", "Fact number 3"]
    assert await counter(bot) == 0


async def test_it_is_paid_for_by_the_budget_which_is_asked_before_each_call(bot: Bot) -> None:
    rules(bot, 2)
    await bot.say("word1")
    await bot.say("word2")
    async with bot.store.transaction() as tables:
        today = bot.clock.today()
        totals = await tables.usage.totals(today, today, ["purpose", "user"])
    spent = {total.group: (total.calls, total.input_tokens) for total in totals}
    assert spent["cleanup", JUNO] == (1, 7)
    bot.parts.spending.use(BudgetSettings(daily=1))
    bot.model.groups.clear()
    await bot.say("!memories cleanup")
    assert bot.model.groups == []
    assert "used up" in bot.matrix.bodies()[-1]


async def has_counted(bot: Bot, passes: int) -> bool:
    return await counter(bot) == passes


async def has_privacy(bot: Bot, level: Privacy) -> bool:
    async with bot.store.transaction() as tables:
        return await tables.users.privacy(JUNO) is level
