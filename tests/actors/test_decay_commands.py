"""What commands and turns side by side mean for counters and protection, through a whole bot (D2, D4, D11, D18)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from memory.settings import MemorySettings
from memory.types import ScopeKind
from tests.actors.conftest import BAU, JUNO, ROOM, Bot, texts, until
from tests.actors.test_recall import last_recall_matches
from tests.actors.test_saving import DM, lay_down, of_room
from tests.actors.topic_embedder import TopicEmbedder

GARDEN = "!garden:hs"
PIANO = "Plays the piano"
TALK = "shall we have tea?"


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    each = Bot(tmp_path / "data", TopicEmbedder())
    await each.start()
    yield each
    await each.crash()


async def counters(bot: Bot) -> list[tuple[int, object, object]]:
    return [(m.unused_days, m.counted_on, m.last_matched_at) for m in await bot.memories()]


@pytest.mark.parametrize("text", [PIANO, "Plays chess"], ids=["same text", "other text"])
async def test_d11_an_edit_protects_and_sets_text_and_vector_and_leaves_the_counters(bot: Bot, text: str) -> None:
    await lay_down(bot, PIANO, unused_days=8)
    await bot.say("")  # loads the list, which then gets its vectors
    before = await counters(bot)
    await bot.say(f"!memories edit 1 {text}")
    [memory] = await bot.memories()
    assert (memory.text, memory.protected) == (text, True)
    assert await counters(bot) == before
    bot.next_day()
    await bot.say(text)
    assert await last_recall_matches(bot) == [1], "found by the new text"
    assert (await bot.memories())[0].protected


async def test_d11_a_protected_memory_still_rests_and_returns(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(rest_after_days=1)
    await bot.say(f"!memories add {PIANO}")
    bot.next_day()
    await bot.say(TALK)
    [memory] = await bot.memories()
    assert (memory.unused_days, memory.protected) == (1, True)
    bot.clock.advance(timedelta(hours=2))
    await bot.say("do I still play the piano?")
    prompt = bot.model.prompts[-1]
    assert PIANO not in "".join(block.text for block in prompt.system)
    assert PIANO in "".join(block.text for block in prompt.messages[-1].blocks)
    assert (await bot.memories())[0].unused_days == 0


@pytest.mark.parametrize("where", [ROOM, DM])
async def test_d18_clear_deletes_every_durable_memory_of_the_caller_and_nothing_else(bot: Bot, where: str) -> None:
    """All personas, global, hidden, protected and resting ones; candidates, the room's list and other people stay."""
    bot.learns({"boat": "Owns a boat"})
    await bot.say("I own a boat")
    await lay_down(bot, PIANO, "Has a canoe", unused_days=0)
    await lay_down(bot, "Bakes bread", persona="pirate")
    await lay_down(bot, "Is called Juno", scope=ScopeKind.GLOBAL, persona="")
    await lay_down(bot, "Looks for a job", private=True)
    await lay_down(bot, "Collects stamps", protected=True)
    await lay_down(bot, "Meets on Fridays", scope=ScopeKind.ROOM)
    await lay_down(bot, "Sails in Bergen", owner=BAU)
    direct = where == DM
    await bot.say("!memories clear", room=where, direct=direct, alone=direct)
    assert await bot.memories(JUNO) == ()
    assert texts(await bot.candidates(JUNO)) == ["Owns a boat"]
    assert texts(await of_room(bot)) == ["Meets on Fridays"]
    assert texts(await bot.memories(BAU)) == ["Sails in Bergen"]


async def test_d4_turns_side_by_side_in_two_rooms_count_one_day(bot: Bot) -> None:
    """Each scores the list before the other has settled it."""
    await lay_down(bot, PIANO, unused_days=0)
    for room in (ROOM, GARDEN):
        await bot.say("", room=room)  # loads the list
    [before] = await bot.memories()
    bot.next_day()
    await bot.deliver(*(bot.message(TALK, room=room) for room in (ROOM, GARDEN)))
    await bot.settle()
    [after] = await bot.memories()
    assert (after.unused_days, after.counted_on) == (before.unused_days + 1, bot.clock.today())


async def test_d2_a_turn_taken_up_again_on_another_day_counts_and_matches_nothing_more(bot: Bot) -> None:
    """Neither the room's memories, which age whoever writes, nor what its search matched."""
    await lay_down(bot, PIANO, unused_days=8)
    await lay_down(bot, "Meets over chess", scope=ScopeKind.ROOM, unused_days=0)
    await bot.say("")  # loads the lists, which then get their vectors
    bot.next_day()
    bot.model.gates["piano"] = asyncio.Event()
    await bot.deliver(bot.message("do I still play the piano?"))
    await until(lambda: "piano" in bot.model.replying)
    before = [*await bot.memories(), *await of_room(bot)]
    assert [memory.unused_days for memory in before] == [0, 1]
    bot.model.gates.clear()
    bot.next_day()
    await bot.restart()
    await bot.settle()
    assert bot.matrix.bodies()[-1] == "answer"
    assert [*await bot.memories(), *await of_room(bot)] == before
    assert PIANO in "".join(block.text for block in bot.model.prompts[-1].messages[-1].blocks), "recalled all the same"
