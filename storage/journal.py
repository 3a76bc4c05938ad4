"""What becomes of the events that came in: turns, answers, conversation windows, and what is blanked and deleted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from memory.errors import StorageError
from memory.events import JournalEntry, JournalState
from memory.types import Given, Recall, TurnKind
from storage.codec import storable, time_text
from storage.effects import EffectRows
from storage.entries import SELECT, decode, decode_all, write_recall
from storage.given import NOTHING_GIVEN, read_given, write_given
from storage.incoming import IncomingRows
from storage.sql import Row, Value

# coalesce keeps the planner from walking through the whole room: what is unfinished has an index, and is little.
_UNFINISHED = f"""
{SELECT} WHERE state IN ('received', 'answered')
AND room_id = coalesce(?, room_id) AND sender = coalesce(?, sender) ORDER BY seq
"""
# +seq: sorting the few recent turns is cheaper than walking back through the room for turns there may not be.
_WINDOW = f"""
{SELECT} WHERE room_id = ? AND thread_root IS ? AND answered_at >= ?
AND said IS NOT NULL AND answer IS NOT NULL AND state IN ('answered', 'learned') AND in_context
ORDER BY +seq DESC LIMIT ?
"""
# What is answered, or still to be: all the rest has no text to show.
_LEAVE_CONTEXT = """
UPDATE journal SET in_context = 0
WHERE seq < (SELECT seq FROM journal WHERE event_id = ?) AND in_context
AND (said IS NOT NULL OR state = 'received') AND
"""
_LAST_GIVEN = """
SELECT given, turn, direct AND alone FROM journal
WHERE sender = ? AND room_id = ? AND thread_root IS ? AND given IS NOT NULL
ORDER BY seq DESC LIMIT 1
"""
_GIVEN_AT_ROOT = """
SELECT given, turn, direct AND alone FROM journal
WHERE event_id = ? AND sender = ? AND room_id = ? AND given IS NOT NULL
"""
_REDACTED = """
SELECT EXISTS (
    SELECT 1 FROM journal WHERE room_id = ? AND seq > coalesce((SELECT seq FROM journal WHERE event_id = ?), 0)
    AND kind = 'redaction' AND target = ?
)
"""
_WELCOMED = """
SELECT 1 FROM journal
WHERE room_id = ? AND kind = 'joined' AND state = 'learned' AND received_at >= ? AND event_id <> ?
"""
_RETRACT = """
UPDATE journal SET body = '', text = '', said = NULL, answer = NULL, given = NULL, raw = NULL, session_id = NULL,
    state = CASE WHEN state IN ('undecrypted', 'received') THEN 'ignored' WHEN state = 'answered' THEN 'learned'
        ELSE state END
WHERE event_id = ?
"""
_RETRACT_ANSWER = """
UPDATE journal SET answer = NULL, given = NULL,
    state = CASE WHEN state IN ('received', 'answered') THEN 'learned' ELSE state END
