"""Memories, candidates and undo as the actors see the database. storage/ satisfies these by shape."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from actors.ports import Vector, Vectors
from memory.cleanup import Apart, Merged
from memory.types import Candidate, Draft, ListKey, Memory, Origin, Settlement
from memory.undo import Kept, Taken


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
