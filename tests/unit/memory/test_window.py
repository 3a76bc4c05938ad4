from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.settings import ContextSettings
from memory.types import Conversation
from memory.window import Window, WindowEntry, extend, known_in, owners_today, participants, present, without
from tests.unit.memory.build import BAU, IVO, JUNO, NOON, TODAY, day, said

EVERYBODY = frozenset({JUNO, BAU, IVO})
SETTINGS = ContextSettings(max_messages=8, timeout_minutes=60)


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def filled(*authors: str | None, settings: ContextSettings = SETTINGS) -> Window:
    window = Window()
    for number, author in enumerate(authors):
        at = NOON + minutes(number)
        window = extend(window, [said(number, author, at=at)], settings, at, EVERYBODY)
    return window


def test_d14_participants_keep_the_order_in_which_they_joined() -> None:
    window = filled(BAU, None, JUNO, None, BAU, IVO)
    assert window.participants == (BAU, JUNO, IVO)
    assert participants(window, JUNO) == (BAU, JUNO, IVO)
    assert participants(Window(), JUNO) == (JUNO,)


def test_d14_the_start_of_the_history_moves_in_steps() -> None:
    """Every trim makes room for a quarter of the window, so that the cached start lasts for some messages."""
    starts, window, settings = [], Window(), ContextSettings(max_messages=20)
    for number in range(120):
        window = extend(window, [said(number, JUNO)], settings, NOON, EVERYBODY)
        starts.append(window.entries[0].event_id)
    moves = sum(one != other for one, other in pairwise(starts[20:]))
    assert 0 < moves <= 100 // 5


@pytest.mark.parametrize(("most", "messages_between"), [(20, 4), (12, 3), (8, 2), (40, 6), (3, 1), (2, 1)])
def test_d14_with_answers_the_start_moves_every_so_many_messages_and_exchanges_stay_whole(
    most: int, messages_between: int
) -> None:
    starts, window, settings = [], Window(), ContextSettings(max_messages=most)
    for number in range(100):
        window = extend(window, [said(number, JUNO), said(number, None)], settings, NOON, EVERYBODY)
        assert window.entries[0].author == JUNO
        assert len(window.entries) % 2 == 0
        assert most - most // 4 - 1 <= len(window.entries) <= most or number < most // 2
        starts.append(window.entries[0].event_id)
    moves = [number for number in range(1, 100) if starts[number] != starts[number - 1]]
    assert {later - earlier for earlier, later in pairwise(moves)} == {messages_between}


def test_d14_who_has_no_message_left_goes_at_the_trim() -> None:
    assert filled(BAU, *[JUNO, None] * 3).participants == (BAU, JUNO)
    assert filled(BAU, *[JUNO, None] * 4).participants == (JUNO,)


def test_d2_d14_who_left_the_room_is_not_searched_and_stays_in_the_start_until_the_trim() -> None:
    window = filled(BAU, JUNO)
    here = frozenset({JUNO})
    assert present(window, JUNO, here) == (JUNO,)
    assert participants(window, JUNO) == (BAU, JUNO)
    window = extend(window, [said(9, JUNO, at=NOON + minutes(50))], SETTINGS, NOON + minutes(50), here)
    assert window.participants == (BAU, JUNO)
    assert extend(window, [], SETTINGS, NOON + minutes(60.5), here).participants == (JUNO,)


def test_d2_the_sender_takes_part_even_where_the_member_list_is_behind() -> None:
    assert present(filled(BAU), JUNO, frozenset({BAU})) == (BAU, JUNO)


def test_nothing_older_than_the_timeout_stays_and_exactly_that_old_does() -> None:
    window = filled(JUNO, BAU)
    assert extend(window, [], SETTINGS, NOON + minutes(60), EVERYBODY) == window
    assert extend(window, [], SETTINGS, NOON + minutes(60.1), EVERYBODY) == Window()
    young = extend(window, [said(9, at=NOON + minutes(50))], SETTINGS, NOON + minutes(50), EVERYBODY)
    assert [entry.event_id for entry in extend(young, [], SETTINGS, NOON + minutes(61), EVERYBODY).entries] == ["$9"]


def test_taking_back_an_event_takes_its_answer_and_an_author_who_said_nothing_else() -> None:
    window = extend(Window(), [said(1, BAU), said(1, None), said(2, JUNO)], SETTINGS, NOON, EVERYBODY)
    assert without(window, "$1") == Window((said(2, JUNO),), (JUNO,))
    assert without(window, "$unknown") == window


def test_d8_what_was_said_in_private_is_known_only_to_who_is_alone_there_again() -> None:
    secret = WindowEntry("$1", JUNO, "secret", NOON, private_to=JUNO)
    told = WindowEntry("$1", None, "answer", NOON, private_to=JUNO)
    heard = WindowEntry("$2", BAU, "hello", NOON)
    window = Window((secret, told, heard), (JUNO, BAU))
    assert known_in(window, Conversation("!a:hs", private=True, asker=JUNO)) == window
    for private, asker in ((False, JUNO), (False, BAU), (True, BAU)):
        assert known_in(window, Conversation("!a:hs", private=private, asker=asker)) == Window((heard,), (BAU,))


def test_d4_owners_are_those_who_wrote_in_the_window_on_this_date() -> None:
    entries = [
        said(1, BAU, at=NOON - timedelta(hours=13)),
        said(2, JUNO, at=NOON - timedelta(hours=12)),
        said(3, None),
        said(4, IVO, at=NOON + timedelta(days=1)),
    ]
    assert owners_today(entries, TODAY) == {JUNO}
    assert owners_today(entries, day(-1)) == {BAU}


@given(
    st.lists(st.tuples(st.sampled_from([JUNO, BAU, IVO, None]), st.integers(-90, 90)), max_size=40),
    st.integers(1, 9),
)
def test_d2_the_window_keeps_its_limits_and_its_participants_are_its_present_authors(
    steps: list[tuple[str | None, int]], most: int
) -> None:
    settings = ContextSettings(max_messages=most, timeout_minutes=60)
    window, now = Window(), NOON
    for number, (author, gap) in enumerate(steps):
        now += minutes(gap)
        window = extend(window, [WindowEntry(f"${number}", author, "x", now)], settings, now, EVERYBODY)
        assert len(window.entries) <= most
        assert all(now - entry.at <= minutes(60) for entry in window.entries)
        assert window.entries[-1].event_id == f"${number}"
        assert set(window.participants) == {entry.author for entry in window.entries} - {None}
        assert len(set(window.participants)) == len(window.participants)
