"""Arguments of save_memory: checked, or an error result and no effect (P16, P18)."""

from __future__ import annotations

from typing import Any

import pytest

from llm.tools import SAVE_MEMORY, SaveMemoryArguments, save_memory_arguments
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
