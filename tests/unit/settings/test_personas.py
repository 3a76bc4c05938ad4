"""Personas in config.toml (D15)."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from davenport.reload import Reloader
from davenport.settings_load import load
from davenport.settings_personas import EXAMPLE
from davenport.settings_source import ConfiguredSettings
from memory.errors import SettingsError
from memory.types import LoreEntry, Persona

WriteConfig = Callable[..., Path]


def source(path: Path) -> ConfiguredSettings:
    return ConfiguredSettings(load(path, {}), embedder_threshold=0.3)


def test_d15_the_example_is_what_it_says(write_config: WriteConfig) -> None:
    settings = source(write_config(EXAMPLE))
    written = tomllib.loads(EXAMPLE)["personas"]["pirate"]
    assert settings.personas() == ("default", "pirate")
    assert settings.persona("Pirate") == Persona(
        "pirate",
        written["prompt"],
        ("Never speaks of the lost ship unasked.",),
        (
            LoreEntry("The Larkspur has three masts and a crew of eleven.", (), always_on=True),
            LoreEntry("The kraken took the captain's left boot and is owed a visit.", ("kraken", "sea monster")),
        ),
        ("Juno", "Captain"),
    )


def test_an_unknown_name_is_the_default_persona_which_may_be_configured(write_config: WriteConfig) -> None:
    assert source(write_config()).persona("gone") == Persona()
    settings = source(write_config('[personas.sage]\n[personas.DEFAULT]\nprompt = "Be brief."\n'))
    assert settings.personas() == ("default", "sage")
    assert settings.persona("gone") == settings.persona("default") == Persona("default", "Be brief.")


@pytest.mark.parametrize("name", ["a", "Ünïcödé-1.x_y", "капитан", "x" * 40])
def test_names_may_be_of_any_script_in_any_case(write_config: WriteConfig, name: str) -> None:
    settings = source(write_config(f'[personas."{name}"]\nprompt = "p"\n'))
    assert settings.persona(name.upper()).prompt == settings.persona(name.lower()).prompt == "p"


@pytest.mark.parametrize(
    ("toml", "fault"),
    [
        ('[personas."two words"]', "[personas.two words]: the name must be 1 to 40 letters, digits, -, _ and ."),
        (f"[personas.{'x' * 41}]", f"[personas.{'x' * 41}]: the name must be 1 to 40 letters"),
        ('[personas.""]', "[personas.]: the name must be"),
        ("[personas.Pirate]\n[personas.pirate]", "[personas.Pirate] is given twice; upper and lower case are the same"),
        ("[personas]\npirate = 3", "[personas.pirate] must be a table"),
        ("[personas.pirate]\nprompt = 3", "[personas.pirate]: prompt must be a text of at most 20000 characters"),
        ("[personas.pirate]\nattributes = 'x'", "[personas.pirate]: attributes must be a list of texts"),
        ("[personas.pirate]\nattributes = ['x', ' ']", "[personas.pirate]: attributes.2 must be a list of texts"),
        ("[personas.pirate]\nanswers_to = ['']", "[personas.pirate]: answers_to.1 must be a list of names"),
        ("[personas.pirate]\nlore = 1", "[personas.pirate]: lore is not a setting; there is prompt, attributes"),
        ("[personas.pirate]\nlorebook = 'x'", "[personas.pirate]: lorebook must be tables [[personas.NAME.lorebook]]"),
        ("[[personas.pirate.lorebook]]\nkeys = ['x']", "[personas.pirate]: lorebook.1.text must be a text of 1 to"),
        ("[[personas.pirate.lorebook]]\ntext = 'x'", "[personas.pirate]: lorebook.1 must be tables"),
        (
            "[[personas.pirate.lorebook]]\ntext = 'x'\nkeys = ['a', '']",
            "[personas.pirate]: lorebook.1.keys.2 must be a list of words",
        ),
        (
            "[[personas.pirate.lorebook]]\ntext = 'x'\nalways_on = 'yes'",
            "[personas.pirate]: lorebook.1.always_on must be true or false",
        ),
        (
            "[[personas.pirate.lorebook]]\ntext = 'x'\nalways_on = true\nkey = 'y'",
            "[personas.pirate]: lorebook.1.key is not a setting; there is lorebook.text, lorebook.keys",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_and_named(write_config: WriteConfig, toml: str, fault: str) -> None:
    path = write_config(toml)
    with pytest.raises(SettingsError) as caught:
        load(path, {})
    [line] = str(caught.value).splitlines()[1:]
    assert line.startswith(f"  {path}: {fault}")


def test_personas_must_be_tables(write_config: WriteConfig) -> None:
    path = write_config(required="personas = 3\n[matrix]\nhomeserver = 'https://a.org'\nuser_id = '@b:a.org'\n")
    with pytest.raises(SettingsError, match=r"personas must be tables, one for each persona: \[personas\.NAME\]"):
        load(path, {})


def test_personas_act_at_sighup(write_config: WriteConfig, capsys: pytest.CaptureFixture[str]) -> None:
    reloader = Reloader(write_config(), load(write_config(), {}), {})
    settings = ConfiguredSettings(reloader.settings, embedder_threshold=0.3)
    reloader.follow(settings.use)
    write_config(EXAMPLE)
    reloader.reload()
    assert settings.personas() == ("default", "pirate")
    assert capsys.readouterr().err.endswith("settings read again; changed: personas\n")
    write_config()
    reloader.reload()
    assert settings.persona("pirate") == Persona()
