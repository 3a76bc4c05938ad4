"""The bot's own time for a turn, from the journalled event to the model's request, and where it goes.

    .venv/bin/python -m bench.turn [--stored 100000] [--turns 200] [--folder DIR]

Storage, index, embedder, actors and SDK are real; Matrix is a double, the model a scripted server in a process of its
own. "request" is the moment the first byte of the request reaches that server. A turn begins when its event has been
journalled. "CPU" is the process's own processor time until its Model port is called, which a busy machine inflates
least. Three messages go to every list before anything is measured, so that lists are loaded; the first turns after
a start are the start-up benchmark's.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import gc
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from actors.messages import Deliver
from actors.metrics import NoMetrics
from actors.ports import Stage
from bench.stored import made, put_list
from bench.whole import Bench, load, model_server
from index.builtin import BuiltinEmbedder
from llm.client import AnthropicModel
from llm.settings import LlmSettings
from memory.model import Prompt, Reply, ToolSpec
from memory.settings import MemorySettings
from memory.types import ListKey, ScopeKind
from storage import Database

ROOM = "!turn:hs"
SENDER = "@turn:hs"
MESSAGES = (
    "which board game should we play tonight?",
    "what do you know about the cello?",
    "ok thanks",
    "Was weisst du noch über meine Allergien?",
)
# (memories in the searched lists, of which active)
LISTS = ((1, 1), (100, 100), (10_000, 100), (10_000, 10_000))
STAGES = ("embed", "score", "settle", "prompt", "SDK", "other")
RULES = MemorySettings(capacity_room=100_000, capacity_personal=100_000)


class Stopwatch(NoMetrics):
    """Listens to the metrics of the turn being measured: milliseconds by stage."""

    def __init__(self) -> None:
        self.begun = 0
        self.reply_at = 0
        self.processor = 0
        self.stages: dict[str, float] = {}

    def stage(self, stage: Stage, seconds: float) -> None:
        self.stages[stage] = self.stages.get(stage, 0.0) + seconds * 1000

    def begin(self) -> None:
        self.stages.clear()
        self.processor = -time.process_time_ns()
        self.begun = time.perf_counter_ns()

    def asked(self) -> None:
        self.reply_at = time.perf_counter_ns()
        self.processor += time.process_time_ns()


class TimedModel:
    """The Model port: notes when it was asked, and when the server saw the request."""

    def __init__(self, inner: AnthropicModel, watch: Stopwatch) -> None:
        self._inner = inner
        self._watch = watch
        self.request_at = 0

    async def reply(self, prompt: Prompt, tools: Sequence[ToolSpec], run_tool: Any) -> Reply:
        self._watch.asked()
        reply = await self._inner.reply(prompt, tools, run_tool)
        self.request_at = int(reply.text.removeprefix("at "))
        return reply

    async def extract(self, request: Any) -> Any:
        return await self._inner.extract(request)

    async def tidy(self, group: Any) -> Any:
        return await self._inner.tidy(group)

    async def plan_story(self, request: Any) -> Any:
        return await self._inner.plan_story(request)


def watch_begin(bench: Bench, watch: Stopwatch) -> None:
    tell = bench.system.tell

    async def timed(address: Any, message: object) -> None:
        if isinstance(message, Deliver):
            watch.begin()
        await tell(address, message)

    bench.system.tell = timed  # type: ignore[method-assign]


class Sample:
    """The turns of one kind that were measured, in milliseconds."""

    def __init__(self) -> None:
        self.port: list[float] = []
        self.wire: list[float] = []
        self.processor: list[float] = []
        self.stages: dict[str, list[float]] = defaultdict(list)

    def add(self, watch: Stopwatch, request_at: int) -> None:
        port = (watch.reply_at - watch.begun) / 1e6
        wire = (request_at - watch.begun) / 1e6
        self.port.append(port)
        self.wire.append(wire)
        self.processor.append(watch.processor / 1e6)
        assert "settle" in watch.stages, "the search failed"
        stages = {stage: watch.stages[stage] for stage in STAGES[:4]} | {"SDK": wire - port}
        stages["other"] = wire - sum(stages.values())
        for stage in STAGES:
            self.stages[stage].append(stages[stage])

    def row(self, name: str) -> str:
        numbers = [at(self.processor, 50)]
        numbers += [at(self.port, 50), at(self.port, 99), at(self.wire, 50), at(self.wire, 99)]
        numbers += [statistics.median(self.stages[stage]) for stage in STAGES]
        return f"{name:38} {len(self.wire):5} " + " ".join(f"{number:7.2f}" for number in numbers)


def at(values: Sequence[float], percentile: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percentile // 100)]


async def measure(bench: Bench, watch: Stopwatch, model: TimedModel, turns: int, step: Callable[[], None]) -> Sample:
    sample = Sample()
    for number in range(turns):
        step()
        await bench.say(MESSAGES[number % len(MESSAGES)], SENDER, ROOM)
        sample.add(watch, model.request_at)
    return sample


async def run_lists(
    folder: Path, embedder: BuiltinEmbedder, url: str, watch: Stopwatch, searched: int, active: int, turns: int
) -> tuple[Sample, Sample]:
    settings = LlmSettings(base_url=url, api_key=SecretStr("bench"), max_retries=0)
    room = searched // 2
    for key, count, awake in (
        (ListKey(ScopeKind.ROOM, ROOM, "default"), room, active // 2),
        (ListKey(ScopeKind.PERSONAL, SENDER, "default"), searched - room, active - active // 2),
    ):
        await put_list(folder / "davenport.db", key, count, awake, embedder)
    async with await Database.open(folder) as store:
        inner = AnthropicModel(settings)
        model = TimedModel(inner, watch)
        bench = Bench(store, embedder, model, RULES, watch)
        watch_begin(bench, watch)
        same_day = functools.partial(bench.clock.advance, timedelta(seconds=30))
        await measure(bench, watch, model, 3, same_day)
        gc.collect()
        gc.freeze()  # as the bot does once it has started
        usual = await measure(bench, watch, model, turns, same_day)
        # Messages of a day apart: each turn is the first of its day, so that every memory it does not match ages (D4).
        first = await measure(bench, watch, model, max(5, turns // 10), lambda: bench.clock.advance(timedelta(days=1)))
        await bench.system.close()
        await inner.aclose()
    return usual, first


async def run(stored: int, turns: int, folder: Path) -> None:
    embedder = BuiltinEmbedder()
    watch = Stopwatch()
    made(folder, stored)
    print(f"{stored} memories stored; {load()}; milliseconds; stages are medians")
    head = " ".join(f"{name:>7}" for name in ("p50", "p50", "p99", "p50", "p99", *STAGES))
    print(f"{'':38} {'':5} {'CPU':>7} {'to port':>15} {'to request':>15}")
    print(f"{'memories in the searched lists':38} {'turns':>5} {head}")
    async with model_server() as url:
        for searched, active in LISTS:
            usual, first = await run_lists(folder, embedder, url, watch, searched, active, turns)
            print(usual.row(f"{searched:6}, {active:6} active"), flush=True)
            print(first.row(f"{searched:6}, {active:6} active, first of a day"), flush=True)
    print(load())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stored", type=int, default=100_000, help="memories stored in all")
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="where the database is kept for another run; else it is temporary")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        asyncio.run(run(options.stored, options.turns, options.folder or Path(temporary)))


if __name__ == "__main__":
    main()
