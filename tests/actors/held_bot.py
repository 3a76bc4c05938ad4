"""A whole bot whose model answers only when a test says so, and which tells when it stands still meanwhile."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from actors.actor import Address
from actors.messages import Score
from actors.ports import Vector, Vectors
from commands import cleaning
from memory.cleanup import CleanupAnswer, CleanupGroup
from memory.errors import ModelError
from memory.model import Prompt, Reply, ToolCall, ToolSpec, Usage
from memory.types import Conversation, Extraction, ExtractionRequest
from tests.actors.conftest import JUNO, ROOM, Bot
from tests.fakes.matrix import FakeMatrix
from tests.fakes.model import FakeModel, ToolRunner

T = TypeVar("T")

_NUMBER = re.compile(r"\bn(\d+)\b")


class WordEmbedder:
    """Satisfies the Embedder port: a text is about those of a few words that occur in it, or about nothing.

    Real vectors, whose cosines can be told in advance.
    """

    match_threshold = 0.25
    document_threshold = 0.25

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.model_id = "words"
        self.dim = len(words) + 1

    async def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            for column, word in enumerate(self.words):
                vectors[row, column] = float(word in text.casefold())
            vectors[row, -1] = float(not vectors[row].any())
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    async def embed_query(self, text: str) -> Vector:
        """Return float32[dim]: what is said is embedded as what is remembered."""
        row: Vector = (await self.embed([text]))[0]
        return row


class HeldModel(FakeModel):
    """Every pass waits for `answer_pass`; a reply waits for `answer_turn` if its event is in `hold`.

    Messages carry their event's number as a word, n12 for the event $e12.
    """

    def __init__(self) -> None:
        super().__init__()
        self.hold: set[str] = set()
        self.failing: set[str] = set()
        self.calls: dict[str, list[ToolCall]] = {}
        self.tidying: dict[str, asyncio.Future[list[CleanupAnswer] | None]] = {}
        self.answers: dict[str, list[CleanupAnswer]] = {}
        self.passes: dict[str, tuple[ExtractionRequest, asyncio.Future[Extraction | None]]] = {}
        self.replies: dict[str, asyncio.Future[None]] = {}
        self.waiting: set[asyncio.Task[object]] = set()

    def forget(self) -> None:
        """The bot was stopped: nobody waits any more."""
        self.tidying.clear()
        self.answers.clear()
        self.passes.clear()
        self.replies.clear()
        self.waiting.clear()

    async def reply(self, prompt: Prompt, tools: Sequence[ToolSpec], run_tool: ToolRunner) -> Reply:
        numbers = _NUMBER.findall(prompt.messages[-1].blocks[-1].text)
        event = f"$e{numbers[-1]}"
        if event in self.hold:
            self.replies[event] = asyncio.get_running_loop().create_future()
            try:
                await self._held(self.replies[event])
            finally:
                self.replies.pop(event, None)  # also when the turn was stopped
        self.tool_results = [await run_tool(call) for call in self.calls.get(event, ())]
        if event in self.failing:
            raise ModelError("down")
        return Reply("answer", (Usage("fake", input_tokens=10, output_tokens=2),))

    async def extract(self, request: ExtractionRequest) -> tuple[Extraction, Usage]:
        event = request.exchange.event_id
        self.passes[event] = (request, asyncio.get_running_loop().create_future())
        try:
            found = await self._held(self.passes[event][1])
        finally:
            self.passes.pop(event, None)
        if found is None:
            raise ModelError("down")
        return found, Usage("fake", input_tokens=5, output_tokens=1)

    async def tidy(self, group: CleanupGroup) -> tuple[CleanupAnswer, Usage]:
        """The first group of a cleanup waits for `answer_cleanup`, which answers the others as well."""
        owner = group.memories[0].scope_id
        if not self.answers.get(owner):
            self.tidying[owner] = asyncio.get_running_loop().create_future()
            try:
                answers = await self._held(self.tidying[owner])
            finally:
                self.tidying.pop(owner, None)
            if answers is None:
                raise ModelError("down")
            self.answers[owner] = answers
        return self.answers[owner].pop(0), Usage("fake", input_tokens=7, output_tokens=3)

    async def _held(self, future: asyncio.Future[T]) -> T:
        task = asyncio.current_task()
        assert task is not None
        self.waiting.add(task)
        try:
            return await future
        finally:
            self.waiting.discard(task)

    def answer_pass(self, event: str, found: Extraction | None) -> None:
        """Let the pass of an event go on; None: the model fails (P17)."""
        self.passes[event][1].set_result(found)

    def answer_cleanup(self, owner: str, answers: list[CleanupAnswer] | None) -> None:
        """Let a cleanup go on, with one answer for each group; None: the model fails."""
        self.tidying[owner].set_result(answers)

    def answer_turn(self, event: str) -> None:
        """Let a reply that was held back go on."""
        self.hold.discard(event)
        self.replies[event].set_result(None)


class StillMatrix(FakeMatrix):
    """Knows the tasks that keep the typing notice up: they wait for nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.keepers: set[asyncio.Task[object]] = set()

    async def typing(self, room_id: str, *, on: bool) -> None:
        task = asyncio.current_task()
        assert task is not None
        if on:
            self.keepers.add(task)
        else:
            self.keepers.discard(task)
        await super().typing(room_id, on=on)


