"""The composition root: opens every part, joins them, runs them, and closes them in the right order."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

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
from davenport.metrics import MeasuredModel, PrometheusMetrics
from davenport.overrides import ChatSettings
from davenport.panel import Panel
from davenport.reload import Reloader
from davenport.schedule import scheduled
from davenport.services import Services, opened_services, password_of
from davenport.settings import Settings
from davenport.settings_source import ConfiguredSettings
from davenport.stored import StoredForMatrix
from index.faiss_index import FaissIndexes
from llm.client import AnthropicModel
from matrix.cross_signing import CrossSigner
from matrix.gateway import Gateway
from memory.types import Clock
from storage import Database

CROSS_SIGNING_SEEDS = "cross-signing.json"


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
        services = await opened_services(stack, panel, metrics)
        source = ConfiguredSettings(settings, embedder_threshold=services.match_threshold)
        limits = settings.limits
        system = panel.system = ActorSystem({}, most=limits.loaded_actors, idle_seconds=limits.idle_minutes * 60)
        dispatcher = CommandDispatcher(
            system,
            source,
            prefix=settings.matrix.command_prefix,
            config=chat,
            embedder=services.embedder,
            files=services.sender,
            media=services.media,
        )
        parts = decorate(_parts(services, panel, source, dispatcher, metrics))
        system.factories = _factories(parts)
        stack.push_async_callback(system.close)
        day = await stack.enter_async_context(_housekeeping(parts, system, panel, settings))
        gateway = panel.gateway = _gateway(services, panel)
        in_force.follow(_follower(panel, source, dispatcher, gateway, day, services.model, parts.spending))
        bot = Bot(parts, system, gateway, day, panel, metrics)
        bot.http = http
        yield bot


def _parts(
    services: Services,
    panel: Panel,
    source: ConfiguredSettings,
    dispatcher: CommandDispatcher,
    metrics: PrometheusMetrics,
) -> Parts:
    index_bytes = panel.settings.limits.index_mb * 1_000_000
    return Parts(
        store=panel.store,
        indexes=FaissIndexes(index_bytes),
        embedder=services.embedder,
        model=MeasuredModel(services.model, metrics),
        matrix=services.sender,
        settings=source,
        dispatcher=dispatcher,
        clock=panel.clock,
        media=services.media,
        chunk_indexes=FaissIndexes(index_bytes),
        metrics=metrics,
        spending=services.spending,
        painter=services.painter,
    )


def _gateway(services: Services, panel: Panel) -> Gateway:
    settings = panel.settings
    seeds = settings.storage.data_dir / CROSS_SIGNING_SEEDS
    return Gateway(
        services.client,
        StoredForMatrix(panel.store),
        CrossSigner(services.client, seeds, password_of(settings)),
        direct=services.direct,
        ignore_users=settings.matrix.ignore_users,
        display_name=settings.matrix.display_name,
    )


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
