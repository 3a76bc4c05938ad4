"""The database as the actors see it: table families inside one transaction. storage/ satisfies these by shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date, datetime
from typing import Protocol

from actors.ports import Vector, Vectors
from memory.cleanup import Apart, Merged
from memory.events import (
    Backlog,
    Incoming,
    JournalEntry,
    JournalState,
    OutboxRow,
    SyncBatch,
    Totals,
    Undecryptable,
)
from memory.model import Usage, UsageBy, UsageTotal
from memory.types import Candidate, Draft, Given, ListKey, Memory, Origin, Privacy, Recall, Settlement
from memory.undo import Kept, Taken


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

        Answers that were retracted do not count.
        """
        ...

    async def welcomed(self, room_id: str, since: datetime, besides: str) -> bool:
        """Whether the bot came into a room at or after `since` and greeted it, by another event than `besides`."""
        ...

    async def begin_turn(self, event_id: str, persona: str, said: str) -> None:
        """Note the persona current when the turn began (P11) and the text that was asked."""
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

        What waited for its key or its turn is `ignored`, what was answered is `learned`.
        """
        ...

    async def retract_answer(self, event_id: str) -> None:
        """Blank the answer to an event, which then leaves the window; nothing is learned from it any more."""
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
        """Store rows; one whose txn_id is already there is left alone."""
        ...

    async def pending(self, room_id: str | None = None) -> tuple[OutboxRow, ...]:
        """Return rows not yet confirmed, in order of insertion, without their attachments."""
        ...

    async def first(self, room_id: str) -> OutboxRow | None:
        """Return the row of a room that is to be sent next, with its attachment; None: there is none."""
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

    async def prune(self, before: datetime) -> int:
        """Delete rows created before this moment that were sent or failed; return how many.

        Those of an event that is still worked on stay, so that going on with it sends nothing twice.
        """
        ...


class MemoryTable(Protocol):
    """Durable memories with their vectors."""

    async def of_list(self, key: ListKey) -> tuple[Memory, ...]:
        """Return a list's memories by id: for a personal list that persona's and the user's global ones."""
        ...

    async def of_user(self, user_id: str) -> tuple[Memory, ...]:
        """Return personal and global memories of a user over all personas, by id."""
        ...

    async def count_of_user(self, user_id: str) -> int:
        """Count what P3 counts: personal and global memories over all personas."""
        ...

    async def count_of_list(self, key: ListKey) -> int:
        """Count what a capacity is held against (D9): one scope and persona, global memories not among them."""
        ...

    async def get(self, ids: Sequence[int]) -> tuple[Memory, ...]:
        """Return those of the ids that exist, by id."""
        ...

    async def insert(self, draft: Draft, now: datetime) -> Memory:
        """Save a memory and return it: unused_days 0, counted_on today, created and updated now (D1)."""
        ...

    async def edit(self, memory_id: int, text: str, now: datetime) -> Memory:
        """Set text and protection (D11), drop the stale vectors, leave the counters."""
        ...

    async def protect(self, memory_id: int) -> Memory:
        """Set protection (D11) and nothing else, so that text, vectors and counters stay."""
        ...

    async def set_visibility(self, memory: Memory) -> None:
        """Write whether a memory is shared, its rooms and its tags, and nothing else of it (D8, D11)."""
        ...

    async def make_global(self, memory_id: int) -> Memory:
        """Let a memory hold for every persona, which protects it (D11); counters, text and vectors stay."""
        ...

    async def reword(self, kept: Kept) -> None:
        """Write the text, protection, date of change and parts of a memory, and drop the stale vectors."""
        ...

    async def restore(self, kept: Sequence[Kept]) -> None:
        """Bring deleted memories back under their ids, with their mentions and without vectors."""
        ...

    async def merge(self, merged: Merged) -> Memory:
        """Save a merged memory in place of its sources, whose mentions it takes over, and return it (P15)."""
        ...

    async def take_apart(self, event_id: str) -> Apart:
        """Undo those merges of which a part was learned from nothing but this event, which is taken back."""
        ...

    async def delete(self, ids: Sequence[int]) -> None:
        """Delete memories with their vectors; mentions of them go too."""
        ...

    async def settle(self, settlement: Settlement) -> None:
        """Apply counter changes; ids that no longer exist are ignored."""
        ...

    async def put_vectors(self, model_id: str, new: Sequence[tuple[int, str, Vector]]) -> None:
        """Store vectors of one model, each with its memory's id and the text that was embedded.

        Nothing is stored for a memory that is gone or says something else by now. Vectors of other models go (D17).
        """
        ...

    async def vectors_of_list(self, key: ListKey, model_id: str, dim: int) -> tuple[tuple[int, ...], Vectors]:
        """Return ids and float32[n, dim] of the list's memories that have a vector of this model, by id."""
        ...

    async def without_vector(
        self, model_id: str, after: int, span: int, dim: int | None = None
    ) -> tuple[tuple[Memory, ...], int | None]:
        """Look at the next `span` memories by id after one; return those that need a vector of this model (D17).

        And the id to go on after, None when there are no more. `dim`: how long it must be, None for any length.
        """
        ...

    async def count_without_vector(
        self, model_id: str, after: int, span: int, dim: int | None = None
    ) -> tuple[int, int | None]:
        """Count what `without_vector` would return, and return the id to go on after."""
        ...

    async def without_vector_of(
        self, owners: Sequence[str], model_id: str, dim: int | None = None
    ) -> tuple[Memory, ...]:
        """Return what needs a vector of this model of some rooms and users, in their order, and by id of each."""
        ...


