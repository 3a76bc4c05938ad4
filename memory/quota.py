"""How often a command may be given: so many times in a sliding window. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

_UNITS = (("d", timedelta(days=1)), ("h", timedelta(hours=1)), ("m", timedelta(minutes=1)), ("s", timedelta(seconds=1)))


@dataclass(frozen=True, slots=True)
class Quota:
    """At most `count` times in any span of this length."""

    count: int
    span: timedelta

    def __str__(self) -> str:
        """Return the quota as it is written in settings, such as `30/10m`."""
        unit, length = next((unit for unit in _UNITS if not self.span % unit[1]), _UNITS[-1])
        return f"{self.count}/{self.span // length}{unit}"


@dataclass(frozen=True, slots=True)
class CommandQuota:
    """The quotas of one command; None: none. user: of each person in all rooms together. room: of a whole room."""

    user: Quota | None = None
    room: Quota | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """What a try counts against: `name` is that of the command whose tries are counted together."""

    name: str
    quota: CommandQuota


def per_minutes(minutes: int, *, user: int | None = None, room: int | None = None) -> CommandQuota:
    """Return the quotas of a command, so many times in so many minutes; None: none."""
    span = timedelta(minutes=minutes)
    return CommandQuota(None if user is None else Quota(user, span), None if room is None else Quota(room, span))


# Of commands that name none. No quota of the room: others' tries must not keep a person from what is theirs, such as
# deleting memories.
DEFAULT = per_minutes(10, user=60)


def counted(times: Sequence[datetime], quota: Quota, now: datetime) -> tuple[datetime, ...]:
    """Return those of the accepted tries that still count: within the span before `now`, none of them in the future."""
    return tuple(at for at in times if now - quota.span < at <= now)


def wait_until(times: Sequence[datetime], quota: Quota, now: datetime) -> datetime | None:
    """Return when a try is accepted again, None when it is now. `times`: of the accepted tries, in order.

    A refused try is not among them, so that it does not lengthen the wait.
    """
    counting = counted(times, quota, now)
    if len(counting) < quota.count:
        return None
    return counting[-quota.count] + quota.span
