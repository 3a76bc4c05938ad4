"""What may be said about a setting without its value: names, defaults and what is allowed, for messages and pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from davenport.settings import Settings
from davenport.settings_section import Section, of_room

NUMBERS = {int: "a whole number", float: "a number"}
BOUNDS = {"ge": "from", "gt": "above", "le": "to", "lt": "below"}


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: `section.name`, and the field that defines it."""

    section: str
    name: str
    field: FieldInfo

    @property
    def dotted(self) -> str:
        """The key as people write it, `memory.max_per_user`."""
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"DAVENPORT_{self.section}__{self.name}".upper()

    @property
    def scope(self) -> str:
        """Whom a value holds for: "global", or "room" where each room may have its own."""
        return "room" if of_room(self.field) else "global"

    @property
    def live(self) -> bool:
        """Whether a changed value acts at SIGHUP; otherwise it waits for a restart."""
        extra = self.field.json_schema_extra
        value = extra.get("live") if isinstance(extra, dict) else None
        return sections()[self.section].live if value is None else bool(value)

    @property
    def admins(self) -> bool:
        """Whether in chat even the value of one room is for admins alone to set."""
        extra = self.field.json_schema_extra
        return isinstance(extra, dict) and bool(extra.get("admins"))

    @property
    def secret(self) -> bool:
        """Whether the value must never be shown."""
        return self.kind is SecretStr

    @property
    def kind(self) -> Any:
        """The type a value has when the key is set."""
        kind = self.field.annotation
        if get_origin(kind) in (Union, UnionType):
            return next(part for part in get_args(kind) if part is not NoneType)
        return kind

    @property
    def allowed(self) -> str:
        """What may be given, in words."""
        extra = self._extra("allowed")
        if extra is not None:
            return extra
        if self.kind is bool:
            return "true or false"
        if get_origin(self.kind) is Literal:
            return " or ".join(f'"{choice}"' for choice in get_args(self.kind))
        return " ".join((NUMBERS[self.kind], *self._bounds()))

    @property
    def default(self) -> str | None:
        """The default as TOML, None for a key that must be given or is not set by default."""
        if self.field.is_required() or self.field.default is None:
            return None
        value = self.field.default
        if isinstance(value, Path):
            value = str(value)
        return toml(value)

    @property
    def example(self) -> str | None:
        """The placeholder that stands in config.toml for a key that must be given, as TOML."""
        extra = self._extra("example")
        return None if extra is None else json.dumps(extra)

    def _extra(self, name: str) -> str | None:
        extra = self.field.json_schema_extra
        value = extra.get(name) if isinstance(extra, dict) else None
        return value if isinstance(value, str) else None

    def _bounds(self) -> Iterator[str]:
        for constraint in self.field.metadata:
            for attribute, word in BOUNDS.items():
                if hasattr(constraint, attribute):
                    yield f"{word} {getattr(constraint, attribute)}"


def toml(value: object) -> str:
    """Return a value as TOML, which writes the types used here like JSON."""
    return json.dumps(value, ensure_ascii=False)


def sections() -> dict[str, type[Section]]:
    """Return the sections of config.toml in order, by name."""
    found = {name: field.annotation for name, field in Settings.model_fields.items()}
    return {name: kind for name, kind in found.items() if isinstance(kind, type) and issubclass(kind, Section)}


def keys(section: str) -> tuple[Key, ...]:
    """Return the keys of one section in order."""
    return tuple(Key(section, name, field) for name, field in sections()[section].model_fields.items())


def all_keys() -> tuple[Key, ...]:
    """Return every key there is."""
    return tuple(key for section in sections() for key in keys(section))
