"""Quotas: a person, or a room, who asks too often is told once when to try again, and nothing else happens."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import timedelta

import pytest

from actors.gate import wait_text
from actors.quotas import Quotas
from memory.events import Incoming, IncomingKind, JournalEntry, JournalState
from memory.quota import CommandQuota, Limit, Quota, per_minutes
from memory.types import Extraction
from tests.actors.conftest import BAU, JUNO, ROOM, START, Bot, until
from tests.actors.test_measuring import Counting
from texts.catalogue import Speaker

KITCHEN = "!kitchen:hs"
TEN = timedelta(minutes=10)


@pytest.fixture
def limited(bot: Bot) -> Bot:
    """A bot that may be asked twice in ten minutes."""
    bot.settings.quotas["ask"] = per_minutes(10, user=2)
    return bot


def refusals(bot: Bot, room: str | None = None) -> list[str]:
    return [body for body in bot.matrix.bodies(room) if "try again" in body or "noch einmal" in body]


async def state(bot: Bot, event: Incoming) -> JournalState:
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event.event_id)
    assert entry is not None
    return entry.state


async def test_a_refused_turn_says_when_to_try_again_asks_no_model_and_teaches_nothing(limited: Bot) -> None:
    await limited.say("one")
    limited.clock.advance(timedelta(minutes=4))
    await limited.say("two")
    limited.clock.advance(timedelta(minutes=1, seconds=30))
    refused = await limited.say("three")
    assert refusals(limited) == ["That was too often in a short time. Please try again in 5 minutes."]
    assert (len(limited.model.prompts), len(limited.model.requests)) == (2, 2)
    assert await state(limited, refused) is JournalState.FAILED
    assert limited.matrix.sent[-1][2]["notice"] is True
    limited.clock.advance(timedelta(minutes=4, seconds=30))
    await limited.say("four")
    assert len(limited.model.prompts) == 3
    assert "three" not in str(limited.model.prompts[-1]), "what was refused is no part of the conversation"


async def test_who_keeps_trying_is_told_once_and_waits_no_longer_for_it(limited: Bot) -> None:
    await limited.say("one")
    await limited.say("two")
    for _ in range(59):
        limited.clock.advance(timedelta(seconds=10))
        await limited.say("again")
    assert len(refusals(limited)) == 1
    limited.clock.advance(timedelta(seconds=10))
    await limited.say("now")
    assert limited.matrix.bodies()[-1] == "answer"
    await limited.say("the other one that has left the window")
    await limited.say("too often again")
    assert len(refusals(limited)) == 2


async def test_however_the_bot_is_addressed_it_is_one_count_and_commands_have_their_own(limited: Bot) -> None:
    await limited.say("!ask one", addressed=False)
    await limited.say("two", direct=True, addressed=False, room="!direct:hs")
    await limited.say("three", room=KITCHEN)
    assert len(refusals(limited, KITCHEN)) == 1
    await limited.say("!memories")
    assert limited.matrix.bodies(ROOM)[-1] == "I remember nothing about you."
    await limited.say("four", sender=BAU)
    assert len(limited.model.prompts) == 3


async def test_a_command_over_its_quota_has_no_effect_and_subcommands_count_with_their_command(bot: Bot) -> None:
    bot.settings.quotas["memories"] = per_minutes(10, user=1)
    bot.learns({"Mochi": "Cat is named Mochi"})
    await bot.say("my cat is named Mochi")
    await bot.say("Mochi again")
    await bot.say("!memories")
    refused = await bot.say("!memories clear")
    assert len(await bot.memories()) == 1
    assert await state(bot, refused) is JournalState.LEARNED
    assert len(refusals(bot)) == 1
    await bot.say("!why")
    assert len(refusals(bot)) == 1


async def test_the_quota_of_a_room_is_shared_by_all_in_it_and_by_nobody_else(bot: Bot) -> None:
    bot.settings.quotas["ask"] = per_minutes(10, room=2)
    bot.settings.languages[ROOM] = "de"
    await bot.say("one", sender=JUNO)
    await bot.say("two", sender=BAU)
    await bot.say("three", sender=JUNO)
    await bot.say("four", sender=BAU)
    await bot.say("five", room=KITCHEN)
    told = "In diesem Raum werde ich gerade zu oft gefragt. Bitte versuch es in 10 Minuten noch einmal."
    assert refusals(bot) == [told, told], "each of them is told once"
    assert len(bot.model.prompts) == 3


async def test_a_try_that_the_room_refuses_is_not_counted_for_the_person(bot: Bot) -> None:
    bot.settings.quotas["ask"] = CommandQuota(user=Quota(2, timedelta(days=1)), room=Quota(1, TEN))
    await bot.say("one")
    for _ in range(5):
        await bot.say("refused")
    bot.clock.advance(TEN)
    await bot.say("two")
    assert len(bot.model.prompts) == 2


async def test_admins_have_no_quota_and_use_up_none(limited: Bot) -> None:
    limited.settings.quotas["ask"] = per_minutes(10, user=1, room=1)
    limited.settings.admins.add(BAU)
    for _ in range(3):
        await limited.say("more", sender=BAU)
    await limited.say("mine")
    assert len(limited.model.prompts) == 4


async def test_without_enforcement_it_is_only_logged_by_ids_and_counted(
    limited: Bot, caplog: pytest.LogCaptureFixture
) -> None:
    counting = Counting()
    limited.parts = replace(limited.parts, metrics=counting)
    limited.settings.enforce = False
    await limited.say("one")
    await limited.say("two")
    with caplog.at_level(logging.WARNING):
        event = await limited.say("my secret")
    assert refusals(limited) == []
    assert len(limited.model.prompts) == 3
    assert counting.seen["quota", "ask", "user", False] == 1
    (record,) = [record for record in caplog.records if "quota" in record.message]
    assert record.message == "ask over the quota of its user, let through"
    assert (record.__dict__["event_id"], record.__dict__["user_id"]) == (event.event_id, JUNO)
    assert "secret" not in caplog.text
    limited.settings.enforce = True
    await limited.say("four")
    assert counting.seen["quota", "ask", "user", True] == 1


async def test_an_event_taken_up_again_is_not_refused_by_its_own_count(limited: Bot) -> None:
    limited.settings.quotas["ask"] = per_minutes(10, user=1)
    limited.model.gates["held"] = asyncio.Event()
    await limited.deliver(limited.message("held"))
    await until(lambda: bool(limited.model.replying))
    address = next(each for each in limited.system.cells if each.kind == "room")
    with pytest.raises(Exception, match="room"):
        await limited.system.ask(address, NotUnderstood())
    limited.model.gates["held"].set()
    await limited.settle()
    assert limited.matrix.bodies() == ["answer"]


async def test_a_restart_takes_up_what_was_accepted_before_it(limited: Bot) -> None:
    limited.model.gates["held"] = asyncio.Event()
    for number in range(4):
        await limited.deliver(limited.message(f"held {number}"))
        limited.clock.advance(timedelta(minutes=6))
    await limited.restart()
    limited.model.gates["held"].set()
    await limited.settle()
    assert limited.matrix.bodies() == ["answer"] * 4


async def test_a_refused_turn_keeps_nobody_s_passes_waiting(limited: Bot) -> None:
    limited.settings.quotas["ask"] = per_minutes(10, user=1)
    limited.model.find = lambda request: Extraction(("Has a cat",))
    await limited.deliver(limited.message("I have a cat"), limited.message("refused"))
    await limited.settle()
    assert [candidate.text for candidate in await limited.candidates()] == ["Has a cat"]
    limited.clock.advance(TEN)
    await limited.say("yes, a cat")
    assert len(limited.model.requests) == 2


def entry(number: int, sender: str = JUNO) -> JournalEntry:
    at = START + timedelta(minutes=number)
    return JournalEntry(
        number, Incoming(f"$e{number}", ROOM, sender, IncomingKind.MESSAGE, at), JournalState.RECEIVED, at
    )


def test_what_is_kept_is_bounded_by_the_quota_and_by_the_number_of_people() -> None:
    quotas, limit = Quotas(most=10), Limit("ask", per_minutes(1, user=2))
    for number in range(200):
        each = entry(number, sender=f"@user{number % 50}:hs")
        assert quotas.take(limit, each, START) is None
    assert len(quotas._tries) == 10
    assert all(len(tries.made) <= 2 for tries in quotas._tries.values())
    quotas.take(limit, entry(500), START + timedelta(minutes=500))
    assert len(quotas._tries) == 1, "what has left its window is forgotten"


def test_a_clock_set_back_silences_nobody() -> None:
    quotas, limit = Quotas(), Limit("ask", per_minutes(60, user=1))
    assert quotas.take(limit, entry(100), START + timedelta(minutes=100)) is None
    over = quotas.take(limit, entry(101), START + timedelta(minutes=101))
    assert over is not None
    assert quotas.tells(over, JUNO, START + timedelta(minutes=101))
    assert not quotas.tells(over, JUNO, START + timedelta(minutes=102))
    assert quotas.take(limit, entry(3), START + timedelta(minutes=3)) is None
    over = quotas.take(limit, entry(4), START + timedelta(minutes=4))
    assert over is not None
    assert quotas.tells(over, JUNO, START + timedelta(minutes=4))


@pytest.mark.parametrize(
    ("wait", "told"),
    [
        (timedelta(milliseconds=1), "in 1 second"),
        (timedelta(seconds=90), "in 90 seconds"),
        (timedelta(seconds=91), "in 2 minutes"),
        (timedelta(minutes=90), "in 90 minutes"),
        (timedelta(minutes=91), "in 2 hours"),
        (timedelta(days=2), "in 48 hours"),
    ],
)
def test_waits_are_told_rounded_up(wait: timedelta, told: str) -> None:
    assert wait_text(Speaker(), wait) == told


class NotUnderstood:
    """A message that no actor knows: the one that gets it starts again from storage."""
