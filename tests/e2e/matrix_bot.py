"""The Matrix layer of the bot alone, over a journal in memory, that can be stopped, killed and started again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from matrix.account import Account
from matrix.client import Client
from matrix.cross_signing import CrossSigner
from matrix.direct_rooms import DirectRooms
from matrix.gateway import Gateway
from matrix.person import MemoryAccountStore
from matrix.sender import Sender
from memory.events import Echo, Incoming, IncomingKind, OutboxRow, SyncBatch, Undecryptable


class Crash(Exception):
    """The process dies here."""


class JournalInMemory:
    """Journal, sink and room table in one. `crash` says of a batch whether the process dies before it is stored."""

    def __init__(self) -> None:
        self.token: str | None = None
        self.batches = 0
        self.events: dict[str, Incoming] = {}
        self.late: list[str] = []
        self.undecryptable: dict[str, Undecryptable] = {}
        self.echoes: list[Echo] = []
        self.encrypted_rooms: set[str] = set()
        self.crash: Callable[[SyncBatch], bool] = lambda batch: False
        self.news = asyncio.Condition()

    @property
    def said(self) -> dict[str, Incoming]:
        """The events without the bot's own arrivals."""
        return {key: event for key, event in self.events.items() if event.kind is not IncomingKind.JOINED}

    async def known(self, event_ids: Sequence[str]) -> frozenset[str]:
        return frozenset(event_ids) & (self.events.keys() | self.undecryptable.keys())

    async def waiting(self, room_id: str | None = None, session_id: str | None = None) -> tuple[Undecryptable, ...]:
        return tuple(
            event
            for event in self.undecryptable.values()
            if room_id is None or (event.room_id, event.session_id) == (room_id, session_id)
        )

    async def encrypted(self, room_id: str) -> bool:
        return room_id in self.encrypted_rooms

    async def mark_encrypted(self, room_ids: Sequence[str]) -> None:
        self.encrypted_rooms |= set(room_ids)

    async def take(self, batch: SyncBatch) -> None:
        if self.crash(batch):
            raise Crash
        async with self.news:
            for event in (*batch.events, *batch.late):
                self.events.setdefault(event.event_id, event)
                self.undecryptable.pop(event.event_id, None)
            self.late += [event.event_id for event in batch.late]
            self.undecryptable |= {event.event_id: event for event in batch.undecryptable}
            self.echoes += batch.echoes
            self.encrypted_rooms |= set(batch.encrypted_rooms)
            self.token = batch.next_batch
            self.batches += 1
            self.news.notify_all()

    async def until(self, true: Callable[[], bool], *, seconds: float = 30) -> None:
        async with asyncio.timeout(seconds), self.news:
            await self.news.wait_for(true)


class MatrixBot:
    """Account, gateway and sender as the bot wires them; what lasts over a restart is kept here."""

    def __init__(
        self, homeserver: str, user: str, password: str | None, folder: Path, *, ignore_users: Iterable[str] = ()
    ) -> None:
        self.homeserver, self.user, self.password, self.folder = homeserver, user, password, folder
        self.ignore_users = tuple(ignore_users)
        self.journal = JournalInMemory()
        self.account_store = MemoryAccountStore()
        self.running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Log in and sync until the first batch is stored."""
        account = Account(
            self.account_store,
            homeserver=self.homeserver,
            user=self.user,
            password=self.password,
            data_dir=self.folder,
        )
        self.client: Client = await account.connect()
        self.signer = CrossSigner(self.client, self.folder / "cross_signing.json", self.password)
        direct = DirectRooms(self.client)
        self.gateway = Gateway(self.client, self.journal, self.signer, direct=direct, ignore_users=self.ignore_users)
        self.sender = Sender(self.client, self.journal, direct)
        self.running = asyncio.create_task(self.gateway.run(self.journal, self.journal.token))
        stored = self.journal.batches
        first = asyncio.create_task(self.journal.until(lambda: self.journal.batches > stored))
        await asyncio.wait({first, self.running}, return_when=asyncio.FIRST_COMPLETED)
        first.cancel()

    async def stop(self) -> None:
        """End in an orderly way."""
        assert self.running is not None
        self.gateway.stop()
        await self.running
        await self.client.close()

    async def close(self) -> None:
        """Clean up, whatever state the bot is in."""
        if self.running is not None and not self.running.done():
            self.gateway.stop()
            await self.running
        await self.client.close()

    async def crashed(self) -> None:
        """Wait until the journal's `crash` struck; nothing is saved after it."""
        assert self.running is not None
        with pytest.raises(Crash):
            await self.running
        await self.client.close()
        self.journal.crash = lambda batch: False

    async def hears(self, *event_ids: str, seconds: float = 30) -> list[Incoming]:
        """Wait until the journal holds these events, and return them."""
        await self.journal.until(lambda: all(event in self.journal.events for event in event_ids), seconds=seconds)
        return [self.journal.events[event] for event in event_ids]


def outbox_row(room_id: str, content: str, *, event_id: str = "$asked", part: int = 0, txn_id: str = "") -> OutboxRow:
    return OutboxRow(
        txn_id=txn_id or f"{event_id.strip('$')}.{part}",
        room_id=room_id,
        event_id=event_id,
        part=part,
        content=content,
        created_at=datetime.now(UTC),
    )
