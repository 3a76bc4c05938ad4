from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import pytest

from memory import visibility
from memory.settings import MemorySettings
from memory.types import Conversation, Memory, Privacy, ScopeKind
from memory.visibility import Hiding, Place, View, listed
from memory.words import Heard
from tests.unit.memory.build import BAU, DIRECT, JUNO, PRIVATE, PUBLIC, ROOM, direct, group, memory, room_memory

SETTINGS = MemorySettings()
OPEN = MemorySettings(private_stays_private=False)


def usable(memory: Memory, conversation: Conversation, settings: MemorySettings) -> bool:
    return visibility.usable(memory, View(conversation, settings), Place.PROMPT)


def test_d8_what_was_said_in_a_group_room_is_usable_everywhere() -> None:
    for conversation in (group(), direct(), direct(BAU)):
        assert usable(memory(1), conversation, SETTINGS)


def test_d8_a_private_origin_stays_out_of_group_rooms() -> None:
    private = memory(1, origin=PRIVATE)
    assert not usable(private, group(), SETTINGS)
    assert usable(private, direct(), SETTINGS)
    assert usable(replace(private, scope=ScopeKind.GLOBAL, persona=""), direct(), SETTINGS)


def test_d8_sharing_or_the_setting_lets_it_out() -> None:
    assert usable(memory(1, origin=PRIVATE, shared=True), group(), SETTINGS)
    assert usable(memory(1, origin=PRIVATE), group(), OPEN)


def test_d8_a_private_fact_is_hidden_in_somebody_elses_direct_room() -> None:
    """The owner may still stand in the window after leaving a room in which the other one is alone now (D14)."""
    assert not usable(memory(1, origin=PRIVATE), direct(BAU), SETTINGS)


@pytest.mark.parametrize(("room", "private", "visible"), [(DIRECT, True, True), (DIRECT, False, False)])
def test_d8_a_direct_rooms_own_list_is_hidden_once_the_room_is_no_longer_private(
    room: str, private: bool, visible: bool
) -> None:
    noted = room_memory(1, origin=PRIVATE)
    noted = replace(noted, scope_id=DIRECT)
    assert usable(noted, Conversation(room, private=private, asker=JUNO), SETTINGS) is visible


def test_d18_a_room_lists_what_is_usable_there_and_counts_the_rest() -> None:
    mine = [memory(3, persona="pirate"), memory(2, origin=PRIVATE), memory(1, scope=ScopeKind.GLOBAL, persona="")]
    shown, hidden = listed(mine, View(group(), SETTINGS))
    assert [one.id for one in shown] == [1, 3]
    assert hidden == 1


def test_d18_a_direct_room_lists_all() -> None:
    shown, hidden = listed([memory(2, origin=PRIVATE), memory(1)], View(direct(), SETTINGS))
    assert ([one.id for one in shown], hidden) == ([1, 2], 0)


# --- every combination --------------------------------------------------------------------------------------------

ELSEWHERE = "!elsewhere:hs"
BAUS_DIRECT = "!bau:hs"
CONVERSATIONS = {
    "group": Conversation(ROOM, private=False, asker=JUNO),
    "own direct": Conversation(DIRECT, private=True, asker=JUNO),
    "somebody else's direct": Conversation(BAUS_DIRECT, private=True, asker=BAU),
    "direct with a third person": Conversation(DIRECT, private=False, asker=JUNO),
}


