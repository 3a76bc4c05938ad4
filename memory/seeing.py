"""What the model is told of pictures and files that it is not shown, so that it does not make up what is in them."""

from __future__ import annotations

from memory.media import MediaKind

HERE = "this message"
THERE = "the message that this one replies to"

WHY_OFF = "pictures are switched off in this room"
WHY_REFUSED = "its file is too large, damaged, or of a kind that cannot be read"
WHY_GONE = "it is not there any more, or may not be had"
WHY_NOT_NOW = "it could not be fetched just now"
WHY_NOT_FOR_HERE = "whoever sent it did not send it for this conversation"

_NAMED = {
    MediaKind.IMAGE: "a picture",
    MediaKind.STICKER: "a sticker",
    MediaKind.AUDIO: "a sound or voice message",
    MediaKind.VIDEO: "a video",
    MediaKind.FILE: "a file",
    MediaKind.LOCATION: "a place on a map",
}
_SO = "You do not know what is in it. Say so where it matters, and do not guess."

UNREADABLE = f"{THERE[0].upper()}{THERE[1:]} cannot be read here. {_SO}"


def named(kind: MediaKind) -> str:
    """Return what a message held beside its words, as later turns are told."""
    return _NAMED[kind]


def not_shown(where: str, why: str) -> str:
    """Say that a picture in a message (HERE or THERE) cannot be shown, and why."""
    return f"There is a picture in {where}, but it cannot be shown to you: {why}. {_SO}"


def not_understood(where: str, kind: MediaKind) -> str:
    """Say that a message holds what is no picture, and cannot be looked into."""
    return f"There is {_NAMED[kind]} in {where}, which cannot be played, opened or shown to you. {_SO}"
