"""The language model as the actors see it: answers by functions that a test sets, and remembers what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from memory.cleanup import CleanupAnswer, CleanupGroup
from memory.errors import ModelError
from memory.model import Prompt, Reply, ToolCall, ToolResult, ToolSpec, Usage
from memory.story import PartPlan, StoryPlan, StoryRequest
from memory.types import Extraction, ExtractionRequest

_ONE_PART = StoryPlan("A title", (PartPlan("A heading", "Something happens."),))

ToolRunner = Callable[[ToolCall], Awaitable[ToolResult]]


class FakeModel:
    """Satisfies the Model port. `tool_calls` are run before each answer; `gate`, while set, holds replies back."""

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []
        self.requests: list[ExtractionRequest] = []
        self.answer: Callable[[Prompt], str | Reply | ModelError] = lambda prompt: "answer"
        self.find: Callable[[ExtractionRequest], Extraction | ModelError] = lambda request: Extraction()
        self.groups: list[CleanupGroup] = []
        self.tidier: Callable[[CleanupGroup], CleanupAnswer | ModelError] = lambda group: CleanupAnswer()
        self.cleanup_gate: asyncio.Event | None = None
        self.story_requests: list[StoryRequest] = []
        self.planner: Callable[[StoryRequest], StoryPlan | ModelError] = lambda request: _ONE_PART
        self.plan_gate: asyncio.Event | None = None
        self.tool_calls: list[ToolCall] = []
        self.tool_results: list[ToolResult] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.extraction_gates: dict[str, asyncio.Event] = {}
        self.replying: set[str] = set()

    async def reply(self, prompt: Prompt, tools: Sequence[ToolSpec], run_tool: ToolRunner) -> Reply:
        self.prompts.append(prompt)
        last = prompt.messages[-1].blocks[-1].text
        for word, gate in self.gates.items():
            if word in last:
                self.replying.add(word)
                await gate.wait()
        self.tool_results += [await run_tool(call) for call in self.tool_calls]
        answer = self.answer(prompt)
        if isinstance(answer, ModelError):
            raise answer
        if isinstance(answer, Reply):
            return answer
        return Reply(answer, (Usage("fake", input_tokens=10, output_tokens=2),))

    async def extract(self, request: ExtractionRequest) -> tuple[Extraction, Usage]:
        self.requests.append(request)
        for word, gate in self.extraction_gates.items():
            if word in request.exchange.said:
                await gate.wait()
        found = self.find(request)
        if isinstance(found, ModelError):
            raise found
        return found, Usage("fake", input_tokens=5, output_tokens=1)

    async def tidy(self, group: CleanupGroup) -> tuple[CleanupAnswer, Usage]:
        self.groups.append(group)
        if self.cleanup_gate is not None:
            await self.cleanup_gate.wait()
        answer = self.tidier(group)
        if isinstance(answer, ModelError):
            raise answer
        return answer, Usage("fake", input_tokens=7, output_tokens=3)

    async def plan_story(self, request: StoryRequest) -> tuple[StoryPlan, Usage]:
        self.story_requests.append(request)
        if self.plan_gate is not None:
            await self.plan_gate.wait()
        plan = self.planner(request)
        if isinstance(plan, ModelError):
            raise plan
        return plan, Usage("fake", input_tokens=8, output_tokens=4)
