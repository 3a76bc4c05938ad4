"""The names of the source for its settings (P2-P4, P10, P13): config.toml takes both, with the same bounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from davenport.settings import Settings
from davenport.settings_aliases import ALIASES, dotted
from davenport.settings_fields import all_keys
from davenport.settings_load import load, load_with_sources
from memory.errors import SettingsError
from tests.unit.settings.conftest import REQUIRED

WriteConfig = Callable[..., Path]
# The table of the source: its name, our key, the default, the scope.
SOURCE = (
    ("memoryEnabled", "memory.enabled", True, "room"),
    ("memoryPromotionThreshold", "memory.promotion_threshold", 2, "global"),
    ("memoryCandidateTTLDays", "memory.candidate_ttl_days", 14, "global"),
    ("memoryMaxPerUser", "memory.max_per_user", 50, "global"),
    ("memoryCleanupInterval", "memory.cleanup_interval", 3, "global"),
)


def value(settings: Settings, key: str) -> object:
    section, _, name = key.partition(".")
    return getattr(getattr(settings, section), name)


def faults(path: Path) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(path, {})
    return [line.strip().removeprefix(f"{path}: ") for line in str(caught.value).splitlines()[1:]]


@pytest.mark.parametrize(("name", "key", "default", "scope"), SOURCE)
def test_p2_p3_p4_p10_p13_each_has_the_sources_type_default_and_scope(
    write_config: WriteConfig, name: str, key: str, default: object, scope: str
) -> None:
    assert ALIASES[name] == key
    found = value(load(write_config(), {}), key)
    assert (found, type(found)) == (default, type(default))
    assert next(each for each in all_keys() if each.dotted == key).scope == scope


def test_every_name_leads_to_a_key_that_acts_at_once() -> None:
    keys = {key.dotted: key for key in all_keys()}
    assert set(ALIASES.values()) <= set(keys)
    assert all(keys[key].live for key in ALIASES.values())
    assert ALIASES["memoryModel"], ALIASES["assistantModel"] == ("llm.memory_model", "llm.assistant_model")


@pytest.mark.parametrize("spelling", ["{}", "plugins.LLM.{}", "Plugins.llm.{}"])
@pytest.mark.parametrize("name", ALIASES)
def test_a_name_is_known_in_any_case_and_with_the_prefix(name: str, spelling: str) -> None:
    written = spelling.format(name)
    assert {dotted(written), dotted(written.upper()), dotted(written.lower())} == {ALIASES[name]}
    assert dotted(ALIASES[name].upper()) == ALIASES[name]


@pytest.mark.parametrize("spelling", ["{}", "plugins.LLM.{}", "PLUGINS.llm.{}"])
def test_config_toml_takes_them_before_the_first_section(write_config: WriteConfig, spelling: str) -> None:
    names = {"memoryPromotionThreshold": "3", "MEMORYENABLED": "false", "memoryModel": '"small"'}
    top = "".join(f"{spelling.format(name)} = {text}\n" for name, text in names.items())
    loaded = load_with_sources(write_config("[memory]\nmax_per_user = 9\n", required=top + REQUIRED), {})
    assert loaded.settings.memory.promotion_threshold == 3
    assert loaded.settings.memory.enabled is False
    assert loaded.settings.memory.max_per_user == 9
    assert loaded.settings.llm.memory_model == "small"
    assert loaded.sources.given["memory.promotion_threshold"] == "file"


def test_the_environment_goes_over_them(write_config: WriteConfig) -> None:
    path = write_config(required="memoryMaxPerUser = 0\n" + REQUIRED)
    loaded = load_with_sources(path, {"DAVENPORT_MEMORY__MAX_PER_USER": "8"})
    assert loaded.settings.memory.max_per_user == 8
    assert loaded.sources.given["memory.max_per_user"] == "environment"


@pytest.mark.parametrize(
    ("top", "more", "fault"),
    [
        ("memoryMaxPerUser = 3", "[memory]\nmax_per_user = 3", "memory.max_per_user and memoryMaxPerUser are both set"),
        ("memoryModel = 'a'\nMEMORYMODEL = 'a'", "", "memoryModel and MEMORYMODEL are both set"),
        (
            "memoryModel = 'a'\nplugins.LLM.memoryModel = 'a'",
            "",
            "memoryModel and plugins.LLM.memoryModel are both set",
        ),
        (
            "memoryMaxPerUser = 0",
            "",
            "memoryMaxPerUser (memory.max_per_user) must be a whole number from 1 to 100000",
        ),
        (
            "plugins.LLM.memoryEnabled = 1",
            "",
            "plugins.LLM.memoryEnabled (memory.enabled) must be true or false",
        ),
        (
            "",
            "[memory]\nmemoryMaxPerUser = 3",
            "memory.memoryMaxPerUser is not a setting; memoryMaxPerUser stands before the first section",
        ),
        ("memoryMaxPerUsr = 3", "", "memoryMaxPerUsr is not a setting; did you mean memoryMaxPerUser?"),
        ("plugins.LLM.drawModel = 'x'", "", "plugins.LLM.drawModel is not a setting; plugins.LLM. has memoryEnabled"),
        ("plugins.Other.memoryModel = 'x'", "", "plugins holds nothing but plugins.LLM.NAME"),
        ("plugins = 3", "", "plugins holds nothing but plugins.LLM.NAME"),
    ],
)
def test_both_spellings_wrong_values_and_unknown_names_are_refused(
    write_config: WriteConfig, top: str, more: str, fault: str
) -> None:
    [line] = faults(write_config(more, required=f"{top}\n{REQUIRED}"))
    assert line.startswith(fault)


@pytest.mark.parametrize("name", ["verse_enabled", "verseEnabled", "VERSE_ENABLED"])
def test_scenes_are_switched_on_by_their_own_name_too(write_config: WriteConfig, name: str) -> None:
    assert load(write_config(required=f"{name} = true\n{REQUIRED}"), {}).verse.enabled
