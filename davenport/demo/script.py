"""A demo script: read from TOML, checked whole before anything starts."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from memory.errors import SettingsError

BUILT_IN = "mochi.toml"
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,30}$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Line(_Part):
    """One message to the bot. recalls: a word of the resting memory that this message must bring back."""

    who: Name
    text: Annotated[str, Field(min_length=1)]
    recalls: str | None = None


class Expectation(_Part):
    """What a candidate or memory of one person must look like at the end of the day."""

    who: Name
    contains: Annotated[str, Field(min_length=1)]
    stage: Literal["candidate", "memory"] | None = None
    mentions: int | None = None
    unused_days: int | None = None
    state: Literal["active", "resting"] | None = None


class Day(_Part):
    """One UTC day on which somebody talks."""

    after_days: Annotated[int, Field(ge=1, le=365)] = 1
    note: str = ""
    say: Annotated[tuple[Line, ...], Field(min_length=1)]
    expect: tuple[Expectation, ...] = ()


class Script(_Part):
    """A whole demo."""

    title: str
    people: Annotated[tuple[Name, ...], Field(min_length=1)]
    encrypted: bool = True
    day: Annotated[tuple[Day, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _everybody_is_known(self) -> Self:
        spoken = {line.who for day in self.day for line in day.say}
        named = spoken | {each.who for day in self.day for each in day.expect}
        unknown = named - set(self.people)
        if unknown:
            raise ValueError(f"{', '.join(sorted(unknown))} must be listed in `people`")
        return self


def read(path: Path | None) -> Script:
    """Read a script, None for the built-in one. Raises SettingsError naming the file and every fault."""
    source = path if path is not None else resources.files(__package__).joinpath(BUILT_IN)
    try:
        return Script.model_validate(tomllib.loads(source.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{source}: cannot be read as a demo script: {error}") from error
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc'])) or 'script'}: {fault['msg']}" for fault in error.errors()]
        raise SettingsError("\n".join(f"{source}: {fault}" for fault in faults)) from error
