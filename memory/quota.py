"""How often a command may be given: so many times in a sliding window. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Quota:
    """At most `count` times in any span of this length."""

    count: int
    span: timedelta


@dataclass(frozen=True, slots=True)
class CommandQuota:
    """The quotas of one command; None: none."""

    user: Quota | None = None
    room: Quota | None = None


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
