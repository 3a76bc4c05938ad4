"""`!memories undo`: one step back, for ten minutes, whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from actors import commanding
from actors.memory_messages import MakeGlobal, MarkMemories, UndoLast
from actors.messages import ClearMemories, DeleteMemories, EditMemory, EffectKey, ListScore, Request, Score
from davenport.day import DayTurn, Keeping
from memory.cleanup import CleanupAnswer, Merge
from memory.errors import ActorFailed, Refused
from memory.events import IncomingKind
from memory.marking import Tagging
from memory.types import Conversation, Memory, Settlement
from memory.undo import Kept, Taken
from tests.actors.breaking import Breakage, dump
from tests.actors.conftest import BAU, JUNO, ROOM, Bot, texts
from tests.actors.owned import answer, asked, given, given_in_private, last_prompt, stored

NOTHING = (
    "There is nothing to undo: I can take back your last deletion, edit, clear or cleanup, once and for 10 minutes."
)
MINUTES = timedelta(minutes=1)


async def whole(bot: Bot, *ids: int) -> tuple[Kept, ...]:
    """Return the memories with their mentions."""
    async with bot.store.transaction() as tables:
        return await tables.undo.as_they_are(ids)


async def kept(bot: Bot) -> Taken | None:
    """Look at what is kept of Juno's, whatever its age, and leave it there."""
    async with bot.store.transaction() as tables:
        taken = await tables.undo.take(JUNO, bot.clock.now() - timedelta(days=1000))
        if taken is not None:
            await tables.undo.keep(JUNO, "$kept", bot.clock.now(), taken)
    return taken


async def learned(bot: Bot) -> Memory:
    """Let Juno mention a fact in two messages, $e1 and $e2, and return the memory."""
    bot.learns({"Mochi": "Cat is named Mochi"})
    await bot.say("my cat is named Mochi")
    await bot.say("Mochi is my cat")
    (memory,) = await bot.memories()
    return memory


async def test_a_deletion_comes_back_with_id_counters_dates_marks_and_mentions(bot: Bot) -> None:
    memory = await learned(bot)
    await answer(bot, "!memories tag 1 cat")
    await answer(bot, "!memories limit 1 here")
    async with bot.store.transaction() as tables:
        moment = bot.clock.now() + timedelta(days=1)
        await tables.memories.settle(Settlement(moment, moment.date(), aged=(1,)))
    before = await whole(bot, 1)
    assert before[0].memory.unused_days == 1
    assert before[0].mentioned_by == ("$e1", "$e2")
    await answer(bot, "!memories del 1")
    assert await whole(bot, 1) == ()
    bot.clock.advance(10 * MINUTES)
    assert await answer(bot, "!memories undo") == "Undone. As before: #1."
    assert await whole(bot, 1) == before
    assert memory.id == 1


async def test_it_is_used_again_at_once_and_found_by_search(bot: Bot) -> None:
    """Ids stay in order though an older one came back, and it gets its vector again."""
    await given(bot)
    await given(bot, "Likes tea")
    await bot.say("hello")
    start = last_prompt(bot).partition("</memories>")[0]
    assert "Mochi" in start
    await answer(bot, "!memories del 1")
    await bot.say("hello")
    assert "Mochi" not in last_prompt(bot)
    await answer(bot, "!memories undo")
    await bot.say("hello")
    assert last_prompt(bot).startswith(start)
    score = await asked(bot, Score(Conversation(ROOM, private=False, asker=JUNO), bot.settings.rules, None))
    assert isinstance(score, ListScore)
    assert [memory.id for memory in score.usable] == [1, 2]
    await bot.say("what is my cat Mochi doing?")
    assert (await stored(bot, 1))[1].last_matched_at == bot.clock.now()


async def test_an_edit_gets_its_old_wording_and_protection_back_and_keeps_its_counters(bot: Bot) -> None:
    memory = await given(bot)
    await answer(bot, "!memories edit 1 Cat is called Rex")
    await answer(bot, "!memories tag 1 cat")
    async with bot.store.transaction() as tables:
        now = bot.clock.now()
        await tables.memories.settle(Settlement(now, now.date(), used=(1,)))
    assert await answer(bot, "!memories undo") == "Undone. As before: #1."
    assert await stored(bot, 1) == {1: replace(memory, tags=("cat",), last_matched_at=now)}
    await bot.say("the cat")
    assert "Mochi" in last_prompt(bot)
    assert "Rex" not in last_prompt(bot)


