"""Secrets kept in files of their own: `matrix.password_file` in place of `matrix.password`, and so on."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from davenport.settings import Settings
from davenport.settings_fields import Key, all_keys, keys
from davenport.settings_section import PLACEHOLDER, expanded

SUFFIX = "_file"
OTHERS = 0o077
MAX_BYTES = 10_000
NOT_IN_A_LINE = {"Cc", "Zl", "Zp"}  # Unicode categories: controls, line and paragraph separators


def secret_files() -> tuple[tuple[Key, Key], ...]:
    """Return each secret key with the key of the file that may hold it."""
    return tuple((key, file_of(key)) for key in all_keys() if key.secret)


def file_of(secret: Key) -> Key:
    """Return the `…_file` key of a secret key. Raises StopIteration where a definition lacks it."""
    return next(key for key in keys(secret.section) if key.name == secret.name + SUFFIX)


def fill_in(tables: dict[str, Any], environ: Mapping[str, str], config: Path) -> list[str]:
    """Put what the secret files hold into the tables read from `config`; return the faults.

    A secret given both by itself and by a file is refused, wherever the two stand: one of them would be outdated.
    """
    faults = []
    for secret, file in secret_files():
        named = _given(file, tables, environ)
        if named is None:
            continue
        place = file.variable if file.variable in environ else str(config)
        if _given(secret, tables, environ) is not None:
            faults.append(f"{place}: {secret.dotted} and {file.dotted} are both set; keep one of them")
            continue
        try:
            path = config.parent / expanded(Path(named))
        except ValueError:
            continue  # the bounds refuse it
        try:
            tables[secret.section] = {**tables.get(secret.section, {}), secret.name: _read(path)}
        except OSError as error:
            faults.append(f"{place}: {file.dotted}: {path} cannot be read: {error.strerror}")
        except ValueError as error:
            faults.append(f"{place}: {file.dotted}: {path} {error}")
    return faults


def readable_by_others(settings: Settings, config: Path) -> tuple[str, ...]:
    """Return one line for each file with a secret that more than its owner may read."""
    named = {file.dotted: getattr(getattr(settings, file.section), file.name) for _, file in secret_files()}
    exposed = [f"{key} {path}" for key, path in named.items() if path is not None and _open_to_others(path)]
    inline = [
        secret.dotted
        for secret, file in secret_files()
        if getattr(getattr(settings, secret.section), secret.name) is not None and named[file.dotted] is None
    ]
    if _holds_a_secret(config, inline) and _open_to_others(config):
        exposed.append(f"the settings file {config}")
    return tuple(f"{what} can be read by others: chmod 600 it" for what in exposed)


def _given(key: Key, tables: Mapping[str, Any], environ: Mapping[str, str]) -> str | None:
    """Return the text a key is set to; None where it is unset, a placeholder, or no text (which the bounds refuse)."""
    section = tables.get(key.section)
    value = environ.get(key.variable, section.get(key.name) if isinstance(section, dict) else None)
    return value if isinstance(value, str) and value and PLACEHOLDER not in value.upper() else None


def _read(path: Path) -> str:
    """Return the secret in a file, without the line end that editors leave. Raises OSError, ValueError."""
    with open(path, "rb", opener=_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("is not a regular file")
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise ValueError("is too long for a secret")
    try:
        text = raw.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8 text") from None
    if not text.strip():
        raise ValueError("is empty")
    if any(unicodedata.category(character) in NOT_IN_A_LINE for character in text):
        raise ValueError("must be one line without control characters")
    if PLACEHOLDER in text.upper():
        raise ValueError(f"still holds the placeholder {PLACEHOLDER}")
    return text


def _at_once(path: str, flags: int) -> int:
    """Open without waiting for whoever should write into a FIFO: the bot would stand still meanwhile."""
    return os.open(path, flags | os.O_NONBLOCK)


def _holds_a_secret(config: Path, inline: list[str]) -> bool:
    try:
        text = config.read_text(encoding="utf-8", errors="replace") if inline and config.is_file() else ""
    except OSError:
        return False  # gone since it was read
    names = {dotted.partition(".")[2] for dotted in inline}
    return any(line.split("=")[0].strip().rpartition(".")[2] in names for line in text.splitlines())


def _open_to_others(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & OTHERS)
    except OSError:
        return False  # gone since it was read, so nobody reads it
