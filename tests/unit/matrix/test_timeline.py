"""Where reading begins in a room the bot came into."""

from __future__ import annotations

from typing import Any

import pytest

from matrix.timeline import start_of_reading

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
        ([SAID, member("join"), SAID], 2),
        ([SAID, JOINED, SAID], 0),  # the invitation lies before what was asked for
        ([SAID, member("join", "join"), SAID], 0),  # a new display name
        ([SAID, member("join", user="@alice:example.org"), SAID], 0),
        ([INVITED, JOINED, SAID, member("leave", "join"), SAID, member("join", "leave"), SAID], 6),
        ([INVITED, JOINED, SAID, member("leave", "join"), SAID, member("invite", "leave"), SAID, JOINED], 6),
        ([{}, {"type": "m.room.member", "state_key": ME, "content": 5}, SAID], 0),
    ],
)
def test_start_of_reading(events: list[dict[str, Any]], start: int) -> None:
    assert start_of_reading(events, ME) == start
