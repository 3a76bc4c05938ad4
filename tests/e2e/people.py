"""Helpers around `matrix.person.Person` for end-to-end tests."""

from __future__ import annotations

from matrix.person import Heard, Person

__all__ = ["PASSWORD", "Heard", "Person", "texts"]

PASSWORD = "correct horse"


def texts(person: Person, room_id: str, sender: str | None = None) -> list[str]:
    """Return the bodies of the messages a person heard in a room, in order."""
    return [
        event.body
        for event in person.heard
        if event.room_id == room_id and event.type == "m.room.message" and sender in (None, event.sender)
    ]
