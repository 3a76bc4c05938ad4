"""Pictures and documents as the actors ask for them (actors.media_ports.Media): each job in a process of its own."""

from __future__ import annotations

import json

from media.sandbox import TOO_COSTLY, Sandbox
from media.worker import Job, Json
from memory.documents import ReadDocument
from memory.errors import MediaFailed, Refused
from memory.media import Attachment, Picture, PictureInfo

DRAWING = Job("media.svg", cpu_seconds=10, wall_seconds=60.0)
# A picture of the most pixels takes 4 bytes for each, and as much again while it is made smaller.
PICTURE = Job("media.picture", megabytes=640, cpu_seconds=10, wall_seconds=60.0)
# A PDF or HTML file of ten megabytes that is not made to be costly takes some seconds.
DOCUMENT = Job("media.document", cpu_seconds=20, wall_seconds=60.0, most_bytes=64_000_000)


class MediaJobs:
    """Starts a process for each job, a few at one time."""

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self._sandbox = sandbox or Sandbox()

    async def rasterise(self, svg: str) -> Picture:
        """Check an SVG, which must refer to nothing outside itself, and turn it into a PNG."""
        try:
            told, png = await self._sandbox.run(DRAWING, {}, svg.encode(errors="replace"))
        except Refused as refused:
            if refused.text_id == TOO_COSTLY:
                raise Refused("drawing-too-costly") from None
            raise
        return _picture({"media_type": "image/png", **told}, png)

    async def picture(self, data: bytes) -> Picture:
        """Decode a picture, whose format its content tells, and write it anew, no larger than models look at."""
        told, made = await self._sandbox.run(PICTURE, {}, data)
        return _picture(told, made)

    async def document(self, file: Attachment, most_chunks: int) -> ReadDocument:
        """Read a text, Markdown, HTML or PDF file, as its content tells, and cut it into chunks."""
        arguments = {"name": file.name, "media_type": file.media_type, "most_chunks": most_chunks}
        told, chunks = await self._sandbox.run(DOCUMENT, arguments, file.data)
        return _document(told, chunks)


# The answers are looked at like files: what a file has taken over may say anything.


def _picture(told: Json, made: bytes) -> Picture:
    match told:
        case {"media_type": str(media_type), "width": int(width), "height": int(height), "blurhash": str(blurhash)}:
            return Picture(media_type, made, PictureInfo(width, height, blurhash))
    raise MediaFailed("a process answered with no picture")


def _document(told: Json, made: bytes) -> ReadDocument:
    try:
        chunks = json.loads(made)
    except (ValueError, RecursionError):
        chunks = None
    match told, chunks:
        case {"title": str(title), "media_type": str(media_type)}, [*texts] if all(isinstance(t, str) for t in texts):
            return ReadDocument(title, tuple(texts), media_type)
    raise MediaFailed("a process answered with no document")
