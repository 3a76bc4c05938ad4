"""Personas of a room: which one is current, what it is called, what it brings along and what is remembered for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from index.builtin import BuiltinEmbedder
from memory.events import JournalState
from memory.settings import MemorySettings
from memory.types import LoreEntry, Persona, ScopeKind
from tests.actors.conftest import BAU, ROOM, Bot, until
from tests.actors.owned import answer, given, last_prompt

OTHER = "!other:hs"
DIRECT = "!juno-direct:hs"
PIRATE = Persona(
    "pirate",
    "Speak like a pirate.",
    attributes=("Never names a price.",),
    lorebook=(LoreEntry("The ship is called Svea.", keys=("ship", "船")), LoreEntry("It is 1720.", always_on=True)),
    answers_to=("Captain", "Käpt'n Blåskägg", "船長"),
)
BUTLER = Persona("butler", "Speak like a butler.")


@pytest.fixture
async def bot(tmp_path: Path, embedder: BuiltinEmbedder) -> AsyncIterator[Bot]:
    each = Bot(tmp_path / "data", embedder)
    each.settings.named = {"pirate": PIRATE, "butler": BUTLER}
    each.matrix.admins = {BAU}
    await each.start()
    yield each
    await each.crash()


async def persona_of(bot: Bot, room: str = ROOM) -> str:
    async with bot.store.transaction() as tables:
        return await tables.rooms.persona(room)


# --- which one is current -----------------------------------------------------------------------------------------


async def test_a_room_shows_its_persona_and_who_may_change_the_room_changes_it(bot: Bot) -> None:
    shown = await answer(bot, "!persona")
    assert "I am `default`" in shown
    assert "`default`, `pirate`, `butler`" in shown
    assert "Only" in await answer(bot, "!persona pirate")
    assert await persona_of(bot) == "default"
    assert "`pirate`" in await answer(bot, "!persona Pirate", BAU)
    assert await persona_of(bot) == "pirate"
    assert "I am `pirate`" in await answer(bot, "!persona")
    assert "I am `default`" in await answer(bot, "!persona", room=OTHER)
    await bot.say("hello")
    assert "Speak like a pirate." in last_prompt(bot)
    await bot.say("hello", room=OTHER)
    assert "pirate" not in last_prompt(bot)
    await bot.restart()
    assert "I am `pirate`" in await answer(bot, "!persona")
    await bot.say("!persona default", BAU)
    assert "I am `default`" in await answer(bot, "!persona")


@pytest.mark.parametrize("name", ["parrot", "*parrot*", "`parrot`"])
async def test_an_unknown_persona_is_refused_with_those_there_are(bot: Bot, name: str) -> None:
    told = await answer(bot, f"!persona {name}", BAU)
    assert "parrot" in told
    assert "*parrot" not in told.replace("\\*", "")
    assert "`default`, `pirate`, `butler`" in told
    assert await persona_of(bot) == "default"


async def test_whoever_is_alone_with_the_bot_chooses_the_persona_there(bot: Bot) -> None:
    await bot.say("!persona pirate", room=DIRECT, direct=True, alone=True)
    assert await persona_of(bot, DIRECT) == "pirate"
    bot.matrix.joined[DIRECT].add(BAU)
    await bot.say("!persona butler", room=DIRECT, direct=True)
    assert await persona_of(bot, DIRECT) == "pirate"


async def test_a_persona_is_set_once_though_the_command_is_carried_out_again_after_a_crash(bot: Bot) -> None:
    bot.matrix.render = lambda answer: (_ for _ in ()).throw(asyncio.CancelledError())  # type: ignore[method-assign]
    await bot.deliver(bot.message("!persona pirate", BAU))

    async def set_so() -> bool:
        return await persona_of(bot) == "pirate"

    await until(set_so)
    await bot.crash()
    del bot.matrix.render  # type: ignore[method-assign]
    await bot.start()
    async with bot.store.transaction() as tables:
        await tables.rooms.set_persona(ROOM, "butler")  # another command was quicker
    await bot.intake.resume()
    await bot.settle()
    assert await persona_of(bot) == "butler"
    assert "I am `butler`" in await answer(bot, "!persona")


async def test_p11_a_turn_under_way_keeps_the_persona_it_began_with(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(promotion_threshold=1)
    bot.learns({"tea": "Likes tea"})
    gate = bot.model.gates["tea"] = asyncio.Event()
    await bot.deliver(bot.message("I like tea"))
    await until(lambda: "tea" in bot.model.replying)
    await bot.deliver(bot.message("!persona pirate", BAU))
    await until(lambda: len(bot.matrix.sent) == 1)
    gate.set()
    await bot.settle()
    assert [memory.persona for memory in await bot.memories()] == ["default"]
    await bot.say("I like tea")
    assert [memory.persona for memory in await bot.memories()] == ["default", "pirate"]


# --- what is remembered for it ------------------------------------------------------------------------------------


async def test_each_persona_has_lists_of_its_own_and_global_memories_belong_to_all(bot: Bot) -> None:
    await given(bot, "of the default one")
    await given(bot, "of the pirate", persona="pirate")
    await given(bot, "of both", scope=ScopeKind.GLOBAL, persona="")
    await given(bot, "the pirates' room", ROOM, persona="pirate")
    await bot.say("hello")
    assert ("of the default one" in last_prompt(bot), "pirate" in last_prompt(bot)) == (True, False)
    await bot.say("!persona pirate", BAU)
    await bot.say("hello")
    for text in ("of the pirate", "of both", "the pirates' room"):
        assert text in last_prompt(bot)
    assert "of the default one" not in last_prompt(bot)


async def test_a_removed_persona_falls_back_to_default_everywhere_and_its_memories_stay_listed(bot: Bot) -> None:
    """P11, D18: what is learned goes to `default`; when the persona is back, so is all that was its."""
    bot.settings.rules = MemorySettings(promotion_threshold=1)
    bot.learns({"tea": "Likes tea"})
    await given(bot, "of the pirate", persona="pirate")
    await bot.say("!persona pirate", BAU)
    bot.settings.named = {"butler": BUTLER}
    await bot.restart()
    assert "I am `default`" in await answer(bot, "!persona")
    await bot.say("I like tea")
    assert "Speak like" not in last_prompt(bot)
    assert "of the pirate" not in last_prompt(bot)
    assert {memory.text: memory.persona for memory in await bot.memories()} == {
        "of the pirate": "pirate",
        "Likes tea": "default",
    }
    listed = await answer(bot, "!memories")
    assert "of the pirate" in listed
    assert "Likes tea" in listed
    bot.settings.named = {"pirate": PIRATE}
    await bot.say("hello")
    assert "of the pirate" in last_prompt(bot)
    assert "Speak like a pirate." in last_prompt(bot)


# --- what it brings along -----------------------------------------------------------------------------------------


async def test_d15_what_always_holds_is_in_every_prompt_and_never_rests(bot: Bot) -> None:
    await bot.say("!persona pirate", BAU)
    bot.settings.rules = MemorySettings(rest_after_days=1)
    starts = set()
    for days in (1, 30, 400):
        bot.next_day(days)
        await bot.say(f"hello on day {days}")
        starts.add(bot.model.prompts[-1].system)
        assert "Never names a price." in last_prompt(bot)
        assert "It is 1720." in last_prompt(bot)
        assert "Svea" not in last_prompt(bot)
    assert len(starts) == 1


async def test_d15_a_keyed_entry_comes_while_its_key_stands_in_the_window(bot: Bot) -> None:
    """Whoever said it, the bot included, in any script, bounded by words."""
    await bot.say("!persona pirate", BAU)
    await bot.say("friendship", thread_root="$1")
    assert "Svea" not in last_prompt(bot)
    await bot.say("那条船大吗", BAU, thread_root="$1")
    assert "Svea" in last_prompt(bot)
    start = bot.model.prompts[-1].system
    await bot.say("how big?", thread_root="$1")
    assert "Svea" in last_prompt(bot)
    assert bot.model.prompts[-1].system[:2] == start[:2]
    bot.model.answer = lambda prompt: "The ship!"
    await bot.say("what is it?", thread_root="$2")
    assert "Svea" not in last_prompt(bot)
    await bot.say("aha", thread_root="$2")
    assert "Svea" in last_prompt(bot)
    await bot.say("aha", thread_root="$3")
    assert "Svea" not in last_prompt(bot)


# --- what it is called --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Captain, where are we?", "where are we?"),
        ("CAPTAIN: where are we?", "where are we?"),
        ("@captain where are we?", "where are we?"),
        ("käpt'n blåskägg, hej", "hej"),
        ("KÄPT'N BLÅSKÄGG : hej", "hej"),
        ("船長、こんにちは", "こんにちは"),
        ("船長：你好", "你好"),
    ],
)
async def test_a_message_that_begins_with_a_name_of_the_persona_is_for_the_bot(bot: Bot, said: str, text: str) -> None:
    await bot.say("!persona pirate", BAU)
    event = await bot.say(said, addressed=False)
    assert bot.matrix.bodies()[-1] == "answer"
    assert f">{text}</message>" in last_prompt(bot)
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event.event_id)
    assert entry is not None
    assert (entry.incoming.text, entry.incoming.addressed) == (text, True)


@pytest.mark.parametrize(
    "said",
    ["Captains, hello", "Captain hello", "Captain", "my Captain, hello", "@captainhello", "hello", "船長你好", ""],
)
async def test_any_other_message_is_not_and_is_not_stored(bot: Bot, said: str) -> None:
    await bot.say("!persona pirate", BAU)
    event = await bot.say(said, addressed=False)
    assert bot.model.prompts == []
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event.event_id)
    assert entry is not None
    assert (entry.state, entry.incoming.body, entry.incoming.text) == (JournalState.IGNORED, "", "")


async def test_a_name_counts_only_where_its_persona_is_current_and_where_no_one_else_is_mentioned(bot: Bot) -> None:
    await bot.say("Captain, hello", addressed=False)
    assert bot.model.prompts == []
    await bot.say("!persona pirate", BAU)
    await bot.say("Captain, hello", room=OTHER, addressed=False)
    await bot.say("Captain, hello", addressed=False, for_others=True)
    assert bot.model.prompts == []
    bot.settings.named = {"butler": BUTLER}  # removed: nobody is called that any more
    await bot.say("Captain, hello", addressed=False)
    assert bot.model.prompts == []


async def test_a_command_may_follow_the_name(bot: Bot) -> None:
    await bot.say("!persona pirate", BAU)
    await bot.say("Captain: !privacy silent", addressed=False)
    assert "silent" in bot.matrix.bodies()[-1]
    answered = len(bot.matrix.sent)
    await bot.say("Captain, hello", addressed=False)
    assert len(bot.matrix.sent) == answered
    await bot.say("Captain, !privacy open", addressed=False)
    await bot.say("Captain, hello", addressed=False)
    assert bot.matrix.bodies()[-1] == "answer"
