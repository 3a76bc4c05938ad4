"""Random lives with every kind of turn: people come into direct rooms and leave them, events are taken back, the bot
restarts. The model says all it was shown. What was said, sent or added alone with the bot must reach nobody else (D8),
and nothing is left over.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from index.builtin import BuiltinEmbedder
from memory.documents import ReadDocument
from memory.drawing import SYSTEM_TEXT as DRAWING_TEXT
from memory.events import Incoming, OutboxRow
from memory.media import Attachment, MediaKind
from memory.model import Prompt
from memory.settings import KindSettings, MemorySettings
from memory.story import PartPlan, StoryPlan, StoryRequest
from memory.types import Extraction, ExtractionRequest
from tests.actors.conftest import BAU, BOT, JUNO, Bot, until
from tests.actors.document_room import redaction
from tests.fakes.matrix import FakeMatrix
from tests.fakes.media import FakeMedia

IVO = "@ivo:hs"
PEOPLE = (JUNO, BAU, IVO)
GROUP = "!group:hs"
HOMES = {JUNO: "!juno:hs", BAU: "!bau:hs"}  # their direct rooms with the bot
SECRET = re.compile(r"secret(\d+)")
STEPS = 60
ASKING = ("", "", "!ask ", "!code ", "!verse ", "!draw ", "!story ")
BARE = ("!verse on", "!verse off", "!why", "!documents", "!documents", *["!documents add"] * 4, "!memories")


class Readers(FakeMedia):
    """Reads a document as one chunk with its words and a title of the same."""

    async def document(self, file: Attachment, most_chunks: int) -> ReadDocument:
        return ReadDocument(file.data.decode(), (file.data.decode(),))


class Watched(FakeMatrix):
    """Notes, for what is sent, who was in the room."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[frozenset[str], str]] = []
        self.between: Callable[[], None] = lambda: None  # what happens between what is sent

    async def send(self, row: OutboxRow) -> str:
        self.heard.append((frozenset(self.joined[row.room_id]) - {BOT}, row.content))
        event_id = await super().send(row)
        self.between()
        content = json.loads(row.content)
        if "url" in content:  # a file of the bot's own, which people reply to as well
            kind = MediaKind.IMAGE if "alt" in content else MediaKind.FILE
            data = self.uploads[int(content["url"].rpartition("/")[2])]
            self.files[row.room_id, event_id] = Attachment("f", "text/plain", data, kind=kind, sender=BOT)
        return event_id


def all_of(prompt: Prompt) -> str:
    blocks = [*prompt.system[1:], *(block for message in prompt.messages for block in message.blocks)]
    return " ".join(dict.fromkeys(SECRET.findall(" ".join(block.text for block in blocks))))


def told(numbers: str) -> str:
    return " ".join(f"secret{number}" for number in numbers.split()) or "nothing"


def echo(prompt: Prompt) -> str:
    said = told(all_of(prompt))
    if prompt.system[0].text == DRAWING_TEXT:
        return f'<svg xmlns="http://www.w3.org/2000/svg"><title>{said}</title></svg>'
    return f"{said}\n\n```python\n{said}\n" + "x = 1\n" * 40 + "```"


def plan(request: StoryRequest) -> StoryPlan:
    said = told(" ".join(SECRET.findall(request.text)))
    return StoryPlan(said, (PartPlan(said, said, said), PartPlan(said, said)))


def find(request: ExtractionRequest) -> Extraction:
    known = {candidate.text: candidate.id for candidate in request.candidates}
    facts = [f"Likes secret{number}" for number in SECRET.findall(request.exchange.said)]
    return Extraction(
        tuple(fact for fact in facts if fact not in known), tuple(known[fact] for fact in facts if fact in known)
    )


