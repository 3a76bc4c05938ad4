"""How values look in the database: times, dates, flags, lists of texts and vectors."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, date, datetime

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

read_time = datetime.fromisoformat
read_date = date.fromisoformat


def time_text(moment: datetime) -> str:
    """Write an aware datetime as UTC ISO-8601 of fixed width (microseconds), so that text order is time order."""
    if moment.tzinfo is None:
        raise ValueError("a time without a zone cannot be stored")
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def date_of(moment: datetime) -> str:
    """Write the UTC date of an aware datetime as YYYY-MM-DD."""
    return time_text(moment)[:10]


def read_time_or_none(text: str | None) -> datetime | None:
    """Read a time that may be absent."""
    return None if text is None else read_time(text)


def storable(text: str) -> str:
    """Replace lone surrogates, which JSON from Matrix or a model may carry and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def storable_or_none(text: str | None) -> str | None:
    """Like `storable`, for a text that may be absent."""
    return None if text is None else storable(text)


def read_texts(array: str) -> tuple[str, ...]:
    """Read a JSON array of texts."""
    return () if array == "[]" else tuple(json.loads(array))


def ids_json(ids: Iterable[int]) -> str:
    """Write ids as a JSON array, one parameter for any number of them (read by json_each)."""
    return json.dumps(list(ids))


def vector_blob(vector: Vector) -> bytes:
    """Write a float32[dim] as little-endian bytes."""
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()


def read_vectors(blobs: Iterable[bytes], dim: int) -> NDArray[np.float32]:
    """Read blobs of `dim` values each as float32[n, dim]."""
    return np.frombuffer(b"".join(blobs), dtype="<f4").reshape(-1, dim).astype(np.float32)
