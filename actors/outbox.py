"""One outbox actor per room: sends that room's rows one at a time, in order, until the homeserver has them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from actors.actor import Actor
from actors.answers import rows_of
from actors.messages import Flush
from actors.parts import Parts
from actors.runtime import Context
from actors.store import Tables
from actors.tracing import following
from memory.errors import MatrixError
from memory.events import Answer, OutboxRow

log = logging.getLogger(__name__)

# Synapse recognises a repeated transaction id for 24 hours and only from the same device; past that, look first.
TRUSTED_FOR = timedelta(hours=20)
# A homeserver that is tried takes words: a file that it still does not take after so long holds up its room no longer,
# nor does what meets a fault of ours.
HELD_UP = timedelta(hours=1)
ATTEMPTS = 8
_backoff = wait_exponential_jitter(multiplier=0.5, max=60.0)


@dataclass(frozen=True, slots=True)
class _Taken:
    """The homeserver has this row."""

    row: OutboxRow
    event_id: str


@dataclass(frozen=True, slots=True)
class _Uploaded:
    """The homeserver has this row's file; `content` says where."""

    row: OutboxRow
    content: str


@dataclass(frozen=True, slots=True)
class _Overheard:
    """This row is for one person alone, and others are in the room by now (D8); `instead` says so there."""

    row: OutboxRow
    instead: Sequence[OutboxRow]


@dataclass(frozen=True, slots=True)
class _Refused:
    """The homeserver will not have this row (`permanent`; `instead` says so there), or could not be reached for now."""

    row: OutboxRow
    reason: str
    permanent: bool
    instead: Sequence[OutboxRow] = ()


@dataclass(frozen=True, slots=True)
class _TakenBack:
    """This row is to be sent no more: while it was tried in vain it was redacted, replaced by a newer edit, or seen."""


