"""Rooms with settings of their own: `[rooms."!id:server"]` in config.toml, in faults and on the pages."""

from __future__ import annotations

from pydantic_core import ErrorDetails

from davenport.settings_fields import Key, all_keys

TABLE = "rooms"
EXAMPLE_ROOM = "!example:example.org"


def room_keys() -> tuple[Key, ...]:
    """Return the keys a room may have its own value of."""
    return tuple(key for key in all_keys() if key.scope == "room")


def fault(detail: ErrorDetails) -> str:
    """Say in one line what is wrong at one place of the table; names keys and what is allowed, no values."""
    room_id, *rest = (*map(str, detail["loc"][1:]), "")
    dotted = ".".join(filter(None, rest))
    if not room_id:
        return f"{TABLE} must be tables, one for each room: {_heading(EXAMPLE_ROOM)}"
    if dotted == "[key]":
        return f"{_heading(room_id)}: must name a room by its id, such as {EXAMPLE_ROOM}, in quotes"
    if not dotted and detail["type"] != "not_of_room":
        return f"{_heading(room_id)} must be a table"
    key = next((key for key in room_keys() if key.dotted == dotted), None)
    if key is not None:
        return f"{_heading(room_id)}: {dotted} must be {key.allowed}"
    names = ", ".join(key.dotted for key in room_keys())
    wrong = detail["msg"] if detail["type"] == "not_of_room" else dotted
    return f"{_heading(room_id)}: {wrong} cannot be set for one room; what can is {names}"


def _heading(room_id: str) -> str:
    return f'[{TABLE}."{room_id}"]'