async def test_d11_an_edit_undone_leaves_what_became_global_protected(bot: Bot) -> None:
    await given(bot)
    await answer(bot, "!memories edit 1 Cat is called Rex")
    await answer(bot, "!memories global 1")
    await answer(bot, "!memories undo")
    memory = (await stored(bot, 1))[1]
    assert (memory.text, memory.protected, memory.scope) == ("Cat is named Mochi", True, "global")


async def test_d18_a_clear_comes_back_whole_but_not_what_passes_forgot(bot: Bot) -> None:
    memories = {m.id: m for m in (await given(bot), await given_in_private(bot, "Likes tea", protected=True))}
    said = await answer(bot, "!memories clear")
    assert said.startswith("Forgotten: 2 memories of you. `!memories undo` brings them back within 10 minutes.")
    async with bot.store.transaction() as tables:
        through = await tables.users.forgotten_through(JUNO)
    assert await answer(bot, "!memories undo") == "Undone. As before: #1, #2."
    assert await stored(bot, 1, 2) == memories
    async with bot.store.transaction() as tables:
        assert await tables.users.forgotten_through(JUNO) == through


async def test_the_deletions_of_one_turn_are_one_step(bot: Bot) -> None:
    await given(bot)
    await given(bot, "Likes tea")
    await asked(bot, DeleteMemories((1,), EffectKey("$turn", 1)))
    await asked(bot, DeleteMemories((2,), EffectKey("$turn", 2)))
    assert await answer(bot, "!memories undo") == "Undone. As before: #1, #2."


async def merged(bot: Bot) -> tuple[dict[int, Memory], Memory]:
    """Let a cleanup make one memory of two. Returns the two as they were, and the one."""
    were = {m.id: m for m in (await given(bot, "Has a cat"), await given(bot, "Cat is named Mochi"))}
    bot.model.tidier = lambda group: CleanupAnswer((), (Merge((1, 2), "Has a cat named Mochi"),))
    await answer(bot, "!memories cleanup")
    (one,) = await bot.memories()
    return were, one


async def test_a_cleanup_is_undone_and_what_it_made_goes(bot: Bot) -> None:
    were, one = await merged(bot)
    assert await answer(bot, "!memories undo") == "Undone. As before: #1, #2."
    assert await stored(bot, 1, 2, one.id) == were


@pytest.mark.parametrize("change", ["edit 3 Has a dog", "del 3", "tag 3 cat", "global 3", "limit 3 here"])
async def test_a_cleanup_whose_result_changed_since_is_not_undone(bot: Bot, change: str) -> None:
    """After an edit or a deletion that one is the last step; otherwise undoing is refused, naming what changed."""
    _, one = await merged(bot)
    await answer(bot, f"!memories {change}")
    said = await answer(bot, "!memories undo")
    if change.startswith(("edit", "del")):
        assert said == "Undone. As before: #3."
        assert await stored(bot, 1, 2, 3) == {3: one}
    else:
        assert said == "That cannot be undone any more. Changed since: #3."
        assert [*await stored(bot, 1, 2, 3)] == [3]


async def test_p15_a_merged_memory_comes_back_with_what_it_was_put_together_from(bot: Bot) -> None:
    """So that it is still taken apart when a message that taught a part of it is deleted, before or after undoing."""
    bot.learns({"Mochi": "Cat is named Mochi", "tea": "Likes tea"})
    for said in ("my cat is Mochi", "Mochi is my cat", "I like tea", "tea is what I like"):
        await bot.say(said)
    parts = await whole(bot, 1, 2)
    bot.model.tidier = lambda group: CleanupAnswer((), (Merge((1, 2), "Likes tea, cat is Mochi"),))
    await answer(bot, "!memories cleanup")
    before = await whole(bot, 3)
    assert before[0].parts == parts
    await answer(bot, "!memories del 3")
    await answer(bot, "!memories undo")
    assert await whole(bot, 3) == before
    await answer(bot, "!memories edit 3 Likes coffee")
    await answer(bot, "!memories undo")
    assert (await whole(bot, 3))[0].parts == parts
    await answer(bot, "!memories del 3")
    await redact(bot, "$e1")
    taken = await kept(bot)
    assert taken is not None
    assert [part.mentioned_by for part in taken.was[0].parts] == [("$e2",), ("$e3", "$e4")]
    await redact(bot, "$e2")
    await answer(bot, "!memories undo")
    assert texts(await bot.memories()) == ["Likes tea"]


