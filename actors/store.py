"""The database as the actors see it: table families inside one transaction. storage/ satisfies these by shape."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date, datetime
from typing import Protocol

from actors.store_documents import DocumentTable, SceneTable
from actors.store_events import EffectTable, JournalTable, OutboxTable
from actors.store_memories import CandidateTable, MemoryTable, UndoTable
from memory.events import (
    Backlog,
    Totals,
)
from memory.model import Usage, UsageBy, UsageTotal
from memory.types import Privacy


class UserTable(Protocol):
    """What must be remembered of a user besides memories: counters of the rules, and the privacy level."""

    async def privacy(self, user_id: str) -> Privacy:
        """Return the user's privacy level, OPEN unless set (D8)."""
        ...

    async def set_privacy(self, user_id: str, privacy: Privacy) -> None:
        """Set the user's privacy level."""
        ...

    async def silent(self, user_ids: Sequence[str]) -> frozenset[str]:
        """Return which of these users are SILENT."""
        ...

    async def add_promoting_pass(self, user_id: str) -> int:
        """Add one to the counter of passes that promoted (P13) and return it."""
        ...

    async def promoting_passes(self, user_id: str) -> int:
        """Return the counter of passes that promoted since the last cleanup (P13)."""
        ...

    async def cleaned_up(self, user_id: str, counted: int) -> None:
        """Take what the counter was when a cleanup began off it; what was promoted meanwhile stays (P13)."""
        ...

    async def forget_through(self, user_id: str, event_id: str) -> int:
        """Note that nothing said up to this event is to be learned any more (P20); return its journal number."""
        ...

    async def forgotten_through(self, user_id: str) -> int:
        """Return the journal number up to which nothing is to be learned any more, 0 when there is none (P20)."""
        ...


class RoomTable(Protocol):
    """What must be remembered of a room."""

    async def encrypted(self, room_id: str) -> bool:
        """Whether this room was ever seen encrypted."""
        ...

    async def mark_encrypted(self, room_ids: Sequence[str]) -> None:
        """Remember for ever that rooms are encrypted."""
        ...

    async def persona(self, room_id: str) -> str:
        """Return the room's current persona, `default` unless set."""
        ...

    async def personas(self, room_ids: Sequence[str]) -> dict[str, str]:
        """Return the current persona of each of these rooms, `default` unless set."""
        ...

    async def set_persona(self, room_id: str, persona: str) -> None:
        """Set the room's current persona."""
        ...


class UsageTable(Protocol):
    """Tokens spent."""

    async def add(self, event_id: str, user_id: str, room_id: str, purpose: str, usage: Usage, at: datetime) -> None:
        """Record one model call; `purpose` is "reply", "draw", "story", "extraction" or "cleanup"."""
        ...

    async def totals(
        self, first: date, last: date, by: Sequence[UsageBy], *, user_id: str | None = None
    ) -> tuple[UsageTotal, ...]:
        """Sum the calls of some UTC dates, both included, for each combination of `by` there is, in order.

        `user_id`: only those made for this person.
        """
        ...

    async def prune(self, before: datetime, limit: int) -> int:
        """Delete up to `limit` calls made before this moment, the oldest first; return how many."""
        ...


class AccountTable(Protocol):
    """The bot's own account as key and value: user and device id, tokens, cross-signing state. Never logged."""

    async def get(self, key: str) -> str | None:
        """Return the value of a key, or None."""
        ...

    async def set(self, key: str, value: str | None) -> None:
        """Store a value; None removes the key."""
        ...

    async def all(self) -> dict[str, str]:
        """Return every key with its value."""
        ...


class OverrideTable(Protocol):
    """Settings that were set in chat, as JSON texts by key (`section.name`) and room id; "" is everywhere."""

    async def all(self) -> dict[tuple[str, str], str]:
        """Return every value by key and room id, in order."""
        ...

    async def set(self, key: str, room_id: str, value: str) -> None:
        """Store a value in place of the one there may be."""
        ...

    async def reset(self, key: str, room_id: str) -> None:
        """Remove a value, if there is one."""
        ...


class OverviewTable(Protocol):
    """Sums for operators."""

    async def backlog(self) -> Backlog:
        """Return how many events wait to be sent, and since when the oldest does."""
        ...

    async def totals(self) -> Totals:
        """Count memories, candidates, and the users who have any of either."""
        ...

    async def schema(self) -> int:
        """Return the number of the schema."""
        ...


class Tables(Protocol):
    """All table families inside one open transaction."""

    @property
    def journal(self) -> JournalTable:
        """Events in order of arrival."""
        ...

    @property
    def outbox(self) -> OutboxTable:
        """Events on their way out."""
        ...

    @property
    def memories(self) -> MemoryTable:
        """Durable memories and their vectors."""
        ...

    @property
    def candidates(self) -> CandidateTable:
        """Facts on probation and their mentions."""
        ...

    @property
    def users(self) -> UserTable:
        """Counters per user."""
        ...

    @property
    def rooms(self) -> RoomTable:
        """State per room."""
        ...

    @property
    def effects(self) -> EffectTable:
        """Results of effects."""
        ...

    @property
    def usage(self) -> UsageTable:
        """Tokens spent."""
        ...

    @property
    def account(self) -> AccountTable:
        """The bot's own account."""
        ...

    @property
    def overrides(self) -> OverrideTable:
        """Settings set in chat."""
        ...

    @property
    def overview(self) -> OverviewTable:
        """Sums for operators."""
        ...

    @property
    def documents(self) -> DocumentTable:
        """Documents of rooms."""
        ...

    @property
    def scenes(self) -> SceneTable:
        """Who is in a scene."""
        ...

    @property
    def undo(self) -> UndoTable:
        """One step back for each owner."""
        ...


class Store(Protocol):
    """The database: everything happens in a transaction, which is there whole or not at all."""

    def transaction(self) -> AbstractAsyncContextManager[Tables]:
        """Open a transaction; committed at the end, rolled back on any exception, cancellation included."""
        ...

    async def checkpoint(self) -> bool:
        """Fold what is committed into the database's file, outside any transaction; False: readers were in the way."""
        ...
