"""Pictures and documents as the actors ask for them (actors.ports.Media): each job in a process of its own."""

from __future__ import annotations

from memory.documents import ReadDocument
from memory.errors import MediaFailed
from memory.media import Attachment, Picture


class MediaJobs:
    """Starts a process for each job, a few at one time."""

    async def rasterise(self, svg: str) -> Picture:
        """Check an SVG, which must refer to nothing outside itself, and turn it into a PNG."""
        raise MediaFailed("not built yet")

    async def picture(self, data: bytes) -> Picture:
        """Decode a picture, whose format its content tells, and write it anew, no larger than models look at."""
        raise MediaFailed("not built yet")

    async def document(self, file: Attachment, most_chunks: int) -> ReadDocument:
        """Read a text, Markdown, HTML or PDF file, as its content tells, and cut it into chunks."""
        raise MediaFailed("not built yet")
