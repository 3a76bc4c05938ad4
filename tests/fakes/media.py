"""Pictures and documents as the actors ask for them, without a process: nothing is drawn or decoded."""

from __future__ import annotations

from memory.documents import ReadDocument
from memory.errors import MediaFailed, Refused
from memory.media import Attachment, Picture, PictureInfo

PNG = Picture("image/png", b"\x89PNG drawn", PictureInfo(1024, 768, "LEHV6nWB2yk8"))
JPEG = Picture("image/jpeg", b"\xff\xd8 decoded", PictureInfo(800, 600, "LGF5?xYk^6#M"))


class FakeMedia:
    """Satisfies the Media port but for documents. `failures` are raised in order, one a call, before it works again."""

    def __init__(self) -> None:
        self.failures: list[Refused | MediaFailed] = []
        self.drawings: list[str] = []
        self.pictures: list[bytes] = []

    async def rasterise(self, svg: str) -> Picture:
        self.drawings.append(svg)
        return self._done(PNG)

    async def picture(self, data: bytes) -> Picture:
        self.pictures.append(data)
        return self._done(JPEG)

    async def document(self, file: Attachment, most_chunks: int) -> ReadDocument:
        raise MediaFailed("this double reads no documents")

    def _done(self, picture: Picture) -> Picture:
        if self.failures:
            raise self.failures.pop(0)
        return picture