@dataclass(frozen=True)
class Case:
    """One memory of Juno, or of the room of the conversation, and from where it is looked at."""

    level: Privacy
    named: bool  # by the blacklist
    limited: str  # to no room, to this one, to another
    tagged: str  # not, with a word that was heard, with another
    private: bool  # its origin
    shared: bool
    private_stays_private: bool
    scope: ScopeKind
    conversation: str
    place: Place

    @property
    def of_room(self) -> bool:
        return self.scope is ScopeKind.ROOM

    @property
    def memory(self) -> Memory:
        here = CONVERSATIONS[self.conversation].room_id
        return memory(
            1,
            scope=self.scope,
            scope_id=here if self.of_room else JUNO,
            persona="" if self.scope is ScopeKind.GLOBAL else "default",
            origin=PRIVATE if self.private else PUBLIC,
            shared=self.shared,
            rooms={"nowhere": (), "here": (ELSEWHERE, here), "elsewhere": (ELSEWHERE,)}[self.limited],
            tags={"not": (), "heard": ("boats", "cat"), "not heard": ("boats",)}[self.tagged],
        )

    @property
    def view(self) -> View:
        conversation = CONVERSATIONS[self.conversation]
        owner = conversation.room_id if self.of_room else JUNO
        settings = MemorySettings(
            blacklist=(owner[:3] + "*",) if self.named else ("@somebody:hs",),
            private_stays_private=self.private_stays_private,
        )
        return View(conversation, settings, self.level, Heard(["The cat sleeps."]))


def by_the_rules(case: Case) -> bool:
    """Say by RULES.md alone whether a memory may be used or shown."""
    with_its_own_alone = (
        case.conversation in {"own direct", "somebody else's direct"}  # that room's list is of that room
        if case.of_room
        else case.conversation == "own direct"
    )
    people_read_it = case.place in {Place.LIST, Place.NOTICE, Place.EXPORT, Place.WHY}
    if people_read_it and with_its_own_alone:
        return True  # D18: "in a direct room, all of them"
    hidden = [  # D8: "Hidden by:"
        case.level is not Privacy.OPEN and not case.of_room,  # "its owner's privacy level"; a room has none
        case.named,  # "the blacklist"
        case.limited == "elsewhere",  # "its room limits"
        case.tagged == "not heard",  # "its tags (used only when one occurs in the window)"
        # "a private origin in a group room unless shared": or with anybody else than whose memory it is
        case.private and not case.shared and case.private_stays_private and not with_its_own_alone,
    ]
    return not any(hidden)


def test_d8_d18_every_combination() -> None:
    """Privacy level x blacklist x room limits x tags x origin x sharing x setting x scope x conversation x place."""
    both = (False, True)
    kinds = (
        *(Privacy, both, ("nowhere", "here", "elsewhere"), ("not", "heard", "not heard")),
        *(both, both, both, ScopeKind, CONVERSATIONS, Place),
    )
    cases = [Case(*values) for values in product(*kinds)]
    assert len(cases) == 36_288
    wrong = [case for case in cases if visibility.usable(case.memory, case.view, case.place) is not by_the_rules(case)]
    assert wrong == []


def test_d8_says_what_hides_a_memory() -> None:
    case = Case(
        *(Privacy.SILENT, True, "elsewhere", "not heard", True, False, True),
        *(ScopeKind.PERSONAL, "group", Place.LIST),
    )
    steps = (
        ({}, Hiding.PRIVACY),
        ({"level": Privacy.OPEN}, Hiding.BLACKLIST),
        ({"named": False}, Hiding.ROOMS),
        ({"limited": "here"}, Hiding.TAGS),
        ({"tagged": "heard"}, Hiding.ORIGIN),
        ({"shared": True}, None),
    )
    for change, reason in steps:
        case = replace(case, **change)  # type: ignore[arg-type]
        assert visibility.hidden_by(case.memory, case.view, case.place) is reason


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        (JUNO, True),
        ("@juno:*", True),
        ("*", True),
        ("@*:hs", True),
        ("@JUNO:hs", False),
        ("juno", False),
        ("!*", False),
    ],
)
def test_p1_d8_the_blacklist_names_by_globs_as_written(pattern: str, named: bool) -> None:
    settings = MemorySettings(blacklist=("@other:hs", pattern))
    assert visibility.blacklisted(JUNO, settings) is named
    assert visibility.may_learn(JUNO, Privacy.OPEN, settings) is not named


@pytest.mark.parametrize("level", Privacy)
def test_p1_only_an_open_person_is_learned_about(level: Privacy) -> None:
    assert visibility.may_learn(JUNO, level, SETTINGS) is (level is Privacy.OPEN)
