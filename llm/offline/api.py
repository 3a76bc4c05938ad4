"""The words of the Messages API as this server uses them: JSON objects, answers and faults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answered:
    """What a brain answers: content blocks (`text` or `tool_use`) and why it stopped."""

    content: tuple[JsonObject, ...]
    stop_reason: str = "end_turn"


class ApiFault(Exception):
    """An error the API answers with; `kind` is its `error.type`."""

    def __init__(self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.headers = dict(headers or {})

    def body(self) -> JsonObject:
        """Return the error in the shape of the API."""
        return {"type": "error", "error": {"type": self.kind, "message": str(self)}}


def refused(message: str) -> ApiFault:
    """Return the fault for a request that is not as it should be."""
    return ApiFault(400, "invalid_request_error", message)


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of one request (see `usage`); `cache_read` and `cache_write` are not part of `uncached`."""

    uncached: int
    cache_read: int = 0
    cache_write: int = 0

    def body(self, output_tokens: int) -> JsonObject:
        """Return the usage object of a message."""
        return {
            "input_tokens": self.uncached,
            "cache_read_input_tokens": self.cache_read,
            "cache_creation_input_tokens": self.cache_write,
            "output_tokens": output_tokens,
        }


@dataclass(frozen=True, slots=True)
class Request:
    """One request that passed the checks; `body` is its JSON as it came."""

    body: JsonObject
    headers: Mapping[str, str] = field(default_factory=dict)


Brain = Callable[[Request], Awaitable[Answered]]


def text_block(text: str) -> JsonObject:
    """Return a text block."""
    return {"type": "text", "text": text}


def tool_use_block(number: int, name: str, arguments: JsonObject) -> JsonObject:
    """Return a tool call; `number` makes its id."""
    return {"type": "tool_use", "id": f"toolu_offline_{number:04d}", "name": name, "input": arguments}
