"""The tools offered in a turn, and their arguments checked before they have any effect (P16, P18)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory.model import ToolResult, ToolSpec
from memory.text import checked_text

MAX_ARGUMENT_CHARACTERS = 20_000


class SaveMemoryArguments(BaseModel):
    """Arguments of `save_memory`; `scope` "me" is the asker's list, "room" this room's."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    text: str = Field(
        min_length=1,
        max_length=MAX_ARGUMENT_CHARACTERS,
        description="The fact as one short phrase in the third person without the person's name, in their language.",
    )
    scope: Literal["me", "room"] = Field(
        default="me",
        description='"me" for a fact about the person who asks, "room" for one that belongs to this room.',
    )


SAVE_MEMORY = ToolSpec(
    name="save_memory",
    description=(
        "Save one durable memory. Use it only when the person asks you to remember something, never on your own "
        "account. Say what you saved once the tool has succeeded; when it fails, tell the person the reason it gives."
    ),
    schema={
        "type": "object",
        "properties": {
            name: {key: value for key, value in schema.items() if key in ("type", "enum", "description")}
            for name, schema in SaveMemoryArguments.model_json_schema()["properties"].items()
        },
        "required": ["text"],
        "additionalProperties": False,
    },
)


def save_memory_arguments(arguments: Mapping[str, object]) -> SaveMemoryArguments | ToolResult:
    """Return checked arguments with the text cleaned (P18), or the error result to answer with: no effect then.

    Raises Refused for a text that cannot be saved, which the person should be told.
    """
    try:
        checked = SaveMemoryArguments.model_validate(dict(arguments))
        return checked.model_copy(update={"text": checked_text(checked.text)})
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, p['loc'])) or 'arguments'}: {p['msg']}" for p in error.errors())
        return ToolResult(f"Wrong arguments: {problems}", is_error=True)


def was_saved(memory_id: int) -> str:
    """Tell the model that a memory was saved."""
    return f"Saved as memory {memory_id}."


def was_there(memory_id: int) -> str:
    """Tell the model that this memory exists already (P16)."""
    return f"Already remembered as memory {memory_id}."


def no_such_tool(name: str) -> ToolResult:
    """Tell the model that it called a tool there is not."""
    return ToolResult(f"There is no tool {name!r}.", is_error=True)
