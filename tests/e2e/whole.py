"""The whole bot over a real homeserver, with the scripted Messages API for a model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from davenport.bot import Bot
from davenport.clock import MovableClock
from davenport.settings import Settings
from davenport.wiring import opened
from llm.offline.api import Request
from matrix.person import Heard, Person
from memory.text import unfence
from memory.types import Candidate, Memory
from tests.e2e.people import PASSWORD
from tests.fakes.model_server import ModelServer, Step, extracted, say

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def said_in(request: Request) -> str:
    """The text of the message that a request is about."""
    blocks = [block for block in request.body["messages"][-1]["content"] if block["type"] == "text"]
    return unfence("message", "\n".join(block["text"] for block in blocks))[-1].text


def learning(facts: Mapping[str, str]) -> Any:
    """An extraction script: finds `facts[word]` in a message with that word, and knows it again by its text."""

    def answer(request: Request) -> Step:
        said = said_in(request)
        text = "\n".join(block["text"] for block in request.body["messages"][-1]["content"])
        [fence] = unfence("candidates", text) or [None]
        lines = re.findall(r"^\[(\d+)\] (.*)$", fence.text if fence else "", re.MULTILINE)
        known = {wording: int(number) for number, wording in lines}
        found = [fact for word, fact in facts.items() if word in said]
        return extracted([f for f in found if f not in known], [known[f] for f in found if f in known])

    return answer


def echoing(request: Request) -> Step:
    """A reply script: says back what was said."""
    return say(f"You said: {said_in(request)}")


def settings_for(homeserver: str, user_id: str, folder: Path, model: ModelServer | None, **sections: Any) -> Settings:
    """Settings of a bot whose model is the scripted server, or the offline one, and that greets no room."""
    llm = {"provider": "offline"} if model is None else {"base_url": model.base_url, "api_key": "sk-test"}
    values: dict[str, Any] = {
        "matrix": {"homeserver": homeserver, "user_id": user_id, "password": PASSWORD},
        "llm": {**llm, "max_retries": 0, "timeout_seconds": 5.0},
        "storage": {"data_dir": folder},
        "bot": {"welcome": False},
    }
    return Settings.model_validate(
        {name: values.get(name, {}) | sections.get(name, {}) for name in {*values, *sections}}
    )


class Whole:
    """A running bot and what tests ask of it."""

    def __init__(self, bot: Bot, clock: MovableClock, user_id: str) -> None:
        self.bot = bot
        self.clock = clock
        self.user_id = user_id

    async def ask(self, person: Person, room_id: str, text: str, **details: Any) -> Heard:
        """Say something to the bot and return its answer once all that follows from it is done."""
        details.setdefault("mention", self.user_id)
        event_id = await person.say(room_id, text, **details)
        answer = await person.wait_for_answer(event_id)
        assert await self.bot.at_rest(20)
        return answer

    async def facts(self, person: Person) -> tuple[tuple[Candidate, ...], tuple[Memory, ...]]:
        async with self.bot.parts.store.transaction() as tables:
            return await tables.candidates.of_user(person.user_id), await tables.memories.of_user(person.user_id)


@asynccontextmanager
async def whole(settings: Settings, clock: MovableClock | None = None) -> AsyncIterator[Whole]:
    """Run a bot until the block ends, then stop it in an orderly way."""
    clock = clock or MovableClock(START)
    async with AsyncExitStack() as stack:
        bot = await stack.enter_async_context(opened(settings, clock=clock))
        stop = asyncio.Event()
        running = asyncio.create_task(bot.run(stop))
        try:
            yield Whole(bot, clock, settings.matrix.user_id)
        finally:
            stop.set()
            await running


async def meet(host: Person, *others: Person, bot: str, encrypted: bool = False, direct: bool = False) -> str:
    """Make a room in which everybody has joined, the bot too."""
    invited = [person.user_id for person in others]
    room_id = await host.create_room(invite=[*invited, bot], encrypted=encrypted, direct=direct)
    for person in others:
        await person.join(room_id)
    for user_id in (*invited, bot):
        await host.wait_for_member(room_id, user_id)
    return room_id
