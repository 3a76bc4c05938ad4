"""What this layer needs from the others; wiring hands in whatever has the shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memory.events import SyncBatch, Undecryptable


class AccountStore(Protocol):
    """Keeps the bot's own account between runs. A value that was set is there after a crash."""

    async def get(self, key: str) -> str | None:
        """Return the value of a key, or None."""
        ...

    async def set(self, key: str, value: str | None) -> None:
        """Store a value durably; None removes the key."""
        ...


class Journal(Protocol):
    """What is known of events of earlier batches."""

    async def known(self, event_ids: Sequence[str]) -> frozenset[str]:
        """Return which of these event ids are journalled."""
        ...

    async def waiting(self, room_id: str | None = None, session_id: str | None = None) -> tuple[Undecryptable, ...]:
        """Return the undecrypted events of one Megolm session, without arguments those of all sessions."""
        ...


class EncryptedRooms(Protocol):
    """What the database remembers of rooms, whatever nio's store may have lost."""

    async def encrypted(self, room_id: str) -> bool:
        """Whether this room was ever seen encrypted."""
        ...

    async def mark_encrypted(self, room_ids: Sequence[str]) -> None:
        """Remember for ever that rooms are encrypted."""
        ...


class Sink(Protocol):
    """Where batches go."""

    async def take(self, batch: SyncBatch) -> None:
        """Store a batch with its token; the next sync begins after this returned."""
        ...
