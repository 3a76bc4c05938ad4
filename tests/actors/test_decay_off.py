"""Decay switched off in its three ways, and on again: settings, embedder and counters in a whole bot (D13)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import date, datetime
from pathlib import Path

import pytest

from commands.ports import Configuring
from davenport.in_force import InForce
from davenport.overrides import ChatSettings
from davenport.settings_load import load_with_sources
from davenport.settings_source import ConfiguredSettings
from memory.model import ToolCall
from storage import Database
from tests.actors.conftest import JUNO, ROOM, Bot, texts, until
from tests.actors.test_recall import beside_message, last_recall_matches, prompt_start
from tests.actors.test_saving import lay_down, lines
from tests.actors.topic_embedder import TopicEmbedder

CONFIG = f"""
[matrix]
homeserver = "https://hs"
user_id = "@bot:hs"
admins = ["{JUNO}"]
[memory]
capacity_personal = 3
"""
SWITCH = "MEMORY_DECAY_ENABLED"
RESTED, TIRED, FRESH = "Has a cat named Mochi", "Owns a boat", "Plays the piano"
GAMES = "a game of chess tonight?"
CAT = "how's my cat Mochi doing?"
WAYS = ("no embedder", "setting in the file", "setting in chat", "environment")


class Switched:
    """A bot whose settings are those of a file, an environment and the chat, and which can be started without decay."""

    def __init__(self, bot: Bot, path: Path) -> None:
        self.bot = bot
        self.path = path
        self.environ: dict[str, str] = {}
        self.usual = bot.embedder
        self.write("")
        bot.configured = self._opened

    def write(self, more: str) -> None:
        self.path.write_text(CONFIG + more, encoding="utf-8")

    async def _opened(self, store: Database) -> Configuring:
        loaded = load_with_sources(self.path, self.environ)
        in_force = InForce(loaded.settings, loaded.sources)
        chat = ChatSettings(in_force, store)
        await chat.load()
        threshold = None if self.bot.embedder is None else self.bot.embedder.match_threshold
        source = ConfiguredSettings(in_force.settings, embedder_threshold=threshold)
        in_force.follow(source.use)
        self.bot.settings = source  # type: ignore[assignment]
        return chat

    async def off(self, way: str) -> None:
        match way:
            case "no embedder":
                self.bot.embedder = None
            case "setting in the file":
                self.write("decay_enabled = false\n")
            case "setting in chat":
                await self.bot.say("!config memory.decay_enabled false")
            case "environment":
                self.environ[SWITCH] = "false"
        if way != "setting in chat":
            await self.bot.restart()
        assert self.bot.settings.memory(ROOM).decay_enabled is False

    async def on(self, way: str) -> None:
        if way == "setting in chat":
            await self.bot.say("!config memory.decay_enabled true")
        else:
            self.bot.embedder = self.usual
            self.write("")
            self.environ.clear()
            await self.bot.restart()
        assert self.bot.settings.memory(ROOM).decay_enabled is True


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    each = Bot(tmp_path / "data", TopicEmbedder())
    await each.start()
    yield each
    await each.crash()


@pytest.fixture
async def switched(bot: Bot, tmp_path: Path) -> Switched:
    """Juno's list is full: one memory has rested for a day, one rests after one more, one was saved just now."""
    each = Switched(bot, tmp_path / "config.toml")
    await bot.restart()
    await lay_down(bot, RESTED, unused_days=8)
    await lay_down(bot, TIRED, unused_days=6)
    await lay_down(bot, FRESH, unused_days=0)
    await bot.say("")  # loads the list, which then gets its vectors; without text there is no search
    return each


async def counters(bot: Bot) -> list[tuple[str, int, date, datetime | None]]:
    return [(m.text, m.unused_days, m.counted_on, m.last_matched_at) for m in await bot.memories()]


async def save(bot: Bot, text: str, said: str) -> None:
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": text})]
    await bot.say(said)
    bot.model.tool_calls = []


@pytest.mark.parametrize("way", WAYS)
async def test_d13_while_decay_is_off_every_memory_is_active_and_no_counter_moves(switched: Switched, way: str) -> None:
    bot = switched.bot
    await switched.off(way)
    before = await counters(bot)
    for said in (GAMES, CAT, GAMES):
        bot.next_day()
        await bot.say(said)
        assert all(text in prompt_start(bot) for text in (RESTED, TIRED, FRESH))
        assert "recalled_memories" not in beside_message(bot)
        async with bot.store.transaction() as tables:
            entry = await tables.journal.get(f"$e{bot.events}")
        assert entry is not None and entry.recall is None, "it searched"
    assert await counters(bot) == before