@dataclass
class Life:
    """One random life. owners: who said each secret alone with the bot; None: it was said where others hear it."""

    bot: Bot
    dice: random.Random
    owners: dict[str, str | None] = field(default_factory=dict)
    events: list[Incoming] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.matrix.between = lambda: self.move() if self.dice.random() < 0.05 else None

    @property
    def matrix(self) -> Watched:
        assert isinstance(self.bot.matrix, Watched)
        return self.bot.matrix

    def place(self) -> tuple[str, str, dict[str, Any]]:
        """Who speaks where, and what is known of the room."""
        room = self.dice.choice([GROUP, *HOMES.values(), *HOMES.values()])
        here = sorted(self.matrix.joined[room] - {BOT})
        if not here:
            room, here = GROUP, list(PEOPLE)
        direct = room != GROUP
        return self.dice.choice(here), room, {"direct": direct, "alone": direct and len(here) == 1}

    def secret(self, sender: str, details: dict[str, Any]) -> str:
        number = str(len(self.owners))
        self.owners[number] = sender if details["alone"] else None
        return f"secret{number}"

    def known(self, sender: str, details: dict[str, Any]) -> str:
        """A secret that this person said before in as private a place, or a new one."""
        owner = sender if details["alone"] else None
        mine = [number for number, whose in self.owners.items() if whose == owner]
        if mine and self.dice.random() < 0.5:
            return f"secret{self.dice.choice(mine)}"
        return self.secret(sender, details)

    def message(self) -> Incoming:
        sender, room, details = self.place()
        kind = self.dice.choice([*ASKING, "!memories add I like ", "picture", "file", "file", *BARE])
        details["thread_root"] = self.dice.choice([None, None, None, "$root"])
        if kind in {"picture", "file"}:
            media = MediaKind.IMAGE if kind == "picture" else MediaKind.FILE
            event = self.bot.message(f"about {self.known(sender, details)}", sender, room, media=media, **details)
            data = f"{self.known(sender, details)} is what this file is about".encode()
            self.matrix.files[room, event.event_id] = Attachment("f", "text/plain", data, kind=media, sender=sender)
            return event
        if kind == "!documents add" or (kind in {"", "!ask "} and self.dice.random() < 0.4):
            there = [event for where, event in self.matrix.files if where == room]
            details["reply_to"] = self.dice.choice(there[-3:]) if there else None
            file = self.matrix.files.get((room, details["reply_to"] or ""))
            if kind == "!documents add" and file is not None and file.sender == sender and not details["alone"]:
                self.owners |= dict.fromkeys(SECRET.findall(file.data.decode()))  # who shows it to others does so
        text = kind if kind in BARE else f"{kind}what is {self.known(sender, details)} about?"
        addressed = bool(kind) or self.dice.random() < 0.7
        return self.bot.message(text, sender, room, addressed=addressed, **details)

    async def step(self) -> None:
        roll = self.dice.random()
        if roll < 0.12:
            self.move()
        elif roll < 0.18:
            self.log.append("restart")
            await self.bot.restart()
        elif roll < 0.24 and self.events:
            await self.redact(self.dice.choice(self.events))
            await self.bot.settle()
        else:
            await self.say()
        self.bot.clock.advance(timedelta(minutes=self.dice.choice([1, 6, 20])))
        self.check()

    def move(self) -> None:
        """Somebody comes into a direct room, or leaves it; its person too."""
        room, user = self.dice.choice([*HOMES.values()]), self.dice.choice(PEOPLE)
        self.matrix.joined[room] ^= {user}
        self.log.append(f"{user} moves {room}")

    async def redact(self, event: Incoming) -> None:
        self.log.append(f"redact {event.event_id}")
        self.matrix.files.pop((event.room_id, event.event_id), None)
        await self.bot.deliver(redaction(self.bot, event.event_id, event.room_id, event.sender))

    async def say(self) -> None:
        event = self.message()
        self.events.append(event)
        self.log.append(
            f"{event.event_id} {event.sender} {event.room_id} {event.text!r} {event.reply_to} {event.alone}"
        )
        meanwhile = self.dice.random()
        if meanwhile > 0.4:
            await self.bot.deliver(event)
            await self.bot.settle()
            return
        gate = self.bot.model.gates[""] = self.bot.model.plan_gate = asyncio.Event()
        asked = self.asked
        await self.bot.deliver(event)
        done = asyncio.create_task(self.bot.system.drain(10))
        await until(lambda: self.asked > asked or done.done())
        done.cancel()
        self.move()
        if meanwhile < 0.1:
            await self.bot.restart()
        elif meanwhile < 0.2:
            await self.redact(event)
        self.bot.model.gates = {}
        self.bot.model.plan_gate = None
        gate.set()
        await self.bot.settle()

    @property
    def asked(self) -> int:
        """How often the model was."""
        return len(self.bot.model.prompts) + len(self.bot.model.story_requests)

    def check(self) -> None:
        """Nobody but its owner hears a secret."""
        for hearers, content in self.matrix.heard:
            for number in SECRET.findall(content):
                owner = self.owners[number]
                assert owner is None or hearers <= {owner}, (number, owner, hearers, content, self.log)
        self.matrix.heard.clear()


@pytest.mark.parametrize("seed", range(3))
async def test_d8_whatever_happens_what_was_said_in_private_reaches_nobody_else(
    tmp_path: Path, embedder: BuiltinEmbedder, seed: int
) -> None:
    bot = Bot(tmp_path / "data", embedder)
    bot.matrix, bot.media = Watched(), Readers()
    bot.matrix.admins = set(PEOPLE)
    bot.matrix.joined[GROUP] |= {*PEOPLE, BOT}
    for user, room in HOMES.items():
        bot.matrix.joined[room] |= {user, BOT}
        bot.matrix.direct[user] = f"!quiet-{user}"
    bot.settings.of_kinds = KindSettings(verse_enabled=True, documents_threshold=0.0, code_attach_lines=1)
    bot.settings.rules = replace(MemorySettings(), promotion_threshold=1)
    bot.settings.enforce = False
    bot.model.answer, bot.model.planner, bot.model.find = echo, plan, find
    await bot.start()
    life = Life(bot, random.Random(seed))  # noqa: S311 - nothing secret about it
    try:
        for _ in range(STEPS):
            await life.step()
        async with bot.store.transaction() as tables:
            assert await tables.outbox.pending() == ()
            assert await tables.outbox._sql.rows("SELECT txn_id FROM attachments") == []  # type: ignore[attr-defined]
    finally:
        await bot.crash()
