"""Our values as parameters of the Messages API, and what comes back as our values."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import cast

from anthropic.types import (
    Base64ImageSourceParam,
    ImageBlockParam,
    Message,
    MessageParam,
    TextBlockParam,
    ToolParam,
    ToolResultBlockParam,
    ToolUseBlock,
)

from memory.model import Block, Image, Prompt, PromptMessage, ToolResult, ToolSpec, Usage


def system_of(prompt: Prompt) -> list[TextBlockParam]:
    """Return the system blocks of a prompt, with their cache breakpoints."""
    return _text_blocks(prompt.system)


def messages_of(prompt: Prompt) -> list[MessageParam]:
    """Return the messages of a prompt, pictures before the texts they came with.

    One of neither is left out, as the API refuses it.
    """
    pairs = ((message, _text_blocks(message.blocks)) for message in prompt.messages)
    return [_message(message, blocks) for message, blocks in pairs if blocks or message.images]


def tools_of(tools: Sequence[ToolSpec]) -> list[ToolParam]:
    """Return tool definitions."""
    return [{"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)} for tool in tools]


def assistant_turn(message: Message) -> MessageParam:
    """Return an answer as the turn that a tool's result follows.

    Thinking blocks stay as they came, since their signatures are checked; empty texts go, since they are refused.
    """
    kept = [block for block in message.content if block.type != "text" or block.text.strip()]
    return {"role": "assistant", "content": kept}


def tool_result(call: ToolUseBlock, result: ToolResult) -> ToolResultBlockParam:
    """Return what a tool call answers."""
    return {"type": "tool_result", "tool_use_id": call.id, "content": result.text, "is_error": result.is_error}


def text_of(message: Message) -> str:
    """Return the text of an answer, trimmed; thinking and tool calls are no text."""
    return "".join(block.text for block in message.content if block.type == "text").strip()


def usage_of(message: Message, model: str) -> Usage:
    """Return what one call cost, as the server counted it.

    `model`: the name that was asked for, which prices and sums go by; a server may answer with a longer one.
    """
    usage = message.usage
    return Usage(
        model=model,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_input_tokens or 0,
        cache_write_tokens=usage.cache_creation_input_tokens or 0,
    )


def _message(message: PromptMessage, blocks: list[TextBlockParam]) -> MessageParam:
    if message.role == "assistant":
        return {"role": "assistant", "content": blocks}
    cached = max((number for number, block in enumerate(blocks, 1) if "cache_control" in block), default=0)
    images = [_image_block(image) for image in message.images]  # behind what is cached, which they must not change
    return {"role": "user", "content": [*blocks[:cached], *images, *blocks[cached:]]}


def _image_block(image: Image) -> ImageBlockParam:
    source = {"type": "base64", "media_type": image.media_type, "data": base64.b64encode(image.data).decode("ascii")}
    return {"type": "image", "source": cast(Base64ImageSourceParam, source)}


def _text_blocks(blocks: Iterable[Block]) -> list[TextBlockParam]:
    return [_text_block(block) for block in blocks if block.text.strip()]


def _text_block(block: Block) -> TextBlockParam:
    if block.cache:
        return {"type": "text", "text": block.text, "cache_control": {"type": "ephemeral"}}
    return {"type": "text", "text": block.text}
