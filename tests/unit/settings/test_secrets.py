"""Secrets in files of their own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from davenport.settings import Settings
from davenport.settings_fields import Key
from davenport.settings_load import load
from davenport.settings_secrets import readable_by_others, secret_files
from memory.errors import SettingsError

WriteConfig = Callable[..., Path]
ACCOUNT = '[matrix]\nhomeserver = "https://a.org"\nuser_id = "@b:a.org"\n'
PAIRS = pytest.mark.parametrize(("secret", "file"), secret_files(), ids=lambda key: key.dotted)


def value(settings: Settings, key: Key) -> str:
    found: str = getattr(getattr(settings, key.section), key.name).get_secret_value()
    return found


def faults(path: Path, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(path, environ or {})
    return str(caught.value).splitlines()[1:]


def test_every_secret_key_may_stand_in_a_file() -> None:
    assert {"matrix.password_file", "llm.api_key_file"} <= {file.dotted for _, file in secret_files()}


@PAIRS
def test_a_secret_is_read_from_the_file_named_in_the_settings(
    write_config: WriteConfig, tmp_path: Path, secret: Key, file: Key
) -> None:
    (tmp_path / "secret").write_text("from a file\r\n", encoding="utf-8")
    section = "" if file.section == "matrix" else f"[{file.section}]\n"
    settings = load(write_config(f'{section}{file.name} = "secret"\n', required=ACCOUNT), {})
    assert value(settings, secret) == "from a file"
    assert getattr(getattr(settings, file.section), file.name) == tmp_path / "secret"
    assert "from a file" in settings.secrets()


@PAIRS
def test_the_file_may_be_named_in_the_environment(
    write_config: WriteConfig, tmp_path: Path, secret: Key, file: Key
) -> None:
    (tmp_path / "secret").write_text("from a file", encoding="utf-8")
    settings = load(write_config(required=ACCOUNT), {file.variable: str(tmp_path / "secret")})
    assert value(settings, secret) == "from a file"


@PAIRS
@pytest.mark.parametrize("environment", ["secret", "file", "both"])
def test_a_secret_and_its_file_are_not_given_together(
    write_config: WriteConfig, tmp_path: Path, secret: Key, file: Key, environment: str
) -> None:
    (tmp_path / "secret").write_text("from a file", encoding="utf-8")
    section = "" if file.section == "matrix" else f"[{file.section}]\n"
    environ = {secret.variable: "plain"} if environment != "file" else {}
    environ |= {file.variable: "secret"} if environment != "secret" else {}
    lines = [f'{secret.name} = "plain"' if environment == "file" else "", f'{file.name} = "secret"']
    text = "" if environment == "both" else section + "\n".join(lines if environment == "secret" else lines[:1])
    found = faults(write_config(f"{text}\n", required=ACCOUNT), environ)
    assert [line.split(": ", 1)[1] for line in found] == [
        f"{secret.dotted} and {file.dotted} are both set; keep one of them"
    ]
    assert "plain" not in "".join(found)


def test_a_placeholder_counts_as_nothing_given(write_config: WriteConfig, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("from a file", encoding="utf-8")
    path = write_config('password = "CHANGE-ME"\n', required=ACCOUNT)
    settings = load(path, {"DAVENPORT_MATRIX__PASSWORD_FILE": "secret"})
    assert settings.matrix.password is not None
    assert settings.matrix.password.get_secret_value() == "from a file"


def test_an_empty_name_is_no_file(write_config: WriteConfig) -> None:
    settings = load(write_config('password_file = ""\n', required=ACCOUNT), {"DAVENPORT_LLM__API_KEY_FILE": ""})
    assert (settings.matrix.password_file, settings.llm.api_key_file) == (None, None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"x" * 10_001, "is too long for a secret"),
        (b"one\ntwo\n", "must be one line without control characters"),
        (b"a\x00b", "must be one line without control characters"),
        (b"CHANGE-ME\n", "still holds the placeholder CHANGE-ME"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_file_without_a_usable_secret_is_a_fault(
    write_config: WriteConfig, tmp_path: Path, content: bytes | None, message: str
) -> None:
    secret = tmp_path / "secret"
    if content is not None:
        secret.write_bytes(content)
    path = write_config('password_file = "secret"\n', required=ACCOUNT)
    assert faults(path) == [f"  {path}: matrix.password_file: {secret} {message}"]
    environ = {"DAVENPORT_LLM__API_KEY_FILE": "secret"}
    line = f"  DAVENPORT_LLM__API_KEY_FILE: llm.api_key_file: {secret} {message}"
    assert faults(write_config(required=ACCOUNT), environ) == [line]


def test_a_folder_is_no_secret(write_config: WriteConfig, tmp_path: Path) -> None:
    path = write_config(f'password_file = "{tmp_path}"\n', required=ACCOUNT)
    assert faults(path) == [f"  {path}: matrix.password_file: {tmp_path} cannot be read: Is a directory"]


def test_a_fifo_is_no_secret_and_nobody_waits_for_its_writer(write_config: WriteConfig, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    path = write_config('password_file = "pipe"\n', required=ACCOUNT)
    assert faults(path) == [f"  {path}: matrix.password_file: {tmp_path / 'pipe'} is not a regular file"]


def test_a_file_that_is_gone_is_read_by_nobody(write_config: WriteConfig, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-secret", encoding="utf-8")
    path = write_config('[llm]\napi_key_file = "key"\n')
    settings = load(path, {})
    for file in (path, tmp_path / "key"):
        file.unlink()
    assert readable_by_others(settings, path) == ()


def test_files_that_others_may_read_are_named(write_config: WriteConfig, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-secret", encoding="utf-8")
    (tmp_path / "key").chmod(0o640)
    path = write_config('[llm]\napi_key_file = "key"\n')
    path.chmod(0o644)
    settings = load(path, {})
    assert readable_by_others(settings, path) == (
        f"llm.api_key_file {tmp_path / 'key'} can be read by others: chmod 600 it",
        f"the settings file {path} can be read by others: chmod 600 it",
    )
    for file in (path, tmp_path / "key"):
        file.chmod(0o600)
    assert readable_by_others(settings, path) == ()


def test_a_settings_file_without_secrets_may_be_read_by_all(write_config: WriteConfig) -> None:
    path = write_config('# password = "x"\n', required=ACCOUNT)
    path.chmod(0o644)
    assert readable_by_others(load(path, {"DAVENPORT_MATRIX__PASSWORD": "sesame"}), path) == ()
