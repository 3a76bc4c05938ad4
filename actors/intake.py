"""From /sync to the journal, and from the journal to the room actors: nothing acts on an event before it is stored."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from actors.actor import Address
from actors.messages import Deliver, Flush, Wake
from actors.parts import Parts
from actors.runtime import ActorSystem
from actors.scenes import Scenes
from actors.store import Tables
from memory.addressing import without_name
from memory.events import Incoming, IncomingKind, SyncBatch
from memory.types import Persona

log = logging.getLogger(__name__)


class Intake:
    """Takes whole sync batches; the gateway waits for `take` before it asks for the next one."""

    def __init__(self, parts: Parts, system: ActorSystem) -> None:
        self._store = parts.store
        self._settings = parts.settings
        self._dispatcher = parts.dispatcher
        self._clock = parts.clock
        self._scenes = Scenes(parts)
        self._system = system

    async def take(self, batch: SyncBatch) -> None:
        """Journal a batch with its sync token in one transaction, then deliver what is new, in order.

        The text of a message that is not for the bot is not stored; of somebody silent nothing is but commands.
        """
        events = tuple(_without_new_text(event) for event in (*batch.late, *batch.events))
        async with self._store.transaction() as tables:
            events = await self._by_name(tables, events)
            silent = await tables.users.silent(_senders(events))
            events = await self._scenes.mark(tables, batch, events, silent)
            received: list[Incoming] = []
            ignored: list[Incoming] = []
            for event in events:
                if self._concerns_the_bot(event, silent):
                    received.append(event)
                else:  # nobody is shown a picture of somebody silent
                    ignored.append(replace(event, media=None) if event.sender in silent else event)
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
        redactions = [event for event in received if event.kind is IncomingKind.REDACTION]
        targets = {event.target for event in redactions}  # of which something may be on its way to a direct room too
        held = {event.room_id for event in redactions} | {row.room_id for row in unsent if row.event_id in targets}
        for room_id in dict.fromkeys(row.room_id for row in unsent if row.room_id not in held):
            await self._system.tell(Address("outbox", room_id), Flush())

    async def resume(self) -> None:
        """Wake the actors that have unfinished work from before this start; they read it from storage.

        Called after the first batch was taken, so that echoes have confirmed what had been sent.
        """
        async with self._store.transaction() as tables:
            entries = await tables.journal.unfinished()
        for room_id in dict.fromkeys(entry.incoming.room_id for entry in entries):
            await self._system.tell(Address("room", room_id), Wake())

    async def _by_name(self, tables: Tables, events: tuple[Incoming, ...]) -> tuple[Incoming, ...]:
        """Return the events, addressed where they begin with a name of their room's persona, which is then taken off.

        Clients that know nothing of that name send an empty m.mentions; one that names others only is believed.
        """
        if not any(self._settings.persona(name).answers_to for name in self._settings.personas()):
            return events
        rooms = dict.fromkeys(event.room_id for event in events if _may_be_named(event))
        personas = await tables.rooms.personas(tuple(rooms)) if rooms else {}
        return tuple(
            _named(event, self._settings.persona(personas[event.room_id])) if _may_be_named(event) else event
            for event in events
        )

    def _concerns_the_bot(self, event: Incoming, silent: frozenset[str]) -> bool:
        if event.kind is not IncomingKind.MESSAGE:
            return True
        meant = event.direct or event.addressed or event.scene
        if event.sender not in silent:
            return meant or self._dispatcher.recognise(event.text) is not None
        meaning = self._dispatcher.recognise(event.text, meant=meant)
        return meaning is not None and meaning.turn is None


def _senders(events: Iterable[Incoming]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(event.sender for event in events if event.kind is IncomingKind.MESSAGE))


def _may_be_named(event: Incoming) -> bool:
    return event.kind is IncomingKind.MESSAGE and not event.addressed and not event.for_others


def _named(event: Incoming, persona: Persona) -> Incoming:
    rest = without_name(event.text, persona.answers_to)
    return event if rest is None else replace(event, text=rest, addressed=True)


def _without_new_text(event: Incoming) -> Incoming:
    """Return an edit without the text it brings: only that the old one no longer holds matters."""
    return replace(event, body="", text="") if event.kind is IncomingKind.EDIT else event
