"""Facts on probation, and the mentions that carried them.

A candidate's `mentions` always equals its rows in `mentions`. Taking an event back leaves first_seen and last_seen as
they are: they say when the fact was spoken of, and pruning (P4) may only come later for it, not earlier.
"""

from __future__ import annotations

from datetime import datetime

from memory.types import Candidate, Origin
from storage.codec import ids_json, read_time, storable, time_text
from storage.sql import Row, Sql

_COLUMNS = "id, user_id, text, mentions, first_seen, last_seen, origin_room, origin_event, origin_private"
_SELECT = f"SELECT {_COLUMNS} FROM memory_candidates"
_INSERT = f"""
INSERT INTO memory_candidates
    (user_id, text, mentions, first_seen, last_seen, origin_room, origin_event, origin_private)
VALUES (?, ?, 1, ?, ?, ?, ?, ?) RETURNING {_COLUMNS}
"""
_MENTION = """
INSERT INTO mentions (event_id, candidate_id) SELECT ?, id FROM memory_candidates WHERE id = ?
ON CONFLICT DO NOTHING RETURNING candidate_id
"""
_REINFORCE = f"UPDATE memory_candidates SET mentions = mentions + 1, last_seen = ? WHERE id = ? RETURNING {_COLUMNS}"
_TAKE_BACK = "DELETE FROM mentions WHERE event_id = ? RETURNING candidate_id, memory_id"
_UNMENTIONED_CANDIDATES = """
DELETE FROM memory_candidates WHERE id IN (SELECT value FROM json_each(?))
AND NOT EXISTS (SELECT 1 FROM mentions WHERE candidate_id = memory_candidates.id)
"""
_RECOUNT = """
UPDATE memory_candidates SET mentions = (SELECT count(*) FROM mentions WHERE candidate_id = memory_candidates.id)
WHERE id IN (SELECT value FROM json_each(?))
"""
_UNMENTIONED_MEMORIES = """
DELETE FROM memories WHERE id IN (SELECT value FROM json_each(?)) AND protected = 0 AND source = 'promotion'
AND NOT EXISTS (SELECT 1 FROM mentions WHERE memory_id = memories.id) RETURNING id
"""


class CandidateRows:
    """Rows of `memory_candidates` and `mentions`."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def of_user(self, user_id: str) -> tuple[Candidate, ...]:
        """Return a user's candidates by id."""
        found = await self._sql.rows(f"{_SELECT} WHERE user_id = ? ORDER BY id", user_id)
        return tuple(_decode(row) for row in found)

    async def prune(self, user_id: str, last_seen_before: datetime) -> int:
        """Delete the user's candidates with last_seen earlier than this moment and return how many (P4)."""
        return await self._sql.changed(
            "DELETE FROM memory_candidates WHERE user_id = ? AND last_seen < ?", user_id, time_text(last_seen_before)
        )

    async def insert(self, user_id: str, text: str, origin: Origin, now: datetime) -> Candidate:
        """Insert a candidate with one mention, by `origin.event` (P7)."""
        at = time_text(now)
        (row,) = await self._sql.rows(
            _INSERT, user_id, storable(text), at, at, origin.room, origin.event, origin.private
        )
        await self._sql.run(_MENTION, origin.event, row[0])
        return _decode(row)

    async def reinforce(self, candidate_id: int, event_id: str, now: datetime) -> Candidate | None:
        """Add the mention of this event (P8). None: no such candidate, or this event has mentioned it before."""
        if not await self._sql.row(_MENTION, event_id, candidate_id):
            return None
        row = await self._sql.row(_REINFORCE, time_text(now), candidate_id)
        return None if row is None else _decode(row)

    async def promoted(self, candidate_id: int, memory_id: int) -> None:
        """Delete a candidate that became a memory and hand its mentions to it (P12). The memory is there already."""
        await self._sql.run(
            "UPDATE mentions SET candidate_id = NULL, memory_id = ? WHERE candidate_id = ?", memory_id, candidate_id
        )
        await self._sql.run("DELETE FROM memory_candidates WHERE id = ?", candidate_id)

    async def take_back(self, event_id: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Remove the mentions of an event that was redacted or edited.

        Candidates lose one mention each; those left without any are deleted, and so are unprotected memories that only
        promotion made. A memory that stays keeps the number of mentions it was promoted with (P12). Merged ones are for
        `memories.take_apart`.
        Returns (ids of candidates touched, ids of memories deleted), both ascending.
        """
        gone = await self._sql.rows(_TAKE_BACK, event_id)
        candidates = sorted(candidate for candidate, _ in gone if candidate is not None)
        memories = sorted(memory for _, memory in gone if memory is not None)
        if candidates:
            await self._sql.run(_UNMENTIONED_CANDIDATES, ids_json(candidates))
            await self._sql.run(_RECOUNT, ids_json(candidates))
        deleted = await self._sql.rows(_UNMENTIONED_MEMORIES, ids_json(memories)) if memories else []
        return tuple(candidates), tuple(sorted(memory for (memory,) in deleted))


def _decode(row: Row) -> Candidate:
    key, user_id, text, mentions, first_seen, last_seen, room, event, private = row
    return Candidate(
        key, user_id, text, mentions, read_time(first_seen), read_time(last_seen), Origin(room, event, bool(private))
    )
