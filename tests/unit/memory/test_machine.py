"""Random histories of chat days, quiet days and passes: the pure rules against the naive model.

Covers P2-P4, P7-P12, P18, D1-D8, D13 and D16, with several people, rooms and personas.

`RealRules` does what the actors do with the rules, without their databases: it loads, asks the rules, and applies.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memory import decay, promotion
from memory.capacity import to_forget
from memory.errors import Refused
from memory.settings import ContextSettings, MemorySettings
from memory.types import Candidate, Conversation, Draft, Extraction, Match, Memory, Origin, ScopeKind, Source
from memory.visibility import Place, View, usable
from memory.window import Window, WindowEntry, extend, owners_today, present
from tests.unit.memory.naive_model import NaiveModel

PEOPLE = ("@juno:hs", "@bau:hs", "@ivo:hs")
GROUPS = ("!games:hs", "!garden:hs")
DIRECTS = {"!dm0:hs": PEOPLE[0], "!dm1:hs": PEOPLE[1]}
PERSONAS = ("default", "pirate")
FACTS = (
    "Has a cat",
    " has A  cat!",
    "Has two cats",
    "Likes tea",
    "LIKES TEA…",
    "Lives in München",
    "lives in mu\u0308nchen.",
    "Plays\u202e go\x07",
    "Plays go",
    "  \t",
    "x" * 500,
    "x" * 501,
    *(f"Knows number {number}" for number in range(12)),
)
CONTEXT = ContextSettings(max_messages=1000, timeout_minutes=60)


class RealRules:
    def __init__(self, values: MemorySettings) -> None:
        self.settings = values
        self.memories: dict[int, Memory] = {}
        self.candidates: dict[int, Candidate] = {}
        self.windows: dict[str, Window] = {}
        self.last_id = 0

    def next_id(self) -> int:
        self.last_id += 1
        return self.last_id

    def of_list(self, kind: ScopeKind, owner: str, persona: str) -> list[Memory]:
        return [
            one
            for one in self.memories.values()
            if one.scope_id == owner
            and (
                (one.scope is kind and one.persona == persona)
                or (kind is ScopeKind.PERSONAL and one.scope is ScopeKind.GLOBAL)
            )
        ]

    def insert(self, draft: Draft, now: datetime) -> int:
        number = self.next_id()
        self.memories[number] = Memory(
            id=number,
            scope=draft.scope,
            scope_id=draft.scope_id,
            persona=draft.persona,
            text=draft.text,
            source=draft.source,
            protected=draft.protected,
            unused_days=0,
            counted_on=now.date(),
            last_matched_at=None,
            mentions=draft.mentions,
            first_seen=draft.first_seen,
            created_at=now,
            updated_at=now,
            origin=draft.origin,
        )
        return number

    def save(self, draft: Draft, now: datetime) -> int | None:
        try:
            in_list = self.of_list(draft.scope, draft.scope_id, draft.persona)
            to_forget(draft.scope, in_list, self.settings, searchable=False)  # a full list refuses
        except Refused:
            return None
        return self.insert(draft, now)

    def turn(
        self, place: Conversation, members: set[str], now: datetime, similar: dict[int, float]
    ) -> tuple[list[int], list[int]]:
        window = extend(self.windows.get(place.room_id, Window()), [], CONTEXT, now, members)
        message = WindowEntry(f"${now}", place.asker, "hello", now)
        self.windows[place.room_id] = extend(window, [message], CONTEXT, now, members)
        lists = [self.of_list(ScopeKind.ROOM, place.room_id, place.persona)]
        lists += [
            self.of_list(ScopeKind.PERSONAL, user, place.persona) for user in present(window, place.asker, members)
        ]
        lists = [[one for one in each if usable(one, View(place, self.settings), Place.SEARCH)] for each in lists]
        searched = [one for each in lists for one in each]
        rest = decay.rest_after(self.settings)
        active = sorted(one.id for one in searched if rest is None or not one.resting(rest))
        if rest is None or not decay.searches(message.text, self.settings):
            return active, []
        matches = decay.merge([self.best(each, similar) for each in lists])
        settlement = decay.settle(
            searched, matches, now.date(), now, owners_today((*window.entries, message), now.date())
        )
        recalled = decay.recalled(searched, matches, rest)
        self.memories |= decay.changed(self.memories, settlement)
        return active, list(recalled)

    def best(self, memories: list[Memory], similar: dict[int, float]) -> list[Match]:
        """Return what an index gives: a list's three best over the threshold."""
        found = [Match(one.id, similar.get(one.id, 0.0)) for one in memories]
        over = [match for match in found if match.similarity >= self.settings.match_threshold]
        return sorted(over, key=lambda match: (-match.similarity, match.memory_id))[:3]

    def extract(self, place: Conversation, extraction: Extraction | None, now: datetime) -> None:
        user = place.asker
        durable = sum(one.scope_id == user for one in self.memories.values() if one.scope is not ScopeKind.ROOM)
        if not self.settings.enabled or not promotion.may_extract(durable, self.settings):
            return
        before = promotion.prune_before(self.settings, now)
        self.candidates = {
            number: one
            for number, one in self.candidates.items()
            if one.user_id != user or before is None or one.last_seen >= before
        }
        if extraction is None:
            return
        mine = [one for one in self.candidates.values() if one.user_id == user]
        personal = self.of_list(ScopeKind.PERSONAL, user, place.persona)
        taken = promotion.take_up(
            extraction, mine, [one for one in personal if usable(one, View(place, self.settings), Place.EXTRACTION)]
        )
        touched = []
        for number in taken.reinforce:
            one = self.candidates[number]
            touched.append(replace(one, mentions=one.mentions + 1, last_seen=now))
        origin = Origin(place.room_id, f"${now}", place.private)
        touched += [Candidate(self.next_id(), user, text, 1, now, now, origin) for text in taken.insert]
        self.candidates |= {one.id: one for one in touched}
        in_list = sum(one.scope is ScopeKind.PERSONAL for one in personal)
        for one in promotion.promotions(touched, self.settings, durable, in_list):
            self.insert(promotion.draft_of(one, place.persona), now)
            del self.candidates[one.id]


