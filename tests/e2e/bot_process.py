"""The bot as a process of its own with a clock read from a file, killed by SIGKILL at a named point.

The points wrap the ports, so that the bot itself knows nothing of them. The processes are forked from one that has
imported the bot and done nothing else: importing it takes seconds, and these tests start it often.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import date, datetime
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from actors.parts import Parts
from davenport import logs
from davenport.settings_load import load
from davenport.wiring import opened

POINTS = ("journalled", "before_model", "after_model", "outbox", "sent", "before_pass")
FILE_POINTS = ("uploaded", "upload_stored", "file_sent")


class FileClock:
    """Reads the moment from a file at every look, so that a test moves it from outside."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def now(self) -> datetime:
        return datetime.fromisoformat(self._path.read_text())

    def today(self) -> date:
        return self.now().date()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Watched:
    """Passes everything through, and notes when the transaction did what the point is about."""

    def __init__(self, inner: Any, point: str) -> None:
        self._inner = inner
        self._point = point
        self.hit = False

    def __getattr__(self, name: str) -> Any:
        family = getattr(self._inner, name)
        if (self._point, name) == ("journalled", "journal"):
            return Noting(family, "record", self, only_if_result=True)
        if (self._point, name) == ("outbox", "outbox"):
            return Noting(family, "add", self)
        if (self._point, name) == ("upload_stored", "outbox"):
            return Noting(family, "uploaded", self)
        return family


class Noting:
    def __init__(self, inner: Any, method: str, watched: Watched, *, only_if_result: bool = False) -> None:
        self._inner, self._method, self._watched, self._only = inner, method, watched, only_if_result

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name != self._method:
            return method

        async def noted(*args: Any, **named: Any) -> Any:
            result = await method(*args, **named)
            self._watched.hit |= bool(result) or not self._only
            return result

        return noted


class KillingStore:
    def __init__(self, inner: Any, point: str) -> None:
        self._inner, self._point = inner, point

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        async with self._inner.transaction() as tables:
            watched = Watched(tables, self._point)
            yield watched
        if watched.hit:
            die()


class KillingModel:
    def __init__(self, inner: Any, point: str) -> None:
        self._inner, self._point = inner, point

    async def reply(self, *args: Any) -> Any:
        if self._point == "before_model":
            die()
        reply = await self._inner.reply(*args)
        if self._point == "after_model":
            die()
        return reply

    async def extract(self, request: Any) -> Any:
        found = await self._inner.extract(request)
        if self._point == "before_pass":
            die()
        return found

    async def tidy(self, group: Any) -> Any:
        return await self._inner.tidy(group)

    async def plan_story(self, request: Any) -> Any:
        return await self._inner.plan_story(request)


class KillingMatrix:
    def __init__(self, inner: Any, point: str) -> None:
        self._inner, self._point = inner, point

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def send(self, row: Any) -> Any:
        sent = await self._inner.send(row)
        if self._point == "sent" or (self._point == "file_sent" and "m.file" in row.content):
            die()
        return sent

    async def upload(self, row: Any) -> Any:
        content = await self._inner.upload(row)
        if self._point == "uploaded":
            die()
        return content


def armed(parts: Parts, point: str) -> Parts:
    if point in {"journalled", "outbox", "upload_stored"}:
        return replace(parts, store=KillingStore(parts.store, point))
    if point in {"sent", "uploaded", "file_sent"}:
        return replace(parts, matrix=KillingMatrix(parts.matrix, point))
    return replace(parts, model=KillingModel(parts.model, point))


async def main(config: Path, clock: Path, point: str | None) -> None:
    settings = load(config)
    logs.configure(settings.log.level, settings.log.format, settings.secrets())
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    clock.with_name("ready").touch()
    decorate = (lambda parts: armed(parts, point)) if point else (lambda parts: parts)
    async with opened(settings, clock=FileClock(clock), decorate=decorate) as bot:
        await bot.run(stop)


def run(config: Path, clock: Path, point: str | None, log: Path) -> None:
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    asyncio.run(main(config, clock, point))


def start(config: Path, clock: Path, point: str | None, log: Path) -> ForkServerProcess:
    """Start the bot; what it writes goes to the end of `log`."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=run, args=(config, clock, point, log), daemon=True)
    process.start()
    return process
