"""What must hold when things go wrong beside each other: poisoned events, late redactions, crashes, long outages."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest

from actors import outbox
from actors.actor import Address
from memory.errors import EmbeddingError, MatrixError
from memory.events import Incoming, IncomingKind, JournalEntry, JournalState, SyncBatch
from memory.model import ToolCall
from memory.settings import MemorySettings
from memory.types import Extraction, ExtractionRequest, ScopeKind
from tests.actors.conftest import BAU, JUNO, ROOM, Bot, texts, until

MOCHI = {"Mochi": "Cat is named Mochi"}
GAMES = "which board game should we play tonight?"
DM = "!dm:hs"
PRIVATE: dict[str, object] = {"room": DM, "direct": True, "alone": True}


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "_backoff", lambda state: 0.0)


def of(bot: Bot, target: str, kind: IncomingKind = IncomingKind.REDACTION, text: str = "") -> Incoming:
    """Make a redaction or edit of an event, by its author."""
    return bot.message(text, kind=kind, target=target, addressed=False)


async def entry_of(bot: Bot, event: Incoming) -> JournalEntry:
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event.event_id)
    assert entry is not None
    return entry


def whole_prompt(bot: Bot) -> str:
    prompt = bot.model.prompts[-1]
    blocks = [*prompt.system, *(block for message in prompt.messages for block in message.blocks)]
    return "\n".join(block.text for block in blocks)


async def test_p20_a_blank_direct_message_beside_another_does_not_block_the_users_passes(bot: Bot) -> None:
    bot.learns(MOCHI)
    await bot.deliver(
        bot.message("my cat is Mochi", addressed=False, **PRIVATE), bot.message(" ", addressed=False, **PRIVATE)
    )
    await bot.settle()
    await bot.say("Mochi is asleep", **PRIVATE)
    assert texts(await bot.memories()) == ["Cat is named Mochi"]


async def test_a_redacted_message_is_not_read_back_into_a_window_that_was_not_loaded(bot: Bot) -> None:
    event = await bot.say("the password is hunter2")
    await bot.restart()
    await bot.deliver(of(bot, event.event_id), bot.message("hello"))
    await bot.settle()
    assert "hunter2" not in whole_prompt(bot)


async def test_p20_a_redacted_turn_whose_pass_a_crash_cut_off_is_finished_at_the_next_start(bot: Bot) -> None:
    bot.model.extraction_gates["secret"] = asyncio.Event()
    event, redaction = bot.message("secret"), of(bot, "$e1")
    await bot.deliver(event)
    await until(lambda: len(bot.model.requests) == 1)
    await bot.deliver(redaction)

    async def taken_back() -> bool:
        return (await entry_of(bot, redaction)).state is JournalState.LEARNED

    await until(taken_back)
    bot.model.extraction_gates.clear()
    await bot.restart()
    await bot.settle()
    assert (await entry_of(bot, event)).state is JournalState.LEARNED


async def test_p20_a_redacted_pass_does_not_block_later_ones_when_its_user_actor_restarts(bot: Bot) -> None:
    bot.learns(MOCHI)
    bot.model.extraction_gates["secret"] = asyncio.Event()
    event, redaction = bot.message("secret"), of(bot, "$e1")
    await bot.deliver(event)
    await until(lambda: len(bot.model.requests) == 1)
    await bot.deliver(redaction)

    async def taken_back() -> bool:
        return (await entry_of(bot, redaction)).state is JournalState.LEARNED

    await until(taken_back)
    await bot.system.tell(Address("user", JUNO), object())  # a message that makes the handler raise
    await bot.settle()
    await bot.say("my cat is Mochi")
    assert texts(await bot.candidates()) == ["Cat is named Mochi"]


async def test_p20_clear_drops_a_pass_in_flight_also_across_a_crash(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(promotion_threshold=1)
    bot.learns(MOCHI)
    bot.model.extraction_gates["Mochi"] = asyncio.Event()
    await bot.deliver(bot.message("my cat is Mochi"))
    await until(lambda: len(bot.model.requests) == 1)
    await bot.deliver(bot.message("!memories clear"))
    await until(lambda: len(bot.matrix.bodies()) == 2)
    bot.model.extraction_gates.clear()
    await bot.restart()
    await bot.settle()
    assert await bot.memories() == ()


async def test_a_poisoned_event_fails_alone_and_its_room_goes_on(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    recognise = bot.parts.dispatcher.recognise

    def buggy(text: str, *, meant: bool = False) -> object:
        if "poison" in text:
            raise ValueError("bug")
        return recognise(text, meant=meant)

    poison = bot.message("poison")
    async with bot.store.transaction() as tables:
        await tables.journal.record(SyncBatch("s0", (poison,)), [poison], [], bot.clock.now())
    monkeypatch.setattr(bot.parts.dispatcher, "recognise", buggy)
    await bot.say("hello", sender=BAU)
    assert "answer" in bot.matrix.bodies()
    assert (await entry_of(bot, poison)).state is JournalState.FAILED


async def test_a_command_with_a_bug_fails_once_and_stops_nobody_elses_turn(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def buggy(command: object, caller: object) -> str:
        raise ValueError("bug")

    monkeypatch.setattr(bot.parts.dispatcher, "run", buggy)
    bot.model.gates["slow"] = asyncio.Event()
    await bot.deliver(bot.message("slow", sender=BAU))
    await until(lambda: "slow" in bot.model.replying)
    command = bot.message("!help")
    await bot.deliver(command)

    async def is_done() -> bool:
        return (await entry_of(bot, command)).state is JournalState.LEARNED

    await until(is_done)
    bot.model.gates["slow"].set()
    await bot.settle()
    assert "answer" in bot.matrix.bodies()
    assert any("went wrong" in body for body in bot.matrix.bodies())


async def test_a_failed_handler_leaves_no_turn_of_the_room_unanswered(bot: Bot) -> None:
    bot.model.gates["slow"] = asyncio.Event()
    await bot.deliver(bot.message("slow"))
    await until(lambda: "slow" in bot.model.replying)
    await bot.system.tell(Address("room", ROOM), object())  # a message that makes the handler raise
    bot.model.gates["slow"].set()
    await bot.settle()
    assert bot.matrix.bodies() == ["answer"]


async def test_d7_a_room_list_that_cannot_be_searched_costs_no_answer(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = bot.parts.indexes.search

    def broken(key: object, *arguments: object) -> object:
        if key.kind is ScopeKind.ROOM:  # type: ignore[attr-defined]
            raise EmbeddingError("unreadable")
        return search(key, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(bot.parts.indexes, "search", broken)
    await bot.say("hello")
    assert bot.matrix.bodies() == ["answer"]


async def test_p17_p20_a_pass_that_fails_in_an_unforeseen_way_does_not_block_later_ones(bot: Bot) -> None:
    def find(request: ExtractionRequest) -> Extraction:
        if "poison" in request.exchange.said:
            raise RuntimeError("bug")
        return Extraction(("Likes tea",))

    bot.model.find = find
    await bot.say("poison")
    await bot.say("I like tea")
    assert texts(await bot.candidates()) == ["Likes tea"]


async def test_a_kept_reply_is_sent_when_the_homeserver_is_back_not_when_somebody_writes(bot: Bot) -> None:
    bot.matrix.failures = [MatrixError("down")] * outbox.ATTEMPTS
    await bot.say("one")
    await bot.deliver()  # an empty sync: the homeserver answers again
    await bot.settle()
    assert bot.matrix.bodies() == ["answer"]


async def test_d8_who_joined_before_the_turn_began_hears_nothing_private(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(promotion_threshold=1)
    bot.learns(MOCHI)
    await bot.say("my cat is Mochi", **PRIVATE)
    bot.model.gates["slow"] = asyncio.Event()
    await bot.deliver(bot.message("slow", **PRIVATE), bot.message("how is my cat?", **PRIVATE))
    await until(lambda: "slow" in bot.model.replying)
    bot.matrix.joined[DM].add(BAU)
    bot.model.gates["slow"].set()
    await bot.settle()
    assert "Cat is named Mochi" not in "\n".join(block.text for block in bot.model.prompts[-1].system)


async def test_the_text_of_an_overheard_edit_is_not_stored(bot: Bot) -> None:
    overheard = await bot.say("between people", addressed=False)
    edit = await bot.say("between two people", kind=IncomingKind.EDIT, target=overheard.event_id, addressed=False)
    stored = (await entry_of(bot, edit)).incoming
    assert (stored.body, stored.text) == ("", "")


async def test_nothing_stored_still_says_what_was_redacted(bot: Bot) -> None:
    bot.model.answer = lambda prompt: "you said hunter2"
    event = await bot.say("the password is hunter2")
    await bot.say("the password was hunter2", kind=IncomingKind.EDIT, target=event.event_id, addressed=False)
    await bot.say("", kind=IncomingKind.REDACTION, target=event.event_id, addressed=False)
    with sqlite3.connect(bot.store.path) as database:
        dump = {table: repr(database.execute(f"SELECT * FROM {table}").fetchall()) for table in ("journal", "outbox")}  # noqa: S608
    assert [table for table, rows in dump.items() if "hunter2" in rows] == []


async def test_an_answer_of_the_bot_that_is_redacted_leaves_the_context(bot: Bot) -> None:
    bot.model.answer = lambda prompt: "the password is hunter2"
    await bot.say("hello")
    [(_, sent, _)] = bot.matrix.sent
    await bot.say("", kind=IncomingKind.REDACTION, target=sent, addressed=False)
    await bot.say("hello again")
    assert "hunter2" not in whole_prompt(bot)


async def test_an_answer_not_sent_yet_is_not_sent_once_its_message_is_redacted(bot: Bot) -> None:
    bot.matrix.failures = [MatrixError("down")] * outbox.ATTEMPTS
    event = await bot.say("one")
    await bot.say("", kind=IncomingKind.REDACTION, target=event.event_id, addressed=False)
    await bot.say("two")
    assert [content["answers"] for _, _, content in bot.matrix.sent] == ["$e3"]


async def test_d13_an_equal_text_saved_while_decay_is_off_leaves_the_counters(bot: Bot) -> None:
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": "Cat is named Mochi"})]
    await bot.say("remember that my cat is named Mochi")
    bot.model.tool_calls = []
    for _ in range(3):
        bot.next_day()
        await bot.say(GAMES)
    assert [m.unused_days for m in await bot.memories()] == [3]
    bot.settings.rules = MemorySettings(decay_enabled=False)
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": "cat is named mochi"})]
    await bot.say("remember that my cat is named Mochi")
    assert [m.unused_days for m in await bot.memories()] == [3]


async def test_today_is_read_once_a_turn_also_for_what_its_tools_save(bot: Bot) -> None:
    today = bot.clock.today()
    bot.model.gates["tea"] = asyncio.Event()
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": "Likes tea"})]
    await bot.deliver(bot.message("remember tea"))
    await until(lambda: "tea" in bot.model.replying)
    bot.next_day()
    bot.model.gates["tea"].set()
    await bot.settle()
    assert [memory.counted_on for memory in await bot.memories()] == [today]


async def test_the_typing_notice_is_cleared_when_a_turn_is_cut_off_by_stopping(bot: Bot) -> None:
    typing = bot.matrix.typing

    async def slowly(room_id: str, *, on: bool) -> None:
        await asyncio.sleep(0.01)
        await typing(room_id, on=on)

    bot.matrix.typing = slowly  # type: ignore[method-assign]
    bot.model.gates["slow"] = asyncio.Event()
    await bot.deliver(bot.message("slow"))
    await until(lambda: bot.matrix.typing_on == {ROOM} and "slow" in bot.model.replying)
    await bot.system.close()
    assert bot.matrix.typing_on == set()
