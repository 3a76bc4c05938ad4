"""Logging: one line a record on stderr, as text or JSON, without secrets.

What a record says about ids goes into `extra={...}` or its message; whose words were said goes nowhere.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from actors.tracing import followed
from memory.errors import DavenportError

MASK = "********"
SHORTEST_SECRET = 4  # characters; a mask for less would tear up every line
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
        trace = _trace(record)
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
        trace = _trace(record)
        if trace:
            values["trace"] = trace
        return _json(values)


class Masking(logging.Formatter):
    """Puts a mask where another formatter's line holds a secret, tracebacks and arguments included."""

    def __init__(self, lines: logging.Formatter, secrets: Iterable[str]) -> None:
        super().__init__()
        self._lines = lines
        long = [secret for secret in secrets if len(secret) >= SHORTEST_SECRET]
        forms = {form for secret in long for form in (secret, _one_line(secret), _in_json(secret))}
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


def _trace(record: logging.LogRecord) -> str:
    error = record.exc_info[1] if record.exc_info else None
    return "" if error is None else "\n".join(_told(error, set()))


def _told(error: BaseException, seen: set[int]) -> Iterator[str]:
    """Yield frames and type of an error and of what led to it. Only our own errors are known to quote nobody's words,
    so of others the message is left out."""
    seen.add(id(error))
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None and id(before) not in seen:
        yield from _told(before, seen)
        yield "which led to:"
    yield "Traceback (most recent call last):"
    yield from (frame.rstrip("\n") for frame in traceback.format_tb(error.__traceback__))
    kind = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    yield f"{kind}: {error}" if isinstance(error, DavenportError) else kind
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _told(part, seen)


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _in_json(text: str) -> str:
    return _json(text)[1:-1]