def waits_for_cleanup(task: asyncio.Task[None]) -> bool:
    """Whether a task is a command that has begun a cleanup and waits for its end, which has not come yet."""
    inner: Any = task.get_coro()
    while hasattr(inner.cr_await, "cr_await"):
        inner = inner.cr_await
    waiter = getattr(task, "_fut_waiter", None)
    return inner.cr_code.co_filename == cleaning.__file__ and waiter is not None and not waiter.done()


class HeldBot(Bot):
    """`still` waits until nothing goes on but what waits for the model."""

    model: HeldModel
    matrix: StillMatrix

    def __init__(self, folder: Path, words: Sequence[str] | None) -> None:
        super().__init__(folder, WordEmbedder(words) if words else None)
        self.model = HeldModel()
        self.matrix = StillMatrix()
        self.settings.enforce = False

    async def crash(self) -> None:
        await super().crash()
        self.model.forget()
        self.matrix.keepers.clear()

    async def still(self) -> None:
        try:
            async with asyncio.timeout(20):  # on a machine that is busy with much else too
                while self._moving():  # noqa: ASYNC110 - no one event tells of all that may go on
                    await asyncio.sleep(0.0005)  # spinning would starve the database's thread
        except TimeoutError:
            raise AssertionError(f"does not come to rest: {self._moving()}") from None

    async def embed(self, users: Sequence[str], rooms: Sequence[str], personas: Sequence[str]) -> None:
        """Load all lists, so that what has no vector yet gets one now and not in the middle of a turn (D17)."""
        owners = [*(Address("user", user) for user in users), *(Address("room", room) for room in rooms)]
        for owner in owners:
            for persona in personas:
                place = Conversation(ROOM, private=False, asker=JUNO, persona=persona)
                await self.system.ask(owner, Score(place, self.settings.rules, None))
        await self.still()

    def _moving(self) -> list[str]:
        """Name what goes on: handlers, messages and tasks, but for those that wait for the model."""
        quiet = {id(task) for task in (*self.model.waiting, *self.matrix.keepers)}
        moving = [
            f"{address}: {cell.mailbox.qsize()} messages, {len(busy)} tasks, busy {cell.busy}"
            for address, cell in list(self.system.cells.items())
            if (busy := [task for task in cell.tasks if id(task) not in quiet and not waits_for_cleanup(task)])
            or cell.busy
            or cell.senders
            or not cell.mailbox.empty()
        ]
        waiting = [future for _, future in self.model.passes.values()]
        answered = (*self.model.replies.values(), *self.model.tidying.values(), *waiting)
        return moving + [f"{future}" for future in answered if future.done()]
