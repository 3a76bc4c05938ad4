"""Values and readers of the commands about privacy, the conversation's context and personas. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from memory.types import Privacy

_LEVELS = {level.value.replace("-", ""): level for level in Privacy}


@dataclass(frozen=True, slots=True)
class PrivacyLevel:
    """`!privacy` and `!privacy LEVEL`; None: show it."""

    level: Privacy | None = None


@dataclass(frozen=True, slots=True)
class Forget:
    """`!forget`."""


@dataclass(frozen=True, slots=True)
class RoomPersona:
    """`!persona` and `!persona NAME`, as typed; None: show it."""

    name: str | None = None


ContextValue = PrivacyLevel | Forget | RoomPersona


def read_privacy(text: str) -> PrivacyLevel | None:
    """Read a level in any case, with or without its hyphen, or nothing."""
    if not text:
        return PrivacyLevel()
    word = "".join(character for character in text.casefold() if character not in "-_ `")
    return PrivacyLevel(_LEVELS[word]) if word in _LEVELS else None


def read_forget(text: str) -> Forget | None:
    """Read nothing: "!forget that I have a cat" asks for something else, so it is not carried out."""
    return None if text else Forget()


def read_persona(text: str) -> RoomPersona | None:
    """Read one name, if any."""
    return None if len(text.split()) > 1 else RoomPersona(text.strip("`") or None)