class CandidateTable(Protocol):
    """Facts on probation, and the mentions that carried them."""

    async def of_user(self, user_id: str) -> tuple[Candidate, ...]:
        """Return a user's candidates by id."""
        ...

    async def prune(self, user_id: str, last_seen_before: datetime) -> int:
        """Delete the user's candidates with last_seen earlier than this moment and return how many (P4)."""
        ...

    async def insert(self, user_id: str, text: str, origin: Origin, now: datetime) -> Candidate:
        """Insert a candidate with one mention, by `origin.event` (P7)."""
        ...

    async def reinforce(self, candidate_id: int, event_id: str, now: datetime) -> Candidate | None:
        """Add the mention of this event (P8). None: no such candidate, or this event has mentioned it before."""
        ...

    async def promoted(self, candidate_id: int, memory_id: int) -> None:
        """Delete a candidate that became a memory and hand its mentions to it (P12)."""
        ...

    async def take_back(self, event_id: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Remove the mentions of an event that was redacted or edited.

        Candidates lose one mention each; candidates and unprotected memories left without any mention are deleted.
        Returns (ids of candidates touched, ids of memories deleted).
        """
        ...


class UserTable(Protocol):
    """What must be remembered of a user besides memories: counters of the rules, and the privacy level."""

    async def privacy(self, user_id: str) -> Privacy:
        """Return the user's privacy level, OPEN unless set (D8)."""
        ...

    async def set_privacy(self, user_id: str, privacy: Privacy) -> None:
        """Set the user's privacy level."""
        ...

    async def silent(self, user_ids: Sequence[str]) -> frozenset[str]:
        """Return which of these users are SILENT."""
        ...

    async def add_promoting_pass(self, user_id: str) -> int:
        """Add one to the counter of passes that promoted (P13) and return it."""
        ...

    async def promoting_passes(self, user_id: str) -> int:
        """Return the counter of passes that promoted since the last cleanup (P13)."""
        ...

    async def cleaned_up(self, user_id: str, counted: int) -> None:
        """Take what the counter was when a cleanup began off it; what was promoted meanwhile stays (P13)."""
        ...

    async def forget_through(self, user_id: str, event_id: str) -> int:
        """Note that nothing said up to this event is to be learned any more (P20); return its journal number."""
        ...

    async def forgotten_through(self, user_id: str) -> int:
        """Return the journal number up to which nothing is to be learned any more, 0 when there is none (P20)."""
        ...


class RoomTable(Protocol):
    """What must be remembered of a room."""

    async def encrypted(self, room_id: str) -> bool:
        """Whether this room was ever seen encrypted."""
        ...

    async def mark_encrypted(self, room_ids: Sequence[str]) -> None:
        """Remember for ever that rooms are encrypted."""
        ...

    async def persona(self, room_id: str) -> str:
        """Return the room's current persona, `default` unless set."""
        ...

    async def personas(self, room_ids: Sequence[str]) -> dict[str, str]:
        """Return the current persona of each of these rooms, `default` unless set."""
        ...

    async def set_persona(self, room_id: str, persona: str) -> None:
        """Set the room's current persona."""
        ...


class EffectTable(Protocol):
    """Results of effects, keyed by event and call number, so that a resumed turn or command repeats none."""

    async def recorded(self, event_id: str, call: int) -> str | None:
        """Return the recorded result, or None."""
        ...

    async def record(self, event_id: str, call: int, result: str) -> None:
        """Record a result, in the transaction of the effect itself."""
        ...

    async def prune(self, before: datetime) -> int:
        """Delete results of finished events that arrived before this moment; return how many."""
        ...


class UndoTable(Protocol):
    """One step back for each owner, a user or a room: what their last command took away."""

    async def as_they_are(self, ids: Sequence[int]) -> tuple[Kept, ...]:
        """Return those of the memories that exist, with their mentions, by id: to be kept before they change."""
        ...

    async def keep(self, owner: str, event_id: str, at: datetime, taken: Taken) -> None:
        """Keep what a command took away in place of what was kept before; calls of one event make one step."""
        ...

    async def take(self, owner: str, since: datetime) -> Taken | None:
        """Return and delete what was kept at or after this moment; None: there is nothing (any more)."""
        ...

    async def prune(self, before: datetime, after: datetime) -> int:
        """Delete what was kept before one moment, or after another (by a clock that was wrong); return how many."""
        ...

    async def forget_event(self, owner: str, event_id: str) -> None:
        """Let what only this event had taught go from what is kept, and the row when nothing is left."""
        ...


class UsageTable(Protocol):
    """Tokens spent."""

    async def add(self, event_id: str, user_id: str, room_id: str, purpose: str, usage: Usage, at: datetime) -> None:
        """Record one model call; `purpose` is "reply", "extraction" or "cleanup"."""
        ...

    async def totals(
        self, first: date, last: date, by: Sequence[UsageBy], *, user_id: str | None = None
    ) -> tuple[UsageTotal, ...]:
        """Sum the calls of some UTC dates, both included, for each combination of `by` there is, in order.

        `user_id`: only those made for this person.
        """
        ...

    async def prune(self, before: datetime, limit: int) -> int:
        """Delete up to `limit` calls made before this moment, the oldest first; return how many."""
        ...


class AccountTable(Protocol):
    """The bot's own account as key and value: user and device id, tokens, cross-signing state. Never logged."""

    async def get(self, key: str) -> str | None:
        """Return the value of a key, or None."""
        ...

    async def set(self, key: str, value: str | None) -> None:
        """Store a value; None removes the key."""
        ...

    async def all(self) -> dict[str, str]:
        """Return every key with its value."""
        ...


class OverrideTable(Protocol):
    """Settings that were set in chat, as JSON texts by key (`section.name`) and room id; "" is everywhere."""

    async def all(self) -> dict[tuple[str, str], str]:
        """Return every value by key and room id, in order."""
        ...

    async def set(self, key: str, room_id: str, value: str) -> None:
        """Store a value in place of the one there may be."""
        ...

    async def reset(self, key: str, room_id: str) -> None:
        """Remove a value, if there is one."""
        ...


class OverviewTable(Protocol):
    """Sums for operators."""

    async def backlog(self) -> Backlog:
        """Return how many events wait to be sent, and since when the oldest does."""
        ...

    async def totals(self) -> Totals:
        """Count memories, candidates, and the users who have any of either."""
        ...

    async def schema(self) -> int:
        """Return the number of the schema."""
        ...


class Tables(Protocol):
    """All table families inside one open transaction."""

    @property
    def journal(self) -> JournalTable:
        """Events in order of arrival."""
        ...

    @property
    def outbox(self) -> OutboxTable:
        """Events on their way out."""
        ...

    @property
    def memories(self) -> MemoryTable:
        """Durable memories and their vectors."""
        ...

    @property
    def candidates(self) -> CandidateTable:
        """Facts on probation and their mentions."""
        ...

    @property
    def users(self) -> UserTable:
        """Counters per user."""
        ...

    @property
    def rooms(self) -> RoomTable:
        """State per room."""
        ...

    @property
    def effects(self) -> EffectTable:
        """Results of effects."""
        ...

    @property
    def usage(self) -> UsageTable:
        """Tokens spent."""
        ...

    @property
    def account(self) -> AccountTable:
        """The bot's own account."""
        ...

    @property
    def overrides(self) -> OverrideTable:
        """Settings set in chat."""
        ...

    @property
    def overview(self) -> OverviewTable:
        """Sums for operators."""
        ...

    @property
    def undo(self) -> UndoTable:
        """One step back for each owner."""
        ...


class Store(Protocol):
    """The database: everything happens in a transaction, which is there whole or not at all."""

    def transaction(self) -> AbstractAsyncContextManager[Tables]:
        """Open a transaction; committed at the end, rolled back on any exception, cancellation included."""
        ...

    async def checkpoint(self) -> bool:
        """Fold what is committed into the database's file, outside any transaction; False: readers were in the way."""
        ...
