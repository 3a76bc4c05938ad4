"""What the bot talks to, opened as the settings say: homeserver, language model, embedder and painter."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from pydantic import SecretStr

from actors.spending import Spending
from davenport.measured_media import MeasuredMedia, MeasuredPainter
from davenport.metrics import MeasuredEmbedder, PrometheusMetrics
from davenport.panel import Panel
from davenport.settings import Settings
from davenport.stored import StoredForMatrix
from index.embedders import build_embedder
from llm.client import Admit, AnthropicModel
from llm.offline.brain import OfflineServer
from llm.offline.usage import PromptCache
from llm.settings import OFFLINE, LlmSettings
from llm.stream import Spent
from matrix.account import Account
from matrix.client import Client
from matrix.direct_rooms import DirectRooms
from matrix.sender import Sender
from media.jobs import MediaJobs
from media.painter import build_painter
from memory.types import Clock

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Services:
    """The open ones. media, embedder and painter are measured already; None where none is configured.

    direct: the rooms that `sender` and the gateway share. spending: the day's budget, which admits each call of
    `model`.
    """

    client: Client
    direct: DirectRooms
    sender: Sender
    model: AnthropicModel
    spending: Spending
    media: MeasuredMedia
    embedder: MeasuredEmbedder | None
    painter: MeasuredPainter | None

    @property
    def match_threshold(self) -> float | None:
        """The similarity from which a memory counts as used (D3) by the embedder; None: there is none."""
        return None if self.embedder is None else self.embedder.match_threshold


async def opened_services(stack: AsyncExitStack, panel: Panel, metrics: PrometheusMetrics) -> Services:
    """Open them by the panel's settings and note them there; `stack` closes them. Raises LoginFailed, MatrixError."""
    settings, store, clock = panel.settings, panel.store, panel.clock
    client = panel.client = await stack.enter_async_context(_client(settings, StoredForMatrix(store)))
    direct = DirectRooms(client)
    spending = Spending(settings.llm.budget())

    async def admit() -> None:
        await spending.check(store, clock.now().date())

    opening = opened_model(settings.llm.client(), clock, admit, spending.ended)
    model = panel.model = await stack.enter_async_context(opening)
    embedder = panel.embedder = build_embedder(settings.embeddings.client())
    painter = build_painter(settings.draw.painter())
    _close_after(stack, embedder, painter)
    return Services(
        client=client,
        direct=direct,
        sender=Sender(client, StoredForMatrix(store), direct),
        model=model,
        spending=spending,
        media=MeasuredMedia(MediaJobs(), metrics),
        embedder=MeasuredEmbedder(embedder, metrics) if embedder else None,
        painter=MeasuredPainter(painter, metrics) if painter else None,
    )


class _Closable(Protocol):
    async def aclose(self) -> None: ...


def _close_after(stack: AsyncExitStack, *parts: _Closable | None) -> None:
    """Have parts with connections of their own, where they are there, closed at the end."""
    for part in parts:
        if part is not None:
            stack.push_async_callback(part.aclose)


@asynccontextmanager
async def _client(settings: Settings, stored: StoredForMatrix) -> AsyncIterator[Client]:
    matrix = settings.matrix
    account = Account(
        stored,
        homeserver=matrix.homeserver,
        user=matrix.user_id,
        password=password_of(settings),
        data_dir=settings.storage.data_dir,
    )
    client = await account.connect()
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def opened_model(
    settings: LlmSettings, clock: Clock, admit: Admit, spent: Spent
) -> AsyncIterator[AnthropicModel]:
    """Open the model client; with provider "offline" also the server it talks to."""
    async with AsyncExitStack() as stack:
        if settings.provider == OFFLINE:
            server = await stack.enter_async_context(OfflineServer(PromptCache(clock.now)))
            settings = replace(settings, base_url=server.base_url, api_key=SecretStr(OFFLINE))
            log.warning("llm.provider is %r: answers come from simple rules, not from a language model", OFFLINE)
        elif not settings.api_key.get_secret_value():
            log.warning(
                "no key for the language model at %s: set llm.api_key in the settings file or ANTHROPIC_API_KEY; "
                "any text will do for a server that wants none",
                settings.base_url,
            )
        else:
            log.info(
                "the language model at %s: %s answers, %s finds what to remember",
                *(settings.base_url, settings.assistant_model, settings.extraction_model),
            )
        model = AnthropicModel(settings, admit=admit, spent=spent)
        stack.push_async_callback(model.aclose)
        yield model


def password_of(settings: Settings) -> str | None:
    """Return the password of the bot's account; None: there is none."""
    password = settings.matrix.password
    return None if password is None else password.get_secret_value()
