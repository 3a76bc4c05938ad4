"""The two clocks: the machine's, and one that is moved by hand in the demo and in tests."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> datetime:
        """Return the present moment, aware, in UTC."""
        return datetime.now(UTC)

    def today(self) -> date:
        """Return the UTC date of `now()`."""
        return self.now().date()


class MovableClock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: datetime) -> None:
        self._now = _in_utc(start)

    def now(self) -> datetime:
        """Return the moment last set, aware, in UTC."""
        return self._now

    def today(self) -> date:
        """Return the UTC date of `now()`."""
        return self._now.date()

    def set(self, moment: datetime) -> None:
        """Move to a moment, forward or back. Raises ValueError when it has no time zone."""
        self._now = _in_utc(moment)

    def advance(self, by: timedelta) -> None:
        """Move by a span of time; a negative one sets the clock back."""
        self._now += by


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a clock needs a moment with a time zone")
    return moment.astimezone(UTC)