async def test_what_another_cleanup_merged_away_is_not_brought_back_double(bot: Bot) -> None:
    _, one = await merged(bot)
    async with bot.store.transaction() as tables:
        await tables.memories.delete((one.id,))
    assert await answer(bot, "!memories undo") == "That cannot be undone any more. Changed since: #3."
    assert await bot.memories() == ()


async def test_ten_minutes_and_no_longer(bot: Bot) -> None:
    await given(bot)
    await answer(bot, "!memories del 1")
    bot.clock.advance(10 * MINUTES + timedelta(microseconds=1))
    assert await answer(bot, "!memories undo") == NOTHING
    assert await bot.memories() == ()


async def test_only_once_and_never_twice(bot: Bot) -> None:
    await given(bot)
    await answer(bot, "!memories del 1")
    await answer(bot, "!memories undo")
    assert await answer(bot, "!memories undo") == NOTHING
    assert texts(await bot.memories()) == ["Cat is named Mochi"]


async def test_the_last_command_that_took_something_is_the_step(bot: Bot) -> None:
    await given(bot)
    await given(bot, "Likes tea")
    await answer(bot, "!memories del 1")
    await answer(bot, "!memories del 2")
    await answer(bot, "!memories del 9 x")  # takes nothing, and so replaces nothing
    assert await answer(bot, "!memories undo") == "Undone. As before: #2."
    assert texts(await bot.memories()) == ["Likes tea"]


async def test_nobody_undoes_for_another(bot: Bot) -> None:
    await given(bot)
    await answer(bot, "!memories del 1")
    bot.matrix.admins = {BAU}
    assert await answer(bot, "!memories undo", BAU) == NOTHING
    assert (await answer(bot, "!memories room undo", BAU)).startswith("There is nothing to undo")
    assert await answer(bot, "!memories undo") == "Undone. As before: #1."


async def test_a_rooms_step_is_of_the_persona_it_was_taken_from(bot: Bot) -> None:
    bot.matrix.admins = {JUNO}
    await given(bot, "Quiz is on Friday", owner=ROOM)
    await answer(bot, "!memories room del 1")
    with pytest.raises(Refused, match="room-undo-nothing"):
        await asked(bot, UndoLast(EffectKey("$undo"), "pirate"), ROOM)
    assert await answer(bot, "!memories room undo") == "Undone. As before: #1."


async def test_d9_a_full_list_is_no_obstacle_and_nothing_is_forgotten_for_it(bot: Bot) -> None:
    bot.settings.rules = replace(bot.settings.rules, capacity_personal=1, max_per_user=1)
    await given(bot)
    await answer(bot, "!memories del 1")
    await given(bot, "Likes tea")
    assert await answer(bot, "!memories undo") == "Undone. As before: #1."
    assert len(await bot.memories()) == 2


async def test_a_restart_between_changes_nothing_and_a_replay_repeats_nothing(bot: Bot) -> None:
    memory = await given(bot)
    await answer(bot, "!memories del 1")
    await bot.restart()
    request = UndoLast(EffectKey("$undo"))
    assert await asked(bot, request) == (1,)
    await asked(bot, DeleteMemories((1,), EffectKey("$later")))
    await bot.restart()
    assert await asked(bot, request) == (1,)
    assert await stored(bot, 1) == {}
    assert await answer(bot, "!memories undo") == "Undone. As before: #1."
    assert await stored(bot, 1) == {1: memory}


async def redact(bot: Bot, event_id: str) -> None:
    await bot.deliver(replace(bot.message(""), kind=IncomingKind.REDACTION, target=event_id, addressed=False))
    await bot.settle()


