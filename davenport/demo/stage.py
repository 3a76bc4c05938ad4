"""What a demo plays on: a homeserver of its own, the bot with a clock that is moved, people, and their room."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path

from davenport.bot import Bot
from davenport.clock import MovableClock, SystemClock
from davenport.demo.show import Row, rows_of
from davenport.homeserver import Homeserver
from davenport.settings import Settings
from davenport.settings_load import API_KEY, PREFIX, load
from davenport.wiring import opened
from llm.settings import ANTHROPIC
from matrix.person import Person
from memory.errors import SettingsError
from memory.types import ListKey, Memory, ScopeKind

BOT = "davenport"
MORNING = time(9, 0)
ANSWER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Plan:
    """Who meets in which room. The first of `people` makes it; `guests` have an account and an invitation only.

    provider: as llm.provider.
    """

    title: str
    people: Sequence[str]
    encrypted: bool
    provider: str
    guests: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """A plan that was carried out. `password`: of every account but the bot's. people: by localpart."""

    bot: Bot
    bot_id: str
    clock: MovableClock
    people: dict[str, Person]
    room_id: str
    homeserver: str
    password: str

    async def move_to(self, days: int) -> None:
        """Move the clock to the morning `days` later, and let the day turn as the scheduler would."""
        morning = datetime.combine(self.clock.today() + timedelta(days=days), MORNING, self.clock.now().tzinfo)
        self.clock.set(morning)
        await self.bot.day_turn(self.clock.now())

    @property
    def rest_after_days(self) -> int:
        """From how many unused days on a memory rests (D5)."""
        return self.bot.parts.settings.memory(self.room_id).rest_after_days

    async def rows(self) -> list[Row]:
        """Read what is remembered about everybody in the room, and about the room, back from the database."""
        joined = await self.bot.parts.matrix.members(self.room_id) - {self.bot_id}
        own = [person.user_id for person in self.people.values()]
        room = ListKey(ScopeKind.ROOM, self.room_id, "default")
        rows: list[Row] = []
        async with self.bot.parts.store.transaction() as tables:
            for user_id in (*own, *sorted(joined - set(own))):
                memories = await tables.memories.of_user(user_id)
                candidates = await tables.candidates.of_user(user_id)
                rows += rows_of(localpart(user_id), candidates, memories, self.rest_after_days)
            rows += rows_of("(room)", (), await tables.memories.of_list(room), self.rest_after_days)
        return rows

    async def recalled(self, event_id: str) -> tuple[Memory, ...]:
        """Return the resting memories that this message brought back (D6)."""
        async with self.bot.parts.store.transaction() as tables:
            entry = await tables.journal.get(event_id)
            ids = entry.recall.recalled if entry is not None and entry.recall is not None else ()
            return await tables.memories.get(ids)


def localpart(user_id: str) -> str:
    """Return the part of a Matrix user id that names the person on their homeserver."""
    return user_id[1:].partition(":")[0]


@asynccontextmanager
async def staged(plan: Plan) -> AsyncIterator[Stage]:
    """Start everything, leave the people in one room with the bot, and take it all down at the end.

    Raises SettingsError, before anything starts, where the provider wants a key and there is none.
    """
    environment = _environment(plan.provider)
    async with AsyncExitStack() as stack:
        homeserver = await stack.enter_async_context(Homeserver())
        folder = homeserver.folder / "demo"  # goes with the homeserver's, whatever happens
        folder.mkdir()
        password = secrets.token_hex(4)
        secret = secrets.token_urlsafe(16)
        bot_id = await homeserver.register(BOT, secret)
        settings = _settings(homeserver.url, bot_id, secret, plan.provider, folder, environment)
        clock = MovableClock(datetime.combine(SystemClock().today(), MORNING, SystemClock().now().tzinfo))
        bot = await stack.enter_async_context(opened(settings, clock=clock))
        await stack.enter_async_context(_running(bot))
        people: dict[str, Person] = {}
        for name in plan.people:
            await homeserver.register(name, password)
            person = Person(homeserver.url, name, password, folder / name)
            people[name] = await stack.enter_async_context(person)
        guests = [await homeserver.register(name, password) for name in plan.guests]
        room_id = await _room(plan, list(people.values()), bot_id, guests)
        yield Stage(bot, bot_id, clock, people, room_id, homeserver.url, password)


@asynccontextmanager
async def _running(bot: Bot) -> AsyncIterator[None]:
    stop = asyncio.Event()
    running = asyncio.create_task(bot.run(stop))
    try:
        yield
    finally:
        stop.set()
        await running


async def _room(plan: Plan, people: Sequence[Person], bot_id: str, guests: Sequence[str]) -> str:
    host, *others = people
    invited = [person.user_id for person in others]
    room_id = await host.create_room(invite=[*invited, bot_id, *guests], encrypted=plan.encrypted, name=plan.title)
    for person in others:
        await person.join(room_id)
    for user_id in (*invited, bot_id):
        await host.wait_for_member(room_id, user_id)
    return room_id


def _environment(provider: str) -> dict[str, str]:
    """Return the variables that may choose the model: nothing outside may choose where the demo's bot logs in."""
    if provider != ANTHROPIC:
        return {}
    section, chosen = f"{PREFIX}LLM__", f"{PREFIX}LLM__PROVIDER"
    found = {name: value for name, value in os.environ.items() if name.startswith(section) and name != chosen}
    if not os.environ.get(API_KEY):
        raise SettingsError(f"--provider {ANTHROPIC} needs a key: set {API_KEY}, or leave the option out to do without")
    return {**found, API_KEY: os.environ[API_KEY]}


def _settings(
    homeserver: str, bot_id: str, password: str, provider: str, folder: Path, environ: dict[str, str]
) -> Settings:
    values = {
        "matrix": {"homeserver": homeserver, "user_id": bot_id, "password": password},
        "llm": {"provider": provider},
        "storage": {"data_dir": "bot"},
    }
    lines = [
        line
        for section, keys in values.items()
        for line in (f"[{section}]", *(f"{name} = {json.dumps(value)}" for name, value in keys.items()))
    ]
    path = folder / "config.toml"
    path.write_text("\n".join(lines), "utf-8")
    return load(path, environ)
