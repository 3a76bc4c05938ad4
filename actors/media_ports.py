"""What the actors need for pictures and documents. media/ satisfies these by shape; wiring joins them."""

from __future__ import annotations

from typing import Protocol

from memory.documents import ReadDocument
from memory.media import Attachment, Picture


class Media(Protocol):
    """Reads and makes pictures and documents, each in a process of its own with little memory, time and no files.

    Every method raises Refused with one sentence about the file for whoever sent it, MediaFailed where the process
    itself could not be had.
    """

    async def rasterise(self, svg: str) -> Picture:
        """Check an SVG, which must refer to nothing outside itself, and turn it into a PNG."""
        ...

    async def picture(self, data: bytes) -> Picture:
        """Decode a picture, whose format its content tells, and write it anew, no larger than models look at."""
        ...

    async def document(self, file: Attachment, most_chunks: int) -> ReadDocument:
        """Read a text, Markdown, HTML or PDF file, as its content tells, and cut it into chunks."""
        ...


class Painter(Protocol):
    """A model elsewhere that paints pictures."""

    async def paint(self, description: str) -> bytes:
        """Return a picture as it came, to be checked by Media.picture.

        Raises Refused where it will not paint that, ModelError.
        """
        ...
