"""The language model behind the anthropic SDK; satisfies the Model port of the actors.

The base URL may lead to any server that speaks the Messages API. Answers are selected by the type of their blocks and
no sampling or thinking parameters are sent, since models differ in which of them they refuse.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import anthropic
from anthropic import Omit, omit
from anthropic.types import (
    JSONOutputFormatParam,
    Message,
    MessageParam,
    OutputConfigParam,
    ToolChoiceParam,
    ToolParam,
    ToolResultBlockParam,
    ToolUseBlock,
)

from llm.breaker import Guard
from llm.cleanup import cleanup_of, cleanup_prompt
from llm.cleanup import output_format as cleanup_format
from llm.extraction import extraction_of, extraction_prompt, output_format
from llm.settings import LlmSettings
from llm.story import output_format as plan_format
from llm.story import plan_of, plan_prompt
from llm.stream import Spent, whole
from llm.wire import assistant_turn, messages_of, system_of, text_of, tool_result, tools_of, usage_of
from memory.cleanup import CleanupAnswer, CleanupGroup
from memory.errors import ModelAnswerInvalid, ModelError, ModelKeyMissing, ModelRequestRefused
from memory.loopback import on_loopback
from memory.model import Prompt, Reply, ToolCall, ToolResult, ToolSpec, Usage
from memory.story import StoryPlan, StoryRequest
from memory.types import Extraction, ExtractionRequest

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 60.0  # between two pieces of a stream; the API sends pings while the model thinks
MAX_TOOL_ROUNDS = 4
MAX_TOOL_CALLS = 16  # of one turn
MAX_PROMPT_CHARACTERS = 1_000_000

_WHOLE = frozenset({"end_turn", "stop_sequence"})
_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
_MAY_USE_TOOLS: ToolChoiceParam = {"type": "auto"}
_NO_TOOLS: ToolChoiceParam = {"type": "none"}

RunTool = Callable[[ToolCall], Awaitable[ToolResult]]
Admit = Callable[[], Awaitable[None]]
T = TypeVar("T")


async def _always() -> None:
    """Admit every call."""


class AnthropicModel:
    """Asks the model for replies, extractions, cleanups and plans of stories.

    Every failure is a ModelError; nothing partial is returned.

    `breaker` guards each call: while it is open, ModelPaused is raised at once and nothing is sent.
    """

    def __init__(
        self,
        settings: LlmSettings,
        *,
        idle_seconds: float = IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        admit: Admit = _always,
        spent: Spent = lambda _usage: None,
    ) -> None:
        """`idle_seconds`: the silence a stream may keep. `clock`: the breaker's, in seconds. Opens no connection.

        `admit`: awaited before each call, once it has a place among the calls in flight; a ModelError it raises stops
        the call. `spent`: told what each call cost before its place is free.
        """
        self._settings = settings
        self._admit = admit
        self._spent = spent
        self._slots = asyncio.Semaphore(settings.max_in_flight)
        self.breaker = Guard(settings.breaker_failures, settings.breaker_seconds, clock)
        self._client = _client(settings, idle_seconds) if settings.api_key.get_secret_value() else None

    def use(self, settings: LlmSettings) -> None:
        """Let later calls ask other models, for other lengths and times; address and key stay as they are."""
        self._settings = replace(
            self._settings,
            assistant_model=settings.assistant_model,
            memory_model=settings.memory_model,
            max_tokens=settings.max_tokens,
            timeout_seconds=settings.timeout_seconds,
        )
        self.breaker.use(settings.breaker_failures, settings.breaker_seconds)

    def describe(self) -> dict[str, object]:
        """Say for operators whom it asks; never a key."""
        settings = self._settings
        return {
            "provider": settings.provider,
            "base_url": settings.base_url,
            "assistant_model": settings.assistant_model,
            "memory_model": settings.extraction_model,
            "key": self._client is not None,
            "breaker": {"state": self.breaker.state, "wait_seconds": round(self.breaker.wait_seconds, 1)},
        }

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def reply(self, prompt: Prompt, tools: Sequence[ToolSpec], run_tool: RunTool) -> Reply:
        """Stream one whole answer, running tools as the model asks.

        At most MAX_TOOL_ROUNDS rounds of tools; then the model must answer without. Text said before a tool call is
        part of the answer. Raises ModelError, also for a refusal: what the model had said until then is no answer.
        """
        _check_size(prompt)
        turn = _Turn(self._settings.assistant_model, tools, run_tool, messages_of(prompt))
        try:
            return await self._converse(prompt, tools, turn)
        except ModelError as error:
            error.usage = (*turn.usage, *error.usage)
            if isinstance(error, ModelRequestRefused) and any(message.images for message in prompt.messages):
                log.warning(
                    "the model %s did not take a request with a picture (%s); for a model that takes none set "
                    "pictures.enabled = false",
                    *(turn.model, error),
                )
            raise

    async def _converse(self, prompt: Prompt, tools: Sequence[ToolSpec], turn: _Turn) -> Reply:
        for rounds_left in range(MAX_TOOL_ROUNDS, -1, -1):
            message = await self._call(
                turn.model,
                prompt,
                turn.messages,
                # Withheld tools stay defined, since the history may hold calls of them.
                tools=tools_of(tools) or omit,
                tool_choice=omit if not tools else _NO_TOOLS if rounds_left == 0 else _MAY_USE_TOOLS,
            )
            turn.take(message)
            if message.stop_reason != "tool_use":
                return turn.reply(message.stop_reason)
            if rounds_left:
                await turn.run_tools(message)
        raise ModelError("the model asked for tools that were withheld")

    async def extract(self, request: ExtractionRequest) -> tuple[Extraction, Usage]:
        """Ask for new facts and reinforced candidates (P6). Raises ModelError, ModelAnswerInvalid (P17)."""
        return await self._structured(extraction_prompt(request), output_format(), extraction_of)

    async def tidy(self, group: CleanupGroup) -> tuple[CleanupAnswer, Usage]:
        """Ask what of a group is redundant or overlaps (P14). Raises ModelError, ModelAnswerInvalid."""
        return await self._structured(cleanup_prompt(group), cleanup_format(), cleanup_of)

    async def plan_story(self, request: StoryRequest) -> tuple[StoryPlan, Usage]:
        """Ask for the plan of a story the model that will tell it. Raises ModelError, ModelAnswerInvalid."""
        model, read = self._settings.assistant_model, partial(plan_of, request=request)
        return await self._structured(plan_prompt(request), plan_format(), read, model)

    async def _structured(
        self, prompt: Prompt, form: JSONOutputFormatParam, read: Callable[[str], T], model: str | None = None
    ) -> tuple[T, Usage]:
        """Ask a model, the memory model unless another is named, for an answer of a schema and read it."""
        _check_size(prompt)
        model = model or self._settings.extraction_model
        message = await self._call(model, prompt, messages_of(prompt), output_config={"format": form})
        usage = usage_of(message, model)
        try:
            if message.stop_reason != "end_turn":
                raise ModelAnswerInvalid(f"the structured answer stopped with {message.stop_reason}")
            return read(text_of(message)), usage
        except ModelAnswerInvalid as error:
            error.usage = (usage,)
            raise

    async def _call(
        self,
        model: str,
        prompt: Prompt,
        messages: list[MessageParam],
        *,
        tools: list[ToolParam] | Omit = omit,
        tool_choice: ToolChoiceParam | Omit = omit,
        output_config: OutputConfigParam | Omit = omit,
    ) -> Message:
        """Make one call and return its whole answer, which has a stop reason and is no refusal."""
        if self._client is None:
            raise ModelKeyMissing("no key: set llm.api_key or ANTHROPIC_API_KEY; any text where the server wants none")
        if not messages:
            raise ModelError("the prompt has no message")
        self.breaker.refuse_if_open()  # at once, not after a place among the calls in flight
        build = partial(
            self._client.messages.stream,
            model=model,
            max_tokens=self._settings.max_tokens,
            system=system_of(prompt) or omit,
            messages=messages,
            tools=tools,
            tool_choice=tool_choice,
            output_config=output_config,
        )
        async with self._slots:
            await self._admit()
            with self.breaker.call():
                return await whole(build, model, self._settings.timeout_seconds, self._spent)


class _Turn:
    """What grows while one reply is made: messages, texts, usage and the number of tool calls."""

    def __init__(self, model: str, tools: Sequence[ToolSpec], run_tool: RunTool, messages: list[MessageParam]) -> None:
        self.model = model
        self.messages = messages
        self.usage: list[Usage] = []
        self._tools = tools
        self._run_tool = run_tool
        self._texts: list[str] = []
        self._calls = 0

    def take(self, message: Message) -> None:
        self.usage.append(usage_of(message, self.model))
        if text := text_of(message):
            self._texts.append(text)

    def reply(self, stop_reason: str | None) -> Reply:
        if stop_reason not in _WHOLE | _CUT:
            raise ModelError(f"the answer stopped with {stop_reason}")
        if not self._texts:
            raise ModelError("the answer has no text")
        return Reply("\n\n".join(self._texts), tuple(self.usage), cut=stop_reason in _CUT)

    async def run_tools(self, message: Message) -> None:
        """Run the tools an answer asks for, one after the other, and append both turns."""
        results: list[ToolResultBlockParam] = [
            tool_result(block, await self._run(block)) for block in message.content if block.type == "tool_use"
        ]
        if not results:
            raise ModelError("the model stopped for a tool without naming one")
        self.messages = [*self.messages, assistant_turn(message), {"role": "user", "content": results}]

    async def _run(self, block: ToolUseBlock) -> ToolResult:
        number, self._calls = self._calls, self._calls + 1
        if block.name not in {tool.name for tool in self._tools}:
            return ToolResult("There is no such tool.", is_error=True)
        if number >= MAX_TOOL_CALLS:
            return ToolResult("Too many tool calls for one answer.", is_error=True)
        if not isinstance(block.input, dict):
            return ToolResult("The arguments must be a JSON object.", is_error=True)
        return await self._run_tool(ToolCall(number, block.name, dict(block.input)))


def _client(settings: LlmSettings, idle_seconds: float) -> anthropic.AsyncAnthropic:
    # The SDK logs whole requests at debug level; people's words have no place in a log.
    logging.getLogger("anthropic").setLevel(logging.WARNING)
    timeout = anthropic.Timeout(idle_seconds, connect=CONNECT_SECONDS, pool=settings.timeout_seconds)
    # A proxy from the environment could not reach a server on this machine's loopback.
    local = anthropic.DefaultAsyncHttpxClient(trust_env=False) if on_loopback(settings.base_url) else None
    return anthropic.AsyncAnthropic(
        api_key=settings.api_key.get_secret_value(),
        base_url=settings.base_url,
        max_retries=settings.max_retries,
        timeout=timeout,
        http_client=local,
    )


def _check_size(prompt: Prompt) -> None:
    blocks = [*prompt.system, *(block for message in prompt.messages for block in message.blocks)]
    size = sum(len(block.text) for block in blocks)
    if size > MAX_PROMPT_CHARACTERS:
        raise ModelError(f"a prompt of {size} characters is over the limit of {MAX_PROMPT_CHARACTERS}")
