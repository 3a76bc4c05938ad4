from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from davenport.clock import MovableClock, SystemClock
from memory.types import Clock


def test_the_system_clock_is_aware_and_in_utc() -> None:
    clock: Clock = SystemClock()
    before = datetime.now(UTC)
    now = clock.now()
    assert before <= now <= datetime.now(UTC)
    assert now.utcoffset() == timedelta(0)


def test_a_movable_clock_stands_still_until_it_is_moved() -> None:
    start = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)
    clock = MovableClock(start)
    port: Clock = clock
    assert port.now() == start
    clock.advance(timedelta(minutes=1))
    assert port.today() == date(2026, 3, 2)
    clock.set(start - timedelta(days=40))
    assert port.today() == date(2026, 1, 20)


def test_today_is_the_utc_date_wherever_the_moment_was_given() -> None:
    tokyo = timezone(timedelta(hours=9))
    clock = MovableClock(datetime(2026, 3, 2, 8, 0, tzinfo=tokyo))
    assert clock.today() == date(2026, 3, 1)
    assert clock.now().utcoffset() == timedelta(0)


def test_a_moment_without_time_zone_is_refused() -> None:
    clock = MovableClock(datetime(2026, 3, 1, tzinfo=UTC))
    with pytest.raises(ValueError, match="time zone"):
        clock.set(datetime(2026, 3, 1))
