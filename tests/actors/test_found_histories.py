"""Histories in which the machine of test_machine.py found the bot and the rules to differ, as plain tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.actors.conftest import Bot


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
