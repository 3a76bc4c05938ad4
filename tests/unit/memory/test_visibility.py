from __future__ import annotations

from dataclasses import replace

import pytest

from memory import visibility
from memory.settings import MemorySettings
from memory.types import Conversation, Memory, ScopeKind
from memory.visibility import Place, View, listed
from tests.unit.memory.build import BAU, DIRECT, JUNO, PRIVATE, direct, group, memory, room_memory

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
