"""Recall over real storage, index and embedder: D1-D8, D13, D14, D16, and the worked example of RULES.md."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from memory.errors import EmbeddingError, ModelError, StorageError
from memory.model import ToolCall
from memory.settings import MemorySettings
from memory.types import ListKey, Memory, ScopeKind
from storage.memories import MemoryRows
from tests.actors.conftest import BAU, JUNO, ROOM, Bot, texts, until

MOCHI = {"Mochi": "Cat is named Mochi"}
GAMES = "which board game should we play tonight?"


async def knows_mochi(bot: Bot, **where: object) -> Memory:
    bot.settings.rules = MemorySettings(promotion_threshold=1)
    bot.learns(MOCHI)
    await bot.say("my cat is named Mochi", **where)
    [memory] = await bot.memories()
    return memory


def prompt_start(bot: Bot) -> str:
    return "\n".join(block.text for block in bot.model.prompts[-1].system)


def beside_message(bot: Bot) -> str:
    return "\n".join(block.text for block in bot.model.prompts[-1].messages[-1].blocks)


async def test_worked_example_of_the_rules_d1_d4_d5_d6(bot: Bot) -> None:
    await knows_mochi(bot)
    for day in range(1, 7):
        bot.next_day()
        await bot.say(GAMES)
        assert [m.unused_days for m in await bot.memories()] == [day]
        assert "Mochi" in prompt_start(bot)
    bot.next_day(7)  # a quiet week counts nothing
    assert [m.unused_days for m in await bot.memories()] == [6]
    await bot.say(GAMES)
    assert [m.unused_days for m in await bot.memories()] == [7]
    assert "Mochi" in prompt_start(bot)  # rests from the next reply on (D14)
    bot.clock.advance(timedelta(hours=2))
    await bot.say(GAMES)
    assert "Mochi" not in prompt_start(bot) + beside_message(bot)
    bot.next_day()
    await bot.say("how's my cat Mochi doing?")
    assert "Mochi" not in prompt_start(bot)
    assert "Cat is named Mochi" in beside_message(bot)
    [memory] = await bot.memories()
    assert (memory.unused_days, memory.last_matched_at) == (0, bot.clock.now())
    bot.clock.advance(timedelta(hours=2))
    await bot.say(GAMES)
    assert "Mochi" in prompt_start(bot)


async def test_d4_many_messages_a_day_count_one_day_and_a_match_on_the_same_day_none(bot: Bot) -> None:
    await knows_mochi(bot)
    bot.next_day()
    for _ in range(3):
        await bot.say(GAMES)
    assert [m.unused_days for m in await bot.memories()] == [1]
    await bot.say("how's my cat Mochi doing?")
    await bot.say(GAMES)
    assert [m.unused_days for m in await bot.memories()] == [0]


async def test_d2_d4_a_participants_memories_are_searched_but_age_only_when_the_owner_wrote_today(bot: Bot) -> None:
    await knows_mochi(bot)
    bot.clock.set(bot.clock.now().replace(hour=23, minute=50))
    await bot.say(GAMES)
    bot.clock.advance(timedelta(minutes=20))  # past midnight, Juno is still in the window
    await bot.say(GAMES, sender=BAU)
    assert "Cat is named Mochi" in prompt_start(bot)
    assert [m.unused_days for m in await bot.memories()] == [0]
    await bot.say(GAMES)
    assert [m.unused_days for m in await bot.memories()] == [1]


async def test_d2_d14_who_has_left_is_not_searched_and_leaves_the_prompt_at_the_next_trim(bot: Bot) -> None:
    await knows_mochi(bot)
    bot.learns({})
    bot.matrix.joined[ROOM].discard(JUNO)
    await bot.say("how's the cat Mochi?", sender=BAU)
    assert await last_recall_matches(bot) == []
    assert "Mochi" in prompt_start(bot)
    bot.clock.advance(timedelta(minutes=61))
    await bot.say("hello", sender=BAU)
    assert "Mochi" not in prompt_start(bot)


async def test_d2_a_replayed_turn_never_counts_twice(bot: Bot) -> None:
    await knows_mochi(bot)
    bot.next_day()
    bot.model.gates["game"] = asyncio.Event()
    await bot.deliver(bot.message(GAMES))
    await until(lambda: "game" in bot.model.replying)
    assert [m.unused_days for m in await bot.memories()] == [1]
    await bot.crash()
    bot.model.gates.clear()
    bot.next_day()  # the resumed turn belongs to the day on which it was searched
    await bot.start()
    await bot.intake.resume()
    await bot.settle()
    assert [m.unused_days for m in await bot.memories()] == [1]
    assert len(bot.matrix.bodies()) == 2


async def test_d2_the_search_counts_even_if_the_model_then_fails(bot: Bot) -> None:
    await knows_mochi(bot)
    bot.next_day()
    bot.model.answer = lambda prompt: ModelError("down")
    await bot.say(GAMES)
    assert [m.unused_days for m in await bot.memories()] == [1]


async def test_d2_a_mention_without_text_searches_nothing(bot: Bot) -> None:
    await knows_mochi(bot)
    bot.next_day()
    await bot.say("")
    assert [m.unused_days for m in await bot.memories()] == [0]


async def test_d3_three_best_count_as_used_and_the_fourth_does_not(bot: Bot) -> None:
    facts = ["Has a cat named Mochi", "Has a cat named Miso", "Has a cat named Mia", "Has a cat named Milo"]
    bot.settings.rules = MemorySettings(promotion_threshold=1)
    bot.learns(dict(zip(["one", "two", "three", "four"], facts, strict=True)))
    await bot.say("one two three four")
    bot.next_day()
    await bot.say("tell me about my cats")
    used = [m for m in await bot.memories() if m.unused_days == 0]
    assert len(used) == 3
    assert [m.unused_days for m in await bot.memories() if m not in used] == [1]


async def test_d7_a_failed_embedding_changes_nothing_and_the_reply_goes_on(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    await knows_mochi(bot)
    bot.next_day()

    async def fails(texts: object) -> object:
        raise EmbeddingError("unreachable")

    with monkeypatch.context() as patch:
        patch.setattr(bot.embedder, "embed_query", fails)
        await bot.say(GAMES)
    assert [m.unused_days for m in await bot.memories()] == [0]
    assert bot.matrix.bodies()[-1] == "answer"
    assert "Cat is named Mochi" in prompt_start(bot)


async def test_d7_an_unreadable_list_changes_nothing_in_the_others_and_costs_no_answer(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    await knows_mochi(bot)
    bot.next_day()
    read = MemoryRows.of_list

    async def broken(self: MemoryRows, key: ListKey) -> object:
        if key.kind is ScopeKind.ROOM:
            raise StorageError("disk")
        return await read(self, key)

    await bot.restart()
    with monkeypatch.context() as patch:
        patch.setattr(MemoryRows, "of_list", broken)
        await bot.say(GAMES)
    assert [m.unused_days for m in await bot.memories()] == [0]
    assert bot.matrix.bodies()[-1] == "answer"
    assert "Cat is named Mochi" in prompt_start(bot)


async def test_d8_what_was_said_in_private_stays_out_of_a_group_and_does_not_age_there(bot: Bot) -> None:
    await knows_mochi(bot, room="!dm:hs", direct=True, alone=True)
    bot.learns({})
    bot.next_day()
    await bot.say("how's my cat Mochi doing?")
    assert "Cat is named Mochi" not in prompt_start(bot) + beside_message(bot)
    assert [(m.unused_days, m.last_matched_at) for m in await bot.memories()] == [(0, None)]
    await bot.say("how's my cat Mochi doing?", room="!dm:hs", direct=True, alone=True)
    assert "Cat is named Mochi" in prompt_start(bot)


async def test_d8_a_direct_room_with_a_third_person_is_no_place_for_private_facts(bot: Bot) -> None:
    await knows_mochi(bot, room="!dm:hs", direct=True, alone=True)
    await bot.say("how's my cat Mochi doing?", room="!dm:hs", direct=True, alone=False)
    assert "Cat is named Mochi" not in prompt_start(bot) + beside_message(bot)


async def test_d13_decay_off_keeps_every_memory_active_and_counters_frozen(bot: Bot) -> None:
    await knows_mochi(bot)
    for _ in range(8):
        bot.next_day()
        await bot.say(GAMES)
    assert [m.unused_days for m in await bot.memories()] == [8]
    bot.settings.rules = MemorySettings(decay_enabled=False)
    bot.next_day()
    await bot.say(GAMES)
    assert "Cat is named Mochi" in prompt_start(bot)
    assert [m.unused_days for m in await bot.memories()] == [8]
    bot.settings.rules = MemorySettings()
    await bot.say(GAMES)
    assert "Cat is named Mochi" not in prompt_start(bot)
    assert [m.unused_days for m in await bot.memories()] == [9]


async def test_d13_without_an_embedder_nothing_is_searched(bot: Bot) -> None:
    await bot.crash()
    bot.embedder = None
    await bot.start()
    await knows_mochi(bot)
    bot.next_day()
    await bot.say(GAMES)
    assert [m.unused_days for m in await bot.memories()] == [0]
    assert "Cat is named Mochi" in prompt_start(bot)


async def test_d16_a_clock_set_back_gives_no_second_day_and_a_date_far_ahead_is_healed(
    bot: Bot, caplog: pytest.LogCaptureFixture
) -> None:
    await knows_mochi(bot)
    bot.next_day()
    await bot.say(GAMES)
    bot.next_day(-1)
    await bot.say(GAMES)
    bot.next_day()
    await bot.say(GAMES)
    assert [m.unused_days for m in await bot.memories()] == [1]
    bot.next_day(30)
    await bot.say(GAMES)
    bot.next_day(-20)
    await bot.say(GAMES)
    [memory] = await bot.memories()
    assert (memory.unused_days, memory.counted_on) == (2, bot.clock.today())
    assert "more than 7 days ahead" in caplog.text


async def test_p16_save_memory_writes_at_once_and_equal_text_is_a_match(bot: Bot) -> None:
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": "Likes tea."})]
    await bot.say("remember that I like tea")
    assert [(m.text, m.source.value) for m in await bot.memories()] == [("Likes tea.", "tool")]
    bot.next_day()
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": "likes  TEA"})]
    await bot.say("remember that I like tea")
    [memory] = await bot.memories()
    assert (memory.unused_days, memory.last_matched_at) == (0, bot.clock.now())
    assert "Already remembered" in bot.model.tool_results[-1].text


async def test_p16_a_rooms_list_needs_the_right_to_change_the_room(bot: Bot) -> None:
    call = ToolCall(0, "save_memory", {"text": "Meets on Fridays", "scope": "room"})
    bot.model.tool_calls = [call]
    await bot.say("remember for the room: we meet on Fridays")
    assert bot.model.tool_results[-1].is_error
    bot.matrix.admins.add(JUNO)
    await bot.say("remember for the room: we meet on Fridays")
    assert not bot.model.tool_results[-1].is_error
    bot.model.tool_calls = []
    await bot.say("hello", sender=BAU)
    assert "Meets on Fridays" in prompt_start(bot)
    assert await bot.memories() == ()


async def test_p16_wrong_arguments_have_no_effect(bot: Bot) -> None:
    bot.model.tool_calls = [
        ToolCall(0, "save_memory", {"text": " "}),
        ToolCall(1, "save_memory", {"text": "Likes tea", "scope": "everyone"}),
        ToolCall(2, "save_memory", {"user": BAU, "text": "Likes tea"}),
        ToolCall(3, "drop_table", {}),
        ToolCall(4, "save_memory", {"text": "x" * 501}),
    ]
    await bot.say("remember that")
    assert [result.is_error for result in bot.model.tool_results] == [True] * 5
    assert await bot.memories() == ()


async def test_d9_d10_a_full_list_refuses_an_explicit_save_and_says_why(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(capacity_personal=1)
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": "Likes tea"})]
    await bot.say("remember tea")
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": "Likes coffee"})]
    await bot.say("remember coffee")
    assert texts(await bot.memories()) == ["Likes tea"]
    assert "full" in bot.model.tool_results[-1].text


async def test_p16_a_resumed_turn_repeats_no_tool_effect(bot: Bot) -> None:
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": "Likes tea"})]
    crashed = asyncio.Event()
    bot.model.answer = lambda prompt: crashed.set() or "never sent"
    bot.matrix.render = lambda answer: (_ for _ in ()).throw(asyncio.CancelledError())  # type: ignore[method-assign]
    await bot.deliver(bot.message("remember tea"))
    await asyncio.wait_for(crashed.wait(), 10)
    await bot.crash()
    del bot.matrix.render  # type: ignore[method-assign]
    bot.model.answer = lambda prompt: "saved"
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": "Likes green tea"})]
    await bot.start()
    await bot.intake.resume()
    await bot.settle()
    assert texts(await bot.memories()) == ["Likes tea"]
    assert bot.model.tool_results[-1] == bot.model.tool_results[-2]
    assert bot.matrix.bodies() == ["saved", "Saved as **#1**: Likes tea"]


async def last_recall_matches(bot: Bot) -> list[int]:
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(f"$e{bot.events}")
    assert entry is not None
    assert entry.recall is not None
    return [match.memory_id for match in entry.recall.matches]
