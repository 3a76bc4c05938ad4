"""Pictures and other files that come without words: what of them is a turn, and what is said of the others."""

from __future__ import annotations

from memory.events import Incoming, Recognised
from memory.media import MediaKind
from memory.settings import KindSettings
from memory.text import blank
from texts.catalogue import Speaker


def speaks(event: Incoming) -> bool:
    """Whether a message speaks to the bot. An empty one does so by a mention only, a file in a direct room too."""
    if event.addressed or (event.direct and event.media is not None):
        return True
    return (event.direct or event.scene) and not blank(event.text)


def refusal(event: Incoming, meaning: Recognised, settings: KindSettings, say: Speaker) -> str | None:
    """Return what is said to a file without words that nothing can be made of; None: it may be a turn."""
    if event.media is None or meaning.turn is None or not meaning.turn.remembers or not blank(meaning.text):
        return None
    if event.media.shown:
        return None if settings.pictures_enabled else say("pictures-off")
    match event.media:
        case MediaKind.AUDIO:
            return say("no-audio")
        case MediaKind.VIDEO:
            return say("no-video")
        case MediaKind.LOCATION:
            return say("no-location")
        case _:
            return say("no-file-but-document") if settings.documents_enabled else say("no-file")
