"""SIGKILL at named points and at random moments: one answer each, counts and days as without kills."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

from davenport.homeserver import Homeserver
from matrix.person import Person
from storage import Database
from tests.e2e import bot_process
from tests.e2e.bot_process import POINTS
from tests.e2e.conftest import NewUser, People
from tests.e2e.people import PASSWORD, texts
from tests.e2e.whole import START, echoing, learning, meet
from tests.fakes.model_server import ModelServer

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

FACTS = {"Mochi": "Cat is named Mochi", "tea": "Likes tea", "Rex": "Dog is named Rex"}
# (days after the message before, text): facts that come up again, days that count, a match on some of them
Conversation = list[tuple[int, str]]
CONVERSATION: Conversation = [
    (0, "my cat is named Mochi"),
    (0, "I like tea"),
    (1, "Mochi is my cat"),
    (1, "tea, please, I love tea"),
    (1, "which board game should we play tonight?"),
    (1, "Rex is my dog"),
    (1, "how's my cat Mochi doing?"),
    (2, "which card game is best for five people?"),
    (1, "tea or coffee?"),
    (1, "who invented chess?"),
]
CONFIG = """
[matrix]
homeserver = "{homeserver}"
user_id = "{user_id}"
password = "{password}"
[bot]
welcome = false
[llm]
base_url = "{model}"
api_key = "sk-test"
[storage]
data_dir = "data"
"""


@dataclass
class Process:
    """The bot as a process over one data folder."""

    folder: Path
    running: ForkServerProcess | None = None

    def prepare(self, config: str) -> None:
        self.folder.mkdir()
        (self.folder / "config.toml").write_text(config)
        self.set_clock(START)

    async def start(self, point: str | None = None) -> None:
        (self.folder / "ready").unlink(missing_ok=True)
        files = (self.folder / "config.toml", self.folder / "clock", self.folder / "log")
        self.running = await asyncio.to_thread(bot_process.start, files[0], files[1], point, files[2])

    async def dies(self, seconds: float = 40) -> None:
        assert await self._ended(seconds) == -signal.SIGKILL, (self.folder / "log").read_text()[-3000:]

    async def kill(self) -> None:
        assert self.running is not None
        self.running.kill()
        await self._ended(10)

    async def stop(self) -> None:
        assert self.running is not None
        await until((self.folder / "ready").exists)  # its signal handlers are in place
        self.running.terminate()
        assert await self._ended(10) == 0

    async def _ended(self, seconds: float) -> int | None:
        """Wait for the end and return the exit code; None: it runs on."""
        assert self.running is not None
        await asyncio.to_thread(self.running.join, seconds)
        return self.running.exitcode

    def set_clock(self, moment: datetime) -> None:
        draft = self.folder / "clock.new"
        draft.write_text(moment.isoformat())
        draft.replace(self.folder / "clock")

    async def rows(self, user_id: str) -> list[tuple[object, ...]]:
        """What is remembered, without the ids and times that a kill may change."""
        async with await Database.open(self.folder / "data") as store, store.transaction() as tables:
            memories = await tables.memories.of_user(user_id)
            candidates = await tables.candidates.of_user(user_id)
        return [
            *((m.text, m.mentions, m.unused_days, m.counted_on, m.last_matched_at) for m in memories),
            *((c.text, c.mentions, c.first_seen, c.last_seen) for c in candidates),
        ]


@dataclass
class Scene:
    """One run of the conversation."""

    process: Process
    juno: Person
    bot_id: str
    room_id: str
    now: datetime = START

    async def say(self, days: int, text: str) -> str:
        self.now += timedelta(days=days, minutes=1)
        self.process.set_clock(self.now)
        return await self.juno.say(self.room_id, text, mention=self.bot_id)

    async def answered_once(self, event_id: str, text: str) -> None:
        answer = await self.juno.wait_for_answer(event_id, seconds=60)
        assert answer.body == f"You said: {text}"


@asynccontextmanager
async def scene(
    homeserver: Homeserver, new_user: NewUser, people: People, folder: Path, model: ModelServer, encrypted: bool
) -> AsyncIterator[Scene]:
    bot_id, juno = await new_user("bot"), await people("juno")
    process = Process(folder)
    process.prepare(CONFIG.format(homeserver=homeserver.url, user_id=bot_id, password=PASSWORD, model=model.base_url))
    await process.start()
    try:
        yield Scene(process, juno, bot_id, await meet(juno, bot=bot_id, encrypted=encrypted))
    finally:
        if process.running is not None and process.running.exitcode is None:
            await process.kill()


async def learned(scene: Scene, event_id: str) -> None:
    """Wait until the pass of an event is applied, reading beside the running bot."""
    path = scene.process.folder / "data" / "davenport.db"
    await until(lambda: done(path, event_id))


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another process writes to disk."""
    async with asyncio.timeout(40):
        while not condition():  # noqa: ASYNC110 - another process sets no event here
            await asyncio.sleep(0.02)


