"""D17: a change of the embedding model while the bot runs on: order, pace, progress, and a kill in the middle."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from actors.embedding import BATCH
from actors.metrics import NoMetrics
from actors.ports import Change
from actors.sweep import PAUSE_SECONDS, RETRY_SECONDS, ROUND_SECONDS, Sweep
from memory.errors import EmbeddingError
from memory.settings import MemorySettings
from memory.types import Draft, Memory, Origin, ScopeKind, Source
from tests.actors.conftest import BAU, JUNO, ROOM, Bot, until
from tests.fakes.word_embedder import WordEmbedder

PEOPLE = 25
EACH = 20  # memories, so 500 of all
OLD, NEW, DIM = "old words", "new words", 4096  # in which few words fall together


def person(number: int) -> str:
    return f"@person{number}:hs"


async def saved(bot: Bot, facts: Sequence[tuple[str, str]]) -> None:
    """Save memories of owners, with vectors of the bot's embedder."""
    assert bot.embedder is not None
    async with bot.store.transaction() as tables:
        for owner, text in facts:
            kind = ScopeKind.ROOM if owner.startswith("!") else ScopeKind.PERSONAL
            origin = Origin(ROOM, "$old", private=False)
            draft = Draft(kind, owner, "default", text, Source.PROMOTION, origin, bot.clock.now())
            memory = await tables.memories.insert(draft, bot.clock.now())
            [vector] = await bot.embedder.embed([text])
            await tables.memories.put_vectors(bot.embedder.model_id, [(memory.id, text, vector)])


async def all_memories(bot: Bot) -> tuple[Memory, ...]:
    async with bot.store.transaction() as tables:
        return await tables.memories.get(range(1, 2000))


async def vectors(bot: Bot) -> dict[int, list[str]]:
    """The models of the stored vectors of each memory."""
    async with bot.store.transaction() as tables:
        rows = await tables.memories._sql.rows("SELECT memory_id, model_id FROM embeddings ORDER BY memory_id")
    models: dict[int, list[str]] = {}
    for memory_id, model_id in rows:
        models.setdefault(memory_id, []).append(model_id)
    return models


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    each = Bot(tmp_path / "data", WordEmbedder(OLD))
    each.settings.rules = MemorySettings(match_threshold=0.5)
    await each.start()
    yield each
    await each.crash()


@pytest.fixture
async def moved(bot: Bot) -> Bot:
    """A bot with 500 memories of 25 people that was started again with another model."""
    await saved(bot, [(person(n), f"fact{n}x{m}") for n in range(PEOPLE) for m in range(EACH)])
    await bot.crash()
    bot.embedder = WordEmbedder(NEW, DIM)
    await bot.start()
    return bot


def started(folder: Path) -> subprocess.Popen[str]:
    """Start a bot that embeds anew, in a process of its own."""
    child = [sys.executable, "-m", "tests.actors.sweeping_bot", str(folder), NEW, str(DIM)]
    return subprocess.Popen(child, stdout=subprocess.PIPE, text=True)


class Pace:
    """A sleep that lasts as long as the test wants; `slept`: the seconds asked for."""

    def __init__(self, steps: int = 10_000) -> None:
        self.slept: list[float] = []
        self._steps = asyncio.Semaphore(steps)

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)
        await self._steps.acquire()


def sweep(bot: Bot, pace: Pace, per_minute: float = 6000) -> Sweep:
    return Sweep(bot.parts, bot.system, per_minute=per_minute, sleep=pace)


def words(bot: Bot) -> WordEmbedder:
    assert isinstance(bot.embedder, WordEmbedder)
    return bot.embedder


# --- the whole change ---------------------------------------------------------------------------------------------


