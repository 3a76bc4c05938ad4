"""Answers of the homeserver that are errors, as members of the project's error tree."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from memory.errors import MatrixError

# Errors that the same request may not meet again. Every other 4xx is a decision that stands.
_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
_TOKEN_ERRORS = frozenset({"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN"})

# What handling data of strangers may raise in a library, short of failures of our own storage.
MALFORMED = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, AssertionError)


class Rejected(MatrixError):
    """The homeserver answered with an error; `body` is its JSON, {} when there was none."""

    def __init__(self, action: str, status: int, body: Mapping[str, Any], retry_after: float | None = None) -> None:
        """`action` names the request without its token, for the log."""
        self.status = status
        self.body = body
        self.errcode = str(body.get("errcode") or "")
        # Without a code it is not the homeserver that speaks, but a proxy in front of it: what is too large for that
        # never gets through either, and a row that is tried for ever holds up its room.
        coded = bool(self.errcode) or status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        decided = coded and status < HTTPStatus.INTERNAL_SERVER_ERROR
        permanent = decided and status not in _PASSING
        super().__init__(
            f"{action}: {status} {self.errcode}".rstrip(),
            retry_after=retry_after,
            permanent=permanent,
        )


class TokenRejected(Rejected):
    """The access token is not, or no longer, valid. Not permanent: it can be renewed."""

    def __init__(self, action: str, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(action, status, body)
        self.soft_logout = body.get("soft_logout") is True
        self.permanent = False


def rejection(action: str, status: int, body: Mapping[str, Any], headers: Mapping[str, str]) -> Rejected:
    """Turn an error answer into an exception; `retry_after` in seconds where body or header name it."""
    if body.get("errcode") in _TOKEN_ERRORS:
        return TokenRejected(action, status, body)
    return Rejected(action, status, body, _retry_after(body, headers) if status in _PASSING else None)


def _retry_after(body: Mapping[str, Any], headers: Mapping[str, str]) -> float | None:
    milliseconds = body.get("retry_after_ms")
    if isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool):
        return max(0.0, milliseconds / 1000)
    seconds = headers.get("Retry-After", "")
    return float(seconds) if seconds.isdigit() else None
