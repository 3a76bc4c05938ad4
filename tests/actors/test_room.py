"""The path of a message: lanes, windows, commands, failures, edits and redactions, restarts."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from memory.errors import ModelError, ModelKeyMissing
from memory.events import IncomingKind, JournalState
from memory.model import ToolCall
from memory.settings import MemorySettings
from tests.actors.conftest import BAU, JUNO, ROOM, Bot, texts, until
from tests.actors.test_learning import redaction


def history(bot: Bot) -> list[tuple[str, str]]:
    """The last prompt's messages as (role, text), without what stands beside the last one."""
    return [
        (message.role, message.blocks[-1].text.split(">")[-2].split("<")[0] if message.role == "user" else "answer")
        for message in bot.model.prompts[-1].messages
    ]


async def test_two_people_are_answered_side_by_side(bot: Bot) -> None:
    bot.model.gates["slow"] = asyncio.Event()
    await bot.deliver(bot.message("slow"), bot.message("quick", sender=BAU))
    await until(lambda: len(bot.matrix.sent) == 1)
    assert bot.matrix.sent[0][2]["answers"] == "$e2"
    bot.model.gates["slow"].set()
    await bot.settle()
    assert len(bot.matrix.sent) == 2


async def test_one_persons_messages_and_a_threads_messages_are_answered_in_order(bot: Bot) -> None:
    for details in ({"sender": JUNO}, {"thread_root": "$root"}):
        bot.matrix.sent.clear()
        bot.model.gates["slow"] = asyncio.Event()
        first = bot.message("slow", **details)  # type: ignore[arg-type]
        second = replace(bot.message("quick", **details), sender=BAU if "thread_root" in details else JUNO)  # type: ignore[arg-type]
        await bot.deliver(first, second)
        await until(lambda: "slow" in bot.model.replying)
        assert not await bot.system.drain(0.05)
        assert bot.matrix.sent == []
        bot.model.gates["slow"].set()
        await bot.settle()
        assert [content["answers"] for _, _, content in bot.matrix.sent] == [first.event_id, second.event_id]


async def test_a_command_waits_for_the_message_before_it(bot: Bot) -> None:
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": "Likes tea"})]
    await bot.deliver(bot.message("remember that I like tea"), bot.message("!memories"))
    await bot.settle()
    assert "Likes tea" in bot.matrix.bodies()[1]


async def test_what_is_not_said_to_the_bot_is_neither_answered_nor_stored(bot: Bot) -> None:
    event = bot.message("a secret between us", addressed=False)
    await bot.deliver(event)
    await bot.settle()
    assert bot.matrix.sent == []
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event.event_id)
    assert entry is not None
    assert (entry.state, entry.incoming.body, entry.incoming.text) == (JournalState.IGNORED, "", "")
    assert "secret" not in (bot.folder / "davenport.db").read_bytes().decode("latin-1")


async def test_direct_rooms_need_no_mention_and_ask_is_a_turn_everywhere(bot: Bot) -> None:
    await bot.say("hello", direct=True, alone=True, addressed=False)
    await bot.say("!ask what now", addressed=False)
    assert len(bot.matrix.sent) == 2
    assert "what now</message>" in bot.model.prompts[-1].messages[-1].blocks[-1].text


async def test_an_empty_message_in_a_direct_room_is_ignored(bot: Bot) -> None:
    await bot.say("  ", direct=True, alone=True, addressed=False)
    assert bot.matrix.sent == []


async def test_sixty_kilobytes_are_answered(bot: Bot) -> None:
    await bot.say("word " * 12_000)
    assert bot.matrix.bodies() == ["answer"]


async def test_model_errors_are_one_sentence_nothing_learned_event_done(bot: Bot) -> None:
    bot.learns({"Mochi": "Cat is named Mochi"})
    for error, word in ((ModelError("timeout"), "again"), (ModelKeyMissing("no key"), "key")):
        bot.model.answer = lambda prompt, error=error: error  # type: ignore[misc]
        event = await bot.say("my cat is named Mochi")
        content = bot.matrix.sent[-1][2]
        assert word in str(content["body"])
        assert content["notice"]
        async with bot.store.transaction() as tables:
            entry = await tables.journal.get(event.event_id)
        assert entry is not None
        assert entry.state is JournalState.FAILED
    assert await bot.candidates() == ()
    await bot.restart()
    await bot.settle()
    assert len(bot.matrix.sent) == 2


async def test_an_unexpected_failure_is_one_sentence_too(bot: Bot) -> None:
    def explodes(prompt: object) -> str:
        raise RuntimeError("a bug")

    bot.model.answer = explodes
    await bot.say("hello")
    assert "went wrong" in bot.matrix.bodies()[0]
    assert "bug" not in bot.matrix.bodies()[0]


async def test_typing_is_shown_while_the_model_works_and_always_cleared(bot: Bot) -> None:
    bot.model.gates["slow"] = asyncio.Event()
    await bot.deliver(bot.message("slow"))
    await until(lambda: ROOM in bot.matrix.typing_on)
    bot.model.gates["slow"].set()
    await bot.settle()
    assert bot.matrix.typing_on == set()
    bot.model.answer = lambda prompt: ModelError("down")
    await bot.say("hello")
    assert bot.matrix.typing_on == set()


async def test_the_window_holds_what_was_said_to_the_bot_and_its_answers_also_after_a_restart(bot: Bot) -> None:
    await bot.say("first")
    await bot.say("in a thread", thread_root="$root")
    await bot.say("!memories")
    await bot.restart()
    await bot.say("second")
    assert [role for role, _ in history(bot)] == ["user", "assistant", "user"]
    assert [text for _, text in history(bot)] == ["first", "answer", "second"]
    await bot.say("more", thread_root="$root")
    assert [text for _, text in history(bot)] == ["in a thread", "answer", "more"]