class OutboxActor(Actor):
    """Sends what is pending for one room. Rows are stored before this actor hears of them.

    Which event an edit replaces is put in when its turn comes, since it is not known before. A row's file is uploaded
    first, and where it lies is stored before the event is sent: a repeated transaction id never stands for two files.
    """

    def __init__(self, context: Context, parts: Parts) -> None:
        super().__init__(context)
        self._parts = parts
        self._store = parts.store
        self._matrix = parts.matrix
        self._clock = parts.clock
        self._metrics = parts.metrics
        self._sending = False

    async def handle(self, message: object) -> None:
        """Take Flush, or the outcome of the row that was being sent."""
        match message:
            case Flush():
                await self._next()
            case _Taken(row, event_id):
                self._sending = False
                async with self._store.transaction() as tables:
                    await tables.outbox.sent(row.txn_id, event_id)
                self._metrics.send("sent")
                log.info("sent", extra={"event_id": row.event_id, "part": row.part, "sent_event_id": event_id})
                await self._next()
            case _Uploaded(row, content):
                self._sending = False
                async with self._store.transaction() as tables:
                    await tables.outbox.uploaded(row.txn_id, content)
                await self._next()
            case _Overheard(row, instead):
                self._sending = False
                await self._keep_private(row, instead)
            case _TakenBack():
                self._sending = False
                await self._next()
            case _Refused():
                self._sending = False
                await self._give_up(message)
            case _:
                await super().handle(message)

    async def _next(self) -> None:
        """Send the first pending row, unless one is on its way: order within a room is the order of the rows."""
        if self._sending:
            return
        async with self._store.transaction() as tables:
            row = await _ready(tables, self.context.address.name)
        if row is not None:
            self._sending = True
            self.context.spawn(self._send(row))

    async def _send(self, row: OutboxRow) -> _Taken | _Uploaded | _Refused | _TakenBack | _Overheard:
        try:
            return await self._tried(row)
        except MatrixError as error:
            return await self._refused(
                row, str(error), may_pass=not error.permanent, held_up=row.attachment is not None
            )
        except Exception as error:
            log.exception("reply to %s cannot be sent", row.event_id)
            return await self._refused(row, type(error).__name__, may_pass=True, held_up=True)

    async def _tried(self, row: OutboxRow) -> _Taken | _Uploaded | _TakenBack | _Overheard:
        """Send a row or upload its file. Raises MatrixError."""
        if row.attachment is None and self._needs_a_look(row):
            found = await self._matrix.find_sent(row)
            if found is not None:
                return _Taken(row, found)
        async for attempt in _retrying(self._again):
            if attempt.retry_state.attempt_number > 1 and not await self._still_first(row):
                return _TakenBack()
            with attempt, following(row.event_id):
                if await self._is_overheard(row):
                    return _Overheard(row, await self._said_instead(row))
                if row.attachment is not None:
                    return _Uploaded(row, await self._matrix.upload(row))
                return _Taken(row, await self._matrix.send(row))
        raise AssertionError("retrying ends with a result or an error")

    async def _still_first(self, row: OutboxRow) -> bool:
        async with self._store.transaction() as tables:
            first = await tables.outbox.first(row.room_id)
        return first is not None and first.txn_id == row.txn_id

    def _again(self, _state: RetryCallState) -> None:
        self._metrics.send("retried")

    async def _is_overheard(self, row: OutboxRow) -> bool:
        """Whether a row is for one person alone and others than they and the bot are there. Raises MatrixError."""
        return row.only_for is not None and len(await self._matrix.members(row.room_id) - {row.only_for}) > 1

    async def _said_instead(self, row: OutboxRow) -> Sequence[OutboxRow]:
        """Return what says that a row is not sent: once for each answer, or in the line that it was to edit."""
        told = self._parts.speaker(row.room_id)("private-unsent")
        said = Answer(row.room_id, row.event_id, None, told, notice=True, edits=row.edits)
        return await rows_of(self._parts, said, f"overheard {row.edits or ''}".rstrip())

    async def _refused(self, row: OutboxRow, reason: str, *, may_pass: bool, held_up: bool) -> _Refused:
        """Return that a row was not sent. held_up: it holds up the room, and so is dropped after a while."""
        permanent = not may_pass or (held_up and self._clock.now() - row.created_at > HELD_UP)
        instead = await self._said_of_file(row) if permanent and row.attachment is not None else ()
        return _Refused(row, reason, permanent, instead)

    async def _said_of_file(self, row: OutboxRow) -> Sequence[OutboxRow]:
        """Return what says that a file is not sent: once for each answer, where it was to go."""
        told = self._parts.speaker(row.room_id)("file-unsent")
        said = Answer(row.room_id, row.event_id, None, told, notice=True)
        async with self._store.transaction() as tables:
            entry = await tables.journal.get(row.event_id)
        if entry is not None and entry.incoming.room_id == row.room_id:
            said = replace(said, recipient=entry.incoming.sender, thread_root=entry.incoming.thread_root)
        return await rows_of(self._parts, said, f"unsent {row.room_id}")

    async def _keep_private(self, row: OutboxRow, instead: Sequence[OutboxRow]) -> None:
        """Drop a row for good, since the others hear it, and say so once for each answer."""
        self._metrics.send("refused")
        log.warning("a part of the reply to %s is not sent: others have come into the room", row.event_id)
        async with self._store.transaction() as tables:
            await tables.outbox.failed(row.txn_id, "overheard")
            await tables.outbox.add(instead)
        await self._next()

    def _needs_a_look(self, row: OutboxRow) -> bool:
        """Whether the homeserver may have forgotten this transaction id."""
        return row.device_id != self._matrix.device_id or self._clock.now() - row.created_at > TRUSTED_FOR

    async def _give_up(self, refused: _Refused) -> None:
        """Drop a row that will never be taken and go on; keep one that may be, for the next Flush."""
        row, reason = refused.row, refused.reason
        if not refused.permanent:
            self._metrics.send("kept")
            log.warning("reply to %s is still unsent and kept: %s", row.event_id, reason)
            return
        self._metrics.send("refused")
        log.error("reply to %s will never be sent: %s", row.event_id, reason)
        async with self._store.transaction() as tables:
            await tables.outbox.failed(row.txn_id, reason)
            await tables.outbox.add(refused.instead)
        await self._next()


async def _ready(tables: Tables, room_id: str) -> OutboxRow | None:
    """Return the row that is to be sent next, whole; an edit of what was never sent is dropped, not said anew."""
    while (row := await tables.outbox.first(room_id)) is not None and row.edits is not None:
        replaced = await tables.outbox.event_of(row.edits)
        if replaced is not None:
            return replace(row, content=replacing(row.content, replaced))
        log.warning("an edit on account of %s is dropped: what it would replace was not sent", row.event_id)
        await tables.outbox.failed(row.txn_id, "nothing-to-edit")
    return row


def replacing(content: str, event_id: str) -> str:
    """Return the content (JSON) of an edit with the event that it replaces."""
    relation = {"rel_type": "m.replace", "event_id": event_id}
    return json.dumps({**json.loads(content), "m.relates_to": relation}, ensure_ascii=False)


def _retrying(again: Callable[[RetryCallState], None]) -> AsyncRetrying:
    """Retry what may pass, as long as the homeserver asks (retry_after) or with growing pauses."""
    return AsyncRetrying(
        retry=retry_if_exception(lambda error: isinstance(error, MatrixError) and not error.permanent),
        stop=stop_after_attempt(ATTEMPTS),
        wait=_pause,
        before_sleep=again,
        reraise=True,
    )


def _pause(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome is not None else None
    asked = error.retry_after if isinstance(error, MatrixError) else None
    return asked if asked is not None else _backoff(state)
