"""SIGHUP: what acts at once, what waits, and what is refused. P5: what was read before stays as it was."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from davenport.reload import Reloader
from davenport.settings import Settings
from davenport.settings_fields import all_keys
from davenport.settings_load import load
from davenport.settings_source import ConfiguredSettings
from llm.client import AnthropicModel
from memory.errors import ModelUnavailable

ACCOUNT = '[matrix]\nhomeserver = "https://a.org"\nuser_id = "@b:a.org"\npassword = "sesame-open"\n'


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def written(more: str) -> Path:
        path = tmp_path / "config.toml"
        path.write_text(ACCOUNT + more, encoding="utf-8")
        path.chmod(0o600)
        return path

    return written


Write = Callable[[str], Path]


def started(path: Path, environ: dict[str, str] | None = None) -> Reloader:
    environ = {} if environ is None else environ
    return Reloader(path, load(path, environ), environ)


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.split("Z ", 1)[-1] for line in capsys.readouterr().err.splitlines()]


def test_p5_a_change_acts_from_the_next_look_on(write: Write) -> None:
    reloader = started(write("[memory]\npromotion_threshold = 3\n"))
    source = ConfiguredSettings(reloader.settings, embedder_threshold=0.25)
    reloader.follow(source.use)
    before = source.memory("!r:a")
    write("[memory]\npromotion_threshold = 5\n[context]\nmax_messages = 4\n")
    reloader.reload()
    assert before.promotion_threshold == 3
    assert source.memory("!r:a").promotion_threshold == 5
    assert source.context("!r:a").max_messages == 4


def test_what_needs_a_restart_waits_and_is_named_in_one_line(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    reloader = started(write(""))
    write('display_name = "Desk"\n[embeddings]\nprovider = "none"\n[memory]\nmax_per_user = 9\n')
    logging.basicConfig(level=logging.INFO, force=True)
    reloader.reload()
    assert reloader.settings.memory.max_per_user == 9
    assert reloader.settings.embeddings.provider == "builtin"
    assert reloader.settings.matrix.display_name == ""
    assert lines(capsys) == [
        "INFO davenport.reload: settings read again; changed: memory.max_per_user",
        "WARNING davenport.reload: a restart is needed before these act: matrix.display_name, embeddings.provider",
    ]


def test_a_faulty_file_is_refused_whole_and_every_fault_logged(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    reloader = started(write("[memory]\nmax_per_user = 7\n"))
    seen: list[Settings] = []
    reloader.follow(seen.append)
    before = reloader.settings
    path = write('[memory]\nmax_per_user = 8\nno_such = 1\n[log]\nlevel = "loud"\n')
    reloader.reload()
    assert reloader.settings is before
    assert seen == [before]
    assert f"{path}: memory.no_such is not a setting" in caplog.text
    assert f"{path}: log.level must be" in caplog.text
    assert len(caplog.records) == 3
    path.unlink()
    reloader.reload()
    assert reloader.settings is before
    assert "there is no such file" in caplog.text


def test_the_environment_is_read_again_too(write: Write) -> None:
    environ = {"DAVENPORT_MEMORY__MAX_PER_USER": "5"}
    reloader = started(write(""), environ)
    environ["DAVENPORT_MEMORY__MAX_PER_USER"] = "6"
    environ["MEMORY_DECAY_ENABLED"] = "false"
    reloader.reload()
    assert reloader.settings.memory.max_per_user == 6
    assert reloader.settings.memory.decay_enabled is False


def test_the_log_level_acts_at_once_and_new_secrets_are_masked(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "key").write_text("sk-old", encoding="utf-8")
    (tmp_path / "key").chmod(0o600)
    reloader = started(write('[llm]\napi_key_file = "key"\n'))
    (tmp_path / "key").write_text("sk-new", encoding="utf-8")
    write('[llm]\napi_key_file = "key"\n[log]\nlevel = "debug"\n')
    reloader.reload()
    logging.getLogger("x").debug("sk-old and sk-new")
    assert "DEBUG x: ******** and ********" in lines(capsys)
    assert reloader.settings.llm.api_key is not None
    assert reloader.settings.llm.api_key.get_secret_value() == "sk-old"


def test_nothing_changed_changes_nothing(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    reloader = started(write(""))
    seen: list[Settings] = []
    reloader.follow(seen.append)
    reloader.reload()
    assert len(seen) == 1
    assert [record.getMessage() for record in caplog.records] == ["settings read again; changed: nothing"]


def test_who_follows_late_gets_what_is_in_force(write: Write) -> None:
    reloader = started(write(""))
    write("[memory]\nmax_per_user = 9\n")
    reloader.reload()
    seen: list[Settings] = []
    reloader.follow(seen.append)
    assert [settings.memory.max_per_user for settings in seen] == [9]


def test_the_models_keys_that_act_at_once_reach_the_client(write: Write) -> None:
    values = {
        "assistant_model": '"a"',
        "memory_model": '"m"',
        "max_tokens": "5",
        "timeout_seconds": "3.0",
        "breaker_failures": "1",
        "breaker_seconds": "9.0",
    }
    budget = {"daily_budget", "budget_unit", "prices"}
    assert {key.name for key in all_keys() if key.section == "llm" and key.live} == set(values) | budget
    before = started(write("")).settings.llm.client()
    model = AnthropicModel(before)
    text = "\n".join(f"{name} = {value}" for name, value in values.items())
    model.use(load(write(f"[llm]\n{text}\nmax_retries = 9\n"), {}).llm.client())
    used = model._settings
    assert (used.assistant_model, used.memory_model, used.max_tokens, used.timeout_seconds) == ("a", "m", 5, 3.0)
    with pytest.raises(ModelUnavailable), model.breaker.call():
        raise ModelUnavailable("down")
    assert 8 < model.breaker.wait_seconds <= 9
    assert (used.base_url, used.max_retries) == (before.base_url, before.max_retries)