async def test_a_redacted_message_leaves_the_context(bot: Bot) -> None:
    event = await bot.say("first")
    await bot.say("second")
    await bot.deliver(redaction(bot, event.event_id))
    await bot.settle()
    await bot.say("third")
    assert [text for _, text in history(bot)] == ["second", "answer", "third"]
    await bot.restart()
    await bot.say("fourth")
    assert [text for _, text in history(bot)] == ["second", "answer", "third", "answer", "fourth"]


async def test_a_redaction_stops_the_turn_and_the_next_message_goes_on(bot: Bot) -> None:
    bot.model.gates["slow"] = asyncio.Event()
    event = bot.message("slow")
    await bot.deliver(event, bot.message("next"))
    await until(lambda: "slow" in bot.model.replying)
    await bot.deliver(redaction(bot, event.event_id))
    await bot.settle()
    assert [content["answers"] for _, _, content in bot.matrix.sent] == ["$e2"]
    assert [request.exchange.said for request in bot.model.requests] == ["next"]
    assert bot.matrix.typing_on == set()


async def test_an_edit_before_the_answer_keeps_the_message_out_of_context_and_learning(bot: Bot) -> None:
    bot.learns({"Mochi": "Cat is named Mochi"})
    bot.model.gates["Mochi"] = asyncio.Event()
    event = bot.message("my cat is named Mochi")
    await bot.deliver(event)
    await until(lambda: "Mochi" in bot.model.replying)
    await bot.deliver(replace(bot.message("* Miso"), kind=IncomingKind.EDIT, target=event.event_id))
    bot.model.gates["Mochi"].set()
    await bot.settle()
    assert len(bot.matrix.sent) == 1
    assert await bot.candidates() == ()
    await bot.say("second")
    assert [text for _, text in history(bot)] == ["second"]


async def test_memories_lists_deletes_edits_and_clears_only_ones_own(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(promotion_threshold=1)
    bot.learns({"tea": "Likes tea", "Rex": "Dog is named Rex", "Mochi": "Cat is named Mochi"})
    await bot.say("Rex", sender=BAU)
    await bot.say("tea and Mochi")
    first, second = await bot.memories()
    [rex] = await bot.memories(BAU)
    await bot.say("!memories")
    assert "Likes tea" in bot.matrix.bodies()[-1]
    assert "Rex" not in bot.matrix.bodies()[-1]
    await bot.say(f"!memories del {first.id} {rex.id} 99")
    assert str(rex.id) in bot.matrix.bodies()[-1]
    assert texts(await bot.memories(BAU)) == ["Dog is named Rex"]
    await bot.say(f"!memories edit {second.id} Cat is named Miso")
    [edited] = await bot.memories()
    assert (edited.text, edited.protected, edited.unused_days) == ("Cat is named Miso", True, 0)
    await bot.say(f"!memories edit {rex.id} Mine now")
    assert texts(await bot.memories(BAU)) == ["Dog is named Rex"]
    await bot.say("!memories clear")
    assert await bot.memories() == ()
    assert texts(await bot.memories(BAU)) == ["Dog is named Rex"]


async def test_d18_in_a_group_private_memories_are_only_counted_and_a_direct_room_shows_all(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(promotion_threshold=1)
    bot.learns({"tea": "Likes tea", "Mochi": "Cat is named Mochi"})
    await bot.say("tea")
    await bot.say("Mochi", room="!dm:hs", direct=True, alone=True)
    await bot.say("!memories")
    assert "Likes tea" in bot.matrix.bodies()[-1]
    assert "Mochi" not in bot.matrix.bodies()[-1]
    assert "1 more" in bot.matrix.bodies()[-1]
    await bot.say("!memories", room="!dm:hs", direct=True, alone=True)
    assert "Mochi" in bot.matrix.bodies()[-1]
    assert "tea" in bot.matrix.bodies()[-1]


async def test_an_edited_memory_is_searched_by_its_new_text(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(promotion_threshold=1)
    bot.learns({"tea": "Likes tea"})
    await bot.say("tea")
    bot.learns({})
    [memory] = await bot.memories()
    await bot.say(f"!memories edit {memory.id} Cat is named Mochi")
    bot.next_day()
    await bot.say("how's my cat Mochi doing?")
    [matched] = await bot.memories()
    assert matched.last_matched_at == bot.clock.now()


async def test_a_resumed_command_has_its_effect_once_and_one_answer(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(promotion_threshold=1)
    bot.learns({"tea": "Likes tea"})
    await bot.say("tea")
    [memory] = await bot.memories()
    command = bot.message(f"!memories del {memory.id}")
    bot.matrix.render = lambda answer: (_ for _ in ()).throw(asyncio.CancelledError())  # type: ignore[method-assign]
    await bot.deliver(command)
    await until(lambda: no_memories(bot))
    await bot.crash()
    del bot.matrix.render  # type: ignore[method-assign]
    await bot.start()
    await bot.intake.resume()
    await bot.settle()
    assert len(bot.matrix.sent) == 2
    assert "no" not in bot.matrix.bodies()[-1].lower().split()
    assert str(memory.id) in bot.matrix.bodies()[-1]


async def test_p1_a_malformed_command_is_answered_with_its_usage(bot: Bot) -> None:
    await bot.say("!memories edit")
    assert "edit" in bot.matrix.bodies()[-1]
    assert bot.model.requests == []


async def no_memories(bot: Bot) -> bool:
    return await bot.memories() == ()
