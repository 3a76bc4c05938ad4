"""Documents of a room: what they are made of, and which parts of them a reply is given. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memory.media import Attachment
from memory.text import blank, clean, visible

TITLE_CHARACTERS = 200
PDF, HTML, MARKDOWN, TEXT = "application/pdf", "text/html", "text/markdown", "text/plain"
_PDF_BEGINS = b"%PDF-"  # somewhere in the first part, by what readers of PDF accept
_PDF_LOOKED_AT = 1024
_BY_SUFFIX = {"html": HTML, "htm": HTML, "xhtml": HTML, "md": MARKDOWN, "markdown": MARKDOWN}
_BY_TYPE = {HTML: HTML, "application/xhtml+xml": HTML, MARKDOWN: MARKDOWN, "text/x-markdown": MARKDOWN}


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


def title_of(read: ReadDocument, file_name: str, otherwise: str) -> str:
    """Return what a document is called: its own title, its file's name or `otherwise`; on one line, not long."""
    titles = (clean(text)[:TITLE_CHARACTERS].strip() for text in (read.title, file_name))
    return next((title for title in titles if not blank(title)), otherwise)


def kind_of(file: Attachment) -> str:
    """Return the media type of a file that was read as a document: one of PDF, HTML, MARKDOWN and TEXT."""
    if _PDF_BEGINS in file.data[:_PDF_LOOKED_AT]:
        return PDF
    said = _BY_TYPE.get(file.media_type.partition(";")[0].strip().lower())
    return said or _BY_SUFFIX.get(file.name.rpartition(".")[2].lower(), TEXT)


def sound_chunks(read: ReadDocument) -> tuple[str, ...]:
    """Return the chunks as they are stored: nothing in them that hides text, and none with nothing to see."""
    return tuple(text for text in (visible(chunk).strip() for chunk in read.chunks) if not blank(text))