@pytest.mark.parametrize("way", WAYS)
async def test_d13_d10_while_decay_is_off_a_full_list_refuses_and_forgets_nothing(switched: Switched, way: str) -> None:
    bot = switched.bot
    await switched.off(way)
    before = await counters(bot)
    refusal = bot.parts.speaker(ROOM)("list-full-personal-decay-off", n=3, capacity=3)
    await save(bot, "Likes tea", GAMES)
    assert bot.model.tool_results[-1].is_error
    assert lines(bot)[-1] == refusal
    await bot.say("!memories add Likes tea")
    assert bot.matrix.bodies(ROOM)[-1] == refusal
    assert await counters(bot) == before


@pytest.mark.parametrize("way", WAYS)
async def test_d13_p16_while_decay_is_off_saving_what_is_there_counts_as_no_match(switched: Switched, way: str) -> None:
    bot = switched.bot
    await switched.off(way)
    before = await counters(bot)
    bot.next_day()
    await save(bot, RESTED, "remember my cat")
    assert not bot.model.tool_results[-1].is_error
    assert await counters(bot) == before


@pytest.mark.parametrize("way", WAYS)
async def test_d13_on_again_the_counters_are_valid_where_they_stood(switched: Switched, way: str) -> None:
    """A week without decay counts for nothing: the next chat day is the seventh of what had six."""
    bot = switched.bot
    await switched.off(way)
    for _ in range(7):
        bot.next_day()
        await bot.say(GAMES)
    await switched.on(way)
    bot.next_day()
    await bot.say(GAMES)
    assert [(text, days) for text, days, *_ in await counters(bot)] == [(RESTED, 9), (TIRED, 7), (FRESH, 1)]
    assert RESTED not in prompt_start(bot) and TIRED in prompt_start(bot)
    await bot.say(CAT)
    assert TIRED not in prompt_start(bot)
    assert RESTED in beside_message(bot)
    assert len(await last_recall_matches(bot)) == 1
    await bot.say(GAMES)
    assert RESTED in prompt_start(bot)


@pytest.mark.parametrize("way", WAYS)
async def test_d13_d9_on_again_a_full_list_forgets_what_rests(switched: Switched, way: str) -> None:
    bot = switched.bot
    await switched.off(way)
    await save(bot, "Likes tea", GAMES)
    await switched.on(way)
    await save(bot, "Likes tea", GAMES)
    assert texts(await bot.memories()) == [TIRED, FRESH, "Likes tea"]


@pytest.mark.parametrize("way", WAYS)
async def test_d13_d17_what_is_saved_meanwhile_begins_to_age_when_it_can_be_searched(
    switched: Switched, way: str
) -> None:
    bot = switched.bot
    await bot.say("!memories del 3")
    await switched.off(way)
    await save(bot, "Likes tea", GAMES)
    bot.next_day(5)
    await switched.on(way)
    await bot.say(GAMES)  # loads the list, which then gets the vector it lacks
    bot.next_day()
    await bot.say(GAMES)
    assert (await counters(bot))[-1][:2] == ("Likes tea", 1 if way == "no embedder" else 2)


async def test_d13_the_environment_is_final(switched: Switched) -> None:
    """Neither the file nor the chat switches decay on again; a single room has no such setting at all."""
    bot = switched.bot
    await switched.off("environment")
    switched.write("decay_enabled = true\n")
    await bot.restart()
    await bot.say("!config memory.decay_enabled true")
    assert f"`{SWITCH}=false` in the environment of the bot is final" in bot.matrix.bodies(ROOM)[-1]
    await bot.say("!config room memory.decay_enabled true")
    assert bot.settings.memory(ROOM).decay_enabled is False
    before = await counters(bot)
    bot.next_day()
    await bot.say(CAT)
    assert RESTED in prompt_start(bot)
    assert await counters(bot) == before


async def test_d13_decay_switched_off_while_the_model_answers_holds_from_the_next_turn_on(switched: Switched) -> None:
    """Settings are read once for each turn."""
    bot = switched.bot
    gate = bot.model.gates["Mochi"] = asyncio.Event()
    await bot.deliver(bot.message(CAT))
    await until(lambda: "Mochi" in bot.model.replying)
    await bot.deliver(bot.message("!config memory.decay_enabled false", thread_root="$other"))
    await until(lambda: bot.settings.memory(ROOM).decay_enabled is False)
    gate.set()
    await bot.settle()
    bot.model.gates.clear()
    assert RESTED in beside_message(bot)
    await bot.say(GAMES)
    assert "recalled_memories" not in beside_message(bot)
    assert all(text in prompt_start(bot) for text in (RESTED, TIRED, FRESH))


async def test_d13_nothing_that_is_said_is_embedded_while_decay_is_off(switched: Switched) -> None:
    bot = switched.bot
    await switched.off("setting in the file")
    bot.next_day()
    await bot.say(CAT)
    assert isinstance(bot.embedder, TopicEmbedder)
    assert CAT not in bot.embedder.asked
