"""What is exchanged with the language model: prompts, tools, replies and what they cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call as the API reported them."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


UsageBy = Literal["day", "user", "room", "model", "purpose"]


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """What a group of calls cost together. `group`: what the calls share, in the order that was asked for."""

    group: tuple[str, ...]
    calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int


@dataclass(frozen=True, slots=True)
class Block:
    """One text block of a prompt; `cache` puts a cache breakpoint after it."""

    text: str
    cache: bool = False


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for the model to see; `data` as a decoder of ours wrote it."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt; `role` is "user" or "assistant". images: of a user's message, shown before its text."""

    role: str
    blocks: tuple[Block, ...]
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything the model is sent for one reply (D14)."""

    system: tuple[Block, ...]
    messages: tuple[PromptMessage, ...]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool the model may call; `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool, counted from 0 within the turn, so that a replay finds the recorded result."""

    number: int
    name: str
    arguments: dict[str, object]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call answers the model; an error result never had an effect."""

    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer of the model in Markdown, and what it cost, one entry for each call made.

    cut: it reached the length limit, so its end is missing.
    """

    text: str
    usage: tuple[Usage, ...] = ()
    cut: bool = False
