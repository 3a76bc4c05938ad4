"""Documents of a room: what they are made of, and which parts of them a reply is given. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from memory.text import blank, clean, visible

TITLE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """What a file says: its own title, else its file's name, "" where it has neither, and its text cut into chunks.

    chunks: in reading order. media_type: what the file is, as its content tells; its sender may have told otherwise.
    """

    title: str
    chunks: tuple[str, ...]
    media_type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a room. event_id: the event of its file. chunks: how many there are. private_to: who added it alone
    with the bot, None where others were there.
    """

    id: int
    room_id: str
    title: str
    media_type: str
    size: int  # bytes of the file
    event_id: str
    added_by: str
    added_at: datetime
    chunks: int
    private_to: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document. number: from 1, of `total`. private_to: the document's."""

    id: int
    document_id: int
    title: str
    number: int
    total: int
    text: str
    private_to: str | None = None


D = TypeVar("D", Document, Chunk)


def usable(found: Iterable[D], alone: str | None) -> tuple[D, ...]:
    """Return what of a room's documents, or of their chunks, is there for somebody; the rest is as if it were not (D8).

    What somebody added alone with the bot is for nobody but them, and for them only while they are alone there again.
    alone: who is alone with the bot; None where others are there.
    """
    return tuple(each for each in found if each.private_to in (None, alone))


def title_of(read: ReadDocument, file_name: str, otherwise: str) -> str:
    """Return what a document is called: its own title, its file's name or `otherwise`; on one line, not long."""
    titles = (clean(text)[:TITLE_CHARACTERS].strip() for text in (read.title, file_name))
    return next((title for title in titles if not blank(title)), otherwise)


def sound_chunks(read: ReadDocument) -> tuple[str, ...]:
    """Return the chunks as they are stored: nothing in them that hides text, and none with nothing to see."""
    return tuple(text for text in (visible(chunk).strip() for chunk in read.chunks) if not blank(text))
