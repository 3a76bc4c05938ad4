"""Where reading begins in a room the bot came into."""

from __future__ import annotations

from typing import Any

import pytest

from matrix.timeline import is_arrival, start_of_reading

ME = "@davenport:example.org"


def member(membership: str, previous: str | None = None, user: str = ME) -> dict[str, Any]:
    event: dict[str, Any] = {"type": "m.room.member", "state_key": user, "content": {"membership": membership}}
    if previous:
        event["unsigned"] = {"prev_content": {"membership": previous}}
    return event


SAID: dict[str, Any] = {"type": "m.room.message", "content": {}}
INVITED, JOINED = member("invite"), member("join", "invite")


@pytest.mark.parametrize(
    ("events", "start"),
    [
        ([SAID, SAID], 0),
        ([SAID, INVITED, SAID, JOINED, SAID], 2),
        ([SAID, member("join"), SAID], 1),
        ([SAID, JOINED, SAID], 0),  # the invitation lies before what was asked for
        ([SAID, member("join", "join"), SAID], 0),  # a new display name
        ([SAID, member("join", user="@alice:example.org"), SAID], 0),
        ([INVITED, JOINED, SAID, member("leave", "join"), SAID, member("join", "leave"), SAID], 5),
        ([INVITED, JOINED, SAID, member("leave", "join"), SAID, member("invite", "leave"), SAID, JOINED], 6),
        ([{}, {"type": "m.room.member", "state_key": ME, "content": 5}, SAID], 0),
    ],
)
def test_start_of_reading(events: list[dict[str, Any]], start: int) -> None:
    assert start_of_reading(events, ME) == start


@pytest.mark.parametrize(
    ("event", "came_in"),
    [
        (JOINED, True),
        (member("join"), True),
        (member("join", "leave"), True),
        (member("join", "knock"), True),
        (member("join", "join"), False),
        ({**member("join"), "unsigned": {"replaces_state": "$before"}}, False),  # it is not told what was before
        (INVITED, False),
        (member("leave", "join"), False),
        (member("join", "invite", user="@alice:example.org"), False),
        (SAID, False),
        ({**JOINED, "unsigned": 5}, True),
    ],
)
def test_an_arrival_is_our_own_join_from_outside(event: dict[str, Any], came_in: bool) -> None:
    assert is_arrival(event, ME) is came_in
