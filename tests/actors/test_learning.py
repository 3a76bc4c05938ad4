"""Passes over real storage: P1-P12, P17, P18, P20, and what redactions take back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

from memory.errors import ModelError
from memory.events import IncomingKind, JournalState
from memory.quota import CommandQuota
from memory.settings import MemorySettings
from memory.types import Extraction
from tests.actors.conftest import BAU, Bot, texts, until

MOCHI = {"Mochi": "Cat is named Mochi"}


async def test_p7_p10_a_fact_is_a_candidate_first_and_a_memory_at_its_second_mention(bot: Bot) -> None:
    bot.learns(MOCHI)
    first = await bot.say("my cat is named Mochi")
    [candidate] = await bot.candidates()
    assert (candidate.text, candidate.mentions, candidate.origin.event) == ("Cat is named Mochi", 1, first.event_id)
    assert await bot.memories() == ()
    bot.clock.advance(timedelta(hours=2))
    await bot.say("Mochi is my cat, you know")
    assert await bot.candidates() == ()
    [memory] = await bot.memories()
    assert (memory.text, memory.mentions, memory.first_seen) == ("Cat is named Mochi", 2, candidate.first_seen)
    assert (memory.unused_days, memory.counted_on) == (0, bot.clock.today())


async def test_p1_p2_no_pass_after_a_failed_turn_a_command_or_with_memory_off(bot: Bot) -> None:
    bot.learns(MOCHI)
    bot.model.answer = lambda prompt: ModelError("down")
    await bot.say("my cat is named Mochi")
    bot.model.answer = lambda prompt: "hello"
    await bot.say("!memories")
    bot.settings.rules = MemorySettings(enabled=False)
    await bot.say("my cat is named Mochi")
    assert bot.model.requests == []
    assert await bot.candidates() == ()


async def test_p3_a_user_at_the_cap_is_not_extracted_at_all(bot: Bot) -> None:
    bot.learns(MOCHI | {"tea": "Likes tea"})
    bot.settings.rules = MemorySettings(max_per_user=1, promotion_threshold=1)
    await bot.say("I like tea")
    assert texts(await bot.memories()) == ["Likes tea"]
    asked = len(bot.model.requests)
    await bot.say("my cat is named Mochi")
    assert len(bot.model.requests) == asked
    assert await bot.candidates() == ()


async def test_p4_old_candidates_go_at_the_start_of_a_pass_even_if_the_model_fails(bot: Bot) -> None:
    bot.learns(MOCHI)
    await bot.say("my cat is named Mochi")
    bot.clock.advance(timedelta(days=14))
    bot.model.find = lambda request: ModelError("down")
    await bot.say("hello")
    assert texts(await bot.candidates()) == ["Cat is named Mochi"]  # exactly that old is kept
    bot.clock.advance(timedelta(seconds=1))
    await bot.say("hello again")
    assert await bot.candidates() == ()


async def test_p5_settings_are_read_once_at_the_start_of_a_pass(bot: Bot) -> None:
    bot.learns(MOCHI)
    await bot.say("my cat is named Mochi")
    bot.model.extraction_gates["again"] = asyncio.Event()
    await bot.deliver(bot.message("Mochi again"))
    await until(lambda: len(bot.model.requests) >= 2)
    bot.settings.rules = MemorySettings(promotion_threshold=9)
    bot.model.extraction_gates["again"].set()
    await bot.settle()
    assert texts(await bot.memories()) == ["Cat is named Mochi"]


async def test_p6_the_model_sees_own_memories_and_candidates_and_this_one_exchange(bot: Bot) -> None:
    bot.learns(MOCHI | {"Rex": "Dog is named Rex"})
    await bot.say("Rex is mine", sender=BAU)
    await bot.say("my cat is named Mochi")
    await bot.say("hello")
    request = bot.model.requests[-1]
    assert texts(request.candidates) == ["Cat is named Mochi"]
    assert request.memories == ()
    assert (request.exchange.said, request.exchange.answered) == ("hello", "answer")


async def test_p6_a_private_memory_is_not_shown_to_a_pass_in_a_group(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(promotion_threshold=1)
    bot.learns(MOCHI)
    await bot.say("my cat is named Mochi", room="!dm:hs", direct=True, alone=True)
    await bot.say("hello")
    assert bot.model.requests[-1].memories == ()
    await bot.say("hello", room="!dm:hs", direct=True, alone=True)
    assert texts(bot.model.requests[-1].memories) == ["Cat is named Mochi"]


async def test_p11_a_full_list_skips_promotion_and_the_candidate_keeps_its_count(bot: Bot) -> None:
    bot.learns(MOCHI | {"tea": "Likes tea"})
    bot.settings.rules = MemorySettings(capacity_personal=1, promotion_threshold=1)
    await bot.say("I like tea")
    await bot.say("my cat is named Mochi")
    await bot.say("Mochi once more")
    assert texts(await bot.memories()) == ["Likes tea"]
    [candidate] = await bot.candidates()
    assert (candidate.text, candidate.mentions) == ("Cat is named Mochi", 2)


async def test_p11_promotion_goes_to_the_persona_current_when_the_turn_began(bot: Bot) -> None:
    bot.learns(MOCHI)
    await bot.say("my cat is named Mochi")
    await bot.say("Mochi!")
    assert [memory.persona for memory in await bot.memories()] == ["default"]


async def test_p17_extraction_that_cannot_run_is_silent_and_writes_nothing(bot: Bot) -> None:
    bot.model.find = lambda request: ModelError("down")
    event = await bot.say("my cat is named Mochi")
    assert bot.matrix.bodies() == ["answer"]
    assert await bot.candidates() == ()
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event.event_id)
    assert entry is not None
    assert entry.state is JournalState.LEARNED


async def test_p20_passes_of_a_user_run_one_at_a_time_in_turn_order_and_block_no_message(bot: Bot) -> None:
    bot.model.extraction_gates["one"] = asyncio.Event()
    await bot.deliver(bot.message("one"), bot.message("two", room="!other:hs"))
    await until(lambda: len(bot.matrix.sent) >= 2)  # both are answered while the first pass still runs
    assert [request.exchange.said for request in bot.model.requests] == ["one"]
    bot.model.extraction_gates["one"].set()
    await bot.settle()
    assert [request.exchange.said for request in bot.model.requests] == ["one", "two"]


async def test_p20_a_later_turn_that_ends_first_waits_for_the_earlier_ones_pass(bot: Bot) -> None:
    bot.model.gates["slow"] = asyncio.Event()
    await bot.deliver(bot.message("slow"), bot.message("quick", room="!other:hs"))
    await until(lambda: bool(bot.matrix.sent))
    assert not await bot.system.drain(0.05)
    assert bot.model.requests == []
    bot.model.gates["slow"].set()
    await bot.settle()
    assert [request.exchange.said for request in bot.model.requests] == ["slow", "quick"]


async def test_p20_a_pass_in_flight_is_dropped_when_its_event_is_redacted(bot: Bot) -> None:
    bot.learns(MOCHI)
    bot.model.extraction_gates["Mochi"] = asyncio.Event()
    event = bot.message("my cat is named Mochi")
    await bot.deliver(event)
    await until(lambda: bool(bot.model.requests))
    await bot.deliver(redaction(bot, event.event_id))
    await until(lambda: is_retracted(bot, event.event_id))
    bot.model.extraction_gates["Mochi"].set()
    await bot.settle()
    assert await bot.candidates() == ()


async def test_p20_clear_drops_a_pass_in_flight(bot: Bot) -> None:
    bot.learns(MOCHI)
    bot.model.extraction_gates["Mochi"] = asyncio.Event()
    await bot.deliver(bot.message("my cat is named Mochi"))
    await until(lambda: bool(bot.model.requests))
    await bot.deliver(bot.message("!memories clear"))
    await until(lambda: len(bot.matrix.sent) >= 2)
    bot.model.extraction_gates["Mochi"].set()
    await bot.settle()
    assert await bot.candidates() == ()


async def test_a_redacted_mention_is_taken_back(bot: Bot) -> None:
    bot.learns(MOCHI)
    await bot.say("my cat is named Mochi")
    second = await bot.say("Mochi again")
    assert texts(await bot.memories()) == ["Cat is named Mochi"]
    await bot.deliver(redaction(bot, second.event_id))
    await bot.settle()
    assert texts(await bot.memories()) == ["Cat is named Mochi"]  # the first mention still carries it
    await bot.deliver(redaction(bot, "$e1"))
    await bot.settle()
    assert await bot.memories() == ()


async def test_an_edit_takes_back_what_only_the_old_text_taught_but_only_its_author_can(bot: Bot) -> None:
    bot.learns(MOCHI)
    event = await bot.say("my cat is named Mochi")
    edit = replace(bot.message("* my cat is named Miso"), kind=IncomingKind.EDIT, target=event.event_id)
    await bot.deliver(replace(edit, sender=BAU))
    await bot.settle()
    assert texts(await bot.candidates()) == ["Cat is named Mochi"]
    await bot.deliver(replace(edit, event_id="$edit"))
    await bot.settle()
    assert await bot.candidates() == ()
    assert bot.matrix.bodies() == ["answer"]  # the edit itself is not answered


async def test_a_restart_between_answer_and_pass_resumes_the_pass_once(bot: Bot) -> None:
    bot.learns(MOCHI)
    bot.model.extraction_gates["Mochi"] = asyncio.Event()
    await bot.deliver(bot.message("my cat is named Mochi"))
    await until(lambda: bool(bot.model.requests))
    await bot.crash()
    bot.model.extraction_gates.clear()
    await bot.start()
    await bot.intake.resume()
    await bot.settle()
    [candidate] = await bot.candidates()
    assert candidate.mentions == 1
    assert bot.matrix.bodies() == ["answer"]


async def test_p8_one_user_in_many_rooms_at_once_counts_like_one_after_the_other(bot: Bot) -> None:
    bot.learns(MOCHI)
    bot.settings.rules = MemorySettings(promotion_threshold=1000)
    bot.settings.quotas["ask"] = CommandQuota()
    await bot.deliver(*(bot.message("Mochi", room=f"!room{n % 20}:hs") for n in range(100)))
    assert await bot.system.drain(60)
    [candidate] = await bot.candidates()
    assert candidate.mentions == 100


async def test_p18_extracted_text_is_cleaned_and_overlong_facts_are_dropped(bot: Bot) -> None:
    bot.model.find = lambda request: Extraction(("  Likes \u202egreen\n tea ", "x" * 501, "  "), ())
    await bot.say("hello")
    assert texts(await bot.candidates()) == ["Likes green tea"]


def redaction(bot: Bot, target: str) -> object:
    return replace(bot.message(""), kind=IncomingKind.REDACTION, target=target, addressed=False)


async def is_retracted(bot: Bot, event_id: str) -> bool:
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event_id)
    return entry is not None and not entry.incoming.body
