"""Quotas in a sliding window."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.quota import Quota, wait_until

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
THREE_AN_HOUR = Quota(3, timedelta(hours=1))


def minutes(*past_noon: int) -> list[datetime]:
    return [NOON + timedelta(minutes=each) for each in past_noon]


def test_a_try_waits_for_the_oldest_that_counts_to_leave_the_window() -> None:
    (now,) = minutes(50)
    assert wait_until(minutes(0, 20), THREE_AN_HOUR, now) is None
    assert wait_until(minutes(0, 20, 40), THREE_AN_HOUR, now) == NOON + timedelta(minutes=60)
    assert wait_until(minutes(0, 20, 40), THREE_AN_HOUR, NOON + timedelta(minutes=60)) is None


def test_a_quota_that_was_lowered_waits_until_few_enough_are_left() -> None:
    assert wait_until(minutes(0, 10, 20, 30), Quota(2, timedelta(hours=1)), NOON + timedelta(minutes=40)) == (
        NOON + timedelta(minutes=80)
    )


def test_a_clock_set_back_does_not_keep_anybody_waiting_for_the_future() -> None:
    assert wait_until(minutes(100, 101, 102), THREE_AN_HOUR, NOON) is None


@given(st.lists(st.integers(0, 60), max_size=60), st.integers(1, 4), st.integers(1, 12))
def test_no_window_holds_more_than_the_quota_and_none_is_refused_that_would_fit(
    gaps: list[int], count: int, span: int
) -> None:
    quota = Quota(count, timedelta(minutes=span))
    accepted: list[datetime] = []
    now = NOON
    for gap in gaps:
        now += timedelta(seconds=gap * 10)
        within = [at for at in accepted if (now - at) < quota.span]
        until = wait_until(accepted, quota, now)
        assert (until is None) == (len(within) < count)
        if until is None:
            accepted.append(now)
        else:
            assert now < until <= now + quota.span
            assert wait_until(accepted, quota, until) is None
            assert wait_until(accepted, quota, until - timedelta(microseconds=1)) is not None


@pytest.mark.parametrize(
    ("span", "written"),
    [
        (timedelta(minutes=10), "3/10m"),
        (timedelta(hours=36), "3/36h"),
        (timedelta(days=2), "3/2d"),
        (timedelta(seconds=90), "3/90s"),
    ],
)
def test_a_quota_is_shown_as_it_is_written(span: timedelta, written: str) -> None:
    assert str(Quota(3, span)) == written
