"""A pass, and a cleanup, is there whole or not at all (P12, P15), wherever it is cut off, and is then done again.

Each is driven through a user actor by hand, once for every statement it runs and every await at which it may be
cancelled, on a copy of the same database.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from actors.actor import Address
from actors.cleanup_messages import CleanUp
from actors.messages import EffectKey
from actors.user import UserActor
from memory.cleanup import CleanupAnswer, CleanupGroup, Drop, Merge
from memory.errors import StorageError
from memory.settings import MemorySettings
from memory.types import Conversation, Origin
from memory.visibility import View
from tests.actors.breaking import Alone, Breakage, Dump, dump
from tests.actors.conftest import JUNO, ROOM, Bot, until
from tests.actors.tidying import remember
from tests.unit.storage.stepping import CancelledAt, outcome

CAT, DOG, CHESS, BREAD = "Cat is named Mochi", "Dog is named Rex", "Plays chess", "Bakes bread"
FACTS = {"Mochi": CAT, "Rex": DOG, "chess": CHESS, "bread": BREAD}
Work = Callable[[UserActor, Alone], Coroutine[Any, Any, None]]


def tidy(group: CleanupGroup) -> CleanupAnswer:
    """Merge cat and dog where both are memories, and drop what repeats that chess is played."""
    ids = {memory.text: memory.id for memory in group.memories}
    merges = (Merge((ids[CAT], ids[DOG]), "Has a cat, Mochi, and a dog, Rex"),) if {CAT, DOG} <= ids.keys() else ()
    drops = (Drop(ids["Plays chess well"], ids[CHESS]),) if {CHESS, "Plays chess well"} <= ids.keys() else ()
    return CleanupAnswer(drops, merges)


def make(folder: Path, *, interval: int) -> Bot:
    bot = Bot(folder, None)
    bot.settings.rules = MemorySettings(cleanup_interval=interval)
    bot.model.tidier = tidy
    bot.learns(FACTS)
    return bot


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A data folder of a bot that crashed between an answer and its pass.

    That pass prunes one candidate, promotes two, adds a third, and brings the counter of P13 to 2.
    """
    bot = make(tmp_path / "made", interval=0)
    await bot.start()
    await bot.say("I play chess")
    await bot.say("chess again")
    await remember(bot, "Plays chess well")
    await bot.say("my cat is Mochi")
    await bot.say("my dog is Rex")
    bot.model.gates["bread"] = asyncio.Event()
    await bot.deliver(bot.message("Mochi and Rex like the bread I bake"))
    await until(lambda: bool(bot.model.replying))
    bot.model.extraction_gates["bread"] = asyncio.Event()
    bot.model.gates["bread"].set()
    await until(lambda: len(bot.model.requests) == 5)
    await bot.crash()
    await bot.start()
    async with bot.store.transaction() as tables:
        then = bot.clock.now() - timedelta(days=20)
        await tables.candidates.insert(JUNO, "Saw a film", Origin(ROOM, "$long-ago", private=False), then)
    await bot.crash()
    return tmp_path / "made"


async def the_pass(actor: UserActor, alone: Alone) -> None:
    """Load the actor, which takes up the pass, and let all it spawns run and come back, a cleanup included."""
    await actor.load()
    while alone.spawned:
        message = await alone.spawned.pop(0)
        if message is not None:
            await actor.handle(message)


async def the_cleanup(actor: UserActor, alone: Alone) -> None:
    """Tidy on request, after the pass."""
    await the_pass(actor, alone)
    here = Conversation(ROOM, private=False, asker=JUNO)
    view = View(here, actor.parts.settings.memory(ROOM))
    told = await actor.handle(CleanUp(view, EffectKey("$cleanup")))
    while alone.spawned:
        message = await alone.spawned.pop(0)
        if message is not None:
            await actor.handle(message)
    assert isinstance(told, asyncio.Future)
    assert told.done()


@dataclass
class Stage:
    """An actor over a copy of the prepared folder."""

    bot: Bot

    @property
    def database(self) -> Path:
        return self.bot.store.path

    async def run(self, work: Work) -> None:
        """Do the work with a new instance of the actor, as after a restart."""
        alone = Alone(Address("user", JUNO))
        try:
            await work(UserActor(alone.context, self.bot.parts), alone)
        finally:
            alone.close()


@asynccontextmanager
async def staged(folder: Path, number: object, *, interval: int) -> AsyncIterator[Stage]:
    copy = folder.with_name(f"copy-{number}")
    shutil.copytree(folder, copy)
    bot = make(copy, interval=interval)
    await bot.start()
    try:
        yield Stage(bot)
    finally:
        await bot.crash()


@dataclass
class Healthy:
    """A run without failure: what was there before it and after each commit, and how long it is."""

    states: list[Dump]
    statements: list[str]
    awaits: int


