"""One person in twenty rooms at once is remembered as if they had spoken in one room after the other (P20, P8)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from actors.ports import ToolRunner
from memory.model import Prompt, Reply, ToolSpec, Usage
from memory.quota import CommandQuota
from memory.settings import MemorySettings
from memory.types import Extraction, ExtractionRequest
from tests.actors.breaking import Dump, dump
from tests.actors.conftest import Bot
from tests.fakes.model import FakeModel

ROOMS = [f"!room{number}:hs" for number in range(20)]
WORDS = ["chess", "cat", "dog", "piano", "tea", "bread", "garden", "boat", "film", "norway", "bicycle", "violin"]
RULES = MemorySettings(promotion_threshold=3, cleanup_interval=0)


class DawdlingModel(FakeModel):
    """Takes its time, now more, now less, so that calls begun together end in any order.

    at_first: no reply comes before so many are under way.
    """

    def __init__(self, at_first: int) -> None:
        super().__init__()
        self.random = Random(at_first)  # noqa: S311 - no secret
        self.at_first = asyncio.Barrier(at_first)
        self.left = at_first

    async def reply(self, prompt: Prompt, tools: Sequence[ToolSpec], run_tool: ToolRunner) -> Reply:
        if self.left:
            self.left -= 1
            await self.at_first.wait()
        await self._dawdle()
        return await super().reply(prompt, tools, run_tool)

    async def extract(self, request: ExtractionRequest) -> tuple[Extraction, Usage]:
        await self._dawdle()
        return await super().extract(request)

    async def _dawdle(self) -> None:
        for _ in range(self.random.randrange(200)):
            await asyncio.sleep(0)


@dataclass(frozen=True)
class Said:
    room: str
    text: str


def conversation(turns: int) -> list[Said]:
    """Return what is said: each room in turn, one to three of the words."""
    random = Random(turns)  # noqa: S311 - no secret
    rooms = (ROOMS[number % len(ROOMS)] for number in range(turns))
    return [Said(room, "I like " + " and ".join(random.sample(WORDS, random.randint(1, 3)))) for room in rooms]


async def remembered(folder: Path, said: list[Said], at_once: int) -> Dump:
    """Say everything, so many messages in one sync, and return what the database then holds."""
    bot = Bot(folder, None)
    bot.model = DawdlingModel(at_first=min(at_once, len(ROOMS)))
    bot.learns({word: f"Likes {word}" for word in WORDS})
    bot.settings.rules = RULES
    bot.settings.quotas["ask"] = CommandQuota()
    await bot.start()
    try:
        for first in range(0, len(said), at_once):
            events = [bot.message(each.text, room=each.room) for each in said[first : first + at_once]]
            await bot.deliver(*events)
            if at_once == 1:
                await bot.settle()
        assert await bot.system.drain(100)
        assert bot.matrix.bodies().count("answer") == len(said)
        return dump(bot.store.path)
    finally:
        await bot.crash()


async def both(folder: Path, turns: int) -> None:
    said = conversation(turns)
    together = await remembered(folder / "together", said, at_once=100)
    apart = await remembered(folder / "apart", said, at_once=1)
    for table in ("memory_candidates", "memories", "mentions", "user_state"):
        assert together[table] == apart[table], table
    assert len(apart["memories"]) + len(apart["memory_candidates"]) == len(WORDS)
    spoken = Counter(word for each in said for word in WORDS if word in each.text)
    assert len(apart["mentions"]) == sum(min(RULES.promotion_threshold, count) for count in spoken.values())


async def test_p20_a_hundred_turns_in_twenty_rooms_at_once_teach_what_they_teach_one_by_one(tmp_path: Path) -> None:
    await both(tmp_path, 100)


@pytest.mark.slow
async def test_p20_a_thousand_turns_in_twenty_rooms_at_once_teach_what_they_teach_one_by_one(tmp_path: Path) -> None:
    await both(tmp_path, 1000)
