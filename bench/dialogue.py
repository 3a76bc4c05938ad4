"""What decay saves in long conversations: 80 dated sessions of dialogue end to end through the bot, with it on and off.

    .venv/bin/python -m bench.dialogue

Each session is a chat day of a room with two people, at its own date; a message a minute, each answered. Storage,
index, embedder, actors and SDK are real; Matrix is a double, the model a scripted server on loopback that finds in a
message the facts the data set lists for it and answers every message with the same words. Tokens and what is read from
the cache are as the offline server counts them (llm/offline/usage.py says how), by the moved clock.

Prints the tables and writes docs/decay-measured.md and docs/dialogue.svg. Reads the data sets beside the checkout
(../shared/data) and says so when they are absent.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from actors.ports import Embedder
from bench.dialogue_days import DATA, Day, Message, load, missing
from bench.dialogue_page import ANSWER, PAUSE, Limits, Measured, Run, page, printed
from bench.dialogue_plot import draw
from bench.whole import Bench
from davenport.clock import MovableClock
from index.builtin import BuiltinEmbedder
from llm.client import AnthropicModel
from llm.offline.api import Request
from llm.offline.reading import read_extraction
from llm.offline.usage import PromptCache
from memory.model import Prompt, Reply, ToolSpec, Usage
from memory.settings import MemorySettings
from memory.text import visible
from memory.types import Memory
from storage import Database
from tests.fakes.model_server import ModelServer, Step, extracted, say

DOCS = Path(__file__).resolve().parents[1] / "docs"


class WatchedModel:
    """The Model port: remembers what each reply cost, and how many memories were recalled for it."""

    def __init__(self, inner: AnthropicModel) -> None:
        self._inner = inner
        self.usage: list[Usage] = []
        self.recalled = 0

    async def reply(self, prompt: Prompt, tools: Sequence[ToolSpec], run_tool: Any) -> Reply:
        reply = await self._inner.reply(prompt, tools, run_tool)
        self.usage += reply.usage
        beside = [block.text for block in prompt.messages[-1].blocks]
        self.recalled += sum(text.count("\n[") for text in beside if text.startswith("<recalled_memories"))
        return reply

    async def extract(self, request: Any) -> Any:
        return await self._inner.extract(request)

    async def tidy(self, group: Any) -> Any:
        return await self._inner.tidy(group)

    async def plan_story(self, request: Any) -> Any:
        return await self._inner.plan_story(request)

    def taken(self) -> tuple[list[Usage], int]:
        """Return what was remembered since the last time."""
        taken = self.usage, self.recalled
        self.usage, self.recalled = [], 0
        return taken


class Teacher:
    """The extraction model: finds in a message what the data set lists for it."""

    def __init__(self) -> None:
        self.now = Message("", "")

    def __call__(self, request: Request) -> Step:
        assert read_extraction(request.body).said == visible(self.now.text)
        return extracted(self.now.facts)


async def measure(days: Sequence[Day], embedder: Embedder, limits: Limits, *, decay: bool) -> Run:
    """Lead all conversations in one bot, in the order of their dates."""
    rules = MemorySettings(
        promotion_threshold=1,
        max_per_user=limits.per_user,
        capacity_personal=limits.capacity,
        match_threshold=embedder.match_threshold,
        decay_enabled=decay,
    )
    teacher = Teacher()
    with tempfile.TemporaryDirectory() as folder:
        store = await Database.open(Path(folder))
        clock = MovableClock(days[0].begins)
        cache = PromptCache(clock.now)
        async with ModelServer(replies=lambda _request: say(ANSWER), extractions=teacher, cache=cache) as server:
            inner = AnthropicModel(server.settings())
            model = WatchedModel(inner)
            bench = Bench(store, embedder, model, rules, clock=clock)
            measured = [await _one_day(bench, day, model, server, teacher) for day in days]
            await bench.system.close()
            await inner.aclose()
        await store.close()
    return Run(limits, decay, tuple(measured))


async def _one_day(bench: Bench, day: Day, model: WatchedModel, server: ModelServer, teacher: Teacher) -> Measured:
    room = f"!{day.conversation}:hs"
    for number, message in enumerate(day.messages):
        bench.clock.set(day.begins + PAUSE * number)
        teacher.now = message
        await bench.say(message.text, _user(day, message.speaker), room)
        server.requests.clear()
    usage, recalled = model.taken()
    assert len(usage) == len(day.messages), "a message was not answered, or with more than one call"
    memories = [
        memory
        for speaker in sorted({message.speaker for message in day.messages})
        for memory in await _memories(bench, _user(day, speaker))
    ]
    rests = MemorySettings().rest_after_days
    resting = sum(bench.parts.settings.memory(room).decay_enabled and each.resting(rests) for each in memories)
    return Measured(day, tuple(usage), len(memories) - resting, resting, recalled)


def _user(day: Day, speaker: str) -> str:
    return f"@{speaker.casefold()}.{day.conversation}:hs"


async def _memories(bench: Bench, user: str) -> tuple[Memory, ...]:
    async with bench.parts.store.transaction() as tables:
        return await tables.memories.of_user(user)


def one_run(case: tuple[Sequence[Day], Limits, bool]) -> tuple[Run, str]:
    """Measure one case in a process of its own; returns what recalled, too."""
    days, limits, decay = case

    async def run() -> tuple[Run, str]:
        embedder = BuiltinEmbedder()
        run = await measure(days, embedder, limits, decay=decay)
        await embedder.aclose()
        return run, embedder.model_id

    return asyncio.run(run())


def main() -> None:
    absent = missing()
    if absent:
        print(f"skipped: {' and '.join(absent)} not in {DATA.parent.name}/{DATA.name} beside the checkout")
        return
    days = load()
    cases = [(days, limits, decay) for limits in Limits.both() for decay in (True, False)]
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(cases))) as pool:
        results = list(pool.map(one_run, cases))
    runs = [run for run, _ in results]
    print(printed(runs))
    (DOCS / "decay-measured.md").write_text(page(runs, results[0][1]), encoding="utf-8")
    (DOCS / "dialogue.svg").write_text(draw(runs[0], runs[1]), encoding="utf-8")


if __name__ == "__main__":
    main()
