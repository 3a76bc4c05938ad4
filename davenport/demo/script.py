"""A demo script: read from TOML, checked whole before anything starts."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from memory.errors import SettingsError

BUILT_IN = "mochi.toml"
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,30}$")]
Words = Annotated[str, Field(min_length=1)]
NAME = "a name of small letters, digits, dots and hyphens"


class _Part(BaseModel):
    """Base of the parts. The description of a field says what may be given, for the messages about faults."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Line(_Part):
    """One message to the bot. recalls: a word of the resting memory that this message must bring back."""

    who: Name = Field(description=NAME)
    text: Words = Field(description="the words of the message")
    recalls: Words | None = Field(None, description="a word of the memory that is to be recalled")


class Expectation(_Part):
    """What a candidate or memory of one person must look like at the end of the day."""

    who: Name = Field(description=NAME)
    contains: Words = Field(description="a word of the fact")
    stage: Literal["candidate", "memory"] | None = Field(None, description='"candidate" or "memory"')
    mentions: int | None = Field(None, description="a whole number")
    unused_days: int | None = Field(None, description="a whole number")
    state: Literal["active", "resting"] | None = Field(None, description='"active" or "resting"')


class Day(_Part):
    """One UTC day on which somebody talks."""

    after_days: int = Field(1, ge=1, le=365, description="a whole number from 1 to 365")
    note: str = Field("", description="a text")
    say: tuple[Line, ...] = Field(min_length=1, description="a list of at least one { who = …, text = … }")
    expect: tuple[Expectation, ...] = Field((), description="a list of { who = …, contains = …, … }")


class Script(_Part):
    """A whole demo."""

    title: str = Field(description="a text")
    people: tuple[Name, ...] = Field(min_length=1, description=f"a list of at least one name, each {NAME}")
    encrypted: bool = Field(True, description="true or false")
    day: tuple[Day, ...] = Field(min_length=1, description="at least one part headed [[day]]")


def read(path: Path | None) -> Script:
    """Read a script, None for the built-in one. Raises SettingsError: one line a fault, with file, place and remedy."""
    source = path if path is not None else resources.files(__package__).joinpath(BUILT_IN)
    try:
        table = tomllib.loads(source.read_text("utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"{source}: there is no such file; give --script the path of a demo script") from None
    except OSError as error:
        raise SettingsError(f"{source}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{source}: is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{source}: is not TOML: {error}") from None
    try:
        script = Script.model_validate(table)
        faults = list(_strangers(script))
    except ValidationError as error:
        faults = [_sentence(fault) for fault in error.errors(include_url=False) if not _consequence(fault)]
    if faults:
        raise SettingsError("\n".join(f"{source}: {fault}" for fault in faults))
    return script


def _strangers(script: Script) -> Iterator[str]:
    """Name everybody who talks or is expected to be remembered without being listed, once each."""
    seen = set(script.people)
    for number, day in enumerate(script.day, start=1):
        parts: list[tuple[str, tuple[Line | Expectation, ...]]] = [("say", day.say), ("expect", day.expect)]
        for part, entries in parts:
            for position, entry in enumerate(entries, start=1):
                if entry.who not in seen:
                    seen.add(entry.who)
                    place = f"[[day]] number {number}, {part} number {position}"
                    yield f'{place}: "{entry.who}" is not one of the people; add the name to people'


def _consequence(fault: ErrorDetails) -> bool:
    """Whether a list is called too short only because its entries have faults of their own."""
    return fault["type"] == "too_short" and bool(fault["input"])


def _sentence(fault: ErrorDetails) -> str:
    """Return place, fault and remedy: `[[day]] number 2, say number 1: text is missing; give …`."""
    part: type[_Part] = Script
    key, places, whole = "", [], False
    for step in fault["loc"]:
        whole = isinstance(step, int)
        if isinstance(step, int):
            places.append(f"{'[[day]]' if key == 'day' else key} number {step + 1}")
            part = _PARTS.get(key, part)
        else:
            key = step
    if whole:
        return f"{', '.join(places)} must be {_ENTRIES[key]}"
    subject = f"{', '.join(places)}: {key}" if places else key
    match fault["type"]:
        case "missing":
            return f"{subject} is missing; give {part.model_fields[key].description}"
        case "extra_forbidden":
            return f"{subject} is not known here{_guess(key, part)}; allowed are {', '.join(part.model_fields)}"
        case _:
            return f"{subject} must be {part.model_fields[key].description}"


_PARTS: dict[str, type[_Part]] = {"day": Day, "say": Line, "expect": Expectation}
_ENTRIES = {
    "people": NAME,
    "day": "a part headed [[day]]",
    "say": "written { who = …, text = … }",
    "expect": "written { who = …, contains = …, … }",
}


def _guess(key: str, part: type[_Part]) -> str:
    close = get_close_matches(key, list(part.model_fields), n=1)
    return f"; did you mean {close[0]}?" if close else ""
