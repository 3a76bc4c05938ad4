"""Quotas: how often each person, and each room, may give a command.

Accepted tries are counted in memory alone, for all rooms together, so a restart forgets them. A try counts at the
moment it was journalled and by its event, so that an event taken up again is let through as it was before.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from actors.ports import QuotaKind
from memory.events import JournalEntry
from memory.quota import Limit, Quota, wait_until

_TOLD_ONCE_IN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class _Counter:
    """Whose tries of which command are counted together. `owner`: a Matrix user id or a room id."""

    kind: QuotaKind
    command: str
    owner: str


@dataclass(slots=True)
class _Tries:
    """Accepted tries, oldest first, at most as many as the quota allows; `until`: when the last no longer counts."""

    made: list[tuple[datetime, str]] = field(default_factory=list)
    until: datetime | None = None

    def add(self, at: datetime, event_id: str, quota: Quota, now: datetime) -> None:
        self.made = [each for each in self.made if each[0] <= now]  # the clock may have been set back
        insort(self.made, (at, event_id))
        del self.made[: -quota.count]
        self.until = self.made[-1][0] + quota.span


@dataclass(frozen=True, slots=True)
class Over:
    """A try over a quota. again: from when on tries are accepted."""

    kind: QuotaKind
    command: str
    again: datetime


class Quotas:
    """The tries that count, of everybody; one object for all room actors. Bounded by what happened in each span."""

    def __init__(self, most: int = 100_000) -> None:
        """`most`: counters kept at once; beyond that the one used longest ago is forgotten."""
        self._most = most
        self._tries: dict[_Counter, _Tries] = {}
        self._quiet: dict[tuple[str, str], datetime] = {}  # until when a person is not told about a command again
        self._tidied: datetime | None = None

    def take(self, limit: Limit, entry: JournalEntry, now: datetime) -> Over | None:
        """Count a try that is accepted. None: it is; else nothing is counted, so that the wait gets no longer."""
        self._tidy(now)
        event = entry.incoming
        counters = [*_counters(limit, event.sender, event.room_id)]
        if any(event.event_id == event_id for each, _ in counters for _, event_id in self._made(each)):
            return None
        for counter, quota in counters:
            again = wait_until([at for at, _ in self._made(counter)], quota, entry.received_at)
            if again is not None and again > now:
                return Over(counter.kind, counter.command, again)
        for counter, quota in counters:
            tries = self._tries.pop(counter, None) or _Tries()
            tries.add(entry.received_at, event.event_id, quota, now)
            self._tries[counter] = tries  # at the end: the one used last
        while len(self._tries) > self._most:
            del self._tries[next(iter(self._tries))]
        return None

    def tells(self, over: Over, user_id: str, now: datetime) -> bool:
        """Whether to tell a person about a refusal: once for each wait, and once a minute at most."""
        key = (user_id, over.command)
        if key in self._quiet and now < self._quiet[key]:
            return False
        self._quiet[key] = max(over.again, now + _TOLD_ONCE_IN)
        while len(self._quiet) > self._most:
            del self._quiet[next(iter(self._quiet))]
        return True

    def _made(self, counter: _Counter) -> list[tuple[datetime, str]]:
        tries = self._tries.get(counter)
        return [] if tries is None else tries.made

    def _tidy(self, now: datetime) -> None:
        """Forget once a minute what counts no longer, and everything dated later than now by a clock set back."""
        if self._tidied is not None and self._tidied <= now < self._tidied + _TOLD_ONCE_IN:
            return
        if self._tidied is not None and now < self._tidied:
            self._quiet.clear()
        self._tidied = now
        self._tries = {key: tries for key, tries in self._tries.items() if tries.until is None or tries.until > now}
        self._quiet = {key: until for key, until in self._quiet.items() if until > now}


def _counters(limit: Limit, user_id: str, room_id: str) -> Iterator[tuple[_Counter, Quota]]:
    if limit.quota.user is not None:
        yield _Counter("user", limit.name, user_id), limit.quota.user
    if limit.quota.room is not None:
        yield _Counter("room", limit.name, room_id), limit.quota.room
