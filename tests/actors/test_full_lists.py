"""Saves into full lists: who goes and in what order, all of it or nothing, and many at once (D9-D12)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from actors.actor import Address
from actors.messages import EffectKey, SaveMemory
from memory.errors import ActorFailed
from memory.model import Prompt, Reply, ToolCall, ToolSpec, Usage
from memory.settings import MemorySettings
from memory.types import Conversation, Memory, Origin, ScopeKind, Settlement, Source
from tests.actors.breaking import Breakage, Dump, dump
from tests.actors.conftest import JUNO, ROOM, START, Bot, texts
from tests.actors.test_saving import asked, lay_down, lines, of_room, saves
from tests.actors.topic_embedder import StrangerEmbedder
from tests.fakes.model import ToolRunner

GAMES = "which board game should we play tonight?"
CAPACITY = 100
FULL = MemorySettings(capacity_personal=3, capacity_room=3)
STORED = ("memories", "effects", "undo", "embeddings")


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    """A bot for which nothing that is said matches anything."""
    each = Bot(tmp_path / "data", StrangerEmbedder())
    await each.start()
    yield each
    await each.crash()


async def matched(bot: Bot, number: int, days_ago: int) -> None:
    """Let a resting memory have been matched once, before it came to rest."""
    then = START - timedelta(days=days_ago)
    async with bot.store.transaction() as tables:
        await tables.memories.settle(Settlement(then, then.date(), used=(number,)))
        for day in range(1, 8):
            await tables.memories.settle(Settlement(then, then.date() + timedelta(days=day), aged=(number,)))


async def list_of(bot: Bot, scope: ScopeKind) -> tuple[Memory, ...]:
    return await (bot.memories() if scope is ScopeKind.PERSONAL else of_room(bot))


@pytest.mark.parametrize("scope", [ScopeKind.PERSONAL, ScopeKind.ROOM])
async def test_d9_d10_d11_saves_forget_in_this_order_until_nothing_may_be_forgotten(bot: Bot, scope: ScopeKind) -> None:
    """Never matched before ever matched, oldest first; then the one matched longest ago; then the save is refused."""
    bot.settings.rules = MemorySettings(capacity_personal=7, capacity_room=7)
    bot.matrix.admins.add(JUNO)
    recent, long_ago = await lay_down(bot, "Went to Bergen", "Has a canoe", scope=scope)
    never, never_later = await lay_down(bot, "Owns a loom", "Plays the lute", scope=scope)
    await lay_down(bot, "Collects stamps", scope=scope, protected=True)
    await lay_down(bot, "Has a cat named Mochi", "Bakes bread", scope=scope, unused_days=0)
    await matched(bot, recent, 40)
    await matched(bot, long_ago, 60)
    gone = []
    for number in range(4):
        before = {memory.id for memory in await list_of(bot, scope)}
        await asked(bot, saves(f"Likes sort {number}", scope="me" if scope is ScopeKind.PERSONAL else "room"))
        gone += sorted(before - {memory.id for memory in await list_of(bot, scope)})
    assert gone == [never, never_later, long_ago, recent]
    before_refusal = await list_of(bot, scope)
    [refused] = await asked(bot, saves("Likes sort 5", scope="me" if scope is ScopeKind.PERSONAL else "room"))
    assert refused.is_error
    assert lines(bot)[-1] == bot.parts.speaker(ROOM)(f"list-full-{scope}", n=7, capacity=7)
    assert texts(await list_of(bot, scope)) == texts(before_refusal)


@pytest.mark.parametrize(
    ("notices", "here", "in_private"),
    [("room", ["whole"], []), ("private", [], ["whole"]), ("off", [], [])],
)
async def test_d12_what_was_saved_and_forgotten_is_said_where_notices_say(
    bot: Bot, notices: str, here: list[str], in_private: list[str]
) -> None:
    bot.settings.rules = replace(FULL, notices=notices)  # type: ignore[arg-type]
    await lay_down(bot, "Plays the lute", "Has a canoe", "Owns a loom")
    await asked(bot, saves("Likes tea"))
    whole = "Saved as **#4**: Likes tea\n\nTo make room for it, **#1** was forgotten: Plays the lute"
    assert lines(bot) == [whole for _ in here]
    direct = bot.matrix.direct.get(JUNO)
    assert ([] if direct is None else lines(bot, direct)) == [whole for _ in in_private]
    assert texts(await bot.memories()) == ["Has a canoe", "Owns a loom", "Likes tea"]


@pytest.mark.parametrize("notices", ["room", "private", "off"])
@pytest.mark.parametrize("scope", [ScopeKind.PERSONAL, ScopeKind.ROOM])
async def test_d10_d12_the_asker_is_told_of_a_refusal_whatever_notices_say(
    bot: Bot, notices: str, scope: ScopeKind
) -> None:
    bot.settings.rules = replace(FULL, notices=notices)  # type: ignore[arg-type]
    bot.matrix.admins.add(JUNO)
    await lay_down(bot, "Plays the lute", "Has a canoe", "Owns a loom", scope=scope, unused_days=0)
    await asked(bot, saves("Likes tea", scope="me" if scope is ScopeKind.PERSONAL else "room"))
    told = bot.parts.speaker(ROOM)(f"list-full-{scope}", n=3, capacity=3)
    remedy = "`!memories room del ID`" if scope is ScopeKind.ROOM else "`!memories del ID`"
    assert remedy in told
    assert lines(bot, bot.matrix.direct[JUNO] if notices == "private" else ROOM) == [told]


# --- all of it or nothing ---------------------------------------------------------------------------------------------


def stored(bot: Bot) -> Dump:
    return {name: rows for name, rows in dump(bot.store.path).items() if name in STORED}


@pytest.mark.parametrize("done", [False, True], ids=["not carried out", "answer lost"])
async def test_d9_wherever_a_save_fails_there_was_all_of_it_or_nothing_and_asked_again_there_is_one(
    bot: Bot, done: bool
) -> None:
    """Each statement fails in turn; after each COMMIT it is looked at what anybody else would see."""
    settings = MemorySettings(capacity_personal=40)
    loom = await lay_down(bot, *(f"Owns loom number {number}" for number in range(40)))
    await bot.say("")  # loads the list, which then gets its vectors
    assert bot.embedder is not None
    for at in range(40):
        text = f"Likes sort {at}"
        request = SaveMemory(
            text=text,
            source=Source.TOOL,
            origin=Origin(ROOM, f"$save{at}", private=False),
            conversation=Conversation(ROOM, private=False, asker=JUNO),
            settings=settings,
            effect=EffectKey(f"$save{at}", 0),
            vector=(await bot.embedder.embed([text]))[0],
        )
        before = stored(bot)
        seen: list[Dump] = []
        with Breakage(at, done=done, on_commit=lambda seen=seen: seen.append(stored(bot))) as breakage:  # type: ignore[misc]
            outcome = await asyncio.gather(bot.system.ask(Address("user", JUNO), request), return_exceptions=True)
            await bot.settle()
        if len(breakage.statements) <= at:
            break
        assert isinstance(outcome[0], ActorFailed)
        saved = await bot.system.ask(Address("user", JUNO), request)
        assert saved.forgotten is not None
        assert (saved.memory.text, saved.forgotten.id) == (text, loom[at])
        after = stored(bot)
        assert [row[4] for row in after["memories"]] == [*(row[4] for row in before["memories"][1:]), text]
        assert all(state in (before, after) for state in seen)
    assert at > 5


# --- many at once -----------------------------------------------------------------------------------------------------


class EachSaves:
    """A model whose every reply first saves what the message says, all of them beginning together."""

    def __init__(self, bot: Bot, together: int, scope: str) -> None:
        self.scope = scope
        self.together = asyncio.Barrier(together)
        self.refused = 0
        bot.model.reply = self.reply  # type: ignore[method-assign,assignment]

    async def reply(self, prompt: Prompt, tools: Sequence[ToolSpec], run_tool: ToolRunner) -> Reply:
        number = prompt.messages[-1].blocks[-1].text.rpartition("sort ")[2].partition("<")[0]
        await self.together.wait()
        result = await run_tool(ToolCall(0, "save_memory", {"text": f"Likes sort {number}", "scope": self.scope}))
        self.refused += result.is_error
        return Reply("answer", (Usage("fake", input_tokens=1, output_tokens=1),))


@pytest.mark.parametrize("scope", [ScopeKind.PERSONAL, ScopeKind.ROOM])
@pytest.mark.parametrize("resting", [0, 30])
@pytest.mark.parametrize("how", ["commands", "tool"])
async def test_d9_fifty_saves_racing_for_one_free_place_leave_exactly_a_hundred_rows(
    bot: Bot, scope: ScopeKind, resting: int, how: str
) -> None:
    """One is taken and 49 are refused; of 30 that rest each lets one more in."""
    bot.settings.rules, bot.settings.enforce = MemorySettings(notices="off"), False
    bot.matrix.admins.add(JUNO)
    await lay_down(bot, *(f"Owns loom number {number}" for number in range(resting)), scope=scope)
    active = (f"Owns boat number {number}" for number in range(CAPACITY - 1 - resting))
    await lay_down(bot, *active, scope=scope, unused_days=0)
    room = "room " if scope is ScopeKind.ROOM else ""
    if how == "tool":
        model = EachSaves(bot, 50, "room" if room else "me")
        said = [f"{GAMES} sort {number}" for number in range(50)]
    else:
        said = [f"!memories {room}add Likes sort {number}" for number in range(50)]
    await bot.deliver(*(bot.message(text, thread_root=f"$t{number}") for number, text in enumerate(said)))
    await bot.settle()
    after = texts(await list_of(bot, scope))
    assert len(after) == CAPACITY
    assert sum(text.startswith("Likes sort") for text in after) == 1 + resting
    assert sum(text.startswith("Owns loom") for text in after) == 0
    refused = model.refused if how == "tool" else sum("Nothing was saved" in body for body in bot.matrix.bodies(ROOM))
    assert refused == 49 - resting