def done(path: Path, event_id: str) -> bool:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as look:
        return look.execute("SELECT state FROM journal WHERE event_id = ?", (event_id,)).fetchone() == ("learned",)


async def without_kills(
    homeserver: Homeserver, new_user: NewUser, people: People, folder: Path, encrypted: bool, conversation: Conversation
) -> list[tuple[object, ...]]:
    async with (
        ModelServer(replies=echoing, extractions=learning(FACTS)) as model,
        scene(homeserver, new_user, people, folder, model, encrypted) as run,
    ):
        for days, text in conversation:
            event_id = await run.say(days, text)
            await run.answered_once(event_id, text)
            await learned(run, event_id)
        await run.process.stop()
        return await run.process.rows(run.juno.user_id)


async def with_kills(
    homeserver: Homeserver,
    new_user: NewUser,
    people: People,
    folder: Path,
    encrypted: bool,
    conversation: Conversation,
    kills: list[str | float],
) -> list[tuple[object, ...]]:
    """Play the conversation; at message n the process dies by kills[n]: at a point, or after so many seconds."""
    async with (
        ModelServer(replies=echoing, extractions=learning(FACTS)) as model,
        scene(homeserver, new_user, people, folder, model, encrypted) as run,
    ):
        await run.process.stop()
        for number, (days, text) in enumerate(conversation):
            kill = kills[number]
            if isinstance(kill, str):
                await run.process.start(kill)
                event_id = await run.say(days, text)
                await run.process.dies()
            else:
                await run.process.start()
                event_id = await run.say(days, text)
                await asyncio.sleep(kill)  # the moment of the kill is the point of the test
                await run.process.kill()
            await run.process.start()
            await run.answered_once(event_id, text)
            await learned(run, event_id)
            await run.process.stop()
        said = [f"You said: {text}" for _, text in conversation]
        assert texts(run.juno, run.room_id, run.bot_id) == said  # one answer each
        return await run.process.rows(run.juno.user_id)


async def test_killed_at_each_named_point(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    """The first messages, each with a kill at another point, in an encrypted room."""
    conversation = CONVERSATION[: len(POINTS)]
    expected = await without_kills(homeserver, new_user, people, tmp_path / "quiet", True, conversation)
    found = await with_kills(homeserver, new_user, people, tmp_path / "killed", True, conversation, list(POINTS))
    assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
async def test_killed_at_each_named_point_and_at_random(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path, encrypted: bool
) -> None:
    """Ten kills a room, twenty in all: every named point, and four random moments."""
    seed = random.SystemRandom().randrange(10_000)
    print(f"seed {seed}")
    chance = random.Random(seed)  # noqa: S311 - repeatable by its seed
    kills: list[str | float] = [*POINTS, *(chance.uniform(0.0, 4.0) for _ in range(len(CONVERSATION) - len(POINTS)))]
    chance.shuffle(kills)
    expected = await without_kills(homeserver, new_user, people, tmp_path / "quiet", encrypted, CONVERSATION)
    assert expected != []
    found = await with_kills(homeserver, new_user, people, tmp_path / "killed", encrypted, CONVERSATION, kills)
    assert found == expected, f"seed {seed}, kills {kills}"
