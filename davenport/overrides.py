"""Settings that are set in chat (commands.ports.Configuring): stored, put in force, shown.

Only what was set is stored, so new defaults reach everybody else.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from typing import Any

from actors.store import Store, Tables
from commands import config_texts as say
from commands.ports import ChangedSetting, ChosenSettings, Origin, ResetSetting, SetSetting, ShownSetting
from davenport.in_force import KEYS, InForce, Misfit, Outcome, Overrides, Place, Why, key_in_chat, within_bounds
from davenport.settings import Settings
from davenport.settings_aliases import ALIASES, dotted
from davenport.settings_fields import Key, toml
from davenport.settings_section import Section
from davenport.settings_typed import typed_in_chat
from memory.errors import Refused
from storage.sql import uninterrupted

_NO_VALUE = "default"
_UNREADABLE = object()  # fits no key, so that it is left out like any other misfit


@dataclass(frozen=True, slots=True)
class _State:
    """What is set in chat, and what it comes to."""

    overrides: Overrides
    outcome: Outcome

    def acts(self, place: Place) -> bool:
        return place in self.overrides and place not in self.outcome.misfits


class ChatSettings:
    """Keeps what is set in chat, in the database and in force."""

    def __init__(self, in_force: InForce, store: Store) -> None:
        self._in_force = in_force
        self._store = store
        self._one_at_a_time = asyncio.Lock()

    async def load(self) -> None:
        """Put in force what is stored; what no longer fits is named in the log, left out, and kept."""
        async with self._store.transaction() as tables:
            stored = await tables.overrides.all()
        self._in_force.override({Place(*place): _read(value) for place, value in stored.items()})

    # --- shown ------------------------------------------------------------------------------------------------------

    def show(self, key: str, room_id: str) -> ShownSetting:
        """Return what holds in a room. Raises Refused: no such key, or a secret."""
        found = _known(key)
        if found.secret:
            raise say.secret(found.dotted)
        return self._shown(found, room_id, self._now())

    def everything(self, room_id: str) -> tuple[ShownSetting, ...]:
        """Return every setting that may be shown, as it holds in a room, in the order of config.toml."""
        return tuple(self._shown(key, room_id, self._now()) for key in KEYS.values() if not key.secret)

    def chosen(self, room_id: str) -> ChosenSettings:
        """Return what is set in chat; what does not act is named alone."""
        places = [place for place in self._in_force.overrides if place not in self._in_force.misfits]
        idle = [place.key for place in self._in_force.misfits if place.room_id in ("", room_id)]
        return ChosenSettings(
            tuple(self.show(place.key, "") for place in places if not place.room_id),
            tuple(self.show(place.key, room_id) for place in places if place.room_id == room_id),
            sum(place.room_id not in ("", room_id) for place in self._in_force.overrides),
            tuple(dict.fromkeys(idle)),
        )

    def _now(self) -> _State:
        return _State(self._in_force.overrides, Outcome(self._in_force.settings, self._in_force.misfits))

    def _shown(self, key: Key, room_id: str, state: _State) -> ShownSetting:
        section = _section_of(state.outcome.settings, key, room_id)
        return ShownSetting(
            key.dotted,
            _toml_of(section, key),
            key.default,
            self._origin(key, room_id, state),
            key.allowed,
            room=key.scope == "room",
            settable=self._settable(key),
            admins=key.admins,
        )

    def _origin(self, key: Key, room_id: str, state: _State) -> Origin:
        """Say where the value that holds in a room comes from, the strongest first."""
        if room_id and state.acts(Place(key.dotted, room_id)):
            return Origin.CHAT_OF_ROOM
        if room_id and _has_own(self._in_force.base, key, room_id):
            return Origin.FILE_OF_ROOM
        if state.acts(Place(key.dotted)):
            return Origin.CHAT
        source = self._in_force.sources.given.get(key.dotted)
        return Origin.DEFAULT if source is None else Origin[source.upper()]

    def _settable(self, key: Key) -> bool:
        try:
            key_in_chat(Place(key.dotted), self._in_force.sources)
        except Misfit:
            return False
        return True

    # --- changed ----------------------------------------------------------------------------------------------------

    async def set(self, change: SetSetting) -> ChangedSetting:
        """Store a value and put it in force, once for each event. Raises Refused."""

        async def work(tables: Tables, before: Overrides) -> Overrides:
            key, place = self._place(change)
            value, as_json = self._value(key, change.text)
            await tables.overrides.set(place.key, place.room_id, json.dumps(as_json, ensure_ascii=False))
            return {**before, place: value}

        return await self._change(change, work)

    async def reset(self, change: ResetSetting) -> ChangedSetting:
        """Let what holds without it hold again, once for each event. Raises Refused."""

        async def work(tables: Tables, before: Overrides) -> Overrides:
            place = self._stored_place(change)
            await tables.overrides.reset(*place)
            return {each: value for each, value in before.items() if each != place}

        return await self._change(change, work)

    async def _change(
        self, change: ResetSetting, work: Callable[[Tables, Overrides], Awaitable[Overrides]]
    ) -> ChangedSetting:
        """Make one change: stored with its result, and then in force, also where the command is given up meanwhile."""

        async def whole() -> ChangedSetting:
            async with self._store.transaction() as tables:
                recorded = await tables.effects.recorded(change.effect.event_id, change.effect.call)
                if recorded is not None:
                    return _restored(json.loads(recorded))
                after = await work(tables, self._in_force.overrides)
                changed = self._result(change, after)
                await tables.effects.record(change.effect.event_id, change.effect.call, json.dumps(asdict(changed)))
            self._in_force.override(after)
            return changed

        async with self._one_at_a_time:
            return await uninterrupted(whole())

    def _place(self, change: SetSetting) -> tuple[Key, Place]:
        """Return what is to be set. Raises Refused where chat may not set it, or not there."""
        key = _known(change.key)
        place = Place(key.dotted, "" if change.everywhere else change.room_id)
        try:
            return key_in_chat(place, self._in_force.sources), place
        except Misfit as misfit:
            raise _refusal(misfit, key, change.text) from None

    def _value(self, key: Key, text: str) -> tuple[object, Any]:
        """Return the value that was typed, as the settings and as JSON keep it. Raises Refused."""
        if text.casefold() == _NO_VALUE:
            raise say.no_value(key.dotted, text)
        try:
            return within_bounds(key, typed_in_chat(key, text), self._in_force.base)
        except Misfit as misfit:
            raise _refusal(misfit, key, text) from None

    def _stored_place(self, change: ResetSetting) -> Place:
        """Return what is to be taken away, which may be of a key that there is no longer. Raises Refused."""
        room_id = "" if change.everywhere else change.room_id
        place = Place(dotted(change.key), room_id)
        return place if place in self._in_force.overrides else Place(_known(change.key).dotted, room_id)

    def _result(self, change: ResetSetting, after: Overrides) -> ChangedSetting:
        """Return what a change comes to. Raises Refused where it does not go together with the rest."""
        place = self._stored_place(change)
        key = KEYS.get(place.key)
        had = place in self._in_force.overrides
        if key is not None and key.secret and not had:
            raise say.secret(key.dotted)
        if key is None or key.secret:  # left over from another version; nobody is shown what it held
            gone = ShownSetting(place.key, None, None, Origin.DEFAULT, "", settable=False)
            return ChangedSetting(gone, gone, had)
        outcome = self._in_force.preview(after)
        self._require_fitting(key, place, outcome)
        state = _State(after, outcome)
        now, here = (self._shown(key, room_id, state) for room_id in (place.room_id, change.room_id))
        return ChangedSetting(now, here, had)

    def _require_fitting(self, key: Key, place: Place, outcome: Outcome) -> None:
        if place in outcome.misfits:
            raise _refusal(outcome.misfits[place], key, "")
        others = {other.key for other in outcome.misfits if other not in self._in_force.misfits}
        if others:
            raise say.others_misfit(key.dotted, sorted(others))


def _known(name: str) -> Key:
    """Return the key of a name. Raises Refused, with the nearest name there is."""
    found = KEYS.get(dotted(name))
    if found is None:
        spellings = {key.casefold(): key for key in (*KEYS, *ALIASES)}
        close = get_close_matches(name.casefold(), spellings, n=1)
        raise say.unknown(name, spellings[close[0]] if close else "")
    return found


_REFUSALS = {
    Why.SECRET: say.secret,
    Why.FILE: say.file_only,
    Why.RESTART: say.needs_restart,
    Why.NOT_OF_ROOM: say.not_of_room,
    Why.FINAL: say.final,
}


def _refusal(misfit: Misfit, key: Key, typed: str) -> Refused:
    if misfit.why in _REFUSALS:
        return _REFUSALS[misfit.why](key.dotted)
    if misfit.why is Why.PRICE:
        return say.no_price(key.dotted, misfit.keys)
    return say.out_of_bounds(key.dotted, typed, key.allowed)


def _has_own(settings: Settings, key: Key, room_id: str) -> bool:
    own = settings.rooms.get(room_id)
    return own is not None and key.section in own.model_fields_set and key.name in _own(own, key).model_fields_set


def _own(own: object, key: Key) -> Section:
    section = getattr(own, key.section)
    assert isinstance(section, Section)  # noqa: S101 - both classes hold nothing else under this name
    return section


def _section_of(settings: Settings, key: Key, room_id: str) -> Section:
    return _own(settings.rooms[room_id] if _has_own(settings, key, room_id) else settings, key)


def _toml_of(section: Section, key: Key) -> str | None:
    value = section.model_dump(mode="json", include={key.name}, exclude_none=True).get(key.name)
    return None if value is None else toml(value)


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return _UNREADABLE


def _restored(recorded: dict[str, Any]) -> ChangedSetting:
    """Return a result as it was recorded."""
    now, here = (_restored_setting(recorded[name]) for name in ("now", "here"))
    return ChangedSetting(now, here, had=recorded["had"])


def _restored_setting(values: dict[str, Any]) -> ShownSetting:
    shown = ShownSetting(**values)
    return replace(shown, origin=Origin(shown.origin))
