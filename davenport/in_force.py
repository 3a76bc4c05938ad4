"""The settings in force: those of file and environment, and over them what was set in chat.

What holds, from weak to strong: default, config.toml, environment, chat for everywhere, `[rooms]` of config.toml, chat
for one room. What was set for everywhere goes over the sections, what was set for a room over that room's own table.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, get_origin

from pydantic import ValidationError

from davenport.settings import RoomSettings, Settings
from davenport.settings_fields import Key, all_keys
from davenport.settings_load import DECAY_SWITCH, Sources
from davenport.settings_rooms import TABLE

log = logging.getLogger(__name__)

Use = Callable[[Settings], None]
NEVER_IN_CHAT = {"matrix.admins"}  # whoever may set settings could make that last
DECAY = "memory.decay_enabled"


class Place(NamedTuple):
    """What an override sets: a key, `section.name`, for a room, "" for everywhere."""

    key: str
    room_id: str = ""

    def __str__(self) -> str:
        return f"{self.key} for {self.room_id}" if self.room_id else self.key


Overrides = Mapping[Place, object]


class Why(StrEnum):
    """Why a key or value cannot be set in chat, in words for the log."""

    UNKNOWN = "there is no such setting"
    SECRET = "it is a secret"  # noqa: S105
    FILE = "it is set in the settings file alone"
    RESTART = "it acts only at a restart, so it is set in the settings file alone"
    NOT_OF_ROOM = "it cannot be set for one room"
    FINAL = f"{DECAY_SWITCH}=false in the environment is final"
    BOUNDS = "its value is not allowed (any more)"
    PRICE = "llm.prices has no price for a model in use"


class Misfit(Exception):
    """A key or value that cannot be set in chat. keys: what lacks a price (PRICE)."""

    def __init__(self, why: Why, keys: str = "") -> None:
        super().__init__(str(why))
        self.why = why
        self.keys = keys


@dataclass(frozen=True, slots=True)
class Outcome:
    """What base settings and overrides come to; `misfits` are the overrides that are left out."""

    settings: Settings
    misfits: Mapping[Place, Misfit] = field(default_factory=dict)


KEYS = {key.dotted: key for key in all_keys()}


def key_in_chat(place: Place, sources: Sources) -> Key:
    """Return the key that an override sets. Raises Misfit where chat may not set it, or not there."""
    key = KEYS.get(place.key)
    if key is None:
        raise Misfit(Why.UNKNOWN)
    if key.secret:
        raise Misfit(Why.SECRET)
    if key.dotted in NEVER_IN_CHAT or get_origin(key.kind) is dict:
        raise Misfit(Why.FILE)
    if not key.live:
        raise Misfit(Why.RESTART)
    if place.room_id and key.scope != "room":
        raise Misfit(Why.NOT_OF_ROOM)
    if key.dotted == DECAY and sources.decay_final:
        raise Misfit(Why.FINAL)
    return key


def within_bounds(key: Key, value: object, base: Settings) -> tuple[object, Any]:
    """Return a value as its section keeps it and as JSON does. Raises Misfit where it is out of bounds."""
    section = getattr(base, key.section)
    fields = type(section).model_fields
    required = {name: getattr(section, name) for name, each in fields.items() if each.is_required()}
    try:
        checked = type(section).model_validate({**required, key.name: value})
    except ValidationError as error:
        if any(detail["loc"][:1] == (key.name,) for detail in error.errors(include_input=False)):
            raise Misfit(Why.BOUNDS) from None
        raise
    return getattr(checked, key.name), checked.model_dump(mode="json")[key.name]


def put(base: Settings, overrides: Overrides, sources: Sources) -> Outcome:
    """Return the settings with overrides over them. One that cannot be used is left out."""
    misfits: dict[Place, Misfit] = {}
    fitting: dict[Place, object] = {}
    for place, value in overrides.items():
        try:
            fitting[place], _ = within_bounds(key_in_chat(place, sources), value, base)
        except Misfit as misfit:
            misfits[place] = misfit
    everywhere = {place: value for place, value in fitting.items() if not place.room_id}
    settings, clashing = _everywhere(base, everywhere)
    rooms = {place: value for place, value in fitting.items() if place.room_id}
    return Outcome(_in_rooms(settings, rooms), {**misfits, **clashing})


def _everywhere(base: Settings, overrides: Overrides) -> tuple[Settings, dict[Place, Misfit]]:
    """Put values for everywhere over settings. Those that do not go together with the rest are left out.

    All together they may be right where one alone would not be, so what fails is tried again after every success.
    """
    try:
        return _with(base, overrides), {}
    except ValidationError:
        settings, waiting = base, dict(overrides)
    while True:
        failed: dict[Place, Misfit] = {}
        for place, value in waiting.items():
            try:
                settings = _with(settings, {place: value})
            except ValidationError as error:
                failed[place] = _clash(error)
        if len(failed) in (0, len(waiting)):
            return settings, failed
        waiting = {place: waiting[place] for place in failed}


def _with(base: Settings, overrides: Overrides) -> Settings:
    values = {name: dict(section) for name, section in base}
    for place, value in overrides.items():
        section, _, name = place.key.partition(".")
        values[section][name] = value
    return Settings.model_validate(values)


def _clash(error: ValidationError) -> Misfit:
    for detail in error.errors(include_input=False):
        if detail["type"] == "no_price":
            return Misfit(Why.PRICE, str(detail["ctx"]["keys"]))
    return Misfit(Why.BOUNDS)


def _in_rooms(base: Settings, overrides: Overrides) -> Settings:
    """Put values of single rooms over what those rooms have in the file."""
    if not overrides:
        return base
    own: dict[str, dict[str, Any]] = {}
    for place, value in overrides.items():
        if place.room_id not in own:
            in_file = base.rooms.get(place.room_id, RoomSettings())
            own[place.room_id] = in_file.model_dump(exclude_unset=True)
        section, _, name = place.key.partition(".")
        own[place.room_id].setdefault(section, {})[name] = value
    rooms = {room_id: RoomSettings.model_validate(values) for room_id, values in own.items()}
    values = {name: dict(section) for name, section in base}
    return Settings.model_validate({**values, TABLE: {**base.rooms, **rooms}})


class InForce:
    """Holds what is in force and hands changed settings to whoever follows them."""

    def __init__(self, base: Settings, sources: Sources | None = None) -> None:
        """`sources` None: where the settings are from is not known."""
        self.base = base
        self.sources = Sources() if sources is None else sources
        self.overrides: Overrides = {}
        self.misfits: Mapping[Place, Misfit] = {}
        self.settings = base
        self._followers: list[Use] = []

    def follow(self, use: Use, *, now: bool = True) -> None:
        """Call `use` with the settings in force: now, unless told otherwise, and whenever they changed."""
        self._followers.append(use)
        if now:
            use(self.settings)

    def rebase(self, base: Settings, sources: Sources) -> None:
        """Put other settings of file and environment under what was set in chat."""
        self.base, self.sources = base, sources
        self.override(self.overrides)

    def preview(self, overrides: Overrides) -> Outcome:
        """Return what other overrides would come to."""
        return put(self.base, overrides, self.sources)

    def override(self, overrides: Overrides) -> None:
        """Put other overrides in force. Each that begins to be left out is named in the log; it is kept."""
        outcome = self.preview(overrides)
        for place, misfit in outcome.misfits.items():
            if place not in self.misfits:
                log.warning("what was set in chat for %s does not act: %s", place, misfit)
        self.overrides, self.misfits = overrides, outcome.misfits
        if outcome.settings != self.settings:
            self.settings = outcome.settings
            for use in self._followers:
                use(self.settings)