class Histories(RuleBasedStateMachine):
    """Both are told the same; after every step the rows and every answer must be the same."""

    def __init__(self) -> None:
        super().__init__()
        self.now = datetime(2026, 3, 1, 23, 0, tzinfo=UTC)
        self.away: set[str] = set()

    @initialize(
        threshold=st.integers(1, 3),
        ttl=st.sampled_from([0, 1, 14]),
        cap=st.integers(1, 8),
        capacity=st.integers(1, 6),
        rest=st.sampled_from([1, 2, 7]),
        stays_private=st.booleans(),
    )
    def begin(self, threshold: int, ttl: int, cap: int, capacity: int, rest: int, stays_private: bool) -> None:
        values = {
            "enabled": True,
            "promotion_threshold": threshold,
            "candidate_ttl_days": ttl,
            "max_per_user": cap,
            "capacity_personal": capacity,
            "capacity_room": 3,
            "rest_after_days": rest,
            "match_threshold": 0.25,
            "decay_enabled": True,
            "private_stays_private": stays_private,
        }
        self.real = RealRules(MemorySettings(**values))
        self.naive = NaiveModel(**values)

    @rule(change=st.sampled_from(["enabled", "decay_enabled"]))
    def switch(self, change: str) -> None:
        self.set(change, not self.naive.settings[change])

    @rule(threshold=st.integers(1, 3))
    def change_threshold(self, threshold: int) -> None:
        self.set("promotion_threshold", threshold)

    @rule(cap=st.integers(1, 8))
    def change_cap(self, cap: int) -> None:
        self.set("max_per_user", cap)

    def set(self, name: str, value: object) -> None:
        self.naive.settings[name] = value
        self.real.settings = replace(self.real.settings, **{name: value})

    @rule(step=st.sampled_from([timedelta(minutes=1), timedelta(hours=2), timedelta(days=1), timedelta(days=1)]))
    def time_passes(self, step: timedelta) -> None:
        self.now += step

    @rule(days=st.sampled_from([-30, -7, -1, 3, 7, 8, 15]))
    def quiet_days_or_a_clock_set_back(self, days: int) -> None:
        self.now += timedelta(days=days)

    @rule()
    def bau_leaves_or_returns(self) -> None:
        self.away ^= {PEOPLE[1]}

    def place(self, room: str, sender: int, persona: str) -> Conversation:
        if room in DIRECTS:
            return Conversation(room, private=True, asker=DIRECTS[room], persona=persona)
        self.away.discard(PEOPLE[sender])
        return Conversation(room, private=False, asker=PEOPLE[sender], persona=persona)

    @rule(
        room=st.sampled_from([*GROUPS, *GROUPS, *DIRECTS]),
        sender=st.integers(0, 2),
        persona=st.sampled_from(PERSONAS[:1] * 3 + PERSONAS[1:]),
        similar=st.dictionaries(st.integers(1, 25), st.sampled_from([0.1, 0.25, 0.5, 0.5, 0.9]), max_size=8),
    )
    def chat(self, room: str, sender: int, persona: str, similar: dict[int, float]) -> None:
        place = self.place(room, sender, persona)
        members = {place.asker} if place.private else set(PEOPLE) - self.away
        expected = self.naive.turn(room, place.private, persona, place.asker, members, self.now, similar)
        assert self.real.turn(place, members, self.now, similar) == expected

    @rule(
        room=st.sampled_from([*GROUPS, *DIRECTS]),
        sender=st.integers(0, 2),
        persona=st.sampled_from(PERSONAS),
        facts=st.lists(st.sampled_from(FACTS), max_size=6) | st.permutations(FACTS),
        numbers=st.lists(st.integers(0, 25), max_size=6),
        answered=st.sampled_from([True, True, True, False]),
    )
    def pass_runs(
        self, room: str, sender: int, persona: str, facts: list[str], numbers: list[int], answered: bool
    ) -> None:
        place = self.place(room, sender, persona)
        extraction = Extraction(tuple(facts), tuple(numbers)) if answered else None
        self.real.extract(place, extraction, self.now)
        self.naive.extract(room, place.private, persona, place.asker, facts, numbers, self.now, answered)

    @rule(
        kind=st.sampled_from(ScopeKind),
        room=st.sampled_from([*GROUPS, *DIRECTS]),
        sender=st.integers(0, 2),
        text=st.sampled_from(FACTS[:4]),
    )
    def explicit_save(self, kind: ScopeKind, room: str, sender: int, text: str) -> None:
        place = self.place(room, sender, "default")
        owner = room if kind is ScopeKind.ROOM else place.asker
        persona = "" if kind is ScopeKind.GLOBAL else "default"
        origin = Origin(room, f"${self.now}", place.private)
        draft = Draft(kind, owner, persona, text, Source.TOOL, origin, first_seen=self.now)
        expected = self.naive.save(kind.value, owner, persona, text, place.private, self.now)
        assert self.real.save(draft, self.now) == expected

    @precondition(lambda self: bool(self.naive.memories))
    @rule(which=st.integers(0, 99))
    def delete(self, which: int) -> None:
        number = self.naive.memories[which % len(self.naive.memories)]["id"]
        self.naive.delete(number)
        del self.real.memories[number]

    @invariant()
    def memories_are_the_same(self) -> None:
        if not hasattr(self, "real"):
            return
        real = [
            {
                "id": one.id,
                "kind": one.scope.value,
                "owner": one.scope_id,
                "persona": one.persona,
                "text": one.text,
                "private": one.origin.private,
                "mentions": one.mentions,
                "first_seen": one.first_seen,
                "unused_days": one.unused_days,
                "counted_on": one.counted_on,
                "last_matched_at": one.last_matched_at,
            }
            for one in self.real.memories.values()
        ]
        assert real == self.naive.memories

    @invariant()
    def candidates_are_the_same(self) -> None:
        if not hasattr(self, "real"):
            return
        real = [
            {
                "id": one.id,
                "user": one.user_id,
                "text": one.text,
                "mentions": one.mentions,
                "private": one.origin.private,
                "first_seen": one.first_seen,
                "last_seen": one.last_seen,
            }
            for one in sorted(self.real.candidates.values(), key=lambda one: one.id)
        ]
        assert real == sorted(self.naive.candidates, key=lambda row: row["id"])


TestHistories = Histories.TestCase
TestHistories.settings = hypothesis_settings(max_examples=60, stateful_step_count=40, deadline=None)
