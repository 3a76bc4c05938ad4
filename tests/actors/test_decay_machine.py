"""Random chat days of three people with the whole bot, compared after every step with the naive model of D1-D18.

Only Matrix, the language model and the embedder are doubles, and the embedder gives real vectors whose cosines are
known. Compared are all counters and texts, and what each prompt held: its start, tagged and recalled memories.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from davenport.day import DayTurn, Keeping
from index.faiss_index import FaissIndexes
from memory.errors import EmbeddingError, ModelError, StorageError
from memory.events import Incoming
from memory.model import Prompt, Reply, ToolCall, ToolSpec
from memory.settings import ContextSettings
from memory.text import unfence
from memory.types import Extraction, ExtractionRequest, ListKey, Match, Memory, Persona
from storage.memories import MemoryRows
from tests.actors.conftest import BAU, JUNO, START
from tests.actors.held_bot import HeldBot, HeldModel
from tests.actors.naive_decay import NaiveDecay, Row, topics
from tests.actors.topic_embedder import TopicEmbedder
from tests.fakes.model import ToolRunner

T = TypeVar("T")

CLEO = "@cleo:hs"
PEOPLE = (JUNO, BAU, CLEO)
GROUPS = ("!room:hs", "!garden:hs")
PERSONAS = ("default", "default", "default", "pirate")
FACTS = (
    "Has a cat",
    "has a CAT!",
    "Likes tea",
    "Plays the piano",
    "Was in Norway",
    "Bakes bread",
    "Owns a boat",
    "Took cat and dog on the boat to Norway",
    "Drinks tea with bread at the piano over chess",
)
SPOKEN = (
    "hello there",
    "hello there",
    "how is the cat?",
    "the cat again",
    "tea",
    "the piano",
    "NORWAY!",
    "cat, dog, boat and Norway",
    "tea and bread, piano and chess",
    "dog, cat, tea and bread",
)
KNOWN_BY = (  # user, place, whether it is said of the room
    *[(JUNO, 0, False)] * 3,
    *[(BAU, 1, False)] * 2,
    (CLEO, 4, False),
    *[(CLEO, 0, True)] * 2,
    (BAU, 1, True),
)
TAGS = (("tea",), ("cat", "norway"), ())
SETTINGS: dict[str, tuple[object, ...]] = {
    "rest_after_days": (1, 2, 3, 7),
    "capacity_personal": (1, 2, 3, 100),
    "capacity_room": (1, 2, 100),
    "quarters": (1, 2, 4),
    "decay_enabled": (True, True, True, False),
    "private_stays_private": (True, False),
    "blacklist": ((), (), (), (BAU,), (GROUPS[1],)),
}
MOVES = (
    timedelta(minutes=5),
    timedelta(minutes=25),
    timedelta(hours=3),
    timedelta(hours=-5),
    timedelta(days=1),
    timedelta(days=1),
    timedelta(days=3),
    timedelta(days=-1),
    timedelta(days=-8),
    timedelta(days=8),
    timedelta(days=40),
    timedelta(days=-35),
)
people = st.sampled_from(PEOPLE)
pick = st.integers(0, 30)
spoken = st.sampled_from(SPOKEN)
facts = st.sampled_from(FACTS)
LINE = re.compile(r"^\[(\d+)\] \((\d{4}-\d\d-\d\d) saved\)", re.MULTILINE)


class DecayModel(HeldModel):
    """Remembers the last prompt of each event; finds the facts it was told to."""

    def __init__(self) -> None:
        super().__init__()
        self.prompt_of: dict[str, Prompt] = {}
        self.facts: tuple[str, ...] = ()

    async def reply(self, prompt: Prompt, tools: Sequence[ToolSpec], run_tool: ToolRunner) -> Reply:
        self.prompt_of[event_in(prompt)] = prompt
        return await super().reply(prompt, tools, run_tool)

    async def extract(self, request: ExtractionRequest) -> tuple[Extraction, Any]:
        self.find = lambda _: Extraction(self.facts)
        return await super(HeldModel, self).extract(request)


def event_in(prompt: Prompt) -> str:
    return "$e" + re.findall(r"\bn(\d+)\b", prompt.messages[-1].blocks[-1].text)[-1]


def held_in(prompt: Prompt) -> Row:
    """Read a prompt as the naive model describes one."""

    def lines(text: str) -> list[tuple[int, str]]:
        return [(int(number), day) for number, day in LINE.findall(text)]

    system = "\n".join(block.text for block in prompt.system[1:])  # the first explains the form of the others
    last = "\n".join(block.text for block in prompt.messages[-1].blocks)
    return {
        "start": [(each.attributes["about"], lines(each.text)) for each in unfence("memories", system)],
        "tagged": {number for each in unfence("memories", last) for number, _ in lines(each.text)},
        "recalled": {number for each in unfence("recalled_memories", last) for number, _ in lines(each.text)},
    }


class ChatDays(RuleBasedStateMachine):
    """The bot and the naive model are told the same; after every step they hold the same."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory(prefix="chat-days")
        self.bot: HeldBot | None = None
        self.expected: dict[str, Row] = {}  # prompts by event

    # --- begin and end ----------------------------------------------------------------------------------------------

    @initialize(
        rest=st.integers(1, 3),
        capacity=st.sampled_from([1, 2, 2, 3, 100]),
        known=st.permutations(FACTS),
        tags=st.sampled_from(TAGS),
    )
    def begin(self, rest: int, capacity: int, known: list[str], tags: tuple[str, ...]) -> None:
        """Each has something that is remembered; a capacity set afterwards may be too small for it (D9)."""
        self.bot = HeldBot(Path(self.folder.name) / "data", None)
        self.bot.model = DecayModel()
        self.bot.embedder = TopicEmbedder("one")
        self.bot.settings.window = ContextSettings(max_messages=100_000)
        self.bot.settings.named = {"pirate": Persona("pirate")}
        self.bot.matrix.admins = set(PEOPLE)
        self.naive = NaiveDecay(START)
        self.naive.members = {room: set(PEOPLE) for room in GROUPS}
        for room in GROUPS:
            self.bot.matrix.joined[room] |= {*PEOPLE, "@bot:hs"}
        self.bot.settings.rules = replace(self.bot.settings.rules, enabled=False, promotion_threshold=1)
        self.run(self.bot.start())
        self.set("rest_after_days", rest)
        for (user, where, of_room), fact in zip(KNOWN_BY, known, strict=True):
            self.saves(user, "remember that", fact, where, of_room=of_room)
        self.command(JUNO, f"!memories tag 1 {' '.join(tags)}", 0)
        self.naive.tag(JUNO, 1, tags)
        self.set("capacity_personal", capacity)
        self.set("capacity_room", capacity)

    def teardown(self) -> None:
        if self.bot is not None:
            self.run(self.bot.crash())
        self.runner.close()
        self.folder.cleanup()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @property
    def real(self) -> HeldBot:
        assert self.bot is not None
        return self.bot

    @property
    def model(self) -> DecayModel:
        assert isinstance(self.real.model, DecayModel)
        return self.real.model

    async def delivered(self, *events: Incoming) -> None:
        await self.real.deliver(*events)
        await self.real.still()

    def synchronise(self) -> None:
        """Tell the naive model what RULES.md leaves open: the time, and what has a vector by now (D17)."""
        self.naive.now = self.real.clock.now()
        embedder = self.real.embedder
        query = "SELECT memory_id FROM embeddings WHERE model_id = ?"
        with closing(sqlite3.connect(self.real.store.path)) as connection:
            rows = connection.execute(query, ("" if embedder is None else embedder.model_id,)).fetchall()
        self.naive.embedded = {number for (number,) in rows}

    # --- turns ------------------------------------------------------------------------------------------------------

    def place(self, user: str, where: int) -> str:
        return [*GROUPS, *GROUPS, f"!dm-{user[1:-3]}:hs"][where % 5]

    def message(self, user: str, text: str, where: int, *, numbered: bool = True) -> Incoming:
        room = self.place(user, where)
        private = room not in GROUPS
        self.naive.members.setdefault(room, set()).add(user)  # who writes is there
        event = self.real.message("", user, room, direct=private, alone=private)
        text = f"{text} n{event.event_id[2:]}" if numbered else text
        return replace(event, body=text, text=text)

    def waits(self, event: Incoming) -> bool:
        """Whether the bot still answers this user in this room, so that whatever comes next waits for that."""
        held = [self.naive.turn(each) for each in self.model.replies]
        return any((turn["user"], turn["room"]) == (event.sender, event.room_id) for turn in held)

    def looks_back(self, event: Incoming) -> None:
        """What is no turn that searches looks at the window too, which is trimmed then if it is time."""
        self.synchronise()
        self.naive.window(event.room_id)

    def turn_begins(self, event: Incoming, **search: str) -> None:
        self.synchronise()
        prompt = self.naive.turn_begins(
            event.event_id, event.sender, event.room_id, event.text, private=event.private, **search
        )
        self.expected[event.event_id] = self.as_the_bot_says(prompt)

    @staticmethod
    def as_the_bot_says(prompt: Row) -> Row:
        start = [
            ("this room" if about.startswith("!") else about, [(number, day.isoformat()) for number, day in rows])
            for about, rows in prompt["start"]
        ]
        return {**prompt, "start": start}

    def says(self, user: str, text: str, where: int, *, answered: bool = True, **search: str) -> Incoming | None:
        event = self.message(user, text, where)
        if self.waits(event):
            return None
        if not answered:
            self.model.failing.add(event.event_id)
        self.turn_begins(event, **search)
        self.run(self.delivered(event))
        self.naive.turn_ends(event.event_id, answered=answered)
        return event

    @rule(user=people, text=spoken, where=pick, answered=st.sampled_from([True, True, True, False]))
    def chats(self, user: str, text: str, where: int, answered: bool) -> None:
        """The search counts even if the model then fails (D2)."""
        self.says(user, text, where, answered=answered)

    @rule(user=people, texts=st.lists(spoken, min_size=1, max_size=4), where=pick)
    def chats_for_days(self, user: str, texts: list[str], where: int) -> None:
        for text in texts:
            self.real.clock.advance(timedelta(days=1))
            self.says(user, text, where)

    @precondition(lambda self: self.bot is not None and self.naive.memories)
    @rule(user=people, where=pick, days=st.integers(1, 3), place=pick)
    def asks_about_what_was_said_long_ago(self, user: str, where: int, days: int, place: int) -> None:
        """What is said then finds what rested (D6)."""
        row = self.naive.memories[place % len(self.naive.memories)]
        user = user if row["scope"] == "room" else str(row["owner"])
        self.chats_for_days(user, ["hello there"] * days, where)
        self.says(user, f"how about {sorted(topics(row['text']))[0]}?", where)
        self.says(user, "hello there", where)

    @rule(user=people, where=pick, days=st.integers(2, 4), text=spoken, save=facts, of_room=st.booleans())
    def saves_after_days(self, user: str, where: int, days: int, text: str, save: str, of_room: bool) -> None:
        """Something rests by then that may be forgotten, unless this turn brings it back (D9)."""
        self.chats_for_days(user, ["hello there"] * days, where)
        for number in range(2):
            self.saves(user, text, f"{save}, part {number}", where, of_room=of_room)

    @rule(user=people, other=people, text=spoken, where=pick, late=st.booleans())
    def two_people_talk(self, user: str, other: str, text: str, where: int, late: bool) -> None:
        """The one who is silent after midnight did not write today (D4)."""
        if late:
            self.it_is_nearly_midnight()
        self.says(user, text, where)
        self.real.clock.advance(timedelta(minutes=20))
        self.says(other, text, where)

    @rule(user=people, texts=st.lists(spoken, min_size=2, max_size=4), where=pick)
    def says_much_on_one_day(self, user: str, texts: list[str], where: int) -> None:
        for text in texts:
            self.says(user, text, where)

    @rule(user=people, where=pick)
    def says_nothing(self, user: str, where: int) -> None:
        """A message without text searches nothing (D2); the model cannot tell the event either."""
        event = self.message(user, "", where, numbered=False)
        if self.waits(event):
            return
        self.looks_back(event)
        before = self.counters()
        with patch.object(self.model, "reply", self.fails):
            self.run(self.delivered(event))
        assert self.counters() == before

    async def fails(self, *_: object) -> Reply:
        raise ModelError("down")

    @rule(user=people, text=spoken, where=pick, embedder=st.booleans(), of=pick)
    def search_fails(self, user: str, text: str, where: int, embedder: bool, of: int) -> None:
        """The embedder fails, or one of the lists cannot be searched (D7)."""
        if self.real.embedder is None:
            return
        if embedder:
            with self.embedder_down():
                self.says(user, text, where, search="fails")
        else:
            with self.unsearchable(self.owner(user, where, of)):
                self.says(user, text, where, search="fails")

    @rule(user=people, text=spoken, where=pick, of=pick)
    def list_cannot_be_read(self, user: str, text: str, where: int, of: int) -> None:
        """The reply goes on with what can be read (D7)."""
        if self.model.replies:
            return
        self.restarts()
        owner = self.owner(user, where, of)
        with unreadable(owner):
            self.says(user, text, where, search="fails", unread=owner)

    def owner(self, user: str, where: int, of: int) -> str:
        return [user, self.place(user, where)][of % 2]

    @contextmanager
    def embedder_down(self) -> Iterator[None]:
        embedder = self.real.embedder
        assert isinstance(embedder, TopicEmbedder)
        embedder.down = True
        try:
            yield
        finally:
            embedder.down = False

    @contextmanager
    def unsearchable(self, owner: str) -> Iterator[None]:
        search = FaissIndexes.search

        def broken(indexes: FaissIndexes, key: ListKey, *given: Any) -> Sequence[Match]:
            if key.owner == owner:
                raise EmbeddingError("damaged")
            return search(indexes, key, *given)

        with patch.object(FaissIndexes, "search", broken):
            yield

    # --- answers that take long -------------------------------------------------------------------------------------

    @rule(user=people, text=spoken, where=pick, fact=facts | st.none())
    def is_answered_later(self, user: str, text: str, where: int, fact: str | None) -> None:
        """Over midnight perhaps; what it saves then is dated as the turn is."""
        event = self.message(user, text, where)
        if self.waits(event):
            return
        self.model.hold.add(event.event_id)
        if fact is not None:
            self.model.calls[event.event_id] = [ToolCall(0, "save_memory", {"text": fact})]
        self.turn_begins(event)
        self.run(self.delivered(event))

    @precondition(lambda self: self.bot is not None and self.bot.model.replies)
    @rule(which=pick, answered=st.booleans(), minutes=st.sampled_from([0, 0, 30, 24 * 60]))
    def is_answered(self, which: int, answered: bool, minutes: int) -> None:
        event = list(self.model.replies)[which % len(self.model.replies)]
        self.real.clock.advance(timedelta(minutes=minutes))
        self.synchronise()
        if not answered:
            self.model.failing.add(event)
        for call in self.model.calls.get(event, ()):
            self.naive_save(self.naive.turn(event), "personal", str(call.arguments["text"]))
        self.model.answer_turn(event)
        self.run(self.real.still())
        self.naive.turn_ends(event, answered=answered)

    # --- saves ------------------------------------------------------------------------------------------------------

    def naive_save(self, turn: Row, scope: str, text: str) -> str:
        """What `save_memory` does in a turn."""
        return self.naive.save(
            scope,
            turn["user"] if scope == "personal" else turn["room"],
            turn["persona"],
            text,
            private=turn["private"],
            by_hand=False,
            now=turn["now"],
            settings=turn["settings"],
            searchable=turn["matches"] is not None,
        )

    @rule(user=people, text=spoken, fact=facts, where=pick, of_room=st.booleans(), fails=st.booleans())
    def asks_to_remember(self, user: str, text: str, fact: str, where: int, of_room: bool, fails: bool) -> None:
        """Into a full list too: what may be forgotten is decided after this turn's search (D9, D10)."""
        if fails and self.real.embedder is not None:
            with self.embedder_down():
                self.saves(user, text, fact, where, of_room=of_room, search="fails")
        else:
            self.saves(user, text, fact, where, of_room=of_room)

    @rule(user=people, fact=facts, where=pick)
    def asks_to_remember_much(self, user: str, fact: str, where: int) -> None:
        for number in range(3):
            self.saves(user, "hello there", f"{fact}, number {number}", where)

    def saves(self, user: str, text: str, fact: str, where: int, *, of_room: bool = False, **search: str) -> None:
        event = self.message(user, text, where)
        if self.waits(event):
            return
        arguments = {"text": fact, "scope": "room" if of_room else "me"}
        self.model.calls[event.event_id] = [ToolCall(0, "save_memory", arguments)]
        self.turn_begins(event, **search)
        may = user not in self.naive.settings["blacklist"] and self.naive.privacy.get(user, "open") == "open"
        before = {row["id"] for row in self.naive.memories}
        done = (
            self.naive_save(self.naive.turn(event.event_id), "room" if of_room else "personal", fact)
            if may
            else "refused"
        )
        self.run(self.delivered(event))
        [result] = self.model.tool_results
        assert result.is_error is (done == "refused")
        gone = before - {row["id"] for row in self.naive.memories}
        assert [f"Memory {number} was forgotten" in result.text for number in gone] == [True] * (done == "forgot")
        self.naive.turn_ends(event.event_id, answered=True)

    @rule(user=people, fact=facts, where=pick, of_room=st.booleans(), fails=st.sampled_from([False, False, True]))
    def adds_by_hand(self, user: str, fact: str, where: int, of_room: bool, fails: bool) -> None:
        event = self.message(user, f"!memories {'room ' if of_room else ''}add {fact}", where, numbered=False)
        if self.waits(event):
            return
        self.looks_back(event)
        self.naive.save(
            "room" if of_room else "personal",
            event.room_id if of_room else user,
            self.naive.personas.get(event.room_id, "default"),
            fact,
            private=event.private,
            by_hand=True,
            now=self.naive.now,
            settings=self.naive.settings,
            searchable=not fails,
        )
        if fails and self.real.embedder is not None:
            with self.embedder_down():
                self.run(self.delivered(event))
        else:
            self.run(self.delivered(event))

    @rule(user=people, text=spoken, fact=facts, where=pick)
    def is_learned_of(self, user: str, text: str, fact: str, where: int) -> None:
        """A promotion is 0 days old too, and forgets nothing to make room (D1, P11)."""
        if any(self.naive.turn(event)["user"] == user for event in self.model.replies):
            return  # whose pass comes first (P20)
        fact = f"{fact} of sort {self.real.events}"
        self.model.facts = (fact,)
        self.set_rule(enabled=True)
        event = self.says(user, text, where)
        self.set_rule(enabled=False)
        if event is not None:
            persona = self.naive.turn(event.event_id)["persona"]
            self.naive.promote(user, event.room_id, persona, fact, private=event.private)

    # --- time, restarts, settings, the room -------------------------------------------------------------------------

    @rule(move=st.sampled_from(MOVES))
    def clock_moves(self, move: timedelta) -> None:
        """Quiet days, and a clock that was wrong (D16)."""
        self.real.clock.advance(move)

    @rule()
    def it_is_nearly_midnight(self) -> None:
        self.real.clock.set(self.real.clock.now().replace(hour=23, minute=50))

    @rule(late=st.sampled_from([0, 0, 1, 5]))
    def midnight_job_runs(self, late: int) -> None:
        """At any time, late, twice or (where this rule is not chosen) never: it counts nothing (D16)."""
        before = self.counters()
        keeping = Keeping(texts=timedelta(days=1000), idle=timedelta(0))  # every list is unloaded
        self.run(self.day_turns(DayTurn(self.real.store, self.real.system, keeping), timedelta(days=late)))
        assert self.counters() == before

    async def day_turns(self, day: DayTurn, late: timedelta) -> None:
        await day.day_turn(self.real.clock.now() + late)
        await self.real.still()

    @rule(model=st.sampled_from(["one", "one", "one", "two", "two", ""]))
    def restarts_with(self, model: str) -> None:
        """With the same embedding model, with another (D17), or with none (D13)."""
        self.restarts(model)

    def restarts(self, model: str | None = None) -> None:
        unfinished = [turn for turn in self.naive.turns if not turn["over"]]
        if len(unfinished) > 1 and any(turn["matches"] is None for turn in unfinished):
            return  # which of them searches first is not said
        if model is not None:
            self.real.embedder = TopicEmbedder(model) if model else None
            self.set("embeds", bool(model))
        self.synchronise()
        self.naive.restarted()
        for turn in unfinished:
            self.expected[turn["event"]] = self.as_the_bot_says(self.naive.prepare(turn, "works"))
        self.run(self.real.restart())
        self.run(self.real.still())

    @rule(user=people, text=spoken, where=pick, steps=st.integers(0, 250))
    def crashes_in_the_middle_of_a_turn(self, user: str, text: str, where: int, steps: int) -> None:
        """Wherever that is, no day is counted twice (D2, D16)."""
        self.synchronise()
        if self.model.replies or any(row["id"] not in self.naive.embedded for row in self.naive.memories):
            return  # what has no vector yet may have one before the crash or not (D17)
        event = self.message(user, text, where)
        if self.naive.window(event.room_id) != self.naive.window_after_restart(event.room_id):
            self.restarts()  # else what the turn begins with depends on the moment: who left meanwhile, and such
        self.turn_begins(event)
        self.run(self.crash_after(steps, event))
        self.naive.turn_ends(event.event_id, answered=True)
        self.restarts()  # whether the turn was taken up again, and so opened the window, depends on the moment

    async def crash_after(self, steps: int, event: Incoming) -> None:
        await self.real.deliver(event)
        for _ in range(steps):
            await asyncio.sleep(0)
        await self.real.restart()
        await self.real.still()

    @rule(setting=st.sampled_from(sorted(SETTINGS)), which=pick)
    def setting_is_changed(self, setting: str, which: int) -> None:
        self.set(setting, SETTINGS[setting][which % len(SETTINGS[setting])])

    def set(self, setting: str, value: Any) -> None:
        """`decay_enabled` is False for the bot where there is no embedder, as its settings say it (D13)."""
        self.naive.settings[setting] = value
        match setting:
            case "quarters":
                self.set_rule(match_threshold=value / 4)
            case "decay_enabled" | "embeds":
                self.set_rule(decay_enabled=self.naive.settings["decay_enabled"] and self.naive.settings["embeds"])
            case _:
                self.set_rule(**{setting: value})

    def set_rule(self, **values: Any) -> None:
        self.real.settings.rules = replace(self.real.settings.rules, **values)

    @rule(user=people, where=st.integers(0, 1))
    def leaves_the_room(self, user: str, where: int) -> None:
        """Who has left is not searched (D2), and leaves the prompt at the next trim (D14)."""
        self.real.matrix.joined[GROUPS[where]].discard(user)
        self.naive.members[GROUPS[where]].discard(user)

    @rule(user=people, where=pick, name=st.sampled_from(PERSONAS))
    def persona_is_changed(self, user: str, where: int, name: str) -> None:
        if (event := self.command(user, f"!persona {name}", where)) is not None:
            self.naive.personas[event.room_id] = name

    @rule(user=people, where=pick, level=st.sampled_from(["open", "open", "open", "no-memory"]))
    def privacy_is_changed(self, user: str, where: int, level: str) -> None:
        if self.command(user, f"!privacy {level}", where) is not None:
            self.naive.privacy[user] = level

    # --- commands on memories ---------------------------------------------------------------------------------------

    def command(self, user: str, text: str, where: int) -> Incoming | None:
        """Give a command; None where it would wait for an answer."""
        event = self.message(user, text, where, numbered=False)
        if self.waits(event):
            return None
        self.looks_back(event)
        self.run(self.delivered(replace(event, addressed=False)))
        return event

    def someones(self, place: int, user: str) -> tuple[int, str]:
        """An id, and whose it is, or for every fourth place and where it is a room's, somebody who may not touch it."""
        row = self.naive.memories[place % len(self.naive.memories)]
        return int(row["id"]), user if row["scope"] == "room" or place % 4 == 0 else str(row["owner"])

    @precondition(lambda self: self.bot is not None and self.naive.memories)
    @rule(user=people, place=pick, where=pick, text=facts)
    def edits(self, user: str, place: int, where: int, text: str) -> None:
        number, user = self.someones(place, user)
        if self.command(user, f"!memories edit {number} {text}", where):
            self.naive.edit(user, number, text)

    @precondition(lambda self: self.bot is not None and self.naive.memories)
    @rule(user=people, place=pick, where=pick, mark=st.sampled_from(["share", "unshare", "here", "off", *TAGS]))
    def hides_or_shows(self, user: str, place: int, where: int, mark: str | tuple[str, ...]) -> None:
        number, user = self.someones(place, user)
        match mark:
            case "share" | "unshare":
                words = f"{mark} {number}"
            case "here" | "off":
                words = f"limit {number} {mark}"
            case _:
                words = f"tag {number} {' '.join(mark)}"
        event = self.command(user, f"!memories {words}", where)
        if event is None:
            return
        match mark:
            case "share" | "unshare":
                self.naive.share(user, number, on=mark == "share")
            case "here" | "off":
                self.naive.limit(user, number, event.room_id if mark == "here" else None)
            case _:
                self.naive.tag(user, number, mark)

    @precondition(lambda self: self.bot is not None and self.naive.memories)
    @rule(user=people, place=pick, where=pick, everywhere=st.booleans())
    def makes_global_or_deletes(self, user: str, place: int, where: int, everywhere: bool) -> None:
        number, user = self.someones(place, user)
        if self.command(user, f"!memories {'global' if everywhere else 'del'} {number}", where):
            (self.naive.make_global if everywhere else self.naive.delete)(user, number)

    @rule(user=people, where=pick, sure=st.sampled_from([False, False, False, True]))
    def clears(self, user: str, where: int, sure: bool) -> None:
        if sure and self.command(user, "!memories clear", where):
            self.naive.clear(user)

    # --- after every step -------------------------------------------------------------------------------------------

    def rows(self) -> list[Row]:
        """Read the memories as operators may, under the naive model's names."""
        with closing(sqlite3.connect(self.real.store.path)) as connection:
            connection.row_factory = sqlite3.Row
            found = connection.execute("SELECT * FROM memories ORDER BY id").fetchall()
        return [{name: decode(row[column]) for column, (name, decode) in COLUMNS.items()} for row in found]

    def counters(self) -> list[tuple[object, ...]]:
        return [(row["id"], row["unused_days"], row["counted_on"], row["last_matched_at"]) for row in self.rows()]

    @invariant()
    def the_same_is_remembered(self) -> None:
        if self.bot is None:
            return
        real = self.rows()
        assert [row["id"] for row in real] == [row["id"] for row in self.naive.memories]
        pairs = zip(real, self.naive.memories, strict=True)
        assert [
            (row["id"], key, row[key], other[key]) for row, other in pairs for key in row if row[key] != other[key]
        ] == []

    @invariant()
    def every_prompt_held_what_it_should(self) -> None:
        """Its start, its tagged and its recalled memories (D6, D8, D14)."""
        if self.bot is None:
            return
        held = {event: held_in(prompt) for event, prompt in self.model.prompt_of.items() if event in self.expected}
        self.model.prompt_of.clear()
        assert held == {event: self.expected[event] for event in held}


def moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def words(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


COLUMNS: dict[str, tuple[str, Callable[[Any], object]]] = {  # what the naive model calls it, and how it is read
    "id": ("id", int),
    "scope_kind": ("scope", str),
    "scope_id": ("owner", str),
    "persona": ("persona", str),
    "text": ("text", str),
    "protected": ("protected", bool),
    "unused_days": ("unused_days", int),
    "counted_on": ("counted_on", date.fromisoformat),
    "last_matched_at": ("last_matched_at", moment),
    "created_at": ("created_at", moment),
    "origin_private": ("private", bool),
    "shared": ("shared", bool),
    "rooms": ("rooms", words),
    "tags": ("tags", words),
}


@contextmanager
def unreadable(owner: str) -> Iterator[None]:
    of_list = MemoryRows.of_list

    async def broken(rows: MemoryRows, key: ListKey) -> tuple[Memory, ...]:
        if key.owner == owner:
            raise StorageError("disk")
        return await of_list(rows, key)

    with patch.object(MemoryRows, "of_list", broken):
        yield


# Every run plays the same lives, so that a failure is the change's own; the long run plays new ones, and makes what
# fails as short as it can be, which takes minutes.
QUICK = hypothesis_settings(
    derandomize=True,
    phases=(Phase.generate,),
    max_examples=14,
    stateful_step_count=40,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)

TestChatDays = ChatDays.TestCase
TestChatDays.settings = QUICK


@pytest.mark.slow
class TestManyChatDays(ChatDays.TestCase):
    """D1-D18 as above, for longer."""

    settings = hypothesis_settings(
        QUICK, derandomize=False, phases=tuple(Phase), max_examples=150, stateful_step_count=60
    )
