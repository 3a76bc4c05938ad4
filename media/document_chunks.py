"""Cuts a text into chunks where a reader would: between sections, paragraphs, sentences, words."""

from __future__ import annotations

from collections.abc import Iterator

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from media.document_text import SIZE, too_long
from memory.text import blank

OVERLAP = 100  # characters at most that a chunk repeats of the one before it
# The splitter looks ahead to the end of the paragraph for each chunk, which in one of megabytes takes minutes.
_SECTION = 20_000
_ENDS = ("\n\n", "\n", ". ", " ")


def cut(text: str, most: int, *, markdown: bool, size: int = SIZE, overlap: int = OVERLAP) -> tuple[str, ...]:
    """Return the chunks of a tidied text in reading order, none blank. Raises Refused for more than `most`."""
    splitter = (MarkdownSplitter if markdown else TextSplitter)(size, overlap=overlap)
    chunks: list[str] = []
    done = 0
    for section in _sections(text):
        chunks += (chunk for chunk in splitter.chunks(section) if not blank(chunk))
        done += len(section)
        if len(chunks) > most:
            raise too_long(len(chunks) * len(text) // done, most)
    return tuple(chunks)


def _sections(text: str) -> Iterator[str]:
    """Cut a text into parts of no more than `_SECTION` characters, at the best place in the latter half of each."""
    start = 0
    while len(text) - start > _SECTION:
        end = next(filter(None, (_after(text, mark, start) for mark in _ENDS)), start + _SECTION)
        yield text[start:end]
        start = end
    yield text[start:]


def _after(text: str, mark: str, start: int) -> int:
    """Return the place after the last such mark in the latter half of the section that begins there, 0 for none."""
    found = text.rfind(mark, start + _SECTION // 2, start + _SECTION)
    return 0 if found < 0 else found + len(mark)
