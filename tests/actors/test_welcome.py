"""The word of welcome on coming into a room, and the language of what the actors say."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from memory.errors import ModelError, ModelKeyMissing
from memory.events import Incoming, IncomingKind, JournalState, SyncBatch
from memory.model import Prompt, ToolCall
from memory.settings import MemorySettings
from tests.actors.conftest import BOT, JUNO, ROOM, Bot
from texts.catalogue import Speaker, languages


def arrival(bot: Bot, event_id: str = "$join", **details: object) -> Incoming:
    event = Incoming(event_id, ROOM, BOT, IncomingKind.JOINED, bot.clock.now())
    return replace(event, **details)  # type: ignore[arg-type]


async def comes_in(bot: Bot, event_id: str = "$join", **details: object) -> None:
    await bot.deliver(arrival(bot, event_id, **details))
    await bot.settle()


async def state(bot: Bot, event_id: str = "$join") -> JournalState:
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event_id)
    assert entry is not None
    return entry.state


async def test_a_room_is_greeted_once_in_one_notice_to_everybody(bot: Bot) -> None:
    await comes_in(bot)
    await comes_in(bot)  # the batch came again
    await bot.restart()
    await bot.settle()
    [(room, _, content)] = bot.matrix.sent
    assert (room, content["notice"], content["recipient"], content["thread"]) == (ROOM, True, None, None)
    for words in (
        "with a memory",
        "`!ask`",
        "`!memories`",
        "`!memories del ID`",
        "`!memories clear`",
        "`!privacy no-memory`",
    ):
        assert words in str(content["body"])
    assert await state(bot) is JournalState.LEARNED
    assert bot.model.requests == []
    assert await bot.memories(BOT) == ()


async def test_a_direct_room_is_told_that_one_just_writes(bot: Bot) -> None:
    await comes_in(bot, direct=True)
    [told] = bot.matrix.bodies()
    assert "Just write" in told
    assert "!ask" not in told


async def test_p2_where_nothing_is_learned_the_welcome_promises_no_learning(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(enabled=False)
    await comes_in(bot)
    [told] = bot.matrix.bodies()
    assert "only when you ask me to" in told
    assert "learning" not in told


async def test_the_welcome_can_be_switched_off(bot: Bot) -> None:
    bot.settings.welcomes = False
    await comes_in(bot)
    assert bot.matrix.bodies() == []
    assert await state(bot) is JournalState.IGNORED
    bot.settings.welcomes = True
    await bot.restart()
    await bot.settle()
    assert bot.matrix.bodies() == [], "not in a room it came into before"


async def test_whoever_puts_the_bot_out_and_in_again_is_not_greeted_each_time(bot: Bot) -> None:
    await comes_in(bot, "$first")
    bot.clock.set(bot.clock.now() + timedelta(hours=20))
    await comes_in(bot, "$second")
    assert len(bot.matrix.bodies()) == 1
    assert await state(bot, "$second") is JournalState.IGNORED
    await comes_in(bot, "$elsewhere", room_id="!other:hs")
    assert len(bot.matrix.bodies()) == 2
    bot.clock.set(bot.clock.now() + timedelta(hours=5))
    await comes_in(bot, "$third")
    assert len(bot.matrix.bodies(ROOM)) == 2, "a day after it greeted, whatever came between"


async def test_a_crash_between_journal_and_answer_loses_no_welcome(bot: Bot) -> None:
    async with bot.store.transaction() as tables:
        event = arrival(bot)
        await tables.journal.record(SyncBatch("s0", (event,)), [event], [], bot.clock.now())
    await bot.restart()
    await bot.settle()
    assert len(bot.matrix.bodies()) == 1
    assert await state(bot) is JournalState.LEARNED


async def test_a_welcome_that_was_redacted_leaves_nothing_undone(bot: Bot) -> None:
    await comes_in(bot)
    [(_, sent, _)] = bot.matrix.sent
    await bot.deliver(arrival(bot, "$redaction", kind=IncomingKind.REDACTION, sender=JUNO, target=sent))
    await bot.settle()
    await bot.say("hello")
    async with bot.store.transaction() as tables:
        assert await tables.journal.unfinished() == ()


@pytest.mark.parametrize("language", languages())
async def test_what_the_bot_says_itself_is_in_the_language_of_the_room(bot: Bot, language: str) -> None:
    bot.settings.languages[ROOM] = language
    say = Speaker(language)
    await comes_in(bot)

    def broken(_: Prompt) -> str:
        raise RuntimeError("a fault of our own")

    for answer in (lambda _: ModelError("down"), lambda _: ModelKeyMissing("no key"), broken):
        bot.model.answer = answer
        await bot.say("hello")
    await bot.say("!memories edit 7 x")
    await bot.say("!memories clear")
    told = bot.matrix.bodies(ROOM)
    assert say("welcome-room") in told[0]
    assert told[1:5] == [
        say("model-failed"),
        say("model-key-missing"),
        say("internal-error"),
        say("memory-unknown", id="7"),
    ]
    assert told[5].startswith(say("memories-clear-nothing"))


async def test_d10_the_model_hands_on_why_nothing_was_saved_in_the_language_of_the_room(bot: Bot) -> None:
    bot.settings.languages[ROOM] = "de"
    bot.settings.rules = MemorySettings(capacity_personal=1)
    texts = ("Likes tea", "Likes chess")
    bot.model.tool_calls = [ToolCall(number, "save_memory", {"text": text}) for number, text in enumerate(texts)]
    await bot.say("remember both")
    assert [result.text for result in bot.model.tool_results] == [
        "Saved as memory 1.",
        Speaker("de")("list-full-personal", n=1, capacity=1),
    ]
