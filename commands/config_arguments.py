"""Values of `!config`, and what reads them. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

_KEY = re.compile(r"(?P<key>[^\s=]+)\s*=?\s*(?P<text>.*)", re.DOTALL)
_ALL = "all"


@dataclass(frozen=True, slots=True)
class ConfigChosen:
    """`!config`, `!config list`, `!config room`: what is set in chat; `room`: for this room alone."""

    room: bool = False


@dataclass(frozen=True, slots=True)
class ConfigAll:
    """`!config list all`: every setting."""


@dataclass(frozen=True, slots=True)
class ConfigShow:
    """`!config KEY`, `!config room KEY`."""

    key: str
    room: bool = False


@dataclass(frozen=True, slots=True)
class ConfigSet:
    """`!config KEY VALUE`, `!config room KEY VALUE`; the value as it was typed."""

    key: str
    text: str
    room: bool = False


@dataclass(frozen=True, slots=True)
class ConfigReset:
    """`!config reset KEY`, `!config room reset KEY`."""

    key: str
    room: bool = False


ConfigValue = ConfigChosen | ConfigAll | ConfigShow | ConfigSet | ConfigReset


def read_config(text: str, *, room: bool = False) -> ConfigChosen | ConfigShow | ConfigSet | None:
    """Read a key, and a value if there is one; `=` may stand between them."""
    if not text:
        return ConfigChosen(room)
    found = _KEY.fullmatch(text)
    if found is None:
        return None
    key = found["key"].strip("`") or found["key"]
    return ConfigSet(key, found["text"], room) if found["text"] else ConfigShow(key, room)


def read_room_config(text: str) -> ConfigChosen | ConfigShow | ConfigSet | None:
    """Read the same for this room."""
    return read_config(text, room=True)


def read_config_list(text: str) -> ConfigChosen | ConfigAll | None:
    """Read `all`, or nothing."""
    if text.casefold() == _ALL:
        return ConfigAll()
    return None if text else ConfigChosen()


def read_config_reset(text: str, *, room: bool = False) -> ConfigReset | None:
    """Read one key and nothing else."""
    return ConfigReset(text.strip("`") or text, room) if len(text.split()) == 1 else None


def read_room_config_reset(text: str) -> ConfigReset | None:
    """Read the same for this room."""
    return read_config_reset(text, room=True)
