"""From an answer to outbox rows: stored in the transaction that changes the journal, sent afterwards."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from actors.actor import Address
from actors.messages import Flush
from actors.parts import Parts
from actors.runtime import ActorSystem
from actors.store import Tables
from memory.events import Answer, Incoming, IncomingKind, OutboxRow


@asynccontextmanager
async def answering(
    parts: Parts, system: ActorSystem, event: Incoming, markdown: str, *, notice: bool = False
) -> AsyncIterator[Tables]:
    """Open the transaction that answers an event; the caller notes in it what became of the event.

    To the bot's own arrival the answer is a word to the whole room.
    Rows already there, from a run that was cut off, are left as they are.
    """
    recipient = None if event.kind is IncomingKind.JOINED else event.sender
    answer = Answer(event.room_id, event.event_id, recipient, markdown, event.thread_root, notice)
    contents = await asyncio.to_thread(parts.matrix.render, answer)  # hostile Markdown takes seconds
    now = parts.clock.now()
    rows = [
        OutboxRow(
            transaction_id(event.event_id, part),
            event.room_id,
            event.event_id,
            part,
            content,
            now,
            parts.matrix.device_id,
        )
        for part, content in enumerate(contents)
    ]
    async with parts.store.transaction() as tables:
        await tables.outbox.add(rows)
        yield tables
    await system.tell(Address("outbox", event.room_id), Flush())


def transaction_id(event_id: str, part: int) -> str:
    """Return the transaction id of one part of the answer to an event: the same however often it is worked out."""
    return f"dvp-{hashlib.sha256(event_id.encode()).hexdigest()[:32]}-{part}"
