"""Logging: one line a record on stderr, as text or JSON, without secrets.

What a record says about ids goes into `extra={...}` or its message; whose words were said goes nowhere.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from actors.tracing import followed

MASK = "********"
# Libraries whose everyday records say nothing to an operator, or hold addresses with tokens in them.
QUIETENED = (
    "nio",
    "apscheduler",
    "httpx",
    "httpx2",
    "httpcore",
    "aiohttp",
    "aiosqlite",
    "anthropic",
    "peewee",
    "asyncio",
    "faiss",
)
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class TextLines(logging.Formatter):
    """`2026-03-01T12:00:00.000Z INFO actors.room: said this room=!r:a`; a traceback follows in the same line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line; line breaks and other control characters in it are escaped."""
        fields = "".join(f" {name}={value}" for name, value in _extra(record).items())
        line = f"{_time(record)} {record.levelname} {record.name}: {record.getMessage()}{fields}"
        trace = _trace(self, record)
        return _one_line(f"{line} | {trace}" if trace else line)


class JsonLines(logging.Formatter):
    """The same as one JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line of JSON."""
        values: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra(record),
        }
        trace = _trace(self, record)
        if trace:
            values["trace"] = trace
        return _json(values)


class Masking(logging.Formatter):
    """Puts a mask where another formatter's line holds a secret, tracebacks and arguments included."""

    def __init__(self, lines: logging.Formatter, secrets: Iterable[str]) -> None:
        super().__init__()
        self._lines = lines
        forms = {form for secret in secrets if secret for form in (secret, _one_line(secret), _in_json(secret))}
        self._secrets = sorted(forms, key=len, reverse=True)  # a secret within a longer one would leave a part of it

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without the secrets."""
        line = self._lines.format(record)
        for secret in self._secrets:
            line = line.replace(secret, MASK)
        return line


def configure(level: str, style: str, secrets: Iterable[str]) -> None:
    """Send every record of at least `level` to stderr as `style` ("text" or "json") lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(name_event)
    handler.setFormatter(Masking(JsonLines() if style == "json" else TextLines(), secrets))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    for name in QUIETENED:
        logging.getLogger(name).setLevel(logging.WARNING)


def name_event(record: logging.LogRecord) -> bool:
    """Give a record the id of the event that is being worked on, where its writer did not."""
    if (event_id := followed()) is not None and not hasattr(record, "event_id"):
        record.event_id = event_id
    return True


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return formatter.formatException(record.exc_info) if record.exc_info else ""


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _in_json(text: str) -> str:
    return _json(text)[1:-1]
