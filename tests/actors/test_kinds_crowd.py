"""Many people at once, with every kind of turn, while the bot restarts and messages are taken back: each is answered
once, and of what was taken back nothing is left.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from index.builtin import BuiltinEmbedder
from memory.drawing import SYSTEM_TEXT as DRAWING_TEXT
from memory.events import Incoming, IncomingKind
from memory.media import Attachment, MediaKind
from memory.model import Prompt
from memory.settings import KindSettings, MemorySettings
from tests.actors.conftest import BAU, JUNO, ROOM, Bot
from tests.actors.document_room import redaction
from tests.actors.test_kinds_walk import Readers, find, plan
from texts.catalogue import Speaker

# What is said, and which rows answer it: notices, words, files.
SAID: dict[str, tuple[int, int, int]] = {
    "what is it?": (0, 1, 0),
    "!code secret0": (0, 1, 1),
    "!verse secret0": (0, 1, 0),
    "!draw secret0": (0, 0, 1),
    "!story secret0": (1, 2, 1),
    "!verse on": (1, 0, 0),
    "!documents": (1, 0, 0),
    "!documents add": (1, 0, 0),
}
ROUNDS, AT_ONCE = 3, 7
STOPPED = Speaker()("story-stopped")  # what a story's line says is of no message that was taken back


class Crowd:
    """Juno and Bau in one room. said: what was said, by event; gone: events that were redacted; unsaid: those of
    which an answer was.
    """

    def __init__(self, bot: Bot, seed: int) -> None:
        self.bot = bot
        self.dice = random.Random(seed)  # noqa: S311 - nothing secret about it
        self.answers = 0
        self.said: dict[str, str] = {}
        self.events: list[Incoming] = []
        self.gone: set[str] = set()
        self.unsaid: set[str] = set()
        bot.model.answer, bot.model.planner, bot.model.find = self.answer, plan, find

    def answer(self, prompt: Prompt) -> str:
        """Answer otherwise each time."""
        self.answers += 1
        if prompt.system[0].text == DRAWING_TEXT:
            return f'<svg xmlns="http://www.w3.org/2000/svg"><title>{self.answers}</title></svg>'
        return f"words {self.answers}\n\n```python\n" + "x = 1\n" * 40 + "```"

    async def speak(self) -> None:
        """Say several things at the same time, of which some come with a file."""
        spoken = []
        for _ in range(AT_ONCE):
            sender, text = self.dice.choice([JUNO, BAU]), self.dice.choice([*SAID])
            media = self.dice.choice([None, MediaKind.IMAGE, MediaKind.FILE]) if text == "what is it?" else None
            details: dict[str, Any] = {"thread_root": self.dice.choice([None, None, "$thread"]), "media": media}
            if text == "!documents add":
                details["reply_to"] = self.dice.choice([event for _, event in self.bot.matrix.files] or ["$nothing"])
            event = self.bot.message(text, sender, **details)
            if media is not None:
                data = f"what {event.event_id} says".encode()
                self.bot.matrix.files[ROOM, event.event_id] = Attachment("f", "", data, kind=media, sender=sender)
            spoken.append(event)
            self.said[event.event_id] = text
        self.events += spoken
        await self.bot.deliver(*spoken)

    async def take_back(self) -> None:
        event = self.dice.choice(self.events)
        self.gone.add(event.event_id)
        self.bot.matrix.files.pop((ROOM, event.event_id), None)
        await self.bot.deliver(redaction(self.bot, event.event_id, ROOM, event.sender))

    async def take_back_an_answer(self) -> None:
        if self.bot.matrix.sent:
            _, sent, content = self.dice.choice(self.bot.matrix.sent)
            self.unsaid.add(str(content["answers"]))
            await self.bot.deliver(redaction(self.bot, sent, ROOM, BAU))

    async def edit(self) -> None:
        event, now = self.dice.choice(self.events), self.bot.clock.now()
        self.bot.events += 1
        edit = Incoming(f"$edit{self.bot.events}", ROOM, event.sender, IncomingKind.EDIT, now, target=event.event_id)
        await self.bot.deliver(edit)

    async def pause(self) -> None:
        for _ in range(self.dice.choice([0, 20, 100, 400])):
            await asyncio.sleep(0)


@pytest.fixture
async def bot(tmp_path: Path, embedder: BuiltinEmbedder) -> AsyncIterator[Bot]:
    each = Bot(tmp_path / "data", embedder)
    each.media = Readers()
    each.matrix.admins = {JUNO, BAU}
    each.settings.enforce = False
    each.settings.of_kinds = KindSettings(verse_enabled=True, documents_threshold=0.0)
    each.settings.rules = replace(MemorySettings(), promotion_threshold=9)
    await each.start()
    yield each
    await each.crash()


@pytest.mark.parametrize("seed", range(2))
async def test_d2_p8_everything_is_answered_and_counted_once(bot: Bot, seed: int) -> None:
    crowd = Crowd(bot, seed)
    await bot.say("!memories add The sea is wide")
    bot.next_day()
    for _ in range(ROUNDS):
        await crowd.speak()
        for _ in range(2):
            await crowd.pause()
            await bot.restart()
        await bot.settle()
        bot.clock.advance(timedelta(minutes=3))
    rows: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for _, _, content in bot.matrix.sent:
        if "m.relates_to" not in content:
            rows[str(content["answers"])][0 if content["notice"] else 2 if "type" in content else 1] += 1
    assert {event: tuple(rows[event]) for event in crowd.said} == {
        event: SAID[text] for event, text in crowd.said.items()
    }
    assert [memory.unused_days <= 1 for memory in await bot.memories()] == [True]
    async with bot.store.transaction() as tables:
        assert await tables.journal.unfinished() == ()
        documents = await tables.documents.of_room(ROOM)
        assert len({document.event_id for document in documents}) == len(documents)
        twice = "SELECT 1 FROM mentions GROUP BY event_id, candidate_id HAVING count(*) > 1"
        assert await tables.outbox._sql.rows(twice) == []  # type: ignore[attr-defined]


LEFT = {
    "outbox": "SELECT content FROM outbox WHERE event_id = ? AND content <> '{}'",
    "journal": "SELECT answer, given FROM journal WHERE event_id = ? AND coalesce(answer, given) IS NOT NULL",
    "effects": "SELECT result FROM effects WHERE event_id = ?",
}
LEFT_OF_THE_MESSAGE = {
    "texts": "SELECT body, text, said FROM journal WHERE event_id = ? AND body || text || coalesce(said, '') <> ''",
    "media": "SELECT media FROM journal WHERE event_id = ? AND media IS NOT NULL",
    "mentions": "SELECT 1 FROM mentions WHERE event_id = ?",
    "documents": "SELECT title FROM documents WHERE event_id = ?",
}


@pytest.mark.parametrize("seed", range(2))
async def test_p20_of_what_was_taken_back_nothing_is_left_whenever_that_was(bot: Bot, seed: int) -> None:
    crowd = Crowd(bot, seed)
    steps = [crowd.take_back, crowd.take_back, crowd.take_back_an_answer, crowd.edit, bot.restart]
    for _ in range(ROUNDS):
        await crowd.speak()
        for _ in range(3):
            await crowd.pause()
            await crowd.dice.choice(steps)()
        await bot.settle()
        bot.clock.advance(timedelta(minutes=3))
    assert crowd.gone
    async with bot.store.transaction() as tables:
        assert await tables.outbox.pending() == ()
        assert await tables.journal.unfinished() == ()
        rows = tables.outbox._sql.rows  # type: ignore[attr-defined]
        assert await rows("SELECT txn_id FROM attachments") == []
        for event_id in crowd.gone | crowd.unsaid:
            queries = LEFT | (LEFT_OF_THE_MESSAGE if event_id in crowd.gone else {})
            left = {name: await rows(query, event_id) for name, query in queries.items()}
            left["outbox"] = [row for row in left["outbox"] if STOPPED not in row[0]]
            assert not any(left.values()), (event_id, crowd.said[event_id], left)