async def test_d17_the_bot_answers_while_500_memories_are_embedded_anew_and_goes_on_after_a_crash(moved: Bot) -> None:
    bot = moved
    before = {memory.id: memory for memory in await all_memories(bot)}
    first = asyncio.create_task(sweep(bot, Pace(steps=9)).round(words(bot)))
    await until(lambda: len(words(bot).asked) >= 5)
    mine = [memory for memory in before.values() if memory.scope_id == person(20)]

    bot.next_day()
    await bot.say("fact20x3", sender=person(20))  # no vector yet: it neither matches nor ages
    assert bot.matrix.bodies() == ["answer"]
    assert await bot.memories(person(20)) == tuple(mine)
    bot.next_day()
    await bot.say("fact20x3", sender=person(20))  # its list was in use, so it did not wait for its place
    assert not first.done()
    assert [m.unused_days for m in await bot.memories(person(20))] == [0 if m.text == "fact20x3" else 1 for m in mine]

    done = await vectors(bot)
    assert {NEW, OLD} == {model for models in done.values() for model in models}
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    await bot.restart()
    assert await vectors(bot) == done
    asked = sum(map(len, words(bot).asked))
    assert await sweep(bot, Pace()).round(words(bot)) == list(done.values()).count([OLD])
    assert await vectors(bot) == {memory_id: [NEW] for memory_id in before}
    assert sum(map(len, words(bot).asked)) - asked == list(done.values()).count([OLD]), "nothing was done twice"
    others = [m for m in await all_memories(bot) if m.scope_id != person(20)]
    assert others == [m for m in before.values() if m.scope_id != person(20)], "no counter moved (D4, D7)"


async def test_d17_a_process_killed_in_the_middle_leaves_whole_batches_and_the_next_one_ends_it(moved: Bot) -> None:
    bot = moved
    before = await all_memories(bot)
    await bot.crash()
    with started(bot.folder) as process:
        assert process.stdout is not None
        for _ in range(7):
            assert process.stdout.readline().startswith("batch")
        process.kill()
    await bot.start()
    done = Counter(tuple(models) for models in (await vectors(bot)).values())
    assert done[(NEW,)] >= 6 * BATCH
    assert done[(NEW,)] % BATCH == 0 or done[(NEW,)] == len(before)
    assert done.keys() <= {(NEW,), (OLD,)}
    await sweep(bot, Pace()).round(words(bot))
    assert await vectors(bot) == {memory.id: [NEW] for memory in before}
    assert await all_memories(bot) == before


# --- order and pace -----------------------------------------------------------------------------------------------


async def test_d17_lists_in_use_come_first_those_used_last_before_others(bot: Bot) -> None:
    unused, bau, juno, room = "@unused:hs", BAU, JUNO, ROOM
    await saved(bot, [(owner, f"fact of {owner}") for owner in (unused, room, bau, juno)])
    elsewhere = "!elsewhere:hs"
    await bot.say("hello", sender=juno, room=elsewhere)
    await bot.say("hello", sender=bau, room=elsewhere)
    await bot.crash()
    bot.embedder = WordEmbedder(NEW)
    await bot.start()
    assert await sweep(bot, Pace()).round(words(bot)) == 4
    assert [text for batch in words(bot).asked for text in batch] == [
        f"fact of {owner}" for owner in (bau, juno, unused, room)
    ]


async def test_d17_the_lists_of_loaded_actors_come_before_all(moved: Bot) -> None:
    for number in (23, 24):
        await moved.say("hello", sender=person(number), room=f"!{number}:hs")
    asked = len(words(moved).asked)
    async with moved.store.transaction() as tables:  # as if nothing of theirs had been embedded yet
        await tables.memories._sql.run("DELETE FROM embeddings")
    await sweep(moved, Pace()).round(words(moved))
    first = [text for batch in words(moved).asked[asked:] for text in batch][: 2 * EACH]
    assert first == [f"fact{number}x{m}" for number in (24, 23) for m in range(EACH)]


