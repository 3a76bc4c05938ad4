"""Plays a script: a homeserver, the bot with a clock that is moved, and people at their clients."""

from __future__ import annotations

import asyncio
import secrets
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, time, timedelta
from pathlib import Path

from actors.store import Tables
from davenport.clock import MovableClock, SystemClock
from davenport.demo.script import Day, Expectation, Line, Script, read
from davenport.demo.show import Row, Screen, rows_of
from davenport.homeserver import Homeserver
from davenport.settings import Settings
from davenport.wiring import Bot, opened
from matrix.person import Person
from memory.errors import DavenportError
from memory.types import Memory

BOT = "davenport"
MORNING = time(9, 0)
BETWEEN_MESSAGES = timedelta(minutes=5)
ANSWER_SECONDS = 60.0


def play(path: Path | None) -> int:
    """Play a script, None for the built-in one, and return the exit code: 1 when it did not go as it says."""
    screen = Screen()
    try:
        faults = asyncio.run(_play(read(path), screen))
    except DavenportError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for fault in faults:
        screen.fault(fault)
    return 1 if faults else 0


async def _play(script: Script, screen: Screen) -> list[str]:
    screen.note(f"{script.title}: starting a homeserver on this machine and the bot. Both are removed at the end.")
    async with _stage(script) as stage:
        faults: list[str] = []
        for number, day in enumerate(script.day):
            faults += await Performance(stage, screen).play_day(number, day)
    screen.note("Done; the homeserver and its folder are gone." if not faults else "Not everything went as scripted:")
    return faults


class Stage:
    """What a script plays on: the bot, its clock, the people and their room."""

    def __init__(self, bot: Bot, bot_id: str, clock: MovableClock, people: dict[str, Person], room_id: str) -> None:
        self.bot = bot
        self.bot_id = bot_id
        self.clock = clock
        self.people = people
        self.room_id = room_id

    async def move_to(self, days: int) -> None:
        """Move the clock to the morning `days` later, and let the day turn as the scheduler would."""
        morning = datetime.combine(self.clock.today() + timedelta(days=days), MORNING, self.clock.now().tzinfo)
        self.clock.set(morning)
        await self.bot.day_turn(self.clock.now())


@asynccontextmanager
async def _stage(script: Script) -> AsyncIterator[Stage]:
    """Start everything, leave the people in one room with the bot, and take it all down at the end."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="davenport-demo-")))
        homeserver = await stack.enter_async_context(Homeserver())
        password = secrets.token_urlsafe(16)
        bot_id = await homeserver.register(BOT, password)
        clock = MovableClock(datetime.combine(SystemClock().today(), MORNING, SystemClock().now().tzinfo))
        bot = await stack.enter_async_context(opened(_settings(homeserver.url, bot_id, password, folder), clock=clock))
        await stack.enter_async_context(_running(bot))
        people: dict[str, Person] = {}
        for name in script.people:
            await homeserver.register(name, password)
            person = Person(homeserver.url, name, password, folder / name)
            people[name] = await stack.enter_async_context(person)
        yield Stage(bot, bot_id, clock, people, await _room(script, list(people.values()), bot_id))


@asynccontextmanager
async def _running(bot: Bot) -> AsyncIterator[None]:
    stop = asyncio.Event()
    running = asyncio.create_task(bot.run(stop))
    try:
        yield
    finally:
        stop.set()
        await running


async def _room(script: Script, people: Sequence[Person], bot_id: str) -> str:
    host, *others = people
    invited = [person.user_id for person in others]
    room_id = await host.create_room(invite=[*invited, bot_id], encrypted=script.encrypted, name=script.title)
    for person in others:
        await person.join(room_id)
    for user_id in (*invited, bot_id):
        await host.wait_for_member(room_id, user_id)
    return room_id


def _settings(homeserver: str, bot_id: str, password: str, folder: Path) -> Settings:
    return Settings.model_validate(
        {
            "matrix": {"homeserver": homeserver, "user_id": bot_id, "password": password},
            "llm": {"provider": "offline"},
            "storage": {"data_dir": folder / "bot"},
        }
    )


class Performance:
    """Plays days and compares what the database then holds with what the script expects."""

    def __init__(self, stage: Stage, screen: Screen) -> None:
        self._stage = stage
        self._screen = screen

    async def play_day(self, number: int, day: Day) -> list[str]:
        """Play one day and return what was not as expected."""
        stage = self._stage
        if number:
            await stage.move_to(day.after_days)
        self._screen.day(number, stage.clock.today(), day.note)
        faults: list[str] = []
        for line in day.say:
            faults += await self._say(line)
        rows = await self._rows()
        self._screen.table(rows)
        return faults + [fault for each in day.expect if (fault := _missing(each, rows, number)) is not None]

    async def _say(self, line: Line) -> list[str]:
        """Let one person say a line to the bot and print both messages as the person's client shows them."""
        stage = self._stage
        person = stage.people[line.who]
        event_id = await person.say(stage.room_id, f"{BOT}: {line.text}", mention=stage.bot_id)
        sent = await person.wait_for(lambda heard: heard.event_id == event_id)
        self._screen.said(line.who, sent.body)
        answer = await person.wait_for_answer(event_id, seconds=ANSWER_SECONDS)
        self._screen.said(BOT, answer.body)
        await stage.bot.at_rest(ANSWER_SECONDS)
        stage.clock.advance(BETWEEN_MESSAGES)
        async with stage.bot.parts.store.transaction() as tables:
            recalled = await _recalled(tables, event_id)
        for memory in recalled:
            self._screen.note(f"{'':>12}(memory {memory.id} rested and was recalled: {memory.text})")
        if line.recalls is None or any(line.recalls in memory.text for memory in recalled):
            return []
        return [f"{line.text!r} should have recalled a resting memory about {line.recalls!r}"]

    async def _rows(self) -> list[Row]:
        """Read everything remembered about the people back from the database."""
        stage = self._stage
        rest_after = stage.bot.parts.settings.memory(stage.room_id).rest_after_days
        rows: list[Row] = []
        async with stage.bot.parts.store.transaction() as tables:
            for name, person in stage.people.items():
                memories = await tables.memories.of_user(person.user_id)
                rows += rows_of(name, await tables.candidates.of_user(person.user_id), memories, rest_after)
        return rows


async def _recalled(tables: Tables, event_id: str) -> tuple[Memory, ...]:
    entry = await tables.journal.get(event_id)
    ids = entry.recall.recalled if entry is not None and entry.recall is not None else ()
    return await tables.memories.get(ids)


def _missing(expected: Expectation, rows: Sequence[Row], number: int) -> str | None:
    """Return a sentence when no row is as expected."""
    about = [row for row in rows if row.who == expected.who and expected.contains in row.text]
    wanted = expected.model_dump(exclude={"who", "contains"}, exclude_none=True)
    if any(all(getattr(row, name) == value for name, value in wanted.items()) for row in about):
        return None
    described = ", ".join(f"{name} {value}" for name, value in wanted.items()) or "be there"
    return f"day {number}: {expected.who}'s fact about {expected.contains!r} should be {described}; found {about}"
