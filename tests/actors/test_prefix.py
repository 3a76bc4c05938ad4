"""30 chat days through the whole bot: the prompt's start changes exactly where D14 lets it.

For each two replies that follow one another in a conversation, what stood in the database, the settings and the room
before each of them says whether the start may differ, and how: a plain reading of D5, D8 and D14 that shares no code
with the bot. Differ may it only where a memory moved between active and resting, was saved, edited or deleted, or the
persona, the participants, a setting or a visibility changed; and where that changes what stands there, it must.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import time, timedelta
from pathlib import Path
from typing import Any

import pytest

from actors.ports import Vectors
from memory.errors import EmbeddingError, ModelError
from memory.events import IncomingKind
from memory.model import Block, Prompt, ToolCall
from memory.settings import ContextSettings, MemorySettings
from memory.types import LoreEntry, Persona
from tests.actors.conftest import BAU, JUNO, ROOM, Bot
from tests.actors.held_bot import WordEmbedder

IVO = "@ivo:hs"
DIRECT = "!direct:hs"
THREAD = "$thread"
WORDS = ("mochi", "boat", "chess", "tea", "piano", "garden", "fridays", "berlin", "running")
FACTS = {
    "my mochi": "Cat is named Mochi",
    "my boat": "Has a boat",
    "my chess": "Plays chess",
    "my tea": "Likes tea",
    "my piano": "Plays the piano",
    "my garden": "Works in the garden",
    "my running": "Goes running",
}
PIRATE = Persona("pirate", "Arr.", attributes=("rhymes",), lorebook=(LoreEntry("It is 1720.", always_on=True),))
Row = dict[str, Any]
Happening = Callable[["Watch"], Awaitable[None]]


@dataclass(frozen=True)
class State:
    """All that D14 names, as it stood before a reply."""

    rows: tuple[Row, ...]
    persona: Persona
    settings: MemorySettings
    levels: dict[str, str]
    private: bool


@dataclass(frozen=True)
class Seen:
    """One reply: its state, the people of its conversation, and the start of its prompt."""

    state: State
    people: tuple[str, ...]
    start: tuple[Block, ...]
    first: str  # what the history begins with

    def stands_there(self, room: str, asker: str) -> list[tuple[str, list[tuple[int, str, str]]]]:
        """Return which memories the start must show, under whose name, by a plain reading of D5, D8, D13 and D14."""
        shown = []
        for owner in (room, *self.people):
            mine = [row for row in self.state.rows if row["scope_id"] == owner and self._usable(row, room, asker)]
            shown.append((owner, [(row["id"], row["text"], row["created_at"][:10]) for row in mine]))
        return [(owner, mine) for owner, mine in shown if mine]

    def _usable(self, row: Row, room: str, asker: str) -> bool:
        settings, owner = self.state.settings, row["scope_id"]
        rests = settings.decay_enabled and row["unused_days"] >= settings.rest_after_days
        secret = row["origin_private"] and not row["shared"] and not (self.state.private and owner in {asker, room})
        return not (
            rests
            or row["persona"] not in {"", self.state.persona.name}
            or self.state.levels.get(owner, "open") != "open"
            or (json.loads(row["rooms"]) and room not in json.loads(row["rooms"]))
            or json.loads(row["tags"])
            or secret
        )


def reasons(before: Seen, after: Seen) -> set[str]:
    """Return what of D14's list happened between two replies."""
    one, other = before.state, after.state
    old, new = ({row["id"]: row for row in state.rows} for state in (one, other))
    both = old.keys() & new.keys()
    limit = other.settings.rest_after_days
    found = {
        "saved": new.keys() - old.keys(),
        "deleted": old.keys() - new.keys(),
        "edited": {i for i in both if old[i]["text"] != new[i]["text"]},
        "moved": {i for i in both if (old[i]["unused_days"] >= limit) != (new[i]["unused_days"] >= limit)},
        "visibility": {
            i for i in both if any(old[i][k] != new[i][k] for k in ("shared", "rooms", "tags", "scope_kind"))
        }
        or one.levels != other.levels
        or one.private != other.private,
        "persona": one.persona != other.persona,
        "participants": before.people != after.people,
        "setting": one.settings != other.settings,
    }
    return {name for name, happened in found.items() if happened}


