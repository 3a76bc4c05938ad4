"""What is not words: pictures and files as they come in and go out. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class MediaKind(StrEnum):
    """What a message holds beside or instead of text; a location is a place on a map, and no file."""

    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    FILE = "file"
    STICKER = "sticker"
    LOCATION = "location"

    @property
    def shown(self) -> bool:
        """Whether the model can be shown it: pictures, of which stickers are some."""
        return self in {MediaKind.IMAGE, MediaKind.STICKER}


@dataclass(frozen=True, slots=True)
class PictureInfo:
    """What a client is told of a picture before it has it: pixels, and a blurred preview (blurhash) of its colours."""

    width: int
    height: int
    blurhash: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that was decoded and written anew: nothing of the file it came from but its pixels is in it."""

    media_type: str  # image/png or image/jpeg
    data: bytes
    info: PictureInfo


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file: its name, its media type and what is in it.

    picture: set where it is to be shown as a picture; alt: what is to be seen in it, for those who do not see it.
    kind, sender: as what and from whom it came in; None and "" for one on its way out.
    """

    name: str
    media_type: str
    data: bytes
    picture: PictureInfo | None = None
    alt: str = ""
    kind: MediaKind | None = None
    sender: str = ""
