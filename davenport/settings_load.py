"""Reads the settings: config.toml, over it the environment, over both `MEMORY_DECAY_ENABLED=false` (D13).

Every fault is found before any is reported. Messages name keys, places and what is allowed, never a value: a secret
may stand in the wrong line.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import SecretStr, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from davenport import settings_aliases, settings_personas, settings_quotas, settings_rooms, settings_secrets
from davenport.settings import Settings
from davenport.settings_fields import Key, all_keys, keys, sections
from davenport.settings_section import PLACEHOLDER
from davenport.settings_typed import typed
from memory.errors import SettingsError

PREFIX = "DAVENPORT_"
DECAY_SWITCH = "MEMORY_DECAY_ENABLED"
API_KEY = "ANTHROPIC_API_KEY"


Source = Literal["file", "environment"]


@dataclass(frozen=True, slots=True)
class Sources:
    """Where settings come from. `given`: by dotted key; a key that is not there has its default.

    decay_final: MEMORY_DECAY_ENABLED=false, so that nothing may switch decay on (D13).
    """

    given: Mapping[str, Source] = field(default_factory=dict)
    decay_final: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings of a file and an environment, and where each comes from."""

    settings: Settings
    sources: Sources


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read: the tables of the file `path` by section, and the variables. written: how keys were spelt that
    stand in the file under a name of the source (`settings_aliases`).
    """

    path: Path
    tables: Mapping[str, Any]
    environ: Mapping[str, str]
    written: Mapping[str, str]

    def place(self, key: Key) -> str:
        """Return where a key is given, to be named in a fault."""
        return key.variable if key.variable in self.environ else str(self.path)

    def named(self, key: Key) -> str:
        """Return a key as it was written, to be named in a fault."""
        name = self.written.get(key.dotted)
        return f"{name} ({key.dotted})" if name and key.variable not in self.environ else key.dotted


class _Environment(PydanticBaseSettingsSource):
    """Variables such as DAVENPORT_MEMORY__MAX_PER_USER, turned from text into the type of their key."""

    def __init__(self, settings_cls: type[BaseSettings], environ: Mapping[str, str]) -> None:
        super().__init__(settings_cls)
        self._environ = environ

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return what the environment sets in one section."""
        given = {key.name: typed(key, self._environ[key.variable]) for key in self._set_in(field_name)}
        return given, field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return what the environment sets, by section."""
        fields = ((name, Settings.model_fields[name]) for name in sections())
        found = {name: self.get_field_value(field, name)[0] for name, field in fields}
        return {name: values for name, values in found.items() if values}

    def _set_in(self, section: str) -> list[Key]:
        return [key for key in keys(section) if key.variable in self._environ]


def _with_environment(environ: Mapping[str, str]) -> type[Settings]:
    """Return the settings class that puts these variables over what it is given."""

    class WithEnvironment(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return (_Environment(settings_cls, environ), init_settings)

    return WithEnvironment


def load(path: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of a file and an environment (default: the process's); paths become absolute.

    Raises SettingsError that lists every fault, one a line.
    """
    return load_with_sources(path, environ).settings


def load_with_sources(path: Path, environ: Mapping[str, str] | None = None) -> Loaded:
    """Return the settings as `load` does, and where each comes from. Raises SettingsError."""
    environ = os.environ if environ is None else environ
    table = _read(path)
    written, faults = settings_aliases.take_out(table)
    faults = [*_unknown_variables(environ), *_switch_faults(environ), *(f"{path}: {fault}" for fault in faults)]
    faults += _not_tables(table, path)
    tables = {name: value for name, value in table.items() if name not in sections() or isinstance(value, dict)}
    tables.setdefault("matrix", {})  # so that each of its keys is named, not the section
    given = _Read(path, dict(tables), environ, written)
    faults += settings_secrets.fill_in(tables, environ, path)
    try:
        settings = _with_environment(environ)(**tables)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
        faults += dict.fromkeys(_fault(detail, given) for detail in details)
    if faults:
        raise SettingsError("\n".join([f"{path}: the settings cannot be used:", *(f"  {fault}" for fault in faults)]))
    return Loaded(_finished(settings, path, environ), _sources(given))


