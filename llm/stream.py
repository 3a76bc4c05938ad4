"""One call of the model: its stream from the start to the end, its time limit, and what it cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from anthropic import AsyncMessageStream, AsyncMessageStreamManager
from anthropic.types import Message

from llm.failures import as_model_errors
from llm.wire import usage_of
from memory.errors import ModelError, ModelUnavailable
from memory.model import Usage

Spent = Callable[[Usage], None]
Build = Callable[[], AsyncMessageStreamManager[None]]


async def whole(build: Build, model: str, seconds: float, spent: Spent) -> Message:
    """Wait for the end of a stream. Raises ModelError with what the call cost, as far as the server had said so.

    An answer that is still coming when the time is over is too long, which is no failure of the server.
    """
    usage: list[Usage] = []
    limit = asyncio.timeout(seconds)
    coming = False
    try:
        with as_model_errors(seconds):
            async with limit, build() as stream:
                try:
                    message = await stream.get_final_message()
                finally:
                    for snapshot in _snapshot(stream):
                        coming = bool(snapshot.content)
                        usage.append(usage_of(snapshot, model))
                        spent(usage[-1])
        if message.stop_reason is None:
            raise ModelUnavailable("the answer was cut off in the middle")
        if message.stop_reason == "refusal":
            raise ModelError("the model refused to answer")
    except ModelError as error:
        if limit.expired() and coming:
            raise ModelError(str(error), usage) from None
        error.usage = tuple(usage)
        raise
    return message


def _snapshot(stream: AsyncMessageStream[None]) -> list[Message]:
    """Return what has come of the answer, an empty list before its start."""
    try:
        return [stream.current_message_snapshot]
    except AssertionError:  # how the SDK says that nothing has come yet
        return []
