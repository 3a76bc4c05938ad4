"""Histories in which the machine of test_machine.py found the bot and the rules to differ, as plain tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from memory.events import Incoming
from memory.settings import MemorySettings
from memory.types import Extraction
from tests.actors.conftest import JUNO, ROOM, Bot
from tests.actors.held_bot import HeldBot


@pytest.fixture
async def bare(tmp_path: Path):  # type: ignore[no-untyped-def]
    bot = Bot(tmp_path / "data", None)
    await bot.start()
    yield bot
    await bot.crash()


async def test_d13_without_an_embedder_saying_it_again_leaves_the_counters_frozen(bare: Bot) -> None:
    await bare.say("!memories add Has a cat")
    bare.next_day()
    await bare.say("!memories add has a CAT.")
    [memory] = await bare.memories()
    assert (memory.last_matched_at, memory.counted_on) == (None, memory.created_at.date())


async def test_p20_after_a_restart_no_pass_waits_for_a_cleanup_that_was_asked_for(tmp_path: Path) -> None:
    bot = HeldBot(tmp_path / "data", None)
    bot.settings.rules = MemorySettings(promotion_threshold=1, cleanup_interval=0)
    await bot.start()
    try:
        for fact in ("Has a cat", "Has two cats"):
            event = await said(bot, "hello")
            bot.model.answer_pass(event.event_id, Extraction((fact,), ()))
            await bot.still()
        await bot.deliver(bot.message("!memories cleanup", addressed=False))
        await bot.still()
        await bot.restart()
        await bot.still()
        assert list(bot.model.tidying) == [JUNO]
        event = await said(bot, "hello", room="!other:hs")
        assert list(bot.model.passes) == [event.event_id]
    finally:
        await bot.crash()


async def said(bot: HeldBot, text: str, room: str = ROOM) -> Incoming:
    event = bot.message(text, room=room)
    event = replace(event, text=f"{text} n{event.event_id[2:]}")
    await bot.deliver(event)
    await bot.still()
    return event
