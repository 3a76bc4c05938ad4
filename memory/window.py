"""The conversation window of a room or thread (D2, D4, D14): what was said to the bot lately, and by whom.

The window never holds more than `context.max_messages` entries nor one older than `context.timeout_minutes`. Only when
one of the limits is passed is it trimmed, and then by a quarter more than needed, so that the start of the prompt's
history moves once in a while and not with every message; an answer whose message is cut off goes with it. Participants
keep the order in which they joined; who has no entry left, or has left the room, goes at such a trim (D14). The search
leaves out who has left the room at once (D2).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from memory.media import MediaKind
from memory.settings import ContextSettings
from memory.types import Conversation

_STEP = 4  # a trim makes room for one part in this many of each limit


@dataclass(frozen=True, slots=True)
class WindowEntry:
    """One message of a conversation window: something said to the bot, or (`author` None) the bot's answer.

    `event_id` is the event that was answered in both cases, so that taking back an event takes both. private_to: who
    was alone with the bot when it was said, None where others heard it. media: what came with it.
    """

    event_id: str
    author: str | None
    text: str
    at: datetime
    private_to: str | None = None
    media: MediaKind | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """Entries in the order they were added, and the user ids of their authors in the order these joined."""

    entries: tuple[WindowEntry, ...] = ()
    participants: tuple[str, ...] = ()


def extend(
    window: Window,
    entries: Iterable[WindowEntry],
    settings: ContextSettings,
    now: datetime,
    members: Collection[str],
) -> Window:
    """Add entries and trim where a limit is passed; `members`: the user ids now joined to the room.

    Called without entries at the start of a turn, so that what has grown too old goes. Entries come back from the
    journal in the same way. An entry dated after `now` (a clock that was set back) is not old.
    """
    added = tuple(entries)
    together = window.entries + added
    here = frozenset(members) | {entry.author for entry in added}
    joined = tuple(dict.fromkeys((*window.participants, *_authors(together, here))))
    limit = timedelta(minutes=settings.timeout_minutes)
    if len(together) <= settings.max_messages and all(now - entry.at <= limit for entry in together):
        return Window(together, joined)
    kept = _kept(together, settings, now)
    staying = frozenset(_authors(kept, here))
    return Window(kept, tuple(user for user in joined if user in staying))


def regrown(
    past: Iterable[tuple[datetime, tuple[WindowEntry, ...]]], settings: ContextSettings, members: Collection[str]
) -> Window:
    """Return the window as it grew, so that a restart changes neither its beginning nor the order of people (D14).

    past: moments in order, each with what was added then; nothing where a turn began.
    """
    window = Window()
    for at, added in past:
        window = extend(window, added, settings, at, members)
    return window


def _authors(entries: Iterable[WindowEntry], here: Collection[str | None]) -> list[str]:
    return [entry.author for entry in entries if entry.author is not None and entry.author in here]


def _kept(entries: tuple[WindowEntry, ...], settings: ContextSettings, now: datetime) -> tuple[WindowEntry, ...]:
    """Return what stays of entries that pass a limit."""
    limit = timedelta(minutes=settings.timeout_minutes)
    if any(now - entry.at > limit for entry in entries):
        young = limit - limit / _STEP
        entries = tuple(entry for entry in entries if now - entry.at <= young)
    if len(entries) > settings.max_messages:
        entries = _answering_somebody(entries[-max(1, settings.max_messages - settings.max_messages // _STEP) :])
    return entries


def _answering_somebody(entries: tuple[WindowEntry, ...]) -> tuple[WindowEntry, ...]:
    """Leave out answers at the start, since what they answered is gone; all of them stay where nothing else does."""
    first = next((at for at, entry in enumerate(entries) if entry.author is not None), 0)
    return entries[first:]


def without(window: Window, event_id: str) -> Window:
    """Take back an event that was redacted or edited, with the bot's answer to it; nothing else moves."""
    return _with(window, (entry for entry in window.entries if entry.event_id != event_id))


def known_in(window: Window, place: Conversation) -> Window:
    """Return what of a window may be used in a conversation: what was said in private only by who is alone there again.

    Whoever came in later did not hear it, and with an encrypted room's history cannot read it either (D8).
    """
    alone = place.asker if place.private else None
    return _with(window, (entry for entry in window.entries if entry.private_to in (None, alone)))


def authors(window: Window) -> frozenset[str]:
    """Return who wrote in a window."""
    return frozenset(entry.author for entry in window.entries if entry.author is not None)


def without_authors(window: Window, users: Collection[str]) -> Window:
    """Take out what some people said, with what was answered to them."""
    gone = {entry.event_id for entry in window.entries if entry.author in users}
    return _with(window, (entry for entry in window.entries if entry.event_id not in gone))


def _with(window: Window, entries: Iterable[WindowEntry]) -> Window:
    """Return a window with these of its entries, and without the participants who lose their last one by it."""
    kept = tuple(entries)
    gone = {entry.author for entry in window.entries} - {entry.author for entry in kept}
    return Window(kept, tuple(user for user in window.participants if user not in gone))


def participants(window: Window, sender: str) -> tuple[str, ...]:
    """Return whose memories the prompt shows (D14), in the order they joined; the sender of the turn is one."""
    return tuple(dict.fromkeys((*window.participants, sender)))


def present(window: Window, sender: str, members: Collection[str]) -> tuple[str, ...]:
    """Return whose lists the search covers (D2): the participants who are still in the room, and the sender."""
    return tuple(user for user in participants(window, sender) if user == sender or user in members)


def owners_today(entries: Iterable[WindowEntry], today: date) -> frozenset[str]:
    """Return who wrote among these entries (the window's and the turn's own message) on the UTC date `today` (D4)."""
    return frozenset(
        entry.author for entry in entries if entry.author is not None and entry.at.astimezone(UTC).date() == today
    )
