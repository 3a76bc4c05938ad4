"""What an actor is, and how it is addressed; `actors.runtime` runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from actors.runtime import Context

Work = Coroutine[Any, Any, object | None]


class Address(NamedTuple):
    """Who is meant: a kind of actor ("room", "user", "outbox") and a Matrix id."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Actor:
    """Base of actors. Whatever an instance holds can be had again from storage by `load`."""

    def __init__(self, context: Context) -> None:
        self.context = context

    async def load(self) -> None:
        """Read state from storage; called before the first message, after a failure and after unloading."""

    async def handle(self, message: object) -> object | None:
        """Do one message; the return value answers an asker. Refused is an answer, any other exception a failure."""
        raise TypeError(f"{type(self).__name__} does not understand {type(message).__name__}")

    def unload(self) -> None:
        """Let go of what is shared (an index, say) before the instance is dropped."""


@dataclass(slots=True)
class Envelope:
    """A message on its way to an actor; `answer`: what its asker waits for, on account of the event `event_id`."""

    message: object
    answer: asyncio.Future[Any] | None = None
    event_id: str | None = None

    @property
    def abandoned(self) -> bool:
        """Whether its asker was stopped before it was worked on."""
        return self.answer is not None and self.answer.cancelled()

    def succeed(self, result: object) -> None:
        """Answer the asker, if there is one who still waits."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(result)

    def fail(self, error: BaseException) -> None:
        """Let the asker know of an error instead."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)
