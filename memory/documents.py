"""Documents of a room: what they are made of, and which parts of them a reply is given. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """What a file says: its own title, "" where it has none, and its text cut into chunks in reading order."""

    title: str
    chunks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a room. event_id: the event of its file. chunks: how many there are."""

    id: int
    room_id: str
    title: str
    media_type: str
    size: int  # bytes of the file
    event_id: str
    added_by: str
    added_at: datetime
    chunks: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document. number: from 1, of `total`."""

    id: int
    document_id: int
    title: str
    number: int
    total: int
    text: str
