"""Arguments of the tools: checked, or an error result and no effect (P16, P18)."""

from __future__ import annotations

from typing import Any

import pytest

from llm.tools import (
    FORGET_MEMORY,
    SAVE_MEMORY,
    SaveMemoryArguments,
    forget_memory_arguments,
    save_memory_arguments,
    was_forgotten,
)
from memory.errors import Refused
from memory.model import ToolResult


def test_schema_names_its_fields() -> None:
    assert SAVE_MEMORY.schema["required"] == ["text"]
    properties: Any = SAVE_MEMORY.schema["properties"]
    assert set(properties) == {"text", "scope"}
    assert properties["scope"]["enum"] == ["me", "room"]


def test_good_arguments_are_cleaned_p18() -> None:
    checked = save_memory_arguments({"text": "  Has \n two\u202e dogs "})
    assert checked == SaveMemoryArguments(text="Has two dogs", scope="me")
    assert save_memory_arguments({"text": "Meets on Fridays", "scope": "room"}) == SaveMemoryArguments(
        text="Meets on Fridays", scope="room"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"text": ""},
        {"text": 5},
        {"text": None},
        {"text": ["Has a dog"]},
        {"text": "x" * 30_000},
        {"text": "Has a dog", "scope": "everyone"},
        {"text": "Has a dog", "user": "@bau:hs"},
    ],
)
def test_wrong_arguments_are_an_error_result_p16(arguments: dict[str, object]) -> None:
    result = save_memory_arguments(arguments)
    assert isinstance(result, ToolResult) and result.is_error and result.text


@pytest.mark.parametrize("text", ["  \u200b ", "x" * 501])
def test_a_text_that_cannot_be_saved_is_refused_for_the_person_to_know_p18(text: str) -> None:
    with pytest.raises(Refused, match="text-"):
        save_memory_arguments({"text": text})


# --- forget_memory ------------------------------------------------------------------------------------------------


def test_forget_memory_takes_the_askers_own_ids_of_this_prompt_each_once() -> None:
    assert FORGET_MEMORY.schema["required"] == ["ids"]
    assert forget_memory_arguments({"ids": [3, 1, 3]}, frozenset({1, 2, 3})) == (3, 1)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"ids": []},
        {"ids": 1},
        {"ids": "1"},
        {"ids": ["1"]},
        {"ids": [1.0]},
        {"ids": [True]},
        {"ids": [0]},
        {"ids": [-1]},
        {"ids": [2**63]},
        {"ids": [1, 4]},
        {"ids": [None]},
        {"ids": list(range(1, 52))},
        {"ids": [1], "user": "@bau:hs"},
        {"id": 1},
    ],
)
def test_forget_memory_with_one_wrong_id_or_argument_is_an_error_result(arguments: dict[str, object]) -> None:
    result = forget_memory_arguments(arguments, frozenset({1, 2, 3}))
    assert isinstance(result, ToolResult) and result.is_error and result.text


def test_wrong_ids_are_named_to_the_model() -> None:
    result = forget_memory_arguments({"ids": [1, 8, 9]}, frozenset({1}))
    assert isinstance(result, ToolResult) and "8, 9 are no memory" in result.text


def test_what_was_gone_before_is_said_and_alone_is_an_error() -> None:
    assert was_forgotten((1, 2), (3,)) == ToolResult("Forgotten: 1, 2. Gone already: 3.")
    assert was_forgotten((), (3,)) == ToolResult("Gone already: 3.", is_error=True)


def test_d14_what_tools_say_of_themselves_is_the_same_for_everybody() -> None:
    """Constant texts, so that the start of a prompt caches; a change here is a change of every prompt's start."""
    assert [tool.name for tool in (SAVE_MEMORY, FORGET_MEMORY)] == ["save_memory", "forget_memory"]
    for tool in (SAVE_MEMORY, FORGET_MEMORY):
        assert "never on your own account" in " ".join(tool.description.split())
        assert tool.schema["additionalProperties"] is False
