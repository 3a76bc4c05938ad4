"""Waiting out an outage of the homeserver: capped exponential delays, one log line when it begins, one when it ends."""

from __future__ import annotations

import logging
import secrets

from memory.errors import MatrixError

log = logging.getLogger(__name__)

_random = secrets.SystemRandom()


class Outage:
    """Counts failures in a row. `where` names the homeserver's URL in the log."""

    def __init__(self, where: str, *, first: float = 1.0, ceiling: float = 60.0) -> None:
        """`first` and `ceiling` in seconds: the delay doubles from the one to the other."""
        self._where = where
        self._first = first
        self._ceiling = ceiling
        self.failures = 0

    def failed(self, error: MatrixError) -> float:
        """Note a failure and return the seconds to wait: what the homeserver asked for, else with jitter."""
        self.failures += 1
        if self.failures == 1:
            log.warning("homeserver %s does not answer as it should, trying on: %s", self._where, error)
        if error.retry_after is not None:
            return error.retry_after
        delay = min(self._ceiling, self._first * 2.0 ** min(self.failures - 1, 30))
        return delay * _random.uniform(0.5, 1.0)

    def over(self) -> None:
        """Note a success."""
        if self.failures:
            log.info("homeserver %s answers again after %d failures", self._where, self.failures)
        self.failures = 0
