"""`!privacy` and `!forget` (D8, P1, P20): what is learned, used, answered, stored and left in context."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from actors.actor import Address
from actors.intake import Intake
from actors.messages import Deliver
from actors.windows import Windows
from memory.events import Incoming, IncomingKind, JournalEntry, JournalState, SyncBatch
from memory.settings import MemorySettings
from memory.types import Privacy
from tests.actors.conftest import BAU, BOT, JUNO, ROOM, Bot, texts, until
from tests.actors.owned import answer, given, last_prompt, stored

OTHER = "!other:hs"
DIRECT = "!juno-direct:hs"


async def entry_of(bot: Bot, event: Incoming) -> JournalEntry:
    async with bot.store.transaction() as tables:
        found = await tables.journal.get(event.event_id)
    assert found is not None
    return found


async def everything_stored(bot: Bot) -> str:
    """Return every text of the journal and the outbox."""
    async with bot.store.transaction() as tables:
        journal = await tables.journal._sql.rows("SELECT body, text, said, answer FROM journal")  # type: ignore[attr-defined]
    return repr(journal)


async def level_of(bot: Bot, user: str = JUNO) -> Privacy:
    async with bot.store.transaction() as tables:
        return await tables.users.privacy(user)


# --- no-memory ----------------------------------------------------------------------------------------------------


async def test_p1_with_no_memory_nothing_is_learned_and_with_open_it_is_again(bot: Bot) -> None:
    bot.learns({"tea": "Likes tea", "chess": "Plays chess"})
    await bot.say("!privacy no-memory")
    assert await level_of(bot) is Privacy.NO_MEMORY
    await bot.say("I like tea")
    assert bot.matrix.bodies()[-1] == "answer"
    assert bot.model.requests == []
    await bot.restart()
    await bot.say("I like tea")
    await bot.say("!privacy open")
    await bot.say("I play chess")
    assert texts(await bot.candidates()) == ["Plays chess"]


async def test_d8_with_no_memory_personal_memories_are_neither_sent_searched_nor_aged_anywhere(bot: Bot) -> None:
    mine, resting, of_room = (
        await given(bot),
        await given(bot, "Sails a boat"),
        await given(bot, "Meets on Fridays", ROOM),
    )
    async with bot.store.transaction() as tables:
        await tables.memories._sql.run("UPDATE memories SET unused_days = 9 WHERE id = ?", resting.id)  # type: ignore[attr-defined]
    bot.settings.rules = MemorySettings(match_threshold=0.9)
    await bot.say("hi")  # loads the lists, so that all of them get their vectors
    bot.settings.rules = MemorySettings(match_threshold=0.0)
    await bot.say("!privacy no-memory")
    bot.next_day()
    await bot.say("Do I sail a boat? What is my cat called?")
    assert "Mochi" not in last_prompt(bot)
    assert "Sails" not in last_prompt(bot)
    assert "Fridays" in last_prompt(bot)
    after = await stored(bot, mine.id, resting.id, of_room.id)
    assert after[mine.id] == mine
    assert (after[resting.id].unused_days, after[resting.id].counted_on) == (9, resting.counted_on)
    assert after[of_room.id].counted_on == bot.clock.today()
    await bot.say("hello", BAU)  # Juno is a participant of what Bau asks
    assert "Mochi" not in last_prompt(bot)
    await bot.say("hello", room=DIRECT, direct=True, alone=True)
    assert "Mochi" not in last_prompt(bot)
    await bot.say("!privacy open")
    await bot.say("hello")
    assert "Mochi" in last_prompt(bot)


@pytest.mark.parametrize("levels", [["no-memory"], ["silent"], ["no-memory", "open"]])
async def test_p20_a_pass_in_flight_is_dropped_when_the_level_changes(bot: Bot, levels: list[str]) -> None:
    """Also where learning is on again by the time the model answers: it was off in between."""
    bot.settings.rules = MemorySettings(promotion_threshold=1)
    bot.learns({"tea": "Likes tea", "chess": "Plays chess"})
    gate = bot.model.extraction_gates["tea"] = asyncio.Event()
    await bot.deliver(bot.message("I like tea"), bot.message("I play chess"))  # the second pass waits for the first
    await until(lambda: len(bot.model.requests) == 1 and len(bot.matrix.sent) == 2)
    await bot.deliver(*(bot.message(f"!privacy {level}", room=OTHER) for level in levels))
    await until(lambda: len(bot.matrix.bodies(OTHER)) == len(levels))
    gate.set()
    await bot.settle()
    assert await bot.memories() == ()
    assert await bot.candidates() == ()
    assert len(bot.model.requests) == 1


async def test_p20_a_level_that_is_set_anew_as_it_was_drops_nothing(bot: Bot) -> None:
    bot.learns({"tea": "Likes tea"})
    gate = bot.model.extraction_gates["tea"] = asyncio.Event()
    await bot.deliver(bot.message("I like tea"))
    await until(lambda: len(bot.model.requests) == 1)
    await bot.deliver(bot.message("!privacy open", room=OTHER))
    await until(lambda: len(bot.matrix.bodies(OTHER)) == 1)
    gate.set()
    await bot.settle()
    assert texts(await bot.candidates()) == ["Likes tea"]


async def test_a_level_is_set_once_though_the_command_is_carried_out_again_after_a_crash(bot: Bot) -> None:
    command = bot.message("!privacy silent")
    bot.matrix.render = lambda answer: (_ for _ in ()).throw(asyncio.CancelledError())  # type: ignore[method-assign]
    await bot.deliver(command)

    async def silent() -> bool:
        return await level_of(bot) is Privacy.SILENT

    await until(silent)
    await bot.crash()
    del bot.matrix.render  # type: ignore[method-assign]
    await bot.start()
    async with bot.store.transaction() as tables:  # a later command, from another room, was quicker
        await tables.users.set_privacy(JUNO, Privacy.OPEN)
    await bot.intake.resume()
    await bot.settle()
    assert await level_of(bot) is Privacy.OPEN
    assert "silent" in bot.matrix.bodies()[-1]


# --- silent -------------------------------------------------------------------------------------------------------


async def test_silent_people_get_no_answer_and_nothing_they_say_is_stored_but_their_commands(bot: Bot) -> None:
    await bot.say("!privacy silent")
    plain = [
        await bot.say("my secret is tin"),
        await bot.say("!ask what of my tin?"),
        await bot.say("tin in private", room=DIRECT, direct=True, alone=True),
    ]
    assert bot.model.prompts == []
    assert bot.matrix.bodies(DIRECT) == []
    assert "tin" not in await everything_stored(bot)
    assert [(await entry_of(bot, event)).state for event in plain] == [JournalState.IGNORED] * 3
    answered = len(bot.matrix.sent)
    await bot.say("!memories")
    assert len(bot.matrix.sent) == answered + 1
    await bot.say("hello", BAU)
    assert len(bot.model.prompts) == 1
    await bot.say("!privacy open", addressed=False)
    await bot.say("hello again")
    assert len(bot.model.prompts) == 2


async def test_the_text_of_silent_people_is_not_even_stored_until_a_room_looks_at_it(bot: Bot) -> None:
    await bot.say("!privacy silent")
    told: list[object] = []

    class NoRooms:
        async def tell(self, address: Address, message: object) -> None:
            told.append(message)

    texts_sent = ("plain tin", "!ask tin", "!memories", "!tin", "tin of Bau")
    events = [bot.message(text, BAU if "Bau" in text else JUNO) for text in texts_sent]
    events.append(bot.message("more tin", room=DIRECT, direct=True, alone=True))
    await Intake(bot.parts, NoRooms()).take(SyncBatch("silent", tuple(events)))  # type: ignore[arg-type]
    stored_texts = [(await entry_of(bot, event)).incoming.text for event in events]
    assert stored_texts == ["", "", "!memories", "!tin", "tin of Bau", ""]
    assert [each.entry.incoming.text for each in told if isinstance(each, Deliver)] == stored_texts[2:5]


async def test_silent_people_leave_every_window_with_what_was_answered_to_them(bot: Bot) -> None:
    """In rooms that are loaded, in threads, in other rooms, after a restart; and they are no participants (D2)."""
    await given(bot)
    places: list[dict[str, str]] = [{}, {"thread_root": "$root"}, {"room": OTHER}]
    bot.model.answer = lambda prompt: f"re {prompt.messages[-1].blocks[-1].text.split('>')[1].split('<')[0]}"
    for place in places:
        await bot.say("plain words of Bau", BAU, **place)  # type: ignore[arg-type]
        await bot.say("I am at sea", **place)  # type: ignore[arg-type]
        await bot.say("anything new?", BAU, **place)  # type: ignore[arg-type]
        assert "re I am at sea" in last_prompt(bot)
        assert "Mochi" in last_prompt(bot)
    await bot.say("!privacy silent", room="!third:hs")
    for restarted in (False, True):
        if restarted:
            await bot.restart()
        for place in places:
            await bot.say("and now?", BAU, **place)  # type: ignore[arg-type]
            assert "at sea" not in last_prompt(bot)
            assert "re plain words of Bau" in last_prompt(bot)
            assert JUNO not in last_prompt(bot)
    await bot.say("!privacy open", room="!third:hs")
    await bot.say("still?", BAU)
    assert "at sea" not in last_prompt(bot)
    assert JUNO not in last_prompt(bot)


async def test_silence_holds_for_what_came_in_the_same_batch_after_the_command(bot: Bot) -> None:
    command, plain = bot.message("!privacy silent"), bot.message("my secret is tin")
    elsewhere = bot.message("more tin", room=OTHER)
    await bot.deliver(command, plain)
    await bot.settle()
    await bot.deliver(elsewhere)
    await bot.settle()
    assert bot.model.prompts == []
    assert "tin" not in await everything_stored(bot)
    assert (await entry_of(bot, plain)).state is JournalState.IGNORED


async def test_silence_stops_what_is_being_answered_elsewhere_and_what_waits_behind_it(bot: Bot) -> None:
    gate = bot.model.gates["tin"] = asyncio.Event()
    await bot.deliver(bot.message("first tin"), bot.message("second tin"), bot.message("and Bau's", BAU))
    await until(lambda: "tin" in bot.model.replying)
    await bot.deliver(bot.message("!privacy silent", room=OTHER))
    await until(lambda: len(bot.matrix.bodies(OTHER)) == 1)
    gate.set()
    await bot.settle()
    assert bot.matrix.bodies(ROOM) == ["answer"]
    assert "tin" not in await everything_stored(bot)
    assert bot.matrix.typing_on == set()
    await bot.say("!privacy open")
    await bot.say("hello")
    assert bot.matrix.bodies(ROOM)[-1] == "answer"


async def test_what_a_silent_person_left_unanswered_before_a_crash_stays_so(bot: Bot) -> None:
    bot.model.gates["tin"] = asyncio.Event()
    event = bot.message("some tin")
    await bot.deliver(event)
    await until(lambda: "tin" in bot.model.replying)
    await bot.crash()
    await bot.start()
    async with bot.store.transaction() as tables:
        await tables.users.set_privacy(JUNO, Privacy.SILENT)
    await bot.intake.resume()
    await bot.settle()
    assert bot.matrix.sent == []
    assert (await entry_of(bot, event)).state is JournalState.IGNORED


async def test_a_silent_persons_redactions_count(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(promotion_threshold=1)
    bot.learns({"tea": "Likes tea"})
    event = await bot.say("I like tea")
    assert texts(await bot.memories()) == ["Likes tea"]
    await bot.say("!privacy silent")
    await bot.deliver(Incoming("$gone", ROOM, JUNO, IncomingKind.REDACTION, bot.clock.now(), target=event.event_id))
    await bot.settle()
    assert await bot.memories() == ()


async def test_someone_elses_level_is_no_concern_of_mine(bot: Bot) -> None:
    await given(bot, "Paints", BAU)
    await bot.say("!privacy silent")
    bot.learns({"tea": "Likes tea"})
    await bot.say("I like tea", BAU)
    assert "Paints" in last_prompt(bot)
    assert texts(await bot.candidates(BAU)) == ["Likes tea"]


# --- what is said about it ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "level"),
    [
        ("open", "open"),
        ("no-memory", "no-memory"),
        ("No Memory", "no-memory"),
        ("NOMEMORY", "no-memory"),
        ("silent", "silent"),
    ],
)
async def test_a_level_is_set_and_shown_with_what_it_means(bot: Bot, typed: str, level: str) -> None:
    told = await answer(bot, f"!privacy {typed}")
    shown = await answer(bot, "!privacy")
    assert f"**{level}**" in told
    assert shown.startswith(told)
    assert "`!privacy open`" in shown
    assert await level_of(bot) == level


async def test_a_level_there_is_not_changes_nothing(bot: Bot) -> None:
    assert "`!privacy [open|no-memory|silent]`" in await answer(bot, "!privacy secret")
    assert await level_of(bot) is Privacy.OPEN


async def test_p1_d8_who_is_on_the_blacklist_is_answered_but_neither_learned_about_nor_remembered(bot: Bot) -> None:
    await given(bot)
    bot.learns({"tea": "Likes tea"})
    bot.settings.rules = MemorySettings(blacklist=("@ju*:hs",))
    assert await answer(bot, "I like tea") == "answer"
    assert "Mochi" not in last_prompt(bot)
    assert await bot.candidates() == ()
    assert "excluded" in await answer(bot, "!privacy")
    bot.settings.languages = {ROOM: "de"}
    assert "ausgenommen" in await answer(bot, "!privacy")
    assert "excluded" not in await answer(bot, "!privacy", BAU, OTHER)


# --- !forget ------------------------------------------------------------------------------------------------------


async def test_forget_drops_the_context_of_the_room_and_of_the_caller_elsewhere_and_nothing_else(bot: Bot) -> None:
    await given(bot)
    for place in ({}, {"thread_root": "$root"}, {"room": OTHER}):
        await bot.say("words of Juno", **place)  # type: ignore[arg-type]
        await bot.say("words of Bau", BAU, **place)  # type: ignore[arg-type]
    told = await answer(bot, "!forget")
    assert "`!memories clear`" in told
    for restarted in (False, True):
        if restarted:
            await bot.restart()
        for place in ({}, {"thread_root": "$root"}):
            await bot.say(f"new {restarted}", BAU, **place)  # type: ignore[arg-type]
            assert "words of" not in last_prompt(bot)
        await bot.say(f"new {restarted}", BAU, OTHER)
        assert "words of Juno" not in last_prompt(bot)
        assert "words of Bau" in last_prompt(bot)
    await bot.say("hello")
    assert "new True" in last_prompt(bot)
    assert "Mochi" in last_prompt(bot)
    assert await level_of(bot) is Privacy.OPEN


async def test_forget_lets_passes_go_on(bot: Bot) -> None:
    bot.learns({"tea": "Likes tea"})
    gate = bot.model.extraction_gates["tea"] = asyncio.Event()
    await bot.deliver(bot.message("I like tea"))
    await until(lambda: len(bot.model.requests) == 1)
    await bot.deliver(bot.message("!forget"))
    await until(lambda: len(bot.matrix.sent) == 2)
    gate.set()
    await bot.settle()
    assert texts(await bot.candidates()) == ["Likes tea"]


async def test_what_was_being_answered_when_all_was_forgotten_is_out_of_the_context_too(bot: Bot) -> None:
    gate = bot.model.gates["slow"] = asyncio.Event()
    await bot.deliver(bot.message("slow words", BAU), bot.message("slow thread", BAU, thread_root="$root"))
    await until(lambda: len(bot.model.prompts) == 2)
    await bot.deliver(bot.message("!forget"))
    await until(lambda: len(bot.matrix.sent) == 1)
    await bot.deliver(bot.message("after it"))  # opens the window anew
    await until(lambda: len(bot.matrix.sent) == 2)
    gate.set()
    await bot.settle()
    assert len(bot.matrix.sent) == 4
    for restarted in (False, True):
        if restarted:
            await bot.restart()
        await bot.say("and?")
        assert "slow" not in last_prompt(bot)
        assert last_prompt(bot).count(">after it<") == 1


async def test_what_is_answered_only_after_a_crash_stays_out_of_the_context_it_was_forgotten_from(bot: Bot) -> None:
    bot.model.gates["slow"] = asyncio.Event()
    await bot.deliver(bot.message("slow words", BAU))
    await until(lambda: "slow" in bot.model.replying)
    await bot.deliver(bot.message("!forget"))
    await until(lambda: len(bot.matrix.sent) == 1)
    bot.model.gates.clear()
    await bot.restart()
    await bot.settle()
    assert len(bot.matrix.sent) == 2
    await bot.say("and?")
    assert "slow" not in last_prompt(bot)


async def test_a_turn_that_ends_after_its_window_was_read_again_stands_in_it_once(bot: Bot) -> None:
    gate = bot.model.gates["slow"] = asyncio.Event()
    await bot.say("words of Juno", room=OTHER)
    await bot.deliver(bot.message("slow words", BAU, OTHER))
    await until(lambda: "slow" in bot.model.replying)
    await bot.deliver(bot.message("!forget"))  # the window of the other room goes, since Juno spoke there
    await until(lambda: len(bot.matrix.bodies(ROOM)) == 1)
    await bot.deliver(bot.message("quick words", "@ivo:hs", OTHER))
    await until(lambda: len(bot.matrix.bodies(OTHER)) == 2)
    gate.set()
    await bot.settle()
    await bot.say("and?", BAU, OTHER)
    assert last_prompt(bot).count(">slow words<") == last_prompt(bot).count(">quick words<") == 1


async def test_an_answer_that_the_journal_had_when_its_window_was_read_is_not_added_again(bot: Bot) -> None:
    event = await bot.say("once")
    windows = Windows(ROOM, bot.parts)
    assert len((await windows.open(None, frozenset({JUNO}))).entries) == 2
    windows.add(await entry_of(bot, event), frozenset({JUNO}))
    assert len((await windows.open(None, frozenset({JUNO}))).entries) == 2


@pytest.mark.parametrize("text", ["!forget that I have a cat", "!forget 3"])
async def test_forget_with_words_after_it_does_nothing(bot: Bot, text: str) -> None:
    await bot.say("words of Juno")
    assert "`!forget`" in await answer(bot, text)
    await bot.say("hello")
    assert "words of Juno" in last_prompt(bot)


async def test_the_members_of_a_room_are_still_its_participants_after_forgetting(bot: Bot) -> None:
    """D2: who speaks again is one again."""
    bot.matrix.joined[ROOM] |= {JUNO, BAU, BOT}
    mine = replace(await given(bot))
    await bot.say("hi")
    await bot.say("!forget", BAU)
    await bot.say("hello", BAU)
    assert mine.text not in last_prompt(bot)
    await bot.say("me again")
    await bot.say("hello", BAU)
    assert mine.text in last_prompt(bot)
