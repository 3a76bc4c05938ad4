"""What was said or kept in private, on ways by which it could come out: who joins later, crashes, texts left behind."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from actors.passes import PassQueue
from davenport.day import DayTurn, Keeping
from memory.cleanup import CleanupAnswer, Merge
from memory.errors import StorageError
from memory.events import IncomingKind
from memory.media import Attachment
from memory.model import Prompt, Reply, ToolCall, ToolSpec
from memory.settings import MemorySettings
from memory.types import ScopeKind
from tests.actors.conftest import BAU, JUNO, ROOM, Bot, texts, until
from tests.actors.owned import DIRECT, answer, given, given_in_private, last_prompt
from tests.fakes.model import ToolRunner

ALONE: dict[str, object] = {"room": DIRECT, "direct": True, "alone": True}
JOINED: dict[str, object] = {"room": DIRECT, "direct": True, "alone": False}


@pytest.mark.parametrize("restarted", [False, True])
async def test_d8_who_joins_a_direct_room_is_told_nothing_of_what_was_said_there_before(
    bot: Bot, restarted: bool
) -> None:
    bot.model.answer = lambda prompt: "Noted: 1234"
    await bot.say("my PIN is 1234", **ALONE)
    if restarted:
        await bot.restart()
    for sender in (BAU, JUNO):
        await bot.say("hello everybody", sender, **JOINED)
        assert "my PIN is" not in last_prompt(bot)
    bot.matrix.joined[DIRECT] -= {BAU}
    await bot.say("and now?", **ALONE)
    assert "my PIN is 1234" in last_prompt(bot)


async def test_d8_who_comes_into_a_direct_room_that_its_person_left_is_told_nothing_either(bot: Bot) -> None:
    await given(bot)
    await bot.say("my PIN is 1234", **ALONE)
    bot.matrix.joined[DIRECT] -= {JUNO}
    await bot.say("hello", BAU, **ALONE)
    assert "1234" not in last_prompt(bot)
    assert "Mochi" not in last_prompt(bot)


async def test_d8_a_tag_said_in_private_brings_nothing_up_where_others_have_joined(bot: Bot) -> None:
    await given(bot, tags=("chess",))
    await bot.say("chess!", **ALONE)
    assert "Mochi" in last_prompt(bot)
    bot.matrix.joined[DIRECT] |= {BAU}
    await bot.say("hello", **JOINED)
    assert "Mochi" not in last_prompt(bot)
    await bot.say("!memories", **JOINED)
    assert "Mochi" not in bot.matrix.bodies(DIRECT)[-1]


async def test_d12_what_was_saved_before_a_crash_is_not_told_to_who_has_joined_meanwhile(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot.settings.rules = MemorySettings(capacity_personal=1, rest_after_days=1, match_threshold=1.0)
    await given_in_private(bot)
    for _ in range(2):
        bot.next_day()
        await bot.say("which board game shall we play?", **ALONE)
    finished = asyncio.Event()
    reply = bot.model.reply

    async def cut_off(prompt: Prompt, tools: tuple[ToolSpec, ...], run: ToolRunner) -> Reply:
        await run(ToolCall(0, "save_memory", {"text": "Likes green tea"}))
        await finished.wait()
        return await reply(prompt, tools, run)

    async def saved() -> bool:
        return texts(await bot.memories()) == ["Likes green tea"]

    monkeypatch.setattr(bot.model, "reply", cut_off)
    await bot.deliver(bot.message("remember that I like green tea", **ALONE))
    await until(saved)
    bot.matrix.joined[DIRECT] |= {BAU}
    finished.set()
    await bot.restart()
    await bot.settle()
    told_here = bot.matrix.bodies(DIRECT)[-1]
    assert told_here.startswith("Somebody has come into this room meanwhile")
    assert "#" not in told_here, "not even what was saved or forgotten"
    answer, texts_of_them = bot.matrix.bodies(bot.matrix.direct[JUNO])
    assert "Saved as **#2**" in answer
    assert "Mochi" in texts_of_them


def tables_with(bot: Bot, text: str) -> list[str]:
    """Return the names of the tables in which a text stands."""
    with closing(sqlite3.connect(bot.folder / "davenport.db")) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names}  # noqa: S608
    return [name for name in names if any(text in str(value) for row in rows[name] for value in row)]


async def test_a_text_that_was_saved_deleted_and_redacted_stands_nowhere_after_ten_minutes(bot: Bot) -> None:
    said = await bot.say("!memories add Afraid of zebras")
    await answer(bot, "!memories del 1")
    await bot.deliver(bot.message("", kind=IncomingKind.REDACTION, target=said.event_id, addressed=False))
    await bot.settle()
    day = DayTurn(bot.store, bot.system, Keeping())
    await day.forget_taken(bot.clock.now() + timedelta(minutes=10, seconds=1))
    assert tables_with(bot, "zebras") == []


async def test_p20_of_two_commands_that_forget_the_later_one_holds_in_whatever_order_they_end(bot: Bot) -> None:
    first, later = await bot.say("one"), await bot.say("two")
    for event in (later, first):
        async with bot.store.transaction() as tables:
            through = await tables.users.forget_through(JUNO, event.event_id)
            entry = await tables.journal.get(event.event_id)
            assert entry is not None
            assert through == entry.seq
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(later.event_id)
        assert entry is not None
        assert await tables.users.forgotten_through(JUNO) == entry.seq


async def test_a_redaction_in_another_room_takes_back_no_answer(bot: Bot) -> None:
    said = await bot.say("hello")
    target = bot.matrix.sent[0][1]
    redaction = bot.message("", BAU, "!other:hs", kind=IncomingKind.REDACTION, target=target, addressed=False)
    await bot.deliver(redaction)
    await bot.settle()
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(said.event_id)
    assert entry is not None
    assert entry.answer == "answer"
    await bot.say("and again")
    assert "hello" in last_prompt(bot)


async def test_d8_an_answer_made_in_private_goes_to_the_direct_room_when_somebody_joins_meanwhile(bot: Bot) -> None:
    await given_in_private(bot)
    gate = bot.model.gates["hello"] = asyncio.Event()
    bot.model.answer = lambda prompt: "How is Mochi?"
    await bot.deliver(bot.message("hello", **ALONE))
    await until(lambda: "hello" in bot.model.replying)
    assert "Mochi" in last_prompt(bot)
    bot.matrix.joined[DIRECT] |= {BAU}
    gate.set()
    await bot.settle()
    (said,) = bot.matrix.bodies(DIRECT)
    assert said == "Somebody has come into this room meanwhile, so I answer you in our direct room."
    assert bot.matrix.bodies(bot.matrix.direct[JUNO]) == ["How is Mochi?"]
    await bot.say("what did I miss?", BAU, **JOINED)
    assert "Mochi" not in last_prompt(bot)


async def test_d8_a_commands_answer_does_so_too(bot: Bot) -> None:
    await given_in_private(bot, "Cat is Mochi")
    await given_in_private(bot, "Has a cat named Mochi")
    bot.model.cleanup_gate = asyncio.Event()
    bot.model.tidier = lambda group: CleanupAnswer((), (Merge((1, 2), "Cat is named Mochi"),))
    await bot.deliver(bot.message("!memories cleanup", **ALONE))
    await until(lambda: len(bot.model.groups) == 1)
    bot.matrix.joined[DIRECT] |= {BAU}
    bot.model.cleanup_gate.set()
    await bot.settle()
    assert not any("Mochi" in body for body in bot.matrix.bodies(DIRECT))
    assert ["Mochi" in body for body in bot.matrix.bodies(bot.matrix.direct[JUNO])] == [True]


async def test_nobody_makes_the_prompts_of_a_room_too_long_with_global_memories(bot: Bot) -> None:
    entries = [{"text": f"Fact number {number}", "scope": "global"} for number in range(201)]
    data = json.dumps({"version": 1, "memories": entries}).encode()
    bot.matrix.files[(ROOM, "$file")] = Attachment("facts.json", "application/json", data)
    await bot.say("!memories import", reply_to="$file")
    assert bot.matrix.bodies()[-1].startswith("Nothing was changed: at most 200 memories can hold for every persona.")
    assert await bot.memories() == ()
    data = json.dumps({"version": 1, "memories": entries[:-1]}).encode()
    bot.matrix.files[(ROOM, "$file")] = Attachment("facts.json", "application/json", data)
    await bot.say("!memories import", reply_to="$file")
    await given(bot)
    assert (await answer(bot, "!memories global 201")).startswith("Nothing was changed: at most 200")
    assert [memory.scope for memory in await bot.memories()][-1] is ScopeKind.PERSONAL


async def test_who_is_silent_is_in_no_window_though_telling_the_rooms_failed(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bot.say("my PIN is 1234")

    async def broken(passes: PassQueue, seq: int) -> None:
        raise StorageError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(PassQueue, "forget_through", broken)
        await bot.say("!privacy silent", room="!other:hs")
    await bot.say("hello", BAU)
    assert "1234" not in last_prompt(bot)
    await bot.say("!privacy silent", room="!other:hs")
    await bot.say("!privacy open", room="!other:hs")
    await bot.say("hello again", BAU)
    assert "1234" not in last_prompt(bot)
