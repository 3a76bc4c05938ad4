from __future__ import annotations

import pytest

from commands.context_arguments import Forget, PrivacyLevel, RoomPersona
from commands.parse import parse
from commands.table import TABLE
from commands.values import Misused
from memory.types import Privacy


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!privacy", PrivacyLevel()),
        ("!privacy open", PrivacyLevel(Privacy.OPEN)),
        ("!PRIVACY  No-Memory", PrivacyLevel(Privacy.NO_MEMORY)),
        ("!privacy no memory", PrivacyLevel(Privacy.NO_MEMORY)),
        ("!privacy nomemory", PrivacyLevel(Privacy.NO_MEMORY)),
        ("!privacy `silent`", PrivacyLevel(Privacy.SILENT)),
        ("!privacy off", Misused()),
        ("!privacy silent please", Misused()),
        ("!forget", Forget()),
        ("!forget ", Forget()),
        ("!forget my cat", Misused()),
        ("!persona", RoomPersona()),
        ("!persona Pirate", RoomPersona("Pirate")),
        ("!persona `pirate`", RoomPersona("pirate")),
        ("!persona two words", Misused()),
    ],
)
def test_privacy_forget_and_persona_are_read(text: str, value: object) -> None:
    call = parse(text, "!", TABLE)
    assert call is not None
    assert call.value == value
