"""The homeserver's errors, and how long to wait."""

from __future__ import annotations

import logging

import pytest

from matrix.backoff import Outage
from matrix.errors import Rejected, TokenRejected, rejection
from memory.errors import MatrixError


@pytest.mark.parametrize(
    ("status", "errcode", "permanent"),
    [
        (403, "M_FORBIDDEN", True),
        (404, "M_NOT_FOUND", True),
        (413, "M_TOO_LARGE", True),
        (413, "", True),
        (429, "M_LIMIT_EXCEEDED", False),
        (408, "", False),
        (500, "M_UNKNOWN", False),
        (502, "", False),
        (404, "", False),
        (401, "M_UNKNOWN_TOKEN", False),
    ],
)
def test_permanent_is_what_trying_again_cannot_help(status: int, errcode: str, permanent: bool) -> None:
    error = rejection("GET /x", status, {"errcode": errcode}, {})
    assert error.permanent is permanent
    assert isinstance(error, TokenRejected) is (errcode == "M_UNKNOWN_TOKEN")


def test_retry_after_in_seconds_from_body_or_header() -> None:
    assert rejection("x", 429, {"retry_after_ms": 2500}, {}).retry_after == 2.5
    assert rejection("x", 429, {}, {"Retry-After": "3"}).retry_after == 3
    assert rejection("x", 429, {"retry_after_ms": "soon"}, {"Retry-After": "Tue, 1 Jan"}).retry_after is None


def test_message_names_request_and_code_and_nothing_else() -> None:
    assert str(Rejected("GET /x", 403, {"errcode": "M_FORBIDDEN", "error": "text"})) == "GET /x: 403 M_FORBIDDEN"


def test_outage_grows_to_its_ceiling_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    outage = Outage("http://hs", first=1, ceiling=8)
    delays = [outage.failed(MatrixError("down")) for _ in range(2000)]
    for delay, full in zip(delays, [1, 2, 4, 8, 8], strict=False):
        assert full / 2 <= delay <= full
    assert max(delays) <= 8
    assert outage.failed(MatrixError("busy", retry_after=0.25)) == 0.25
    outage.over()
    outage.over()
    assert len(caplog.records) == 2
    assert outage.failed(MatrixError("down")) <= 1
