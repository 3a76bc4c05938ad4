"""How often commands may be given: `[limits.quotas."COMMAND"]` in config.toml, and in faults."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from commands.quotas import limit_of, names
from commands.table import TABLE, find
from memory.quota import CommandQuota, Quota

KEY = "limits.quotas"
OFF = "off"
LONGEST = timedelta(days=30)
ALLOWED_QUOTA = 'COUNT/SPAN such as "30/10m" or the word "off", COUNT from 1 to 10000, SPAN in s, m, h or d up to 30d'
_QUOTA = re.compile(r"(10000|[1-9][0-9]{0,3})/([1-9][0-9]{0,7})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def read_quota(text: str) -> Quota | None:
    """Return the quota a text stands for, None for `off`. Raises ValueError for another text."""
    if text == OFF:
        return None
    found = _QUOTA.fullmatch(text)
    span = timedelta(**{_UNITS[found[3]]: int(found[2])}) if found else LONGEST * 2
    if found is None or span > LONGEST:
        raise ValueError("no quota")
    return Quota(int(found[1]), span)


def _checked(text: str) -> str:
    read_quota(text)
    return text


def command_name(name: Any) -> Any:
    """Return the name of the command that is meant, such as `memories del` for `Memories  delete`.

    Raises PydanticCustomError where there is none.
    """
    rows = TABLE
    found: list[str] = []
    for word in str(name).split() or [""]:
        row = find(rows, word)
        if row is None:
            raise PydanticCustomError("no_command", "no command")
        rows = row.below
        found.append(row.name)
    return " ".join(found)


CommandName = Annotated[str, BeforeValidator(command_name)]
QuotaText = Annotated[str, AfterValidator(_checked)]


class QuotaSettings(BaseModel):
    """The quotas of one command; a side that is not set keeps its default."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)
    user: QuotaText | None = None
    room: QuotaText | None = None

    @model_validator(mode="after")
    def _sets_something(self) -> Self:
        if self.user is None and self.room is None:
            raise PydanticCustomError("nothing_set", "nothing set")
        return self

    def quota(self, command: str) -> CommandQuota:
        """Return the quota of a command, with its defaults where nothing is set."""
        default = limit_of(command, TABLE).quota
        return CommandQuota(
            default.user if self.user is None else read_quota(self.user),
            default.room if self.room is None else read_quota(self.room),
        )


def _once(table: Any) -> Any:
    """Refuse a table that gives a command twice, by another name of it: which of the two holds is unclear."""
    if isinstance(table, dict):
        known = [found for name in table if (found := _known(name)) is not None]
        twice = sorted({name for name in known if known.count(name) > 1})
        if twice:
            raise PydanticCustomError("twice", "{names}", {"names": ", ".join(twice)})
    return table


def _known(name: Any) -> str | None:
    try:
        return str(command_name(name))
    except PydanticCustomError:
        return None  # refused for itself


Quotas = Annotated[dict[CommandName, QuotaSettings], BeforeValidator(_once)]


def fault(detail: ErrorDetails) -> str:
    """Say in one line what is wrong with a quota; names keys and what is allowed, no values."""
    if detail["type"] == "twice":
        return f"{KEY} has more than one table for {detail['msg']}; keep one"
    command, side = (*map(str, detail["loc"][2:]), "", "")[:2]
    heading = f'[{KEY}."{command}"]'
    if len(detail["loc"]) == 2:  # noqa: PLR2004 - the section and the key
        return f'{KEY} must be tables, one for each command: [{KEY}."ask"]'
    if side == "[key]":
        return f"{heading} must name a command: {', '.join(name for row in TABLE for name in names(row))}"
    if side in QuotaSettings.model_fields:
        return f"{heading}: {side} must be {ALLOWED_QUOTA}"
    return f"{heading} must be a table with user or room, each {ALLOWED_QUOTA}"
