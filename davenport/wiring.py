"""The composition root: opens every part, joins them, runs them, and closes them in the right order."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Protocol

from pydantic import SecretStr

from actors.outbox import OutboxActor
from actors.parts import Parts
from actors.room import RoomActor
from actors.runtime import ActorSystem, Factories
from actors.spending import Spending
from actors.sweep import sweeping
from actors.user import UserActor
from commands.dispatcher import CommandDispatcher
from davenport import control, web
from davenport.bot import Bot
from davenport.clock import SystemClock
from davenport.day import DayTurn, Keeping
from davenport.in_force import InForce
from davenport.measured_media import MeasuredMedia, MeasuredPainter
from davenport.metrics import MeasuredEmbedder, MeasuredModel, PrometheusMetrics
from davenport.overrides import ChatSettings
from davenport.panel import Panel
from davenport.reload import Reloader
from davenport.schedule import scheduled
from davenport.settings import Settings
from davenport.settings_source import ConfiguredSettings
from davenport.stored import StoredForMatrix
from index.embedders import build_embedder
from index.faiss_index import FaissIndexes
from llm.client import Admit, AnthropicModel
from llm.offline.brain import OfflineServer
from llm.offline.usage import PromptCache
from llm.settings import OFFLINE, LlmSettings
from llm.stream import Spent
from matrix.account import Account
from matrix.client import Client
from matrix.cross_signing import CrossSigner
from matrix.direct_rooms import DirectRooms
from matrix.gateway import Gateway
from matrix.sender import Sender
from media.jobs import MediaJobs
from media.painter import build_painter
from memory.types import Clock
from storage import Database

log = logging.getLogger(__name__)

CROSS_SIGNING_SEEDS = "cross-signing.json"


class _Closable(Protocol):
    async def aclose(self) -> None: ...


@asynccontextmanager
async def opened(
    settings: Settings,
    *,
    clock: Clock,
    decorate: Callable[[Parts], Parts] = lambda parts: parts,
    reloader: Reloader | None = None,
) -> AsyncIterator[Bot]:
    """Open a bot and log it in; everything is closed in reverse order at the end.

    decorate: may wrap the ports before anything uses them. reloader: brings changed settings. Operators are answered
    from the time the database is open. Raises StorageError, LoginFailed, SettingsError where the HTTP port is taken,
    and MatrixError for what waiting does not mend.
    """
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(await Database.open(settings.storage.data_dir))
        in_force = InForce(settings) if reloader is None else reloader.in_force
        chat = await _set_in_chat(in_force, store)
        settings = in_force.settings
        panel, metrics = Panel(settings, store, clock), PrometheusMetrics()
        await stack.enter_async_context(control.serving(settings.storage.data_dir, panel))
        http = await stack.enter_async_context(web.serving(panel, metrics))
        client = panel.client = await stack.enter_async_context(_client(settings, StoredForMatrix(store)))
        direct = DirectRooms(client)
        sender = Sender(client, StoredForMatrix(store), direct)
        spending = Spending(settings.llm.budget())

        async def admit() -> None:
            await spending.check(store, clock.now().date())

        opening = _model(settings.llm.client(), clock, admit, spending.ended)
        model = panel.model = await stack.enter_async_context(opening)
        embedder = panel.embedder = build_embedder(settings.embeddings.client())
        painter = build_painter(settings.draw.painter())
        _close_after(stack, embedder, painter)
        source = ConfiguredSettings(settings, embedder_threshold=embedder.match_threshold if embedder else None)
        system = panel.system = ActorSystem(
            {}, most=settings.limits.loaded_actors, idle_seconds=settings.limits.idle_minutes * 60
        )
        measured = MeasuredEmbedder(embedder, metrics) if embedder else None
        media = MeasuredMedia(MediaJobs(), metrics)
        prefix = settings.matrix.command_prefix
        dispatcher = CommandDispatcher(
            system, source, prefix=prefix, config=chat, embedder=measured, files=sender, media=media
        )
        parts = decorate(
            Parts(
                store=store,
                indexes=FaissIndexes(settings.limits.index_mb * 1_000_000),
                embedder=measured,
                model=MeasuredModel(model, metrics),
                matrix=sender,
                settings=source,
                dispatcher=dispatcher,
                clock=clock,
                media=media,
                chunk_indexes=FaissIndexes(settings.limits.index_mb * 1_000_000),
                metrics=metrics,
                spending=spending,
                painter=MeasuredPainter(painter, metrics) if painter else None,
            )
        )
        system.factories = _factories(parts)
        stack.push_async_callback(system.close)
        day = await stack.enter_async_context(_housekeeping(parts, system, panel, settings))
        gateway = panel.gateway = _gateway(client, store, direct, settings)
        in_force.follow(_follower(panel, source, dispatcher, gateway, day, model, parts.spending))
        bot = Bot(parts, system, gateway, day, panel, metrics)
        bot.http = http
        yield bot


def _gateway(client: Client, store: Database, direct: DirectRooms, settings: Settings) -> Gateway:
    return Gateway(
        client,
        StoredForMatrix(store),
        CrossSigner(client, settings.storage.data_dir / CROSS_SIGNING_SEEDS, _password(settings)),
        direct=direct,
        ignore_users=settings.matrix.ignore_users,
        display_name=settings.matrix.display_name,
    )


def _close_after(stack: AsyncExitStack, *parts: _Closable | None) -> None:
    """Have parts with connections of their own, where they are there, closed at the end."""
    for part in parts:
        if part is not None:
            stack.push_async_callback(part.aclose)


async def _set_in_chat(in_force: InForce, store: Database) -> ChatSettings:
    """Put what was set in chat over file and environment, before anything reads a setting."""
    chat = ChatSettings(in_force, store)
    await chat.load()
    return chat


def _factories(parts: Parts) -> Factories:
    return {
        "room": lambda context: RoomActor(context, parts),
        "user": lambda context: UserActor(context, parts),
        "outbox": lambda context: OutboxActor(context, parts),
    }


@asynccontextmanager
async def _housekeeping(parts: Parts, system: ActorSystem, panel: Panel, settings: Settings) -> AsyncIterator[DayTurn]:
    """Embed in the background what has no vector (D17), turn the day (D16), and forget what can be undone no longer."""
    async with sweeping(parts, system, per_minute=settings.embeddings.background_per_minute) as panel.sweep:
        day = panel.day = DayTurn(parts.store, system, Keeping.of(settings))
        await day.recall()
        await day.forget_taken(parts.clock.now())
        with scheduled(day, parts.clock):
            yield day


async def run(settings: Settings, *, stop: asyncio.Event, reloader: Reloader | None = None) -> None:
    """Run the bot until `stop` is set, also while it still waits for the homeserver.

    Raises StorageError, LoginFailed, SettingsError, MatrixError.
    """
    async with AsyncExitStack() as stack:
        opening = asyncio.create_task(
            stack.enter_async_context(opened(settings, clock=SystemClock(), reloader=reloader))
        )
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait((opening, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not opening.done():
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
            return
        # What is loaded by now stays. Left to the collector, each full collection would hold every room up for 100 ms.
        gc.collect()
        gc.freeze()
        await opening.result().run(stop)


def _follower(
    panel: Panel,
    source: ConfiguredSettings,
    dispatcher: CommandDispatcher,
    gateway: Gateway,
    day: DayTurn,
    model: AnthropicModel,
    spending: Spending,
) -> Callable[[Settings], None]:
    """Return what puts changed settings in force: every key that is `live` acts here or in logs.configure."""

    def use(settings: Settings) -> None:
        panel.settings = settings
        source.use(settings)
        dispatcher.use_prefix(settings.matrix.command_prefix)
        gateway.ignore(settings.matrix.ignore_users)
        day.keep(Keeping.of(settings))
        model.use(settings.llm.client())
        spending.use(settings.llm.budget())

    return use


@asynccontextmanager
async def _client(settings: Settings, stored: StoredForMatrix) -> AsyncIterator[Client]:
    matrix = settings.matrix
    account = Account(
        stored,
        homeserver=matrix.homeserver,
        user=matrix.user_id,
        password=_password(settings),
        data_dir=settings.storage.data_dir,
    )
    client = await account.connect()
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def _model(settings: LlmSettings, clock: Clock, admit: Admit, spent: Spent) -> AsyncIterator[AnthropicModel]:
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


def _password(settings: Settings) -> str | None:
    password = settings.matrix.password
    return None if password is None else password.get_secret_value()
