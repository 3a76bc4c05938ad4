"""The circuit breaker against a plain model of it, and its guard around calls."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from llm.breaker import Breaker, Guard
from memory.errors import ModelAnswerInvalid, ModelPaused, ModelUnavailable


class BreakerMachine(RuleBasedStateMachine):
    """Any order of calls beginning, ending in each way, and time passing."""

    calls = Bundle("calls")

    @initialize(failures=st.integers(1, 4), seconds=st.floats(0.5, 60))
    def start(self, failures: int, seconds: float) -> None:
        self.breaker = Breaker(failures, seconds)
        self.now = 0.0
        self.opened_at: float | None = None
        self.in_a_row = 0
        self.trial: int | None = None
        self.current: set[int] = set()
        self.tickets: dict[int, int] = {}

    @rule(target=calls, number=st.integers(0, 10**9))
    def begin(self, number: int) -> int:
        closed = self.opened_at is None
        due = not closed and self.now >= self.opened_at + self.breaker.seconds  # type: ignore[operator]
        ticket = self.breaker.admit(self.now)
        assert (ticket is not None) == (closed or (due and self.trial is None)), "one trial at a time, none while open"
        key = len(self.tickets)
        if ticket is not None:
            self.tickets[key] = ticket
            self.current.add(key)
            if not closed:
                self.trial = key
            return key
        return -1

    @rule(seconds=st.floats(0, 40))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(call=consumes(calls), end=st.sampled_from(["answered", "failed", "gave up"]))
    def end(self, call: int, end: str) -> None:
        if call < 0:
            return
        ticket, counts = self.tickets[call], call in self.current
        if end == "answered":
            assert self.breaker.answered(ticket) == (counts and self.opened_at is not None)
            if counts:
                self.in_a_row = 0
                if self.opened_at is not None:
                    self.change(None)
        elif end == "failed":
            self.in_a_row += counts
            opens = counts and (self.opened_at is not None or self.in_a_row >= self.breaker.failures)
            assert self.breaker.failed(ticket, self.now) == opens
            if opens:
                self.change(self.now)
        else:
            self.breaker.gave_up(ticket)
            self.trial = None if self.trial == call else self.trial
        self.current.discard(call)

    def change(self, opened_at: float | None) -> None:
        self.opened_at, self.in_a_row, self.trial = opened_at, 0, None
        self.current.clear()

    @invariant()
    def state_is_as_it_should_be(self) -> None:
        if not hasattr(self, "breaker"):
            return
        if self.opened_at is None:
            expected = "closed"
        else:
            expected = "open" if self.now < self.opened_at + self.breaker.seconds else "half_open"
        assert self.breaker.state(self.now) == expected
        assert (self.breaker.wait(self.now) > 0) == (expected == "open")


TestBreaker = BreakerMachine.TestCase


class Hands:
    """A clock that is moved by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def fail(guard: Guard, error: BaseException) -> None:
    with pytest.raises(type(error)), guard.call():
        raise error


def test_failures_in_a_row_open_it_and_the_trial_decides() -> None:
    clock = Hands()
    guard = Guard(2, 30, clock)
    fail(guard, ModelUnavailable("down"))
    with guard.call():
        pass
    fail(guard, ModelUnavailable("down"))
    assert guard.state == "closed", "the answer between them began the count anew"
    fail(guard, ModelUnavailable("down"))
    assert (guard.state, guard.wait_seconds) == ("open", 30)
    with pytest.raises(ModelPaused, match="next try is in 30 s"):
        guard.refuse_if_open()
    clock.now += 30
    assert guard.state == "half_open"
    fail(guard, ModelUnavailable("still down"))
    assert guard.state == "open"
    clock.now += 31
    with guard.call():
        fail(guard, ModelPaused("only one at a time"))
    assert guard.state == "closed"


def test_an_answer_that_is_not_usable_is_an_answer() -> None:
    guard = Guard(1, 30, Hands())
    fail(guard, ModelAnswerInvalid("not of the schema"))
    assert guard.state == "closed"


def test_a_trial_that_is_cancelled_leaves_room_for_the_next() -> None:
    clock = Hands()
    guard = Guard(1, 30, clock)
    fail(guard, ModelUnavailable("down"))
    clock.now += 30
    fail(guard, asyncio.CancelledError())
    assert guard.state == "half_open"
    with guard.call():
        pass
    assert guard.state == "closed"


def test_changed_limits_hold_at_once() -> None:
    clock = Hands()
    guard = Guard(1, 3600, clock)
    fail(guard, ModelUnavailable("down"))
    clock.now += 10
    guard.use(1, 10)
    assert guard.state == "half_open"
