"""Which event the work at hand is for, so that every log record of it names that event, whoever writes the record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_event: ContextVar[str | None] = ContextVar("event_id", default=None)


@contextmanager
def following(event_id: str) -> Iterator[None]:
    """Name an event for the length of a block, in this task and in those it starts."""
    token = _event.set(event_id)
    try:
        yield
    finally:
        _event.reset(token)


def followed() -> str | None:
    """Return the event that is being worked on, None outside such work."""
    return _event.get()