async def healthy(folder: Path, work: Work, interval: int) -> Healthy:
    async with staged(folder, "healthy", interval=interval) as stage:
        states = [dump(stage.database)]
        with Breakage(on_commit=lambda: states.append(dump(stage.database))) as breakage:
            stepped = CancelledAt(stage.run(work))
            assert await outcome(stepped) == "done"
        return Healthy(states, breakage.statements, stepped.awaits)


# Each with the interval of P13, and how many transactions change something.
WORKS = [
    pytest.param(the_pass, 0, 2, id="pass"),
    pytest.param(the_pass, 2, 3, id="pass-and-periodic-cleanup"),
    pytest.param(the_cleanup, 0, 3, id="pass-and-cleanup-on-request"),
]


def changes(states: list[Dump]) -> int:
    return sum(before != after for before, after in pairwise(states))


def texts(state: Dump, table: str) -> set[str]:
    column = {"memories": 4, "memory_candidates": 2}[table]
    return {row[column] for row in state[table]}


@pytest.mark.parametrize(("work", "interval", "commits"), WORKS)
async def test_p12_p15_the_work_does_what_the_other_tests_cut_off(
    folder: Path, work: Work, interval: int, commits: int
) -> None:
    run = await healthy(folder, work, interval)
    assert changes(run.states) == commits
    assert texts(run.states[0], "memory_candidates") == {"Saw a film", CAT, DOG}
    assert texts(run.states[-1], "memory_candidates") == {BREAD}
    learned = next(state for state in run.states if CAT in texts(state, "memories"))
    assert texts(learned, "memories") == {CHESS, "Plays chess well", CAT, DOG}
    tidied = {CHESS, "Has a cat, Mochi, and a dog, Rex"}
    assert texts(run.states[-1], "memories") == (tidied if commits == 3 else texts(learned, "memories"))
    counters = {each["user_state"][0] for each in (run.states[0], learned, run.states[-1])}
    assert len(counters) == (3 if interval else 2), "the counter of P13 is part of each transaction"


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("work", "interval", "commits"), WORKS)
async def test_p12_p15_a_statement_that_fails_leaves_all_or_nothing_and_a_restart_does_it_again(
    folder: Path, work: Work, interval: int, commits: int, done: bool
) -> None:
    """P20: no pass is lost. A periodic cleanup that failed is left to the next promotion (P13)."""
    run = await healthy(folder, work, interval)
    for number in range(len(run.statements)):
        async with staged(folder, number, interval=interval) as stage:
            with Breakage(number, done=done), pytest.raises(StorageError, match="broken"):
                await stage.run(work)
            left = dump(stage.database)
            assert left in run.states, f"half of something after statement {number}, {run.statements[number]}"
            await stage.run(work)
            assert dump(stage.database) == expected(run, left, interval), f"after statement {number}"


@pytest.mark.parametrize(("work", "interval", "commits"), WORKS)
async def test_p12_p15_a_cancellation_leaves_all_or_nothing_and_a_restart_does_it_again(
    folder: Path, work: Work, interval: int, commits: int
) -> None:
    run = await healthy(folder, work, interval)
    assert run.awaits >= len(run.statements)
    for number in range(run.awaits):
        async with staged(folder, number, interval=interval) as stage:
            assert await outcome(CancelledAt(stage.run(work), number)) == "cancelled"
            left = dump(stage.database)
            assert left in run.states, f"half of something after await {number}"
            await stage.run(work)
            assert dump(stage.database) == expected(run, left, interval), f"after await {number}"


async def test_p12_p20_in_a_running_bot_the_actor_comes_back_and_does_the_pass_again(folder: Path) -> None:
    """Unless the actor could not even be loaded, which begins the pass: then it waits for the next restart."""

    async def running(number: int | None) -> tuple[Dump, Dump, list[str]]:
        async with staged(folder, f"running-{number}", interval=0) as stage:
            with Breakage(number, task=str(Address("user", JUNO))) as breakage:
                await stage.bot.intake.resume()
                await stage.bot.settle()
            by_itself = dump(stage.database)
            await stage.bot.restart()
            await stage.bot.settle()
            return by_itself, dump(stage.database), breakage.statements

    whole, _, statements = await running(None)
    assert texts(whole, "memory_candidates") == {BREAD}
    start = next(number for number, statement in enumerate(statements) if "memory_candidates" in statement)
    loaded = statements.index("COMMIT", start)
    for number in range(len(statements)):
        by_itself, restarted, _ = await running(number)
        assert restarted == whole, f"after statement {number}"
        assert by_itself == whole or number <= loaded, f"after statement {number}"


def expected(run: Healthy, left: Dump, interval: int) -> Dump:
    """What a restart makes of what was left: the same as without failure.

    But a periodic cleanup that came to nothing waits for the next promotion, its counter as it is (P13).
    """
    waits = interval and texts(left, "memories") >= {CAT, DOG}
    return left if waits else run.states[-1]
