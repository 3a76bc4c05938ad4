"""The tools offered in a turn, and their arguments checked before they have any effect (P16, P18).

What stands here is the same for every turn and person, so that the start of a prompt caches (D14).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory.model import ToolResult, ToolSpec
from memory.text import checked_text

MAX_ARGUMENT_CHARACTERS = 20_000
MAX_IDS = 50
_LARGEST_ID = 2**63 - 1  # of a row in SQLite


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


class ForgetMemoryArguments(BaseModel):
    """Arguments of `forget_memory`: ids of the asker's own memories."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    ids: list[Annotated[int, Field(ge=1, le=_LARGEST_ID)]] = Field(
        min_length=1,
        max_length=MAX_IDS,
        description="The ids in front of the memories, each as it stands in this prompt.",
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

FORGET_MEMORY = ToolSpec(
    name="forget_memory",
    description=(
        "Forget memories of the person who asks, for good. Use it only when that person asks you to forget something, "
        "never on your own account, and only for memories that stand under their own user id; when it is not clear "
        "which they mean, ask them first. Say what you forgot once the tool has succeeded; when it fails, say so."
    ),
    schema={
        "type": "object",
        "properties": {
            "ids": {
                "type": "array",
                "items": {"type": "integer"},
                "description": ForgetMemoryArguments.model_fields["ids"].description,
            }
        },
        "required": ["ids"],
        "additionalProperties": False,
    },
)

A = TypeVar("A", bound=BaseModel)


def save_memory_arguments(arguments: Mapping[str, object]) -> SaveMemoryArguments | ToolResult:
    """Return checked arguments with the text cleaned (P18), or the error result to answer with: no effect then.

    Raises Refused for a text that cannot be saved, which the person should be told.
    """
    checked = _checked(SaveMemoryArguments, arguments)
    if isinstance(checked, ToolResult):
        return checked
    return checked.model_copy(update={"text": checked_text(checked.text)})


def forget_memory_arguments(arguments: Mapping[str, object], own: frozenset[int]) -> tuple[int, ...] | ToolResult:
    """Return the ids, each once, or the error result to answer with: no effect then.

    `own`: ids of the asker's memories that stand in this prompt; one other id among the wanted ones spoils all of it.
    """
    checked = _checked(ForgetMemoryArguments, arguments)
    if isinstance(checked, ToolResult):
        return checked
    wanted = tuple(dict.fromkeys(checked.ids))
    wrong = [memory_id for memory_id in wanted if memory_id not in own]
    if wrong:
        return ToolResult(
            f"Nothing was forgotten: {_listed(wrong)} {'is' if len(wrong) == 1 else 'are'} no memory of the person "
            "who asks in this prompt.",
            is_error=True,
        )
    return wanted


def _checked(model: type[A], arguments: Mapping[str, object]) -> A | ToolResult:
    try:
        return model.model_validate(dict(arguments))
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, p['loc'])) or 'arguments'}: {p['msg']}" for p in error.errors())
        return ToolResult(f"Wrong arguments: {problems}", is_error=True)


def was_saved(memory_id: int, forgotten: int | None = None) -> str:
    """Tell the model that a memory was saved, and which one was forgotten to make room (D9)."""
    said = f"Saved as memory {memory_id}."
    return said if forgotten is None else f"{said} Memory {forgotten} was forgotten to make room for it."


def was_there(memory_id: int) -> str:
    """Tell the model that this memory exists already (P16)."""
    return f"Already remembered as memory {memory_id}."


def was_forgotten(done: Iterable[int], gone: Iterable[int]) -> ToolResult:
    """Tell the model which memories were forgotten, and which were gone before: an error if that is all of them."""
    forgotten, before = list(done), list(gone)
    said = [f"Forgotten: {_listed(forgotten)}."] if forgotten else []
    said += [f"Gone already: {_listed(before)}."] if before else []
    return ToolResult(" ".join(said), is_error=not forgotten)


def no_such_tool(name: str) -> ToolResult:
    """Tell the model that it called a tool there is not."""
    return ToolResult(f"There is no tool {name!r}.", is_error=True)


def _listed(ids: Iterable[int]) -> str:
    return ", ".join(map(str, ids))