WHERE event_id = ?
"""
_LATELY = """
SELECT room_id, sender FROM journal
WHERE seq > (SELECT coalesce(max(seq), 0) FROM journal) - ? AND answered_at IS NOT NULL ORDER BY seq DESC
"""
_PRUNE = """
UPDATE journal SET body = '', text = '', said = NULL, answer = NULL
WHERE received_at < ?1 AND state IN ('learned', 'ignored', 'failed')
AND (body <> '' OR text <> '' OR said IS NOT NULL OR answer IS NOT NULL)
AND coalesce(answered_at, received_at) < coalesce((SELECT value FROM json_each(?2) WHERE key = room_id), ?3)
"""
# Without the last of a room, /messages could be paged back to the room's beginning.
_FORGET = """
DELETE FROM journal WHERE seq IN (
    SELECT seq FROM journal AS old
    WHERE received_at < ? AND state IN ('ignored', 'undecrypted')
    AND seq < (SELECT max(seq) FROM journal WHERE room_id = old.room_id)
    LIMIT ?
)
"""
_NO_ROOMS: Mapping[str, datetime] = {}


class JournalRows(IncomingRows):
    """Rows of `journal`, from when they came in until nothing is left of them."""

    async def get(self, event_id: str) -> JournalEntry | None:
        """Return one entry, or None."""
        row = await self._sql.row(f"{SELECT} WHERE event_id = ?", event_id)
        return None if row is None else decode(row)

    async def redacted(self, room_id: str, event_id: str, since: str) -> bool:
        """Whether a redaction of an event, journalled or not, came into its room after the event `since` did."""
        ((found,),) = await self._sql.rows(_REDACTED, room_id, since, event_id)
        return bool(found)

    async def unfinished(self, *, room_id: str | None = None, sender: str | None = None) -> tuple[JournalEntry, ...]:
        """Return entries in `received` or `answered`, of one room or one sender where named, in order of arrival."""
        return decode_all(await self._sql.rows(_UNFINISHED, room_id, sender))

    async def window(
        self, room_id: str, thread_root: str | None, since: datetime, limit: int
    ) -> tuple[JournalEntry, ...]:
        """Return the last `limit` turns of a room's main timeline or of one thread, in order of arrival.

        Turns answered at or after `since` (by our clock) that were not retracted; commands and ignored events are
        none.
        """
        found = await self._sql.rows(_WINDOW, room_id, thread_root, time_text(since), limit)
        return decode_all(reversed(found))

    async def leave_context(self, before: str, *, room_id: str | None = None, sender: str | None = None) -> int:
        """Let what was said in a room, or by a person anywhere, before an event leave every conversation window for
        good, answered or not; return the event's journal number.
        """
        if room_id is not None:
            await self._sql.run(f"{_LEAVE_CONTEXT} room_id = ?", before, room_id)
        if sender is not None:
            await self._sql.run(f"{_LEAVE_CONTEXT} sender = ?", before, sender)
        return await self._seq(before)

    async def last_given(self, room_id: str, thread_root: str | None, sender: str) -> Given | None:
        """Return what the last answer to someone in a room's main timeline, or a thread, was given; None: none yet.

        Before any in a thread that is the one to the message at its root: a story stands in the thread under it.
        """
        row = await self._sql.row(_LAST_GIVEN, sender, room_id, thread_root)
        if row is None and thread_root is not None:
            row = await self._sql.row(_GIVEN_AT_ROOT, thread_root, sender, room_id)
        return None if row is None else read_given(*row)

    async def welcomed(self, room_id: str, since: datetime, besides: str) -> bool:
        """Whether the bot came into a room at or after `since` and greeted it, by another event than `besides`."""
        return await self._sql.row(_WELCOMED, room_id, time_text(since), besides) is not None

    async def begin_turn(self, event_id: str, persona: str, said: str, turn: TurnKind = TurnKind.ASK) -> None:
        """Note the persona current when the turn began (P11), the text that was asked and the kind of turn."""
        await self._update(event_id, "persona = ?, said = ?, turn = ?", persona, storable(said), turn.value)

    async def answered_apart(self, event_id: str, turn: TurnKind, at: datetime) -> None:
        """Note that a turn which uses no memories was answered: it is in no window and teaches nothing."""
        values = (turn.value, write_given(NOTHING_GIVEN), time_text(at))
        await self._update(event_id, "turn = ?, given = ?, answered_at = ?, state = 'learned'", *values)

    async def record_recall(self, event_id: str, recall: Recall) -> None:
        """Note what this turn's search found (D2)."""
        await self._update(event_id, "recall = ?", write_recall(recall))

    async def answered(
        self, event_id: str, answer: str, state: JournalState, at: datetime, given: Given = NOTHING_GIVEN
    ) -> None:
        """Note the answer, which memories it was given, and the new state (`answered` or `learned`)."""
        values = (storable(answer), state.value, time_text(at), write_given(given))
        await self._update(event_id, "answer = ?, state = ?, answered_at = ?, given = ?", *values)

    async def finish(self, event_id: str, state: JournalState) -> None:
        """Set a final state (`learned`, `ignored` or `failed`); an ignored event keeps no text."""
        await self._update(event_id, "state = ?", state.value)
        if state is JournalState.IGNORED:
            await self.retract(event_id)

    async def retract(self, event_id: str) -> None:
        """Blank the texts of an event that was redacted or edited, keep its id. It is not worked on any more.

        What waited for its key or its turn is `ignored`, what was answered is `learned`. Results of effects go too.
        """
        await self._sql.run(_RETRACT, event_id)
        await EffectRows(self._sql).drop(event_id)

    async def lose_media(self, event_id: str) -> None:
        """Note that an event holds no file any more: it was redacted."""
        await self._sql.run("UPDATE journal SET media = NULL WHERE event_id = ?", event_id)

    async def retract_answer(self, event_id: str) -> None:
        """Blank the answer to an event, which then leaves the window; nothing is learned from it any more.

        One that is still being given, as a story is, goes no further. Results of effects go too.
        """
        await self._sql.run(_RETRACT_ANSWER, event_id)
        await EffectRows(self._sql).drop(event_id)

    async def lately(self, span: int) -> tuple[str, ...]:
        """Return the rooms and users of the answered among the last `span` events, those used last first."""
        return tuple(dict.fromkeys(owner for row in await self._sql.rows(_LATELY, span) for owner in row))

    async def prune(self, before: datetime, in_rooms: Mapping[str, datetime] = _NO_ROOMS) -> int:
        """Blank the texts of finished events from before a moment, some rooms' of their own; return how many.

        An answered one is as old as its answer, by which a window holds it. Ids stay.
        """
        latest = max((before, *in_rooms.values()))
        of_rooms = json.dumps({room_id: time_text(moment) for room_id, moment in in_rooms.items()})
        return await self._sql.changed(_PRUNE, time_text(latest), of_rooms, time_text(before))

    async def forget(self, before: datetime, limit: int) -> int:
        """Delete up to `limit` events that nothing was done on and that arrived before a moment; return how many.

        Those are what was not for the bot, was taken back before its turn, or never could be read. What the bot acted
        on stays for good, without text: it is never answered or counted again, and a redaction of it still takes back
        what it taught. So does the last event of each room, where reading a gap ends.
        """
        return await self._sql.changed(_FORGET, time_text(before), limit)

    async def _seq(self, event_id: str) -> int:
        return _found(await self._sql.row("SELECT seq FROM journal WHERE event_id = ?", event_id), event_id)

    async def _update(self, event_id: str, assignments: str, *values: Value) -> None:
        statement = f"UPDATE journal SET {assignments} WHERE event_id = ? RETURNING seq"
        _found(await self._sql.row(statement, *values, event_id), event_id)


def _found(row: Row | None, event_id: str) -> int:
    """Return the journal number in the row of an event; there has to be one."""
    if row is None:
        raise StorageError(f"event {event_id} is not in the journal")
    return int(row[0])