@dataclass
class Watch:
    """Talks to a bot and compares each reply's prompt with the last one of its conversation."""

    bot: Bot
    embedder: Embedder
    last: dict[tuple[str, str | None], Seen] = field(default_factory=dict)
    changed_for: Counter[frozenset[str]] = field(default_factory=Counter)
    same_though: Counter[str] = field(default_factory=Counter)
    note: str = ""  # what was special about the reply now made
    number: int = 0

    @property
    def same(self) -> int:
        return self.same_though.total()

    @property
    def compared(self) -> int:
        return self.same + self.changed_for.total()

    def state(self, room: str) -> State:
        with sqlite3.connect(self.bot.folder / "davenport.db") as base:
            base.row_factory = sqlite3.Row
            rows = tuple(dict(row) for row in base.execute("SELECT * FROM memories ORDER BY id"))
            levels = {row["user_id"]: row["privacy"] for row in base.execute("SELECT * FROM user_state")}
            current = base.execute("SELECT persona FROM room_state WHERE room_id = ?", (room,)).fetchone()
        base.close()
        name = current["persona"] if current else "default"
        private = room == DIRECT and len(self.bot.matrix.joined[room]) <= 2
        return State(rows, self.bot.settings.persona(name), self.bot.settings.rules, levels, private)

    async def say(self, text: str, sender: str = JUNO, room: str = ROOM, thread: str | None = None) -> None:
        self.number += 1
        said = f"{text} no. {self.number}"
        self.bot.matrix.joined[room] |= {sender, "@bot:hs"}
        state, before = self.state(room), len(self.bot.model.prompts)
        details = {"direct": True, "alone": True} if room == DIRECT else {}
        await self.bot.say(said, sender, room, thread_root=thread, **details)
        [prompt] = self.bot.model.prompts[before:]
        self.compare((room, thread), self.seen((room, thread), prompt, state, sender), sender)
        self.bot.clock.advance(timedelta(minutes=2))

    def seen(self, where: tuple[str, str | None], prompt: Prompt, state: State, sender: str) -> Seen:
        """Follow who takes part (D14): in the order they joined; who leaves goes when the history is trimmed."""
        texts = [block.text for message in prompt.messages for block in message.blocks]
        said = [text for text in texts if text.startswith("<message")]
        authors = [re.findall(r'from="([^"]+)"', text)[0] for text in said[:-1]]
        before = self.last.get(where)
        people = [person for person in (before.people if before else ()) if person in authors]
        first = said[0]
        here = self.bot.matrix.joined[where[0]]
        if before is not None and first != before.first:
            people = [person for person in people if person in here]
        people += [author for author in authors if author in here]
        return Seen(state, tuple(dict.fromkeys([*people, sender])), prompt.system, first)

    def compare(self, where: tuple[str, str | None], now: Seen, sender: str) -> None:
        before, self.last[where] = self.last.get(where), now
        assert [block.text.split("\n")[0] for block in now.start if "\n[" in block.text] == [
            f'<memories about="{"this room" if owner == where[0] else owner}">'
            for owner, _ in now.stands_there(where[0], sender)
        ]
        if before is None:
            return
        happened = reasons(before, now)
        same = before.start == now.start
        if not same:
            assert happened, f"the start changed for no reason of D14 at message {self.number}"
            self.changed_for[frozenset(happened)] += 1
        else:
            self.same_though[self.note] += 1
        stood = before.stands_there(where[0], sender), now.stands_there(where[0], sender)
        assert same == (stood[0] == stood[1] and before.state.persona == now.state.persona), (self.number, happened)
        self.note = ""

    async def command(self, text: str, sender: str = JUNO, room: str = ROOM) -> None:
        before = len(self.bot.model.prompts)
        details = {"direct": True, "alone": True} if room == DIRECT else {}
        await self.bot.say(text, sender, room, **details)
        assert len(self.bot.model.prompts) == before

    def id_of(self, text: str) -> int:
        [found] = [row["id"] for row in self.state(ROOM).rows if text in row["text"]]
        return int(found)


class Embedder(WordEmbedder):
    """Fails while it is told to."""

    failing = False

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self.failing:
            raise EmbeddingError("out of order")
        return await super().embed(texts)


# --- what happens in the middle of the talk of a day ---------------------------------------------------------------


def command(text: str, sender: str = JUNO, room: str = ROOM, about: str = "") -> Happening:
    """A command; `about`: words of the memory whose id it takes."""

    async def happen(watch: Watch) -> None:
        await watch.command(text.format(watch.id_of(about) if about else ""), sender, room)

    return happen


def setting(**changes: object) -> Happening:
    async def happen(watch: Watch) -> None:
        watch.bot.settings.rules = replace(watch.bot.settings.rules, **changes)  # type: ignore[arg-type]

    return happen


async def search_fails(watch: Watch) -> None:
    watch.embedder.failing = True
    watch.note = "the search failed"
    await watch.say("mochi")
    watch.embedder.failing = False


async def model_fails(watch: Watch) -> None:
    watch.bot.model.answer = lambda prompt: ModelError("down")
    await watch.say("nice weather")
    watch.bot.model.answer = lambda prompt: "answer"
    watch.note = "the model failed"


async def restart(watch: Watch) -> None:
    await watch.bot.restart()
    await watch.bot.settle()
    watch.note = "the bot was restarted"


