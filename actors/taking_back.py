"""Redactions and edits: what was taken back leaves the context at once, and then what was learned only from it."""

from __future__ import annotations

import logging

from actors.actor import Address
from actors.documents import DocumentDesk
from actors.messages import Flush, TakenBack
from actors.parts import Parts
from actors.runtime import Context
from actors.windows import Windows
from memory.errors import ActorFailed
from memory.events import Incoming, IncomingKind, JournalEntry, JournalState

log = logging.getLogger(__name__)


class TakingBack:
    """The redactions and edits of one room. gone: the events taken back since the room's actor was loaded."""

    def __init__(self, parts: Parts, context: Context, windows: Windows, documents: DocumentDesk) -> None:
        self._parts = parts
        self._context = context
        self._windows = windows
        self._documents = documents
        self.gone: set[str] = set()

    async def target(self, entry: JournalEntry) -> JournalEntry | None:
        """Return the message that an edit or a redaction takes back; None: it takes back none, and is dealt with.

        A document goes with its file, whether or not the journal knows of the message that brought it.
        """
        event = entry.incoming
        async with self._parts.store.transaction() as tables:
            documents = await self._documents.take_back(tables, event)
            target = await tables.journal.get(event.target or "")
            answers = None if target is not None else await tables.outbox.answers(event.target or "", event.room_id)
        self._documents.forgotten(documents)
        if answers is not None and event.kind is IncomingKind.REDACTION:
            await self._take_back_answer(entry, answers)
            return None
        if target is None or not _may_take_back(event, target.incoming):
            await self._finish(entry, JournalState.IGNORED)
            return None
        return target

    async def carry_out(self, entry: JournalEntry, target: JournalEntry) -> None:
        """Let a message leave the context at once, and then, as a task, what was learned only from it."""
        event_id = target.incoming.event_id
        self._windows.leave(target)
        self.gone.add(event_id)
        async with self._parts.store.transaction() as tables:
            await tables.journal.retract(event_id)
            if entry.incoming.kind is IncomingKind.REDACTION:
                await tables.journal.lose_media(event_id)
                await tables.outbox.retract(event_id)
        await self._context.system.tell(Address("outbox", target.incoming.room_id), Flush())
        self._context.spawn(self._unlearn(entry, target))

    async def _unlearn(self, entry: JournalEntry, target: JournalEntry) -> None:
        event_id = target.incoming.event_id
        try:
            await self._context.system.ask(Address("user", target.incoming.sender), TakenBack(event_id))
        except ActorFailed:
            log.exception("what %s taught is still to be taken back; the next start tries again", event_id)
            return
        await self._finish(entry, JournalState.LEARNED)

    async def _take_back_answer(self, entry: JournalEntry, event_id: str) -> None:
        """Let an answer of the bot's own that was redacted leave the context; what was asked goes with it."""
        async with self._parts.store.transaction() as tables:
            answered = await tables.journal.get(event_id)
            await tables.journal.retract_answer(event_id)
            await tables.outbox.retract(event_id)
            await tables.journal.finish(entry.incoming.event_id, JournalState.LEARNED)
        if answered is not None:
            self._windows.leave(answered)

    async def _finish(self, entry: JournalEntry, state: JournalState) -> None:
        async with self._parts.store.transaction() as tables:
            await tables.journal.finish(entry.incoming.event_id, state)


def _may_take_back(event: Incoming, target: Incoming) -> bool:
    """Whether an edit or redaction concerns a message of this room; only its author edits a message."""
    if target.room_id != event.room_id or target.kind is not IncomingKind.MESSAGE:
        return False
    return event.kind is IncomingKind.REDACTION or event.sender == target.sender