async def test_what_a_redacted_message_taught_is_not_brought_back(bot: Bot) -> None:
    await learned(bot)
    await answer(bot, "!memories del 1")
    await redact(bot, "$e1")
    taken = await kept(bot)
    assert taken is not None
    assert [each.mentioned_by for each in taken.was] == [("$e2",)]
    await redact(bot, "$e2")
    assert await kept(bot) is None
    assert await answer(bot, "!memories undo") == NOTHING
    assert await bot.memories() == ()


async def test_an_old_wording_that_only_a_redacted_message_taught_is_gone_from_undo(bot: Bot) -> None:
    await learned(bot)
    await answer(bot, "!memories edit 1 Cat is called Rex")
    await redact(bot, "$e1")
    await redact(bot, "$e2")
    assert await answer(bot, "!memories undo") == NOTHING
    assert texts(await bot.memories()) == ["Cat is called Rex"]  # D11: added or edited by a person


async def test_deleted_texts_do_not_linger(bot: Bot) -> None:
    await given(bot)
    await answer(bot, "!memories del 1")
    day = DayTurn(bot.store, bot.system, Keeping())
    await day.forget_taken(bot.clock.now() + 10 * MINUTES)
    assert await kept(bot) is not None
    await day.forget_taken(bot.clock.now() + 10 * MINUTES + timedelta(seconds=1))
    assert await kept(bot) is None


@pytest.mark.parametrize(
    "request_of",
    [
        lambda key: DeleteMemories((1, 2), key),
        lambda key: EditMemory(1, "Cat is called Rex", key),
        ClearMemories,
        lambda key: MarkMemories((1, 2), Tagging(("cat",)), key),
        lambda key: MakeGlobal((1, 2), key),
        UndoLast,
    ],
)
async def test_a_failure_between_any_two_statements_leaves_all_or_nothing(
    bot: Bot, request_of: Callable[[EffectKey], Request[object]]
) -> None:
    """And the next try does it, once."""
    await learned(bot)
    await given(bot, "Likes tea", persona="pirate")
    await given(bot, "Likes cake")
    await asked(bot, DeleteMemories((3,), EffectKey("$before")))
    await bot.settle()
    before, request = dump(bot.folder / "davenport.db"), request_of(EffectKey("$command"))
    for at in range(99):
        with Breakage(at) as breakage:
            try:
                first = await asked(bot, request)
                break
            except ActorFailed:
                await bot.settle()
        assert dump(bot.folder / "davenport.db") == before, breakage.statements[-1]
    else:
        pytest.fail("it never came through")
    assert at > 3
    after = dump(bot.folder / "davenport.db")
    assert after != before
    assert await asked(bot, request) == first
    assert dump(bot.folder / "davenport.db") == after


@pytest.mark.parametrize("command", ["del 1", "edit 1 Cat is called Rex", "clear", "tag 1 cat", "global 1", "undo"])
async def test_a_crash_between_effect_and_answer_is_answered_once_as_if_there_was_none(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """The resumed command finds what it did recorded, does nothing again, and undo still knows what there was."""
    memory = await given(bot)
    await given(bot, "Likes tea")
    await answer(bot, "!memories del 2")
    reached = asyncio.Event()

    @asynccontextmanager
    async def stuck(*about: object, **more: object) -> AsyncIterator[None]:
        reached.set()
        await asyncio.Event().wait()
        yield

    with monkeypatch.context() as patch:
        patch.setattr(commanding, "answering", stuck)
        await bot.deliver(bot.message(f"!memories {command}"))
        await asyncio.wait_for(reached.wait(), 10)
        after = await stored(bot, 1, 2)
        await bot.crash()
    await bot.start()
    await bot.deliver()
    await bot.intake.resume()
    await bot.settle()
    assert len(bot.matrix.bodies()) == 2
    assert "wrong" not in bot.matrix.bodies()[-1]
    assert "nothing" not in bot.matrix.bodies()[-1]
    assert await stored(bot, 1, 2) == after
    if command.startswith(("del", "edit", "clear")):
        assert await answer(bot, "!memories undo") == "Undone. As before: #1."
        assert await stored(bot, 1) == {1: memory}
