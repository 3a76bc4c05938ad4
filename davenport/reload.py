"""SIGHUP: the settings are read again; what can act at once does, what needs a restart is named."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from davenport import logs, settings_rooms
from davenport.settings import Settings
from davenport.settings_fields import Key, all_keys
from davenport.settings_load import load
from davenport.settings_secrets import readable_by_others
from memory.errors import SettingsError

log = logging.getLogger(__name__)

Use = Callable[[Settings], None]


class Reloader:
    """Keeps the settings in force and hands changed ones to whoever follows them."""

    def __init__(self, config: Path, settings: Settings, environ: Mapping[str, str] | None = None) -> None:
        """`environ`: read anew at each reload, by default the process's."""
        self._config = config
        self._environ = environ
        self._followers: list[Use] = []
        self.settings = settings

    def follow(self, use: Use) -> None:
        """Call `use` with the settings in force: now, and after each reload that changed one of them."""
        self._followers.append(use)
        use(self.settings)

    def reload(self) -> None:
        """Read file and environment. With any fault nothing changes, and every fault is logged."""
        try:
            fresh = load(self._config, self._environ)
        except SettingsError as error:
            for line in str(error).splitlines():
                log.error("settings not taken over, the old ones stay: %s", line.strip())
            return
        changed = [key for key in all_keys() if _value(self.settings, key) != _value(fresh, key)]
        at_once = [key for key in changed if key.live]
        rooms = [settings_rooms.TABLE] if self.settings.rooms != fresh.rooms else []
        if at_once or rooms:
            self.settings = _with(self.settings, fresh, at_once)
            logs.configure(fresh.log.level, fresh.log.format, {*self.settings.secrets(), *fresh.secrets()})
            for use in self._followers:
                use(self.settings)
        log.info("settings read again; changed: %s", _names(at_once, rooms) or "nothing")
        if waiting := [key for key in changed if not key.live]:
            log.warning("a restart is needed before these act: %s", _names(waiting))
        for line in readable_by_others(fresh, self._config):
            log.warning("%s", line)


def _value(settings: Settings, key: Key) -> object:
    return getattr(getattr(settings, key.section), key.name)


def _with(settings: Settings, fresh: Settings, keys: list[Key]) -> Settings:
    """Return settings with the values of these keys, and what rooms have of their own, taken from `fresh`."""
    values = {name: dict(section) for name, section in settings}
    values[settings_rooms.TABLE] = dict(fresh.rooms)
    for key in keys:
        values[key.section][key.name] = _value(fresh, key)
    return Settings.model_validate(values)


def _names(keys: list[Key], tables: Iterable[str] = ()) -> str:
    return ", ".join([*(key.dotted for key in keys), *tables])
