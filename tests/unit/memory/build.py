"""Values for the tests of the pure rules, with everything a test does not care about filled in."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from memory.decay import changed
from memory.types import Candidate, Conversation, Memory, Origin, ScopeKind, Settlement, Source
from memory.window import WindowEntry

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TODAY = NOON.date()
JUNO, BAU, IVO = "@juno:hs", "@bau:hs", "@ivo:hs"
ROOM, DIRECT = "!room:hs", "!direct:hs"
PUBLIC = Origin(ROOM, "$said", private=False)
PRIVATE = Origin(DIRECT, "$said", private=True)


def day(number: int) -> date:
    return TODAY + timedelta(days=number)


def noon(number: int) -> datetime:
    return NOON + timedelta(days=number)


def memory(number: int, text: str = "Has a cat", **other: Any) -> Memory:
    values: dict[str, Any] = {
        "scope": ScopeKind.PERSONAL,
        "scope_id": JUNO,
        "persona": "default",
        "source": Source.PROMOTION,
        "protected": False,
        "unused_days": 0,
        "counted_on": TODAY,
        "last_matched_at": None,
        "mentions": 2,
        "first_seen": NOON,
        "created_at": NOON,
        "updated_at": NOON,
        "origin": PUBLIC,
    }
    return Memory(id=number, text=text, **(values | other))


def room_memory(number: int, text: str = "Plays on Fridays", **other: Any) -> Memory:
    return memory(number, text, scope=ScopeKind.ROOM, scope_id=ROOM, **other)


def candidate(number: int, text: str = "Has a cat", mentions: int = 1, **other: Any) -> Candidate:
    values: dict[str, Any] = {"user_id": JUNO, "first_seen": NOON, "last_seen": NOON, "origin": PUBLIC}
    return Candidate(id=number, text=text, mentions=mentions, **(values | other))


def group(asker: str = JUNO) -> Conversation:
    return Conversation(ROOM, private=False, asker=asker)


def direct(asker: str = JUNO) -> Conversation:
    return Conversation(DIRECT, private=True, asker=asker)


def said(event: int, author: str | None = JUNO, text: str = "hello", at: datetime = NOON) -> WindowEntry:
    return WindowEntry(f"${event}", author, text, at)


def after(one: Memory, settlement: Settlement) -> Memory:
    """Return a memory as a settlement leaves it."""
    return changed({one.id: one}, settlement).get(one.id, one)
