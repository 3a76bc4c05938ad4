"""The model's double: the offline server with a script for a brain, so that tests run the real SDK over real HTTP.

    async with ModelServer(replies=[say("Hello"), fail(529)], extractions=[extracted(["Has a cat"])]) as server:
        model = AnthropicModel(server.settings())
        ...
        assert server.requests[0].body["model"] == "…"

A script is a list of steps, used up in order (then every further request is an error), or a function of the request.
Without a script every reply is "Noted.", every extraction and cleanup empty, and every story of one part.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aiohttp import web
from pydantic import SecretStr

from llm.offline.api import Answered, ApiFault, Request, text_block, tool_use_block
from llm.offline.events import Finished
from llm.offline.reading import is_cleanup
from llm.offline.server import MessagesServer
from llm.offline.usage import PromptCache
from llm.settings import LlmSettings
from llm.story import SYSTEM_TEXT as PLAN_TEXT

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


@dataclass(frozen=True)
class Step:
    """One scripted response. `hold`: wait for this event before answering.

    break_after: end the response after so many events of the stream; `abort` drops the connection instead of ending it
    properly. stall_after: send so many events, then wait for `release`. raw: send these bytes in place of the events.
    """

    answer: Answered | None = None
    fault: ApiFault | None = None
    hold: asyncio.Event | None = None
    break_after: int | None = None
    abort: bool = False
    stall_after: int | None = None
    release: asyncio.Event | None = None
    raw: bytes | None = None


_CALLS = itertools.count(1)

Script = Sequence[Step] | Callable[[Request], Step]


def say(text: str, stop_reason: str = "end_turn") -> Step:
    return Step(Answered((text_block(text),), stop_reason))


def call_tool(name: str, arguments: dict[str, Any], text: str = "") -> Step:
    return call_tools([(name, arguments)], text)


def call_tools(calls: Iterable[tuple[str, Any]], text: str = "") -> Step:
    blocks = [text_block(text)] if text else []
    blocks += [tool_use_block(next(_CALLS), name, arguments) for name, arguments in calls]
    return Step(Answered(tuple(blocks), "tool_use"))


def extracted(new_facts: Sequence[str] = (), reinforced: Sequence[int] = ()) -> Step:
    return say(json.dumps({"new_facts": list(new_facts), "reinforced": list(reinforced)}, ensure_ascii=False))


def tidied(drops: Sequence[tuple[int, int]] = (), merges: Sequence[tuple[Sequence[int], str]] = ()) -> Step:
    answer = {
        "drops": [{"id": dropped, "survivor": survivor} for dropped, survivor in drops],
        "merges": [{"ids": list(ids), "text": text} for ids, text in merges],
    }
    return say(json.dumps(answer, ensure_ascii=False))


def planned(title: str, *parts: tuple[str, str, str]) -> Step:
    """The plan of a story; each part as heading, summary and picture."""
    keys = ("heading", "summary", "picture")
    plan = {"title": title, "parts": [dict(zip(keys, part, strict=True)) for part in parts]}
    return say(json.dumps(plan, ensure_ascii=False))


def fail(status: int, message: str = "scripted", headers: dict[str, str] | None = None) -> Step:
    """An error status; retried at once by the SDK, as far as it retries this status."""
    return Step(fault=ApiFault(status, KINDS[status], message, {"retry-after-ms": "1", **(headers or {})}))


def held(step: Step, until: asyncio.Event) -> Step:
    return replace(step, hold=until)


def cut(text: str, after_events: int, *, abort: bool = False) -> Step:
    """A stream that ends in the middle, properly or with the connection dropped."""
    return replace(say(text), break_after=after_events, abort=abort)


def stalled(text: str, after_events: int, release: asyncio.Event) -> Step:
    """A stream that falls silent in the middle until `release` is set."""
    return replace(say(text), stall_after=after_events, release=release)


def garbage(raw: bytes) -> Step:
    return replace(say("unused"), raw=raw)


@dataclass(frozen=True, slots=True)
class _Scripted(Answered):
    step: Step = Step()


class ModelServer(MessagesServer):
    """See the module. `requests`: every request that passed the checks, in order of arrival."""

    def __init__(
        self,
        *,
        replies: Script | None = None,
        extractions: Script | None = None,
        cleanups: Script | None = None,
        stories: Script | None = None,
        cache: PromptCache | None = None,
    ) -> None:
        super().__init__(self._answer, cache)
        self.requests: list[Request] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.arrived = asyncio.Condition()
        self._replies = _as_function(replies, say("Noted."))
        self._extractions = _as_function(extractions, extracted())
        self._cleanups = _as_function(cleanups, tidied())
        self._stories = _as_function(stories, planned("A title", ("A heading", "Something happens.", "")))

    def settings(self, **changes: Any) -> LlmSettings:
        """Settings that lead here; by default no retries and 5 s for a call."""
        base = LlmSettings(
            base_url=self.base_url, api_key=SecretStr("sk-test-secret"), max_retries=0, timeout_seconds=5.0
        )
        return replace(base, **changes)

    @property
    def reply_requests(self) -> list[Request]:
        return [request for request in self.requests if not is_structured(request)]

    @property
    def extraction_requests(self) -> list[Request]:
        return [request for request in self.requests if is_extraction(request)]

    async def wait_for_requests(self, count: int) -> None:
        """Wait until so many requests have arrived, whether or not they are answered."""
        async with self.arrived:
            await self.arrived.wait_for(lambda: len(self.requests) >= count)

    async def _answer(self, request: Request) -> Answered:
        async with self.arrived:
            self.requests.append(request)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            self.arrived.notify_all()
        try:
            script = self._replies
            if is_structured(request):
                script = self._cleanups if is_cleanup(request.body) else self._extractions
                script = self._stories if is_plan(request) else script
            step = script(request)
            if step.hold is not None:
                await step.hold.wait()
            if step.fault is not None:
                raise step.fault
            assert step.answer is not None
            return _Scripted(step.answer.content, step.answer.stop_reason, step)
        finally:
            self.in_flight -= 1

    async def send_events(
        self, http: web.Request, response: web.StreamResponse, message: Finished, answer: Answered
    ) -> None:
        step = answer.step if isinstance(answer, _Scripted) else Step()
        if step.raw is not None:
            await response.write(step.raw)
            await response.write_eof()
            return
        for number, event in enumerate(message.events()):
            if number == step.break_after:
                if step.abort and http.transport is not None:
                    http.transport.abort()
                    return
                break
            if number == step.stall_after and step.release is not None:
                await step.release.wait()
            await response.write(event)
        await response.write_eof()


def is_structured(request: Request) -> bool:
    return "format" in request.body.get("output_config", {})


def is_extraction(request: Request) -> bool:
    return is_structured(request) and not is_cleanup(request.body) and not is_plan(request)


def is_plan(request: Request) -> bool:
    """Whether a request asks for the plan of a story."""
    return is_structured(request) and request.body["system"][0]["text"] == PLAN_TEXT


def _as_function(script: Script | None, default: Step) -> Callable[[Request], Step]:
    if script is None:
        return lambda _request: default
    if callable(script):
        return script
    steps = iter(script)
    exhausted = fail(500, "the script has no more steps", {"x-should-retry": "false"})
    return lambda _request: next(steps, exhausted)
