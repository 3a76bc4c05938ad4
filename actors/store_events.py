"""What came in and goes out, as the actors see the database. storage/ satisfies these by shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from memory.events import (
    Incoming,
    JournalEntry,
    JournalState,
    OutboxRow,
    SyncBatch,
    Undecryptable,
)
from memory.types import Given, Recall, TurnKind


class JournalTable(Protocol):
    """Events in the order they arrived, with the sync token of the batch they came in."""

    async def sync_token(self) -> str | None:
        """Return next_batch of the last journalled sync, None before the first."""
        ...

    async def record(
        self, batch: SyncBatch, received: Sequence[Incoming], ignored: Sequence[Incoming], at: datetime
    ) -> tuple[JournalEntry, ...]:
        """Store events and next_batch; return the newly `received` ones. An event already there is left alone.

        `at` is the moment of arrival by our clock. Rooms of `batch.encrypted_rooms` are marked encrypted in the same
        transaction; echoes are not looked at. Ignored events are stored without any text. Undecryptable ones wait in
        that state; an event of `received` or `ignored` replaces its waiting row with a new seq (`batch.late` belongs
        to these like any other).
        """
        ...

    async def known(self, event_ids: Sequence[str]) -> frozenset[str]:
        """Return which of these event ids are journalled."""
        ...

    async def waiting(self, room_id: str | None = None, session_id: str | None = None) -> tuple[Undecryptable, ...]:
        """Return the undecrypted events of one Megolm session, without arguments those of all sessions.

        All are asked for once, at start: the key may have reached the crypto store just before a crash.
        """
        ...

    async def get(self, event_id: str) -> JournalEntry | None:
        """Return one entry, or None."""
        ...

    async def redacted(self, room_id: str, event_id: str, since: str) -> bool:
        """Whether a redaction of an event, journalled or not, came into its room after the event `since` did."""
        ...

    async def unfinished(self, *, room_id: str | None = None, sender: str | None = None) -> tuple[JournalEntry, ...]:
        """Return entries in `received` or `answered`, of one room or one sender where named, in order of arrival."""
        ...

    async def window(
        self, room_id: str, thread_root: str | None, since: datetime, limit: int
    ) -> tuple[JournalEntry, ...]:
        """Return the last `limit` turns of a room's main timeline or of one thread, in order of arrival.

        Turns answered at or after `since` (by our clock) that were not retracted; commands and ignored events are
        none.
        """
        ...

    async def leave_context(self, before: str, *, room_id: str | None = None, sender: str | None = None) -> int:
        """Let what was said in a room, or by a person anywhere, before an event leave every conversation window for
        good, answered or not; return the event's journal number.
        """
        ...

    async def last_given(self, room_id: str, thread_root: str | None, sender: str) -> Given | None:
        """Return what the last answer to someone in a room's main timeline, or a thread, was given; None: none yet.

        In a thread in which there is none it is the one to the message at its root, if that one is the asker's.
        Answers that were retracted do not count.
        """
        ...

    async def welcomed(self, room_id: str, since: datetime, besides: str) -> bool:
        """Whether the bot came into a room at or after `since` and greeted it, by another event than `besides`."""
        ...

    async def begin_turn(self, event_id: str, persona: str, said: str, turn: TurnKind = ...) -> None:
        """Note the persona current when the turn began (P11), the text that was asked and the kind of turn."""
        ...

    async def answered_apart(self, event_id: str, turn: TurnKind, at: datetime) -> None:
        """Note that a turn which uses no memories was answered: it is in no window and teaches nothing."""
        ...

    async def record_recall(self, event_id: str, recall: Recall) -> None:
        """Note what this turn's search found (D2)."""
        ...

    async def answered(self, event_id: str, answer: str, state: JournalState, at: datetime, given: Given = ...) -> None:
        """Note the answer, which memories it was given, and the new state (`answered` or `learned`)."""
        ...

    async def finish(self, event_id: str, state: JournalState) -> None:
        """Set a final state (`learned`, `ignored` or `failed`); an ignored event keeps no text."""
        ...

    async def retract(self, event_id: str) -> None:
        """Blank the texts of an event that was redacted or edited, keep its id. It is not worked on any more.

        What waited for its key or its turn is `ignored`, what was answered is `learned`. Results of effects go too.
        """
        ...

    async def lose_media(self, event_id: str) -> None:
        """Note that an event holds no file any more: it was redacted."""
        ...

    async def retract_answer(self, event_id: str) -> None:
        """Blank the answer to an event, which then leaves the window; nothing is learned from it any more.

        One that is still being given, as a story is, goes no further. Results of effects go too.
        """
        ...

    async def lately(self, span: int) -> tuple[str, ...]:
        """Return the rooms and users of the answered among the last `span` events, those used last first."""
        ...

    async def prune(self, before: datetime, in_rooms: Mapping[str, datetime] = ...) -> int:
        """Blank the texts of finished events from before a moment, some rooms' of their own; return how many.

        Ids stay.
        """
        ...

    async def forget(self, before: datetime, limit: int) -> int:
        """Delete up to `limit` events that nothing was done on and that arrived before a moment; return how many.

        What the bot acted on stays for good, and so does the last event of each room, where reading a gap ends.
        """
        ...