async def test_d17_it_is_throttled_to_so_many_texts_a_minute(moved: Bot) -> None:
    """By the clock: each batch begins no sooner than the texts of the one before are worth."""
    pace, loop = Pace(), asyncio.get_running_loop()
    began = loop.time()
    await sweep(moved, pace, per_minute=60).round(words(moved))
    took = loop.time() - began
    batches = len(words(moved).asked)
    assert batches == -(-PEOPLE * EACH // BATCH)
    assert PEOPLE * EACH - took < sum(pace.slept) < PEOPLE * EACH + 1
    assert max(map(len, words(moved).asked)) == BATCH


class Slow(WordEmbedder):
    """Takes a while for each call."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        await asyncio.sleep(0.02)
        return await super().embed(texts)


async def test_d17_it_leaves_the_embedder_half_of_the_time(bot: Bot) -> None:
    await saved(bot, [(JUNO, f"fact {number}") for number in range(3 * BATCH)])
    bot.embedder = slow = Slow(NEW)
    pace = Pace()
    await sweep(bot, pace, per_minute=1e9).round(slow)
    rests = [seconds for seconds in pace.slept if seconds != PAUSE_SECONDS]
    assert len(rests) == 3
    assert min(rests) > 0.019


# --- how far it is ------------------------------------------------------------------------------------------------


class Counting(NoMetrics):
    def __init__(self) -> None:
        self.changes: Counter[Change] = Counter()

    def memories(self, change: Change, count: int) -> None:
        self.changes[change] += count


async def test_d17_progress_is_counted_logged_and_known_at_any_time(
    moved: Bot, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "actors.sweep")
    metrics = Counting()
    object.__setattr__(moved.parts, "metrics", metrics)
    pace = Pace(steps=3)
    each = sweep(moved, pace)
    assert (each.progress.done, each.progress.left) == (0, None)
    going = asyncio.create_task(each.round(words(moved)))
    await until(lambda: len(pace.slept) == 4)
    assert each.progress.left == PEOPLE * EACH - each.progress.done > 0
    going.cancel()
    await asyncio.gather(going, return_exceptions=True)
    rest = sweep(moved, Pace())
    done = each.progress.done
    assert await rest.round(words(moved)) == PEOPLE * EACH - done
    assert (rest.progress.done, rest.progress.left) == (PEOPLE * EACH - done, 0)
    assert metrics.changes["embedded"] == PEOPLE * EACH
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == f"500 memories have no vector of {NEW}: embedding them, lists in use first"
    assert lines[-1] == f"{PEOPLE * EACH - done} memories were embedded that had no vector of {NEW}"
    assert 8 <= sum(" left" in line for line in lines) <= 12
    assert not any("fact" in line for line in lines)


class Refusing(WordEmbedder):
    """Refuses every batch with a bad text; is down while told so."""

    down = False

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.down or any(text.startswith("bad") for text in texts):
            raise EmbeddingError("status 400")
        return await super().embed(texts)


async def test_d17_what_the_model_refuses_is_what_is_left(bot: Bot) -> None:
    await saved(bot, [(JUNO, text) for text in ("bad", "good", "fine")])
    bot.embedder = embedder = Refusing(NEW)
    each = sweep(bot, Pace())
    assert await each.round(embedder) == 2
    assert (each.progress.done, each.progress.left) == (2, 1)
    assert sorted((await vectors(bot)).values()) == [[NEW], [NEW], [OLD]]


class Meanwhile(WordEmbedder):
    """Before its first answer, what is to follow is embedded elsewhere."""

    def __init__(self, bot: Bot) -> None:
        super().__init__(NEW)
        self.bot = bot

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = await super().embed(texts)
        if len(self.asked) == 1:
            async with self.bot.store.transaction() as tables:
                [last] = await tables.memories.get([6])
                await tables.memories.put_vectors(NEW, [(last.id, last.text, rows[0])])
        return rows


async def test_d17_what_a_list_embeds_itself_meanwhile_is_not_counted_as_left(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.sweep.SPAN", 2)
    await saved(bot, [(JUNO, f"fact {number}") for number in range(6)])
    each = sweep(bot, Pace())
    assert await each.round(Meanwhile(bot)) == 5
    assert (each.progress.done, each.progress.left) == (5, 0)


async def test_d17_a_model_that_does_not_answer_is_asked_again_ever_more_rarely(bot: Bot) -> None:
    await saved(bot, [(JUNO, "tea")])
    bot.embedder = embedder = Refusing(NEW)
    embedder.down = True
    rests: list[float] = []

    async def sleep(seconds: float) -> None:
        if seconds < RETRY_SECONDS:
            return
        rests.append(seconds)
        embedder.down = len(rests) < 6
        if len(rests) == 8:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await Sweep(bot.parts, bot.system, per_minute=1e9, sleep=sleep).run(embedder)
    assert rests == [60, 120, 240, 480, 900, 900, ROUND_SECONDS, ROUND_SECONDS]
    assert list((await vectors(bot)).values()) == [[NEW]]
