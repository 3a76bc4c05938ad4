"""The conversation windows of one room: its main timeline's and its threads', read from the journal when first used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from actors.parts import Parts
from memory import window
from memory.events import JournalEntry
from memory.settings import ContextSettings
from memory.window import Window, WindowEntry

# How far back a window is read. What was trimmed, and when, follows from where a conversation began, which is where
# nothing had been said for one timeout; of a longer conversation only the last part is read.
_TIMES_BACK = 24  # times context.timeout_minutes
_FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)  # a long timeout may reach back farther than the calendar
_FULL_WINDOWS = 4  # turns, times context.max_messages


class Windows:
    """Windows by thread root, None for the main timeline."""

    def __init__(self, room_id: str, parts: Parts) -> None:
        self._room_id = room_id
        self._parts = parts
        self._open: dict[str | None, Window] = {}

    async def open(self, thread_root: str | None, members: frozenset[str]) -> Window:
        """Return the window that a turn begins with; `members` are joined to the room."""
        settings, now = self._parts.settings.context(self._room_id), self._parts.clock.now()
        if thread_root not in self._open:
            self._close_old(settings, now)
            past = _moments(await self._past(thread_root, settings, now))
            self._open[thread_root] = window.regrown(past, settings, members)
        return self._extend(thread_root, (), members)

    def add(self, turn: JournalEntry, members: frozenset[str]) -> None:
        """Add an answered turn; where the window is not open, or was read since, the journal has it."""
        open_now = self._open.get(turn.incoming.thread_root)
        if open_now is not None and not any(entry.event_id == turn.incoming.event_id for entry in open_now.entries):
            self._extend(turn.incoming.thread_root, entries_of(turn), members)

    def leave(self, turn: JournalEntry) -> None:
        """Take a message and its answer out."""
        thread_root = turn.incoming.thread_root
        if thread_root in self._open:
            self._open[thread_root] = window.without(self._open[thread_root], turn.incoming.event_id)

    def close(self, user_id: str | None = None) -> None:
        """Let go of every window, or of those with a person in them; the next turn reads them from the journal."""
        for thread_root, each in list(self._open.items()):
            if user_id is None or user_id in each.participants or any(e.author == user_id for e in each.entries):
                del self._open[thread_root]

    def _extend(self, thread_root: str | None, entries: Sequence[WindowEntry], members: frozenset[str]) -> Window:
        settings, now = self._parts.settings.context(self._room_id), self._parts.clock.now()
        self._open[thread_root] = window.extend(self._open[thread_root], entries, settings, now, members)
        return self._open[thread_root]

    async def _past(
        self, thread_root: str | None, settings: ContextSettings, now: datetime
    ) -> tuple[JournalEntry, ...]:
        since = now - min(_TIMES_BACK * timedelta(minutes=settings.timeout_minutes), now - _FIRST_MOMENT)
        async with self._parts.store.transaction() as tables:
            return await tables.journal.window(self._room_id, thread_root, since, _FULL_WINDOWS * settings.max_messages)

    def _close_old(self, settings: ContextSettings, now: datetime) -> None:
        """Forget windows in which nothing was said for so long that they would be empty."""
        limit = timedelta(minutes=settings.timeout_minutes)
        for thread_root, each in list(self._open.items()):
            if all(now - entry.at > limit for entry in each.entries):
                del self._open[thread_root]


def _moments(turns: Iterable[JournalEntry]) -> list[tuple[datetime, tuple[WindowEntry, ...]]]:
    """Return in order when turns began, which adds nothing, and when they were answered: turns overlap.

    turns: in order of arrival. A clock that says less than it said before was set back in between: what was read from
    it then comes after all that was read before, else a restart would take what was said last for long past.
    """
    moments: list[tuple[int, datetime, tuple[WindowEntry, ...]]] = []
    set_back, last = 0, _FIRST_MOMENT
    for turn in turns:
        answered_at = turn.answered_at or turn.received_at
        set_back += turn.received_at < last
        moments.append((set_back, turn.received_at, ()))
        set_back += answered_at < turn.received_at
        moments.append((set_back, answered_at, entries_of(turn)))
        last = turn.received_at if answered_at >= turn.received_at else _FIRST_MOMENT
    return [(at, entries) for _, at, entries in sorted(moments, key=lambda moment: moment[:2])]


def entries_of(turn: JournalEntry) -> tuple[WindowEntry, WindowEntry]:
    """Return what an answered turn leaves in the window: the message and the answer."""
    event = turn.incoming
    private_to = event.sender if event.private else None
    return (
        WindowEntry(event.event_id, event.sender, turn.said or "", turn.received_at, private_to, event.media),
        WindowEntry(event.event_id, None, turn.answer or "", turn.answered_at or turn.received_at, private_to),
    )
