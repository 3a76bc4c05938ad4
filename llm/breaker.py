"""The circuit breaker: a server that failed time after time is left alone for a while, then tried with one call.

Own code, since the asyncio libraries at hand let every waiting call through when half open, take a cancelled call for
a failure, or measure the pause by the wall clock, which may be set back.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from memory.errors import ModelError, ModelPaused, ModelRequestInvalid, ModelUnavailable

log = logging.getLogger(__name__)

State = Literal["closed", "open", "half_open"]


@dataclass(slots=True)
class Breaker:
    """The states alone; holds no clock, `now` is seconds that never go back.

    closed: every call goes out; `failures` in a row open it. open: none goes out for `seconds`. half_open: one call may
    try; its success closes, its failure opens for another `seconds`. An end of a call that began before the last change
    of state says nothing about the server as it is now and is ignored.
    """

    failures: int
    seconds: float
    _in_a_row: int = 0
    _opened_at: float | None = None
    _period: int = 0
    _trying: bool = False

    def state(self, now: float) -> State:
        """Return the state at a moment."""
        if self._opened_at is None:
            return "closed"
        return "open" if now < self._opened_at + self.seconds else "half_open"

    def wait(self, now: float) -> float:
        """Return the seconds until a call may try; 0 unless open."""
        return 0.0 if self._opened_at is None else max(0.0, self._opened_at + self.seconds - now)

    def admits(self, now: float) -> bool:
        """Whether a call may go out now."""
        return self.state(now) == "closed" or (self.state(now) == "half_open" and not self._trying)

    def admit(self, now: float) -> int | None:
        """Let a call go out: return its ticket for what ends it, or None while it may not."""
        if not self.admits(now):
            return None
        self._trying = self._opened_at is not None
        return self._period

    def answered(self, ticket: int) -> bool:
        """Note that the server answered a call; return whether that closed the breaker."""
        if ticket != self._period:
            return False
        self._in_a_row = 0
        if self._opened_at is None:
            return False
        self._change(None)
        return True

    def failed(self, ticket: int, now: float) -> bool:
        """Note that the server failed a call; return whether that opened the breaker."""
        if ticket != self._period:
            return False
        self._in_a_row += 1
        if self._opened_at is None and self._in_a_row < self.failures:
            return False
        self._change(now)
        return True

    def gave_up(self, ticket: int) -> None:
        """Note that a call was given up by whoever made it, which says nothing of the server."""
        if ticket == self._period:
            self._trying = False

    def _change(self, opened_at: float | None) -> None:
        self._opened_at = opened_at
        self._period += 1
        self._trying = False
        self._in_a_row = 0


class Guard:
    """A breaker around the calls of one server, by the machine's monotonic clock."""

    def __init__(self, failures: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._breaker = Breaker(failures, seconds)
        self._clock = clock

    @property
    def state(self) -> State:
        """What it is now: "closed", "open" or "half_open"."""
        return self._breaker.state(self._clock())

    @property
    def wait_seconds(self) -> float:
        """Seconds until the next try; 0 unless open."""
        return self._breaker.wait(self._clock())

    def use(self, failures: int, seconds: float) -> None:
        """Put other limits in force; a pause that has begun ends by the new one."""
        self._breaker.failures, self._breaker.seconds = failures, seconds

    def refuse_if_open(self) -> None:
        """Raise ModelPaused while no call may go out."""
        if not self._breaker.admits(self._clock()):
            raise self._refusal()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Let one call out and learn from its end. Raises ModelPaused; only ModelUnavailable counts as a failure."""
        ticket = self._breaker.admit(self._clock())
        if ticket is None:
            raise self._refusal()
        try:
            yield
        except ModelUnavailable as error:
            if self._breaker.failed(ticket, self._clock()):
                log.error("the model server is left alone for %g s: %s", self._breaker.seconds, error)
            raise
        except ModelRequestInvalid:
            self._breaker.gave_up(ticket)
            raise
        except ModelError:
            self._answered(ticket)
            raise
        except BaseException:
            self._breaker.gave_up(ticket)
            raise
        else:
            self._answered(ticket)

    def _refusal(self) -> ModelPaused:
        return ModelPaused(f"not asked: the model server failed; the next try is in {self.wait_seconds:.0f} s")

    def _answered(self, ticket: int) -> None:
        if self._breaker.answered(ticket):
            log.info("the model server answers again")
