"""What the Matrix side keeps in the database, one transaction a call."""

from __future__ import annotations

from collections.abc import Sequence

from actors.store import Store
from memory.events import Undecryptable


class StoredForMatrix:
    """Satisfies the ports of matrix/: account values, known and waiting events, encrypted rooms."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, key: str) -> str | None:
        """Return an account value, or None."""
        async with self._store.transaction() as tables:
            return await tables.account.get(key)

    async def set(self, key: str, value: str | None) -> None:
        """Store an account value; None removes it."""
        async with self._store.transaction() as tables:
            await tables.account.set(key, value)

    async def known(self, event_ids: Sequence[str]) -> frozenset[str]:
        """Return which of these event ids are journalled."""
        async with self._store.transaction() as tables:
            return await tables.journal.known(event_ids)

    async def waiting(self, room_id: str | None = None, session_id: str | None = None) -> tuple[Undecryptable, ...]:
        """Return the undecrypted events of one session, or of all."""
        async with self._store.transaction() as tables:
            return await tables.journal.waiting(room_id, session_id)

    async def encrypted(self, room_id: str) -> bool:
        """Whether a room was ever seen encrypted."""
        async with self._store.transaction() as tables:
            return await tables.rooms.encrypted(room_id)

    async def mark_encrypted(self, room_ids: Sequence[str]) -> None:
        """Remember for ever that rooms are encrypted."""
        async with self._store.transaction() as tables:
            await tables.rooms.mark_encrypted(room_ids)
