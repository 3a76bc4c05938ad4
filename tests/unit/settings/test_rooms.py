"""Settings that one room has of its own: `[rooms."!id:server"]`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from davenport.reload import Reloader
from davenport.settings_load import load
from davenport.settings_rooms import room_keys
from davenport.settings_source import ConfiguredSettings
from memory.errors import SettingsError

WriteConfig = Callable[..., Path]
ROOM = "!german:hs"
OTHER = "!other:hs"


def source(path: Path, environ: dict[str, str] | None = None) -> ConfiguredSettings:
    return ConfiguredSettings(load(path, environ or {}), embedder_threshold=0.3)


def test_a_room_has_its_own_language_and_others_the_general_one(write_config: WriteConfig) -> None:
    settings = source(write_config(f'[rooms."{ROOM}"]\nbot.language = "de"\n[rooms."!v12-without-server".bot]\n'))
    assert settings.language(ROOM) == "de"
    assert settings.language(OTHER) == "en"
    assert settings.language("!v12-without-server") == "en"


def test_p2_a_room_may_switch_learning_off_and_keeps_the_rest(write_config: WriteConfig) -> None:
    settings = source(
        write_config(
            f'[memory]\nmax_per_user = 7\n[rooms."{ROOM}"]\nmemory.enabled = false\ncontext.max_messages = 3\n'
        )
    )
    assert settings.memory(ROOM).enabled is False
    assert (settings.memory(ROOM).max_per_user, settings.memory(ROOM).match_threshold) == (7, 0.3)
    assert settings.memory(OTHER).enabled is True
    assert (settings.context(ROOM).max_messages, settings.context(ROOM).timeout_minutes) == (3, 60)
    assert settings.context(OTHER).max_messages == 20


def test_a_room_goes_over_the_environment_and_may_set_back_the_default(write_config: WriteConfig) -> None:
    settings = source(write_config(f'[rooms."{ROOM}"]\nbot.language = "en"\n'), {"DAVENPORT_BOT__LANGUAGE": "de"})
    assert (settings.language(ROOM), settings.language(OTHER)) == ("en", "de")


def test_d13_the_switch_in_the_environment_holds_in_every_room(write_config: WriteConfig) -> None:
    settings = source(write_config(f'[rooms."{ROOM}"]\nmemory.enabled = true\n'), {"MEMORY_DECAY_ENABLED": "false"})
    assert settings.memory(ROOM).decay_enabled is False


NAMES = ", ".join(key.dotted for key in room_keys())


@pytest.mark.parametrize(
    ("toml", "fault"),
    [
        ('rooms."#alias:hs".bot.language = "de"', '[rooms."#alias:hs"]: must name a room by its id'),
        ('rooms."!a:hs".bot.language = "tlh"', '[rooms."!a:hs"]: bot.language must be "en" or "de"'),
        (
            'rooms."!a:hs".context.max_messages = 0',
            '[rooms."!a:hs"]: context.max_messages must be a whole number from 1',
        ),
        ('rooms."!a:hs".memory.enabled = "no"', '[rooms."!a:hs"]: memory.enabled must be true or false'),
        ('rooms."!a:hs".language = "de"', f'[rooms."!a:hs"]: language cannot be set for one room; what can is {NAMES}'),
        ('rooms."!a:hs".bot.lang = "de"', f'[rooms."!a:hs"]: bot.lang cannot be set for one room; what can is {NAMES}'),
        (
            'rooms."!a:hs".memory.max_per_user = 3\nrooms."!a:hs".memory.capacity_room = 3',
            '[rooms."!a:hs"]: memory.capacity_room, memory.max_per_user cannot be set for one room',
        ),
        ('rooms."!a:hs".llm.max_tokens = 3', '[rooms."!a:hs"]: llm cannot be set for one room'),
        ('rooms."!a:hs".bot = 3', '[rooms."!a:hs"]: bot cannot be set for one room'),
        ('rooms."!a:hs" = 3', '[rooms."!a:hs"] must be a table'),
        ("rooms = 3", 'rooms must be tables, one for each room: [rooms."!example:example.org"]'),
    ],
)
def test_what_cannot_be_used_is_refused_and_named(write_config: WriteConfig, toml: str, fault: str) -> None:
    path = write_config(required=f"{toml}\n[matrix]\n" + _account())
    with pytest.raises(SettingsError) as caught:
        load(path, {})
    [_, line] = str(caught.value).splitlines()
    assert line.startswith(f"  {path}: {fault}")


def _account() -> str:
    return 'homeserver = "https://a.org"\nuser_id = "@b:a.org"\npassword = "sesame-open"\n'


def test_what_rooms_have_of_their_own_acts_at_sighup(
    write_config: WriteConfig, capsys: pytest.CaptureFixture[str]
) -> None:
    reloader = Reloader(write_config(), load(write_config(), {}), {})
    settings = ConfiguredSettings(reloader.settings, embedder_threshold=0.3)
    reloader.follow(settings.use)
    write_config(f'[rooms."{ROOM}"]\nbot.language = "de"\n')
    reloader.reload()
    assert settings.language(ROOM) == "de"
    assert capsys.readouterr().err.endswith("settings read again; changed: rooms\n")
    write_config()
    reloader.reload()
    assert settings.language(ROOM) == "en"
    assert all(key.live for key in room_keys())