class OutboxTable(Protocol):
    """Events on their way to the homeserver."""

    async def add(self, rows: Sequence[OutboxRow]) -> None:
        """Store rows; one whose txn_id is already there is left alone.

        One that edits an earlier row takes the place of unsent edits of that row.
        """
        ...

    async def pending(self, room_id: str | None = None) -> tuple[OutboxRow, ...]:
        """Return rows not yet confirmed, in order of insertion, without their attachments."""
        ...

    async def first(self, room_id: str) -> OutboxRow | None:
        """Return the row of a room that is to be sent next, with its attachment; None: there is none."""
        ...

    async def known(self, txn_id: str) -> bool:
        """Whether there is a row of this transaction id, sent or not."""
        ...

    async def event_of(self, txn_id: str) -> str | None:
        """Return the event that a row became, None where it was not sent."""
        ...

    async def uploaded(self, txn_id: str, content: str) -> None:
        """Put in the content that says where a row's file lies; the file itself goes."""
        ...

    async def sent(self, txn_id: str, event_id: str) -> None:
        """Note that the homeserver took a row."""
        ...

    async def failed(self, txn_id: str, reason: str) -> None:
        """Note that a row will never be taken (the bot was removed from the room, say)."""
        ...

    async def retract(self, event_id: str) -> None:
        """Blank the answer to an event: what was sent keeps its id alone, what was not is never sent; files go."""
        ...

    async def answers(self, sent_event_id: str, room_id: str) -> str | None:
        """Return the event that one of the bot's own answers, both of this room; None when it is not known."""
        ...

    async def picture(self, sent_event_id: str, room_id: str) -> tuple[str, bool] | None:
        """Return which event one of the bot's own in a room answers, and whether it is a picture; None: not known."""
        ...

    async def prune(self, before: datetime) -> int:
        """Delete rows created before this moment that were sent or failed; return how many.

        Those of an event that is still worked on stay, so that going on with it sends nothing twice.
        """
        ...


class EffectTable(Protocol):
    """Results of effects, keyed by event and call number, so that a resumed turn or command repeats none."""

    async def recorded(self, event_id: str, call: int) -> str | None:
        """Return the recorded result, or None."""
        ...

    async def record(self, event_id: str, call: int, result: str) -> None:
        """Record a result, in the transaction of the effect itself."""
        ...

    async def drop(self, event_id: str) -> None:
        """Delete the results of an event that is not worked on any more."""
        ...

    async def prune(self, before: datetime) -> int:
        """Delete results of finished events that arrived before this moment; return how many."""
        ...
