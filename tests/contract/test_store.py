"""What any store must do, whatever it is built on (actors.ports.Store)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from actors.store import Store
from memory.events import Incoming, IncomingKind, JournalState, SyncBatch
from memory.types import Draft, ListKey, Origin, ScopeKind, Settlement, Source
from storage import Database

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ALICE, ROOM = "@alice:example.org", "!kitchen:example.org"
LIST = ListKey(ScopeKind.PERSONAL, ALICE, "default")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    database = await Database.open(tmp_path / "data")
    shaped: Store = database  # mypy checks here that the shapes agree
    yield shaped
    await database.close()


def draft(text: str, event_id: str = "$1") -> Draft:
    return Draft(
        scope=LIST.kind,
        scope_id=LIST.owner,
        persona=LIST.persona,
        text=text,
        source=Source.PROMOTION,
        origin=Origin(ROOM, event_id, False),
        first_seen=NOW,
    )


def message(event_id: str) -> Incoming:
    return Incoming(event_id, ROOM, ALICE, IncomingKind.MESSAGE, NOW, "my cat is Mochi", "my cat is Mochi")


async def test_what_was_committed_is_seen_by_the_next_transaction(store: Store) -> None:
    async with store.transaction() as tables:
        memory = await tables.memories.insert(draft("has a cat"), NOW)
        assert await tables.memories.of_list(LIST) == (memory,)
    async with store.transaction() as tables:
        assert await tables.memories.of_list(LIST) == (memory,)


async def test_a_transaction_that_fails_leaves_no_trace_in_any_table(store: Store) -> None:
    event = message("$1")
    with pytest.raises(RuntimeError):
        async with store.transaction() as tables:
            await tables.journal.record(SyncBatch("s1", (event,)), [event], [], NOW)
            await tables.memories.insert(draft("has a cat"), NOW)
            await tables.candidates.insert(ALICE, "has a dog", Origin(ROOM, "$1", False), NOW)
            await tables.users.add_promoting_pass(ALICE)
            await tables.effects.record("$1", 0, "saved")
            raise RuntimeError
    async with store.transaction() as tables:
        assert await tables.journal.sync_token() is None
        assert await tables.journal.known(["$1"]) == frozenset()
        assert await tables.memories.of_user(ALICE) == ()
        assert await tables.candidates.of_user(ALICE) == ()
        assert await tables.effects.recorded("$1", 0) is None
        assert await tables.users.add_promoting_pass(ALICE) == 1


async def test_a_cancelled_transaction_leaves_no_trace_and_does_not_stand_in_the_way(store: Store) -> None:
    inside = asyncio.Event()

    async def never_ends() -> None:
        async with store.transaction() as tables:
            await tables.memories.insert(draft("has a cat"), NOW)
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(never_ends())
    await inside.wait()
    task.cancel()
    async with asyncio.timeout(5), store.transaction() as tables:
        assert await tables.memories.of_user(ALICE) == ()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_overlapping_turns_settle_like_turns_one_after_the_other(store: Store) -> None:
    """D4: at most one day per UTC date."""
    async with store.transaction() as tables:
        memory = await tables.memories.insert(draft("has a cat"), datetime(2026, 2, 28, tzinfo=UTC))

    async def settle() -> None:
        async with store.transaction() as tables:
            await tables.memories.settle(Settlement(NOW, NOW.date(), aged=(memory.id,)))

    await asyncio.gather(*(settle() for _ in range(5)))
    async with store.transaction() as tables:
        (settled,) = await tables.memories.get([memory.id])
    assert settled.unused_days == 1


async def test_a_second_mention_promotes_in_one_transaction(store: Store) -> None:
    """P7, P8, P10, P12, as a pass does it."""
    async with store.transaction() as tables:
        candidate = await tables.candidates.insert(ALICE, "has a cat", Origin(ROOM, "$1", False), NOW)
    async with store.transaction() as tables:
        reinforced = await tables.candidates.reinforce(candidate.id, "$2", NOW)
        assert reinforced is not None
        assert reinforced.mentions == 2
        memory = await tables.memories.insert(draft(reinforced.text), NOW)
        await tables.candidates.promoted(candidate.id, memory.id)
    async with store.transaction() as tables:
        assert await tables.candidates.of_user(ALICE) == ()
        assert await tables.candidates.take_back("$1") == ((), ())
        assert await tables.candidates.take_back("$2") == ((), (memory.id,))


async def test_an_event_is_taken_up_once_however_often_its_batch_comes(store: Store) -> None:
    event = message("$1")
    batch = SyncBatch("s1", (event,))
    async with store.transaction() as tables:
        (entry,) = await tables.journal.record(batch, [event], [], NOW)
        assert (entry.incoming, entry.state) == (event, JournalState.RECEIVED)
    async with store.transaction() as tables:
        assert await tables.journal.record(batch, [event], [], NOW) == ()
        assert await tables.journal.unfinished() == (entry,)
