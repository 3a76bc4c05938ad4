"""SIGHUP: the settings are read again; what can act at once does, what needs a restart is named."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from davenport import logs, settings_personas, settings_rooms
from davenport.in_force import InForce, Place, Use
from davenport.settings import Settings
from davenport.settings_fields import Key, all_keys
from davenport.settings_load import Sources, load_with_sources
from davenport.settings_secrets import readable_by_others
from memory.errors import SettingsError

log = logging.getLogger(__name__)

TABLES = (settings_rooms.TABLE, settings_personas.TABLE)


class Reloader:
    """Reads the settings again; `in_force` holds those that are used, and hands changed ones to its followers."""

    def __init__(
        self,
        config: Path,
        settings: Settings,
        environ: Mapping[str, str] | None = None,
        sources: Sources | None = None,
    ) -> None:
        """`environ`: read anew at each reload, by default the process's. sources: where `settings` come from."""
        self._config = config
        self._environ = environ
        self._secrets = {*settings.secrets()}
        self.in_force = InForce(settings, sources)
        self.in_force.follow(self._log_as_set, now=False)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.in_force.settings

    def follow(self, use: Use) -> None:
        """Call `use` with the settings in force: now, and whenever one of them changed."""
        self.in_force.follow(use)

    def reload(self) -> None:
        """Read file and environment. With any fault nothing changes, and every fault is logged."""
        try:
            loaded = load_with_sources(self._config, self._environ)
        except SettingsError as error:
            for line in str(error).splitlines():
                log.error("settings not taken over, the old ones stay: %s", line.strip())
            return
        fresh, base = loaded.settings, self.in_force.base
        changed = [key for key in all_keys() if _value(base, key) != _value(fresh, key)]
        at_once = [key for key in changed if key.live]
        tables = [name for name in TABLES if getattr(base, name) != getattr(fresh, name)]
        self._secrets |= {*fresh.secrets()}
        self.in_force.rebase(_with(base, fresh, at_once), _sources(self.in_force.sources, loaded.sources))
        log.info("settings read again; changed: %s", _names(at_once, tables) or "nothing")
        if covered := [key for key in at_once if Place(key.dotted) in self.in_force.overrides]:
            log.info("set in chat, which goes over it: %s", _names(covered))
        if waiting := [key for key in changed if not key.live]:
            log.warning("a restart is needed before these act: %s", _names(waiting))
        for line in readable_by_others(fresh, self._config):
            log.warning("%s", line)

    def _log_as_set(self, settings: Settings) -> None:
        logs.configure(settings.log.level, settings.log.format, self._secrets)


def _value(settings: Settings, key: Key) -> object:
    return getattr(getattr(settings, key.section), key.name)


def _with(settings: Settings, fresh: Settings, keys: list[Key]) -> Settings:
    """Return settings with the values of these keys, and the tables beside the sections, taken from `fresh`."""
    values = {name: dict(section) for name, section in settings}
    values |= {name: dict(getattr(fresh, name)) for name in TABLES}
    for key in keys:
        values[key.section][key.name] = _value(fresh, key)
    return Settings.model_validate(values)


def _sources(old: Sources, fresh: Sources) -> Sources:
    """Return where the settings in force come from: what waits for a restart comes from where it came from."""
    live = {key.dotted for key in all_keys() if key.live}
    waiting = {key: source for key, source in old.given.items() if key not in live}
    return Sources(waiting | {key: source for key, source in fresh.given.items() if key in live}, fresh.decay_final)


def _names(keys: list[Key], tables: Iterable[str] = ()) -> str:
    return ", ".join([*(key.dotted for key in keys), *tables])
