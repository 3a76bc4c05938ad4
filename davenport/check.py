"""`davenport check`: what would keep the bot from working, found without disturbing one that runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from davenport import control_client
from davenport.settings import Settings
from davenport.settings_load import load
from davenport.settings_secrets import readable_by_others
from index.embedders import build_embedder
from llm.probe import probe as probe_models
from llm.settings import OFFLINE
from matrix import probe
from matrix.account import LOGIN_KEY
from media.settings import OPENAI
from memory.errors import DavenportError, EmbeddingError, MatrixError, SettingsError, StorageError
from storage import inspect


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: a fault, or a note on what was left out or should be known."""

    text: str
    fault: bool = True

    def __str__(self) -> str:
        return f"{'fault' if self.fault else 'note'}: {self.text}"


async def findings(config: Path, environ: Mapping[str, str] | None = None) -> AsyncIterator[Finding]:
    """Yield what is to be said, in order: settings, homeserver, data folder, login, model, embedder, painter.

    `environ`: by default the process's.
    """
    try:
        settings = load(config, environ)
    except SettingsError as error:
        head, *faults = str(error).splitlines()
        for line in faults or [head]:
            yield Finding(line.strip())
        return
    for line in readable_by_others(settings, config):
        yield Finding(line, fault=False)
    reachable = True
    try:
        await probe.reachable(settings.matrix.homeserver)
    except MatrixError as error:
        reachable = False
        yield Finding(f"the homeserver {settings.matrix.homeserver} cannot be reached: {error}")
    for part in (_data_and_login(settings, reachable=reachable), _model(settings), _embedder(settings)):
        async for finding in part:
            yield finding
    if settings.draw.provider == OPENAI:
        yield Finding(f"{settings.draw.model} was not tried: it would paint a picture (draw.provider)", fault=False)


async def _data_and_login(settings: Settings, *, reachable: bool) -> AsyncIterator[Finding]:
    folder = settings.storage.data_dir
    for fault in inspect.folder_faults(folder):
        yield Finding(fault)
    try:
        process = inspect.holder(folder)
        contents = None if process is not None else inspect.read(folder)
    except StorageError as error:
        yield Finding(str(error))
        return
    if process is not None:
        async for finding in _running(folder, process):
            yield finding
        return
    if contents is not None and contents.schema > contents.known:
        yield Finding(f"{folder} has schema {contents.schema}, newer than the {contents.known} this version knows")
        return
    stored = None if contents is None else contents.account.get(LOGIN_KEY)
    if not reachable:
        yield Finding("the login was not tried, since the homeserver cannot be reached", fault=False)
        return
    try:
        note = await _login(settings, stored)
    except MatrixError as error:
        yield Finding(f"login: {error}")
        return
    if note:
        yield Finding(note, fault=False)


async def _running(folder: Path, process: str) -> AsyncIterator[Finding]:
    """Ask the bot that holds the folder, which alone may use its database and login."""
    yield Finding(f"a bot runs on {folder} (process {process}) and was asked about database and login", fault=False)
    try:
        answer = await control_client.ask(folder, "check")
    except DavenportError as error:
        yield Finding(f"the running bot (process {process}) could not be asked: {error}")
        return
    for fault in answer["faults"]:
        yield Finding(str(fault))


async def _login(settings: Settings, stored: str | None) -> str:
    """Try the stored login, or else the password; return a note, "" for none. Raises MatrixError."""
    matrix = settings.matrix
    if stored is not None and probe.has_token(stored):
        if await probe.stored_login(matrix.homeserver, matrix.user_id, stored):
            return ""
        return "the stored access token has run out; the next start renews it"
    if matrix.password is None:
        raise MatrixError("there is none yet: run `davenport init`, or set matrix.password or matrix.password_file")
    await probe.password_login(matrix.homeserver, matrix.user_id, matrix.password.get_secret_value())
    return "the bot has not logged in yet; its password is accepted"


async def _model(settings: Settings) -> AsyncIterator[Finding]:
    if settings.llm.provider == OFFLINE:
        yield Finding(f"the model was not tried: llm.provider is {OFFLINE}", fault=False)
        return
    if settings.llm.api_key is None:
        yield Finding("the model was not tried: there is no key in llm.api_key or ANTHROPIC_API_KEY", fault=False)
        return
    for name, cause in (await probe_models(settings.llm.client())).items():
        yield Finding(f"the model {name} at {settings.llm.base_url}: {cause}")


async def _embedder(settings: Settings) -> AsyncIterator[Finding]:
    try:
        embedder = build_embedder(settings.embeddings.client())
        if embedder is None:
            yield Finding("there is no embedder: embeddings.provider is none, so no memory rests", fault=False)
            return
        try:
            await embedder.embed(["Davenport"])
        finally:
            await embedder.aclose()
    except (EmbeddingError, SettingsError) as error:
        yield Finding(f"the embedder {settings.embeddings.provider}: {error}")
