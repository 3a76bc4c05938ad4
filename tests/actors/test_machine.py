"""Random lives of two people with the whole bot, compared after every step with the naive model of P1-P20.

Only Matrix and the language model are doubles; a pass or a reply may be held back while other things happen.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Coroutine
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memory.cleanup import CleanupAnswer, Drop, Merge
from memory.events import Incoming, IncomingKind
from memory.model import ToolCall
from memory.settings import ContextSettings
from memory.types import Extraction, Persona
from tests.actors.conftest import BAU, JUNO, START
from tests.actors.held_bot import HeldBot
from tests.actors.naive_user import WORDS, NaiveBot
from tests.actors.stored_rows import CANDIDATE, MEMORY, Row, by_id, differences, stored

T = TypeVar("T")

PEOPLE = (JUNO, BAU)
GROUPS = ("!room:hs", "!garden:hs")
PERSONAS = ("default", "pirate")
DIRECT = {JUNO: "!dm-juno:hs", BAU: "!dm-bau:hs"}
FACTS = (
    "Has a cat",
    " has A  cat!",
    "Has two cats",
    "Likes tea",
    "LIKES TEA…",
    "Plays\u202e the\x07 piano",
    "plays the piano.",
    "Has a dog and a cat",
    "Was in Norway",
    "Bakes bread",
)
UNFIT = ("", " \t", "\u202e", "x" * 500, "x" * 501, "y" * 600)
MANY = tuple(f"Knows number {number}" for number in range(12))
SPOKEN = ("hello", "my cat sleeps", "tea and bread", "a dog, a piano", "NORWAY!")
SETTINGS: dict[str, tuple[object, ...]] = {
    "enabled": (True, True, False),
    "promotion_threshold": (1, 1, 2, 3),
    "candidate_ttl_days": (0, 1, 14),
    "max_per_user": (2, 4, 50, 50),
    "cleanup_interval": (0, 1, 3),
    "capacity_personal": (1, 2, 3, 100),
    "capacity_room": (1, 2, 100),
    "rest_after_days": (1, 2, 7),
    "decay_enabled": (True, True, False),
    "private_stays_private": (True, False),
    "blacklist": ((), (), (), ("@ba*",)),
}
MOVES = (
    timedelta(minutes=1),
    timedelta(hours=3),
    timedelta(days=1),
    timedelta(days=1),
    timedelta(days=14),
    timedelta(days=14, seconds=1),
    timedelta(days=30),
    timedelta(hours=-5),
    timedelta(days=-9),
)
people = st.sampled_from(PEOPLE)
pick = st.integers(0, 20)
places = st.lists(pick, max_size=4)
some = st.lists(pick, min_size=1, max_size=3)
facts = st.lists(st.sampled_from(FACTS + UNFIT), max_size=4) | st.permutations(MANY) | st.just([*MANY, *FACTS])


class Lives(RuleBasedStateMachine):
    """The bot and the naive model are told the same; after every step they hold the same."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory(prefix="lives")
        self.bot: HeldBot | None = None
        self.turns: list[Incoming] = []  # all that there ever were
        self.retracted: set[str] = set()
        self.remembered: dict[int, int] = {}  # the bot's ids of the naive model's, of memories that are gone too
        self.cleaned_in: dict[str, str] = {}  # rooms of `!memories cleanup`, by event

    # --- begin and end ----------------------------------------------------------------------------------------------

    @initialize(
        embeds=st.sampled_from([True, True, False]),
        stays_private=st.booleans(),
        threshold=st.sampled_from([1, 1, 2]),
        interval=st.sampled_from([0, 1, 2, 3]),
        rest=st.sampled_from([1, 2, 7]),
        cap=st.sampled_from([2, 4, 50, 50]),
        capacity=st.sampled_from([2, 3, 100, 100]),
        known=st.lists(st.tuples(people, st.sampled_from(FACTS), pick), max_size=5),
    )
    def begin(
        self,
        embeds: bool,
        stays_private: bool,
        threshold: int,
        interval: int,
        rest: int,
        cap: int,
        capacity: int,
        known: list[tuple[str, str, int]],
    ) -> None:
        self.bot = HeldBot(Path(self.folder.name) / "data", WORDS if embeds else None)
        self.bot.settings.window = ContextSettings(max_messages=100_000, timeout_minutes=100_000_000)
        self.bot.settings.named = {"pirate": Persona("pirate")}
        self.bot.matrix.admins = set(PEOPLE)
        self.naive = NaiveBot(START)
        self.naive.embeds = embeds
        self.run(self.bot.start())
        self.set("private_stays_private", stays_private)
        self.set("promotion_threshold", threshold)
        self.set("cleanup_interval", interval)
        self.set("rest_after_days", rest)
        self.set("max_per_user", cap)
        self.set("capacity_personal", capacity)
        for user, fact, where in known:
            self.teaches(user, "hello", where, [fact], [])

    def teardown(self) -> None:
        if self.bot is not None:
            self.run(self.bot.crash())
        self.runner.close()
        self.folder.cleanup()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something to the bot; the naive model's clock follows."""
        if self.bot is not None and hasattr(self, "naive"):
            self.naive.now = self.bot.clock.now()
        return self.runner.run(work)

    @property
    def real(self) -> HeldBot:
        assert self.bot is not None
        return self.bot

    async def delivered(self, *events: Incoming) -> None:
        await self.real.deliver(*events)
        await self.real.still()

    # --- what the naive model and the bot have in common is the order of rows, not their ids ------------------------

    def rows(self, table: str) -> list[Row]:
        return stored(self.real.store.path, table)

    def real_ids(self, naive: list[Row], table: str) -> dict[int, int]:
        """The bot's ids of the rows of the naive model, which are the same rows in the same order."""
        order = sorted(row["id"] for row in naive)
        return dict(zip(order, sorted(row["id"] for row in self.rows(table)), strict=True))

    def real_id(self, row: Row) -> int:
        """The bot's id of a memory of the naive model."""
        return self.real_ids(self.naive.memories, "memories")[row["id"]]

    def own(self, user: str) -> list[Row]:
        return sorted((each for each in self.naive.memories if self.naive.owns(user, each)), key=lambda row: row["id"])

    # --- turns ------------------------------------------------------------------------------------------------------

    def message(self, user: str, text: str, where: int) -> Incoming:
        room = [*GROUPS, DIRECT[user]][where % 3]
        private = room == DIRECT[user]
        return self.real.message(text, user, room, direct=private, alone=private)

    def turn(self, user: str, spoken: str, where: int) -> Incoming:
        event = self.message(user, spoken, where)
        text = f"{spoken} n{event.event_id[2:]}"
        return replace(event, body=text, text=text)

    def waits(self, user: str, room: str) -> bool:
        """Whether the bot still answers this user in this room, so that whatever comes next waits for that."""
        held = [turn for turn in self.turns if turn.event_id in self.real.model.replies]
        if any(turn.sender == user and turn.room_id == room for turn in held):
            return True
        cleanup = self.naive.cleanups.get(user)
        return cleanup is not None and self.cleaned_in.get(str(cleanup["event"])) == room

    def begin_turn(self, event: Incoming) -> list[Row]:
        embedded = {row["memory_id"] for row in self.rows("embeddings")}
        if self.naive.embeds and any(row["id"] not in embedded for row in self.rows("memories")):
            self.run(self.real.embed(PEOPLE, (*GROUPS, *DIRECT.values()), PERSONAS))
        self.turns.append(event)
        self.naive.now = self.real.clock.now()
        return self.naive.turn_begins(event.event_id, event.sender, event.room_id, event.text, event.private)

    @rule(user=people, spoken=st.sampled_from(SPOKEN), where=pick, found=facts, ids=places)
    def teaches(self, user: str, spoken: str, where: int, found: list[str], ids: list[int]) -> None:
        event = self.says(user, spoken, where)
        running = self.naive.running(user)
        if event is not None and running is not None and running["event"] == event.event_id:
            self.model_answers(user, found, ids)

    @rule(user=people, some_facts=st.lists(st.sampled_from(FACTS), min_size=1, max_size=3), where=pick)
    def teaches_the_same_again(self, user: str, some_facts: list[str], where: int) -> None:
        for _ in range(2):
            self.teaches(user, "hello", where, some_facts, [])

    @rule(user=people, spoken=st.sampled_from(SPOKEN), where=pick, days=st.integers(1, 8))
    def talks_for_days(self, user: str, spoken: str, where: int, days: int) -> None:
        for _ in range(days):
            self.real.clock.advance(timedelta(days=1))
            self.teaches(user, spoken, where, [], [])

    @rule(user=people, fact=st.sampled_from(FACTS), where=pick, late=st.sampled_from([0, 1]))
    def stays_away_as_long_as_a_candidate_lives(self, user: str, fact: str, where: int, late: int) -> None:
        """P4: exactly that old is kept, a second more is not."""
        self.set("promotion_threshold", 9)
        self.set("candidate_ttl_days", 14)
        self.teaches(user, "hello", where, [fact], [])
        self.real.clock.advance(timedelta(days=14, seconds=late))
        self.teaches(user, "hello", where, [], [])

    @rule(user=people, fact=st.sampled_from(FACTS), where=pick, redacted=st.booleans())
    def takes_back_what_is_being_learned(self, user: str, fact: str, where: int, redacted: bool) -> None:
        """P20: the pass in flight is dropped, whatever the model finds."""
        event = self.says(user, "hello", where)
        if event is None or self.is_silent(user):
            return
        self.take_back(event, redacted)
        if self.naive.running(user) is not None:
            self.model_answers(user, [fact], [])

    @rule(user=people, first=st.sampled_from(FACTS), second=st.sampled_from(FACTS))
    def is_answered_in_two_rooms_in_the_other_order(self, user: str, first: str, second: str) -> None:
        """P20: passes keep the order of the turns."""
        if self.is_silent(user) or any(self.waits(user, room) for room in GROUPS):
            return
        slow = self.turn(user, "hello", 0)
        self.real.model.hold.add(slow.event_id)
        self.begin_turn(slow)
        self.run(self.delivered(slow))
        self.says(user, "hello", 1)
        self.the_model_is_shown_the_same()
        self.real.model.answer_turn(slow.event_id)
        self.run(self.real.still())
        self.naive.turn_ends(slow.event_id, answered=True)
        for fact in (first, second):
            self.the_model_is_shown_the_same()
            if self.naive.running(user) is not None:
                self.model_answers(user, [fact], [])

    @rule(user=people, spoken=st.sampled_from(SPOKEN), where=pick)
    def teaches_later(self, user: str, spoken: str, where: int) -> None:
        self.says(user, spoken, where)

    @rule(user=people, spoken=st.sampled_from(SPOKEN), where=pick)
    def gets_no_answer(self, user: str, spoken: str, where: int) -> None:
        self.says(user, spoken, where, answered=False)

    @rule(user=people, text=st.sampled_from(FACTS + UNFIT), where=pick, of_room=st.booleans())
    def asks_to_remember(self, user: str, text: str, where: int, of_room: bool) -> None:
        """`save_memory` (P16); in a turn that fails afterwards it has saved all the same."""
        event = self.turn(user, "remember this", where)
        if self.waits(user, event.room_id) or self.is_silent(user):
            return
        arguments = {"text": text, "scope": "room" if of_room else "me"}
        self.real.model.calls[event.event_id] = [ToolCall(0, "save_memory", arguments)]
        self.begin_turn(event)
        place = {"room": event.room_id, "event": event.event_id, "private": event.private}
        persona = self.naive.turn(event.event_id)["persona"]
        if not of_room:
            self.naive.save("personal", user, persona, text, "tool", place)
        elif self.naive.may_learn(user):
            self.naive.save("room", event.room_id, persona, text, "tool", place)
        self.naive.turn_ends(event.event_id, answered=False)
        self.real.model.failing.add(event.event_id)
        self.run(self.delivered(event))

    @precondition(lambda self: self.bot is not None and self.naive.memories)
    @rule(user=people, wanted=some, where=pick)
    def asks_to_forget(self, user: str, wanted: list[int], where: int) -> None:
        """`forget_memory`: an id that is not the asker's and in this prompt spoils all of it."""
        event = self.turn(user, "forget this", where)
        if self.waits(user, event.room_id) or self.is_silent(user):
            return
        rows = self.chosen(wanted)
        ids = [self.real_id(row) for row in rows]
        self.real.model.calls[event.event_id] = [ToolCall(0, "forget_memory", {"ids": ids})]
        shown = [row["id"] for row in self.begin_turn(event)]
        if all(row["id"] in shown for row in rows):
            self.naive.delete(user, [row["id"] for row in rows])
        self.naive.turn_ends(event.event_id, answered=False)
        self.real.model.failing.add(event.event_id)
        self.run(self.delivered(event))

    def says(self, user: str, spoken: str, where: int, *, answered: bool = True) -> Incoming | None:
        event = self.turn(user, spoken, where)
        if self.waits(user, event.room_id):
            return None
        if not answered:
            self.real.model.failing.add(event.event_id)
        if not self.is_silent(user):
            self.begin_turn(event)
            self.naive.turn_ends(event.event_id, answered)
        self.run(self.delivered(event))
        return event

    def is_silent(self, user: str) -> bool:
        return self.naive.privacy.get(user) == "silent"

    @rule(user=people, spoken=st.sampled_from(SPOKEN), where=pick)
    def is_answered_later(self, user: str, spoken: str, where: int) -> None:
        event = self.turn(user, spoken, where)
        if self.waits(user, event.room_id) or self.is_silent(user):
            return
        self.real.model.hold.add(event.event_id)
        self.begin_turn(event)
        self.run(self.delivered(event))

    @precondition(lambda self: self.bot is not None and self.bot.model.replies)
    @rule(which=pick, answered=st.sampled_from([True, True, False]))
    def is_answered(self, which: int, answered: bool) -> None:
        held = list(self.real.model.replies)
        event = held[which % len(held)]
        if not answered:
            self.real.model.failing.add(event)
        self.real.model.answer_turn(event)
        self.run(self.real.still())
        self.naive.turn_ends(event, answered)

    # --- passes -----------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.bot is not None and self.bot.model.passes)
    @rule(user=people, found=facts | st.none(), ids=places)
    def model_finds_facts(self, user: str, found: list[str] | None, ids: list[int]) -> None:
        if self.naive.running(user) is not None:
            self.model_answers(user, found, ids)

    def model_answers(self, user: str, found: list[str] | None, ids: list[int]) -> None:
        """Answer the running pass of a user. ids: places among all that is shown and some that is nobody's."""
        turn = self.naive.running(user)
        assert turn is not None
        self.naive.now = self.real.clock.now()
        real = self.real_ids(self.naive.candidates, "memory_candidates")
        shown = [row["id"] for row in turn["running"]["candidates"]]
        others = [row["id"] for row in self.naive.candidates if row["user"] != user]
        numbers = [*shown, *others, 0, 10_000]
        chosen = [numbers[place % len(numbers)] for place in ids]
        found_there = (
            None if found is None else Extraction(tuple(found), tuple(real.get(each, 99_999) for each in chosen))
        )
        self.real.model.answer_pass(turn["event"], found_there)
        self.run(self.real.still())
        self.naive.answer_pass(user, found, chosen)

    # --- what happens besides ---------------------------------------------------------------------------------------

    @rule(move=st.sampled_from(MOVES))
    def time_passes(self, move: timedelta) -> None:
        self.real.clock.advance(move)

    @rule(setting=st.sampled_from(sorted(SETTINGS)), which=pick)
    def setting_is_changed(self, setting: str, which: int) -> None:
        self.set(setting, SETTINGS[setting][which % len(SETTINGS[setting])])

    def set(self, setting: str, value: object) -> None:
        self.naive.settings[setting] = value
        self.real.settings.rules = replace(self.real.settings.rules, **{setting: value})  # type: ignore[arg-type]

    @precondition(lambda self: self.turns)
    @rule(which=pick, redacted=st.booleans())
    def message_is_redacted_or_edited(self, which: int, redacted: bool) -> None:
        left = [turn for turn in self.turns if turn.event_id not in self.retracted]
        if not left:
            return
        self.take_back(left[-1 - which % len(left)], redacted)

    def take_back(self, target: Incoming, redacted: bool) -> None:
        self.retracted.add(target.event_id)
        kind = IncomingKind.REDACTION if redacted else IncomingKind.EDIT
        event = self.real.message("other words", target.sender, target.room_id)
        held = target.event_id in self.real.model.replies
        self.run(self.delivered(replace(event, kind=kind, target=target.event_id, addressed=False)))
        if held and not redacted:  # an edit waits for the answer
            self.real.model.answer_turn(target.event_id)
            self.run(self.real.still())
        if held:
            self.naive.turn_ends(target.event_id, answered=False)
        self.naive.taken_back(target.event_id)

    @rule()
    def restarts(self) -> None:
        """Everything in memory is lost; what was begun is begun anew."""
        self.naive.now = self.real.clock.now()
        self.run(self.real.restart())
        self.run(self.real.still())
        self.naive.restarted()

    @rule(user=people, spoken=st.sampled_from(SPOKEN), where=pick, steps=st.integers(0, 400))
    def crashes_in_the_middle_of_a_turn(self, user: str, spoken: str, where: int, steps: int) -> None:
        """Wherever that is, the next start makes the same of it."""
        event = self.turn(user, spoken, where)
        if self.waits(user, event.room_id) or self.is_silent(user):
            return
        self.begin_turn(event)
        self.run(self.crash_after(steps, event))
        self.naive.restarted()
        self.naive.turn_ends(event.event_id, answered=True)

    async def crash_after(self, steps: int, event: Incoming) -> None:
        await self.real.deliver(event)
        for _ in range(steps):
            await asyncio.sleep(0)
        await self.real.restart()
        await self.real.still()

    # --- commands ---------------------------------------------------------------------------------------------------

    def command(self, user: str, text: str, where: int) -> tuple[Incoming, str] | None:
        """Give a command and return its event with what was answered; None where it would wait for an answer."""
        event = replace(self.message(user, text, where), addressed=False)
        if self.waits(user, event.room_id):
            return None
        self.naive.now = self.real.clock.now()
        before = len(self.real.matrix.sent)
        self.run(self.delivered(event))
        said = [str(content["body"]) for _, _, content in self.real.matrix.sent[before:]]
        return event, "\n".join(said)

    @rule(user=people, where=pick)
    def lists_memories(self, user: str, where: int) -> None:
        given = self.command(user, "!memories", where)
        if given is None:
            return
        event, said = given
        shown, hidden = self.naive.listed(user, event.room_id, event.private)
        real = self.real_ids(self.naive.memories, "memories")
        assert re.findall(r"#(\d+)", said) == [str(real[row["id"]]) for row in sorted(shown, key=by_id)]
        assert len(self.own(user)) - len(shown) == hidden

    def chosen(self, wanted: list[int]) -> list[Row]:
        """Some of all memories there are, each once, whosever they are."""
        every = sorted(self.naive.memories, key=by_id)
        return [every[place] for place in dict.fromkeys(each % len(every) for each in wanted)]

    @precondition(lambda self: self.bot is not None and self.naive.memories)
    @rule(user=people, wanted=some, where=pick)
    def deletes_memories(self, user: str, wanted: list[int], where: int) -> None:
        rows = self.chosen(wanted)
        ids = [str(self.real_id(row)) for row in rows]
        if self.command(user, f"!memories del {' '.join(ids)} 9999", where):
            self.naive.delete(user, [row["id"] for row in rows])

    @precondition(lambda self: self.bot is not None and self.naive.memories)
    @rule(user=people, place=pick, text=st.sampled_from(FACTS + UNFIT), where=pick)
    def edits_memory(self, user: str, place: int, text: str, where: int) -> None:
        [row] = self.chosen([place])
        if self.command(user, f"!memories edit {self.real_id(row)} {text}", where):
            self.naive.edit(user, row["id"], text)

    @precondition(lambda self: self.bot is not None and self.naive.memories)
    @rule(
        user=people,
        place=pick,
        where=pick,
        mark=st.sampled_from(
            ["share", "unshare", "limit here", "limit off", "tag tea", "tag cat dog", "tag", "global"]
        ),
    )
    def marks_memory(self, user: str, place: int, where: int, mark: str) -> None:
        [row] = self.chosen([place])
        name, *words = mark.split()
        given = self.command(user, f"!memories {name} {self.real_id(row)} {' '.join(words)}", where)
        if given is None:
            return
        match name:
            case "share" | "unshare":
                self.naive.share(user, row["id"], name == "share")
            case "limit":
                self.naive.limit(user, row["id"], given[0].room_id if words == ["here"] else None)
            case "tag":
                self.naive.tag(user, row["id"], tuple(words))
            case "global":
                self.naive.make_global(user, row["id"])

    @rule(user=people, text=st.sampled_from(FACTS + UNFIT), where=pick, of_room=st.booleans())
    def adds_memory(self, user: str, text: str, where: int, of_room: bool) -> None:
        given = self.command(user, f"!memories {'room ' if of_room else ''}add {text}", where)
        if given is None:
            return
        event = given[0]
        place = {"room": event.room_id, "event": event.event_id, "private": event.private}
        persona = self.naive.personas.get(event.room_id, "default")
        if of_room:
            self.naive.save("room", event.room_id, persona, text, "command", place)
        else:
            self.naive.save("personal", user, persona, text, "command", place)

    @rule(user=people, where=pick, sure=st.sampled_from([True, False, False]))
    def clears_memories(self, user: str, where: int, sure: bool) -> None:
        if sure and self.command(user, "!memories clear", where):
            self.naive.clear(user)

    @rule(user=people, where=pick)
    def undoes(self, user: str, where: int) -> None:
        if self.command(user, "!memories undo", where):
            self.naive.undo(user)

    @rule(user=people, where=pick, level=st.sampled_from(["open", "open", "open", "no-memory", "silent"]))
    def sets_privacy(self, user: str, where: int, level: str) -> None:
        if self.command(user, f"!privacy {level}", where):
            self.naive.set_privacy(user, level)

    @rule(user=people, where=pick, name=st.sampled_from(PERSONAS))
    def sets_persona(self, user: str, where: int, name: str) -> None:
        given = self.command(user, f"!persona {name}", where)
        if given is not None:
            self.naive.personas[given[0].room_id] = name

    # --- cleanups ---------------------------------------------------------------------------------------------------

    @rule(user=people, where=pick)
    def asks_for_a_cleanup(self, user: str, where: int) -> None:
        given = self.command(user, "!memories cleanup", where)
        if given is not None:
            self.cleaned_in[given[0].event_id] = given[0].room_id
            self.naive.clean(user, given[0].event_id)

    @precondition(lambda self: self.bot is not None and self.naive.cleanups)
    @rule(
        which=pick,
        drops=st.lists(st.tuples(pick, pick), max_size=2),
        merges=st.lists(st.tuples(st.lists(pick, max_size=3), st.sampled_from(("Has pets", *UNFIT))), max_size=2),
    )
    def model_tidies(self, which: int, drops: list[tuple[int, int]], merges: list[tuple[list[int], str]]) -> None:
        """Drops and merges by place among all that the model was asked about, and an id that is nobody's."""
        user = self.one_of(list(self.naive.cleanups), which)
        asked = [row["id"] for group in self.naive.cleanups[user]["groups"] for row in group]
        numbers = asked if len(asked) > 2 else [*asked, 10_000]

        def at(place: int) -> int:
            return int(numbers[place % len(numbers)])

        self.cleanup_is_answered(
            user,
            [(at(one), at(other)) for one, other in drops],
            [{"ids": [at(place) for place in wanted], "text": text} for wanted, text in merges],
        )

    @precondition(lambda self: self.bot is not None and self.naive.cleanups)
    @rule(
        which=pick, place=pick, text=st.sampled_from(["Has pets", " has  PETS.", "Likes tea"]), merged=st.integers(0, 3)
    )
    def model_tidies_well(self, which: int, place: int, text: str, merged: int) -> None:
        """Of one group some are merged and the others dropped for the last; a protected one may be among them."""
        user = self.one_of(list(self.naive.cleanups), which)
        rows = self.one_of(self.naive.cleanups[user]["groups"], place)
        free = [row["id"] for row in rows if not row["protected"]]
        taken = free[:merged] if merged >= 2 and len(free) >= merged else []
        left = [row["id"] for row in rows if row["id"] not in taken]
        drops = [(each, left[-1]) for each in left[:-1] if each in free]
        self.cleanup_is_answered(user, drops, [{"ids": taken, "text": text}] if taken else [])

    @precondition(lambda self: self.bot is not None and self.naive.cleanups)
    @rule(which=pick)
    def model_fails_to_tidy(self, which: int) -> None:
        self.cleanup_is_answered(self.one_of(list(self.naive.cleanups), which), None, [])

    def cleanup_is_answered(self, user: str, drops: list[tuple[int, int]] | None, merges: list[Row]) -> None:
        """Give the same answer to both: the bot's model answers group by group, each by what it begins with."""
        self.naive.now = self.real.clock.now()
        groups = self.naive.cleanups[user]["groups"]
        group_of = {row["id"]: place for place, group in enumerate(groups) for row in group}
        answers = [CleanupAnswer() for _ in groups]
        for number, survivor in drops or ():
            place = group_of.get(number, 0)
            drop = Drop(self.bots_id(number), self.bots_id(survivor))
            answers[place] = replace(answers[place], drops=(*answers[place].drops, drop))
        for each in merges:
            place = group_of.get(each["ids"][0], 0) if each["ids"] else 0
            merge = Merge(tuple(map(self.bots_id, each["ids"])), each["text"])
            answers[place] = replace(answers[place], merges=(*answers[place].merges, merge))
        self.real.model.answer_cleanup(user, None if drops is None else answers)
        self.run(self.real.still())
        self.naive.cleanup_answered(user, drops, merges)

    def bots_id(self, number: int) -> int:
        """The bot's id of a memory that is there or was, or an id that is nobody's."""
        return self.remembered.get(number, 99_999)

    @staticmethod
    def one_of(some_of: list[T], place: int) -> T:
        return some_of[place % len(some_of)]

    # --- after every step -------------------------------------------------------------------------------------------

    @invariant()
    def the_same_is_remembered(self) -> None:
        if self.bot is None:
            return
        for table, naive, columns in (
            ("memory_candidates", self.naive.candidates, CANDIDATE),
            ("memories", self.naive.memories, MEMORY),
        ):
            assert list(differences(sorted(self.rows(table), key=by_id), sorted(naive, key=by_id), columns)) == []
        counters = {row["user_id"]: row["promoting_passes"] for row in self.rows("user_state")}
        self.remembered |= self.real_ids(self.naive.memories, "memories")
        assert {user: counters.get(user, 0) for user in PEOPLE} == {
            user: self.naive.counters.get(user, 0) for user in PEOPLE
        }

    @invariant()
    def the_model_is_shown_the_same(self) -> None:
        if self.bot is None:
            return
        running = {turn["event"]: turn["running"] for turn in self.naive.turns if turn["running"]}
        assert self.bot.model.passes.keys() == running.keys()
        assert self.bot.model.tidying.keys() == self.naive.cleanups.keys()
        for event, (request, _) in self.bot.model.passes.items():
            assert [each.text for each in request.candidates] == [row["text"] for row in running[event]["candidates"]]
            assert [each.text for each in request.memories] == [row["text"] for row in running[event]["memories"]]


# Every run plays the same lives, so that a failure is the change's own; the long run plays new ones, and makes what
# fails as short as it can be, which takes minutes.
QUICK = hypothesis_settings(
    derandomize=True,
    phases=(Phase.generate,),
    max_examples=14,
    stateful_step_count=30,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)

TestLives = Lives.TestCase
TestLives.settings = QUICK


@pytest.mark.slow
class TestLongLives(Lives.TestCase):
    """P1-P20 as above, for longer."""

    settings = hypothesis_settings(
        QUICK, derandomize=False, phases=tuple(Phase), max_examples=300, stateful_step_count=60
    )
