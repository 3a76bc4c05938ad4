"""`davenport init`: asks what must be known, logs the bot in, tries the model, and writes the settings."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import SecretStr

from davenport.pages import example_config
from davenport.settings import Settings
from davenport.settings_load import load
from davenport.stored import StoredForMatrix
from davenport.wiring import CROSS_SIGNING_SEEDS
from llm.probe import probe as probe_models
from llm.settings import ANTHROPIC, OFFLINE
from matrix import probe
from matrix.account import Account
from matrix.cross_signing import CrossSigner
from memory.errors import SettingsError
from storage import Database

VARIABLES = {
    "matrix.homeserver": "DAVENPORT_MATRIX__HOMESERVER",
    "matrix.user_id": "DAVENPORT_MATRIX__USER_ID",
    "llm.provider": "DAVENPORT_LLM__PROVIDER",
}
OPTIONS = {"matrix.homeserver": "--homeserver", "matrix.user_id": "--user-id", "llm.provider": "--provider"}
QUESTIONS = {
    "matrix.homeserver": "Address of the homeserver, such as https://matrix.example.org",
    "matrix.user_id": "User id of the bot, such as @davenport:example.org",
    "llm.provider": f"Language model ({ANTHROPIC}, or {OFFLINE} for simple rules without one)",
}
BY_VARIABLE = "DAVENPORT_MATRIX__PASSWORD"
KEY_FILE = "llm.key"


class Asker(Protocol):
    """The person at the terminal."""

    def __call__(self, question: str, *, default: str | None = None, hidden: bool = False) -> str:
        """Return an answer; `hidden`: without showing it. An empty default makes an empty answer possible."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """`given`: values from options by dotted key. `ask` None: nothing is asked, what is missing is a fault."""

    config: Path
    given: Mapping[str, str]
    ask: Asker | None
    say: Callable[[str], None]
    force: bool = False


async def init(request: Request, environ: Mapping[str, str] | None = None) -> None:
    """Set the bot up. The settings are written last, so that what failed may simply be tried again.

    The password is not kept: the login is, in the data folder, as a first start would leave it. A key that was typed
    goes into a file of its own. Raises SettingsError, StorageError, LoginFailed, MatrixError.
    """
    environ = os.environ if environ is None else environ
    if request.config.exists() and not request.force:
        raise SettingsError(f"{request.config} is there already; --force replaces it")
    given = _values(request, environ)
    settings = _validated(request.config, given, environ)
    _check_key_file(request, settings)
    password = settings.matrix.password or _asked_password(request)
    await _log_in(settings, password.get_secret_value(), request.say)
    key = settings.llm.api_key or _asked_key(request, settings)
    await _try_model(settings, key, request.say)
    if key is not None and settings.llm.api_key is None:
        _write(request.config.with_name(KEY_FILE), key.get_secret_value() + "\n", replace=request.force)
        given["llm.api_key_file"] = KEY_FILE
        request.say(f"the key is in {request.config.with_name(KEY_FILE)}")
    _write(request.config, example_config(given), replace=request.force)
    request.say(f"wrote {request.config}; start the bot with `davenport run --config {request.config}`")


def _values(request: Request, environ: Mapping[str, str]) -> dict[str, str]:
    """Return homeserver, user id and provider: from the options, the environment, or by asking."""
    found = {key: request.given.get(key) or environ.get(VARIABLES[key], "") for key in VARIABLES}
    if request.ask is not None:
        for key in [key for key, value in found.items() if not value]:
            found[key] = request.ask(QUESTIONS[key], default=ANTHROPIC if key == "llm.provider" else None)
    found["llm.provider"] = found["llm.provider"] or ANTHROPIC
    missing = [f"{OPTIONS[key]} or {VARIABLES[key]}" for key, value in found.items() if not value]
    if request.ask is None and not (environ.get(BY_VARIABLE) or environ.get(f"{BY_VARIABLE}_FILE")):
        missing.append(f"{BY_VARIABLE} or {BY_VARIABLE}_FILE")
    if missing:
        raise SettingsError(f"--defaults asks nothing, and these are missing: {'; '.join(missing)}")
    return found


def _validated(config: Path, given: Mapping[str, str], environ: Mapping[str, str]) -> Settings:
    """Return the settings as a run will read them, before they are written where they belong."""
    draft = _draft(config, example_config(given))
    try:
        return load(draft, environ)
    except SettingsError as error:
        raise SettingsError(str(error).replace(str(draft), str(config))) from None
    finally:
        draft.unlink(missing_ok=True)


def _check_key_file(request: Request, settings: Settings) -> None:
    """Raise SettingsError where a key that is typed would replace one: before anything is asked and done."""
    file = request.config.with_name(KEY_FILE)
    asks = request.ask is not None and settings.llm.provider != OFFLINE and settings.llm.api_key is None
    if asks and not request.force and os.path.lexists(file):
        raise SettingsError(f"{file} is there already; --force replaces it, ANTHROPIC_API_KEY may name the key instead")


def _asked_password(request: Request) -> SecretStr:
    if request.ask is None:
        raise SettingsError(f"{BY_VARIABLE} is empty")
    return SecretStr(request.ask("Password of the bot, which is not kept", hidden=True))


def _asked_key(request: Request, settings: Settings) -> SecretStr | None:
    if request.ask is None or settings.llm.provider == OFFLINE:
        return None
    key = request.ask("API key for the language model, empty for none yet", default="", hidden=True)
    return SecretStr(key) if key else None


async def _log_in(settings: Settings, password: str, say: Callable[[str], None]) -> None:
    """Log in as a first start would: token, device and signed keys are then in the data folder."""
    matrix, folder = settings.matrix, settings.storage.data_dir
    await probe.reachable(matrix.homeserver)
    async with await Database.open(folder) as store:
        account = Account(
            StoredForMatrix(store),
            homeserver=matrix.homeserver,
            user=matrix.user_id,
            password=password,
            data_dir=folder,
        )
        client = await account.open()
        try:
            user_id = await probe.whoami(client)
            await client.upkeep()
            signed = await CrossSigner(client, folder / CROSS_SIGNING_SEEDS, password).ensure()
        finally:
            await client.close()
    state = "cross-signed" if signed else "not cross-signed"
    say(f"logged in as {user_id}, device {client.device_id}, {state}; the login is kept in {folder}")


async def _try_model(settings: Settings, key: SecretStr | None, say: Callable[[str], None]) -> None:
    llm = settings.llm
    if llm.provider == OFFLINE:
        say("the model was not tried: offline answers by simple rules")
        return
    if key is None:
        say("the model was not tried: there is no key yet; set llm.api_key_file or ANTHROPIC_API_KEY")
        return
    faults = await probe_models(llm.model_copy(update={"api_key": key}).client())
    for name, cause in faults.items():
        say(f"the model {name} did not answer: {cause}")
    if not faults:
        say(f"{llm.assistant_model} and {llm.memory_model or llm.assistant_model} answer at {llm.base_url}")


def _write(path: Path, text: str, *, replace: bool) -> None:
    """Write a file (0600) whole or not at all; an existing one only with `replace`. Raises SettingsError."""
    draft = _draft(path, text)
    try:
        if replace:
            draft.replace(path)
        else:
            path.hardlink_to(draft)  # fails where another file came to be meanwhile
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)


def _draft(path: Path, text: str) -> Path:
    """Write a file (0600) of a new name beside `path` and return it. Raises SettingsError."""
    try:
        number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}") from None
    return Path(name)