async def matched(watch: Watch) -> None:
    watch.note = "active memories matched"
    await watch.say("mochi and chess")


async def ivo_speaks(watch: Watch) -> None:
    await watch.say("my running", IVO)


async def ivo_leaves(watch: Watch) -> None:
    await watch.say("nice weather", IVO)
    await watch.say("nice weather", JUNO)
    watch.bot.matrix.joined[ROOM].discard(IVO)
    watch.note = "a participant left the room"


async def saved_by_tool(watch: Watch) -> None:
    watch.bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": "Keeps bees", "scope": "me"})]
    await watch.say("remember that I keep bees")
    watch.bot.model.tool_calls = []


async def taken_back(watch: Watch) -> None:
    said = await watch.bot.say("nice weather no. 0", BAU)
    redaction = replace(watch.bot.message(""), kind=IncomingKind.REDACTION, target=said.event_id, addressed=False)
    await watch.bot.deliver(redaction)
    await watch.bot.settle()
    watch.note = "a message was taken back"


async def midnight(watch: Watch) -> None:
    assert watch.bot.clock.now().time() == time(0)
    watch.note = "a day has begun"


async def clock_back(watch: Watch) -> None:
    watch.bot.clock.advance(-timedelta(days=1))
    watch.note = "the clock was set back"


HAPPENINGS: dict[int, Happening] = {
    2: command("!memories add Sings", BAU),
    3: command("!memories room add Plays on fridays", BAU),
    4: command("!memories edit {} Has a big boat", about="Has a boat"),
    5: search_fails,
    6: model_fails,
    7: restart,
    11: command("!persona pirate", BAU),
    12: command("!persona default", BAU),
    13: setting(rest_after_days=30),
    14: command("!privacy no-memory", BAU),
    15: command("!privacy open", BAU),
    16: command("!memories limit {} here", room=DIRECT, about="Mochi"),
    17: command("!memories limit {} off", about="Mochi"),
    18: command("!memories tag {} tea", BAU, about="Likes tea"),
    19: command("!memories share {}", room=DIRECT, about="piano"),
    20: ivo_speaks,
    21: ivo_leaves,
    22: command("!memories del {}", about="big boat"),
    23: matched,
    24: midnight,
    25: setting(decay_enabled=False),
    26: setting(decay_enabled=True, rest_after_days=5),
    27: saved_by_tool,
    28: taken_back,
    29: clock_back,
}
TALK: dict[int, dict[int, str]] = {  # by day, what is spoken of in which message
    0: {0: "my mochi", 1: "my chess", 2: "my boat", 5: "my tea"},
    1: {3: "my garden"},
    10: {1: "mochi", 5: "chess"},
    17: {2: "tea"},
    22: {6: "garden"},
    26: {5: "mochi"},
}


async def test_d14_in_30_chat_days_the_start_changes_only_for_a_reason_of_d14_and_then_it_does(watch: Watch) -> None:
    """Eight messages a day in a room, two in a thread of it or in a direct room, and something else in the middle."""
    for day in range(30):
        watch.bot.next_day(days=3 if day == 9 else 1)
        if day == 24:
            watch.bot.clock.advance(timedelta(hours=14, minutes=52))  # from nine, so that four messages reach midnight
        for number in range(8):
            if number == 4 and day in HAPPENINGS:
                await HAPPENINGS[day](watch)
            await watch.say(TALK.get(day, {}).get(number, "nice weather"), (JUNO, BAU)[number % 2])
        where: Row = {"thread": THREAD} if day % 2 else {"room": DIRECT}
        await watch.say("my piano" if day == 0 else "piano", **where)
        await watch.say("nice weather", **where)
    assert watch.compared > 300
    assert watch.same > 200
    alone = {reason for each in watch.changed_for if len(each) == 1 for reason in each}
    assert alone == {"moved", "saved", "edited", "deleted", "persona", "participants", "setting", "visibility"}
    assert watch.same_though.keys() > {
        "the search failed",
        "the model failed",
        "the bot was restarted",
        "active memories matched",
        "a participant left the room",
        "a day has begun",
        "a message was taken back",
        "the clock was set back",
    }


@pytest.fixture
async def watch(tmp_path: Path) -> AsyncIterator[Watch]:
    embedder = Embedder(WORDS)
    bot = Bot(tmp_path / "data", embedder)
    bot.settings.named = {"pirate": PIRATE}
    bot.settings.rules = MemorySettings(promotion_threshold=1, match_threshold=0.5, cleanup_interval=0)
    bot.settings.window = ContextSettings(max_messages=12)
    bot.matrix.admins = {BAU}
    bot.learns(FACTS)
    await bot.start()
    yield Watch(bot, embedder)
    await bot.crash()
