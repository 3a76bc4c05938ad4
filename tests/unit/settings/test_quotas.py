"""How often commands may be given: `[limits.quotas."COMMAND"]`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from commands.quotas import limit_of
from commands.table import TABLE
from davenport.settings_load import load
from davenport.settings_source import ConfiguredSettings
from memory.errors import SettingsError
from memory.quota import CommandQuota, Quota

WriteConfig = Callable[..., Path]


def source(path: Path, environ: dict[str, str] | None = None) -> ConfiguredSettings:
    return ConfiguredSettings(load(path, environ or {}), embedder_threshold=0.3)


def test_a_command_has_the_quota_that_is_set(write_config: WriteConfig) -> None:
    settings = source(write_config('[limits.quotas."ask"]\nuser = "5/90s"\nroom = "off"\n'))
    assert settings.quota("ask") == CommandQuota(Quota(5, timedelta(seconds=90)), None)
    assert settings.quota("memories") is None


def test_what_is_not_set_keeps_its_default(write_config: WriteConfig) -> None:
    settings = source(
        write_config('[limits.quotas.ask]\nuser = "1/30d"\n[limits.quotas."memories del"]\nroom="2/1h"\n')
    )
    assert settings.quota("ask") == CommandQuota(Quota(1, timedelta(days=30)), limit_of("ask", TABLE).quota.room)
    default = limit_of("memories del", TABLE).quota.user
    assert default is not None
    assert settings.quota("memories del") == CommandQuota(default, Quota(2, timedelta(hours=1)))


def test_names_of_commands_are_read_as_people_write_them(write_config: WriteConfig) -> None:
    settings = source(write_config('[limits.quotas." Memories  DELETE"]\nuser = "1/2m"\n'))
    found = settings.quota("memories del")
    assert found is not None
    assert found.user == Quota(1, timedelta(minutes=2))


def test_the_variable_holds_json(write_config: WriteConfig) -> None:
    settings = source(write_config(), {"DAVENPORT_LIMITS__QUOTAS": '{"ask": {"user": "off"}}'})
    found = settings.quota("ask")
    assert found is not None
    assert found.user is None


FORM = 'COUNT/SPAN such as "30/10m"'


@pytest.mark.parametrize(
    "text", ["0/1h", "-1/1h", "3", "3/h", "3/1", "3/0m", "3/1w", "10001/1h", "3/31d", "3/99999999d", "", "OFF", "３/1h"]
)
def test_a_wrong_form_is_refused_with_what_is_allowed(write_config: WriteConfig, text: str) -> None:
    path = write_config(f'[limits.quotas.ask]\nuser = "{text}"\n')
    with pytest.raises(SettingsError) as caught:
        load(path, {})
    [line] = str(caught.value).splitlines()[1:]
    assert line.startswith(f'  {path}: [limits.quotas."ask"]: user must be {FORM}')


@pytest.mark.parametrize(
    ("toml", "fault"),
    [
        ('[limits.quotas."dance"]\nuser = "1/1h"', '[limits.quotas."dance"] must name a command: ask, code, '),
        ('[limits.quotas."memories dance"]\nuser = "1/1h"', '[limits.quotas."memories dance"] must name a command'),
        ('[limits.quotas.""]\nuser = "1/1h"', '[limits.quotas.""] must name a command'),
        ("[limits.quotas.ask]", f'[limits.quotas."ask"] must be a table with user or room, each {FORM}'),
        ('[limits.quotas.ask]\nall = "1/1h"', f'[limits.quotas."ask"] must be a table with user or room, each {FORM}'),
        ('[limits.quotas]\nask = "1/1h"', f'[limits.quotas."ask"] must be a table with user or room, each {FORM}'),
        ("[limits]\nquotas = 3", 'limits.quotas must be tables, one for each command: [limits.quotas."ask"]'),
        (
            '[limits.quotas."memories del"]\nuser="1/1h"\n[limits.quotas."memories delete"]\nuser="2/1h"',
            "limits.quotas has more than one table for memories del; keep one",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_and_named(write_config: WriteConfig, toml: str, fault: str) -> None:
    path = write_config(toml)
    with pytest.raises(SettingsError) as caught:
        load(path, {})
    [line] = str(caught.value).splitlines()[1:]
    assert line.startswith(f"  {path}: {fault}")
