"""From /sync to the journal, and from the journal to the room actors: nothing acts on an event before it is stored."""

from __future__ import annotations

import logging
from dataclasses import replace

from actors.actor import Address
from actors.messages import Deliver, Flush, Wake
from actors.parts import Parts
from actors.runtime import ActorSystem
from memory.events import Incoming, IncomingKind, SyncBatch

log = logging.getLogger(__name__)


class Intake:
    """Takes whole sync batches; the gateway waits for `take` before it asks for the next one."""

    def __init__(self, parts: Parts, system: ActorSystem) -> None:
        self._store = parts.store
        self._dispatcher = parts.dispatcher
        self._clock = parts.clock
        self._system = system

    async def take(self, batch: SyncBatch) -> None:
        """Journal a batch with its sync token in one transaction, then deliver what is new, in order.

        The text of a message that is not for the bot is not stored.
        """
        events = tuple(_without_new_text(event) for event in (*batch.late, *batch.events))
        received = [event for event in events if self._concerns_the_bot(event)]
        ignored = [event for event in events if not self._concerns_the_bot(event)]
        async with self._store.transaction() as tables:
            entries = await tables.journal.record(batch, received, ignored, self._clock.now())
            for echo in batch.echoes:
                await tables.outbox.sent(echo.txn_id, echo.event_id)
            unsent = await tables.outbox.pending()
        for entry in entries:
            event = entry.incoming
            ids = {"event_id": event.event_id, "room_id": event.room_id, "user_id": event.sender}
            log.info("journalled", extra={**ids, "kind": event.kind.value})
            await self._system.tell(Address("room", event.room_id), Deliver(entry))
        # The homeserver answers: what could not be sent before goes now, at a start or after an outage; but not before
        # a redaction of this batch has had its say.
        redacted = {event.room_id for event in received if event.kind is IncomingKind.REDACTION}
        for room_id in dict.fromkeys(row.room_id for row in unsent if row.room_id not in redacted):
            await self._system.tell(Address("outbox", room_id), Flush())

    async def resume(self) -> None:
        """Wake the actors that have unfinished work from before this start; they read it from storage.

        Called after the first batch was taken, so that echoes have confirmed what had been sent.
        """
        async with self._store.transaction() as tables:
            entries = await tables.journal.unfinished()
        for room_id in dict.fromkeys(entry.incoming.room_id for entry in entries):
            await self._system.tell(Address("room", room_id), Wake())

    def _concerns_the_bot(self, event: Incoming) -> bool:
        if event.kind is not IncomingKind.MESSAGE:
            return True
        return event.direct or event.addressed or self._dispatcher.recognise(event.text) is not None


def _without_new_text(event: Incoming) -> Incoming:
    """Return an edit without the text it brings: only that the old one no longer holds matters."""
    return replace(event, body="", text="") if event.kind is IncomingKind.EDIT else event