def _sources(given: _Read) -> Sources:
    found: dict[str, Source] = {}
    for key in all_keys():
        if key.variable in given.environ:
            found[key.dotted] = "environment"
        elif key.name in given.tables.get(key.section, {}):
            found[key.dotted] = "file"
    final = _switch(given.environ) is False
    if final:
        found["memory.decay_enabled"] = "environment"
    return Sources(found, final)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(
            f"{path}: there is no such file; `davenport init --config {path}` asks and writes it"
        ) from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: is not TOML: {error}") from None
    except RecursionError:
        raise SettingsError(f"{path}: is not TOML: it is nested too deeply") from None


def _unknown_variables(environ: Mapping[str, str]) -> list[str]:
    known = [key.variable for key in all_keys()]
    unknown = [name for name in environ if name.upper().startswith(PREFIX) and name not in known]
    return [f"{name}: no setting has this variable{_guess(name.upper(), known)}" for name in sorted(unknown)]


def _switch_faults(environ: Mapping[str, str]) -> list[str]:
    if DECAY_SWITCH in environ and _switch(environ) is None:
        return [f"{DECAY_SWITCH}: must be true or false"]
    return []


def _switch(environ: Mapping[str, str]) -> bool | None:
    try:
        return TypeAdapter(bool).validate_python(environ.get(DECAY_SWITCH, "true"))
    except ValidationError:
        return None


def _not_tables(table: Mapping[str, Any], path: Path) -> list[str]:
    wrong = [name for name, value in table.items() if name in sections() and not isinstance(value, dict)]
    return [f"{path}: {name} must be a section, [{name}]" for name in wrong]


def _fault(detail: ErrorDetails, given: _Read) -> str:
    section, name = (*map(str, detail["loc"]), "")[:2]
    if section not in sections():
        return f"{given.path}: {_outside_sections(section, detail, given.tables)}"
    key = next((key for key in keys(section) if key.name == name), None)
    if key is None:
        return _no_setting(section, name, given.path)
    place, named = given.place(key), given.named(key)
    match detail["type"]:
        case "missing" if key.field.is_required():
            return f"{given.path}: {key.dotted} is missing; give {key.allowed} there or in {key.variable}"
        case "placeholder":
            return f"{place}: {named} still holds the placeholder {PLACEHOLDER}; give {key.allowed}"
        case "no_price":
            wrong = f"{named} has {detail['msg']}"
        case _ if key.dotted == settings_quotas.KEY:
            wrong = settings_quotas.fault(detail)
        case _:
            wrong = f"{named} must be {key.allowed}"
    return f"{place}: {wrong}"


def _outside_sections(name: str, detail: ErrorDetails, tables: Mapping[str, Any]) -> str:
    if name == settings_rooms.TABLE:
        return settings_rooms.fault(detail)
    if name == settings_personas.TABLE:
        return settings_personas.fault(detail)
    if not isinstance(tables.get(name), dict):
        return f"{name} is not a setting{_guess(name, settings_aliases.ALIASES)}"
    return f"[{name}] is not a section{_guess(name, sections())}"


def _no_setting(section: str, name: str, path: Path) -> str:
    if name in sections():
        return f"{path}: {name} must be a section of its own, [{name}]; it stands in [{section}]"
    if (meant := settings_aliases.dotted(name)) != name.casefold():
        return f"{path}: {section}.{name} is not a setting; {name} stands before the first section, or as {meant}"
    known = [key.name for key in keys(section)]
    return f"{path}: {section}.{name} is not a setting{_guess(name, known)}; [{section}] has {', '.join(known)}"


def _guess(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _finished(settings: Settings, path: Path, environ: Mapping[str, str]) -> Settings:
    values = {name: dict(section) for name, section in settings}
    for section, name in [
        ("storage", "data_dir"),
        *((file.section, file.name) for _, file in settings_secrets.secret_files()),
    ]:
        if (given := values[section][name]) is not None:
            values[section][name] = Path(os.path.realpath(path.parent / given))
    if _switch(environ) is False:
        values["memory"]["decay_enabled"] = False
    if settings.llm.api_key is None and environ.get(API_KEY):
        values["llm"]["api_key"] = SecretStr(environ[API_KEY])
    return Settings.model_validate(values)
