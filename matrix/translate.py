"""From the JSON of a room event to what the bot takes note of. Pure: no network, no nio."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from matrix.mentions import Identity, address
from memory.events import Incoming, IncomingKind
from memory.media import MediaKind

_MEDIA = {
    "m.image": MediaKind.IMAGE,
    "m.audio": MediaKind.AUDIO,
    "m.video": MediaKind.VIDEO,
    "m.file": MediaKind.FILE,
    "m.location": MediaKind.LOCATION,
}
_READ_TYPES = frozenset({"m.text", "m.emote"})
_MESSAGES = frozenset({"m.room.message", "m.sticker"})


@dataclass(frozen=True, slots=True)
class RoomView:
    """What has to be known of a room to read its events. `members`: the user ids joined or invited now.

    closed: nobody comes in unasked or reads it from outside.
    """

    room_id: str
    me: Identity
    direct: bool
    members: frozenset[str]
    closed: bool = True


def read(raw: Mapping[str, Any], room: RoomView) -> Incoming | None:
    """Return a message, file or edit of someone else, or a redaction; None for what is no concern of the bot.

    Raises one of MALFORMED when fields are missing or of the wrong type.
    """
    if "state_key" in raw or is_redacted(raw):
        return None
    if raw["type"] == "m.room.redaction":
        return _redaction(raw, room)
    if raw["sender"] == room.me.user_id or raw["type"] not in _MESSAGES:
        return None
    content = _mapping(raw["content"])
    relation = _mapping(content.get("m.relates_to") or {})
    if relation.get("rel_type") == "m.replace":
        return _edit(raw, content, relation, room)
    media = media_kind(raw["type"], content)
    if media is None and content.get("msgtype") not in _READ_TYPES:
        return None
    return _message(_event(raw, room, IncomingKind.MESSAGE), content, relation, room, media)


def media_kind(event_type: str, content: Mapping[str, Any]) -> MediaKind | None:
    """Return what an event of this type and content holds beside words; None: nothing."""
    if event_type == "m.sticker":
        return MediaKind.STICKER
    return _MEDIA.get(str(content.get("msgtype"))) if event_type == "m.room.message" else None


def arrival(raw: Mapping[str, Any], room: RoomView) -> Incoming:
    """Return the bot's own join. Raises one of MALFORMED."""
    return _event(raw, room, IncomingKind.JOINED)


def echoed_txn(raw: Mapping[str, Any], me: str) -> str | None:
    """Return the transaction id of an event that this device sent itself, or None."""
    unsigned = raw.get("unsigned")
    txn_id = unsigned.get("transaction_id") if isinstance(unsigned, Mapping) else None
    return txn_id if raw.get("sender") == me and isinstance(txn_id, str) else None


def sent_at(raw: Mapping[str, Any]) -> datetime:
    """Return the homeserver's timestamp of an event. Raises one of MALFORMED."""
    milliseconds = raw["origin_server_ts"]
    if not isinstance(milliseconds, int) or isinstance(milliseconds, bool):
        raise TypeError("origin_server_ts is no integer")
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def is_redacted(raw: Mapping[str, Any]) -> bool:
    """Whether the event's content was removed before we saw it."""
    unsigned = raw.get("unsigned")
    return isinstance(unsigned, Mapping) and "redacted_because" in unsigned


def without_fallback(body: str, relation: Mapping[str, Any]) -> str:
    """Remove the quoted lines with which older clients begin the body of a reply."""
    if "m.in_reply_to" not in relation or not body.startswith(("> <@", "> * <@")):
        return body
    lines = body.split("\n")
    quoted = next((number for number, line in enumerate(lines) if not line.startswith(">")), len(lines))
    return "\n".join(lines[quoted:]).lstrip("\n")


def _event(raw: Mapping[str, Any], room: RoomView, kind: IncomingKind) -> Incoming:
    sender = _id(raw["sender"])
    return Incoming(
        event_id=_id(raw["event_id"]),
        room_id=room.room_id,
        sender=sender,
        kind=kind,
        sent_at=sent_at(raw),
        direct=room.direct,
        alone=room.closed and room.members == {sender, room.me.user_id},
    )


def _message(
    incoming: Incoming,
    content: Mapping[str, Any],
    relation: Mapping[str, Any],
    room: RoomView,
    media: MediaKind | None = None,
) -> Incoming:
    if media is not None:
        content = _captioned(content, media)
    body = _text(content["body"])
    addressing = address(content, without_fallback(body, relation), room.me)
    thread = relation.get("event_id") if relation.get("rel_type") == "m.thread" else None
    reply = _mapping(relation.get("m.in_reply_to") or {}).get("event_id")
    return replace(
        incoming,
        body=body,
        text=addressing.text,
        addressed=addressing.addressed,
        for_others=addressing.for_others,
        thread_root=None if thread is None else _id(thread),
        reply_to=None if reply is None or relation.get("is_falling_back") is True else _id(reply),
        media=media,
    )


def _captioned(content: Mapping[str, Any], media: MediaKind) -> Mapping[str, Any]:
    """Return the content of a file with its caption for a body, "" where there is none.

    Only a body that stands beside another `filename` is a caption; else it names the file, or describes a sticker or a
    place.
    """
    name = content.get("filename")
    if media is not MediaKind.STICKER and isinstance(name, str) and _text(content["body"]) != name:
        return content
    return {**content, "body": "", "formatted_body": None}


def _edit(
    raw: Mapping[str, Any], content: Mapping[str, Any], relation: Mapping[str, Any], room: RoomView
) -> Incoming | None:
    new = _mapping(content["m.new_content"])
    media = media_kind(raw["type"], new)
    if media is None and new.get("msgtype") not in _READ_TYPES:
        return None
    incoming = _message(_event(raw, room, IncomingKind.EDIT), new, {}, room, media)
    return replace(incoming, target=_id(relation["event_id"]), media=None)  # the file is that of the target


def _redaction(raw: Mapping[str, Any], room: RoomView) -> Incoming:
    # Room version 11 moved the field into the content; servers may send it in either place.
    target = raw["redacts"] if "redacts" in raw else _mapping(raw["content"])["redacts"]
    return replace(_event(raw, room, IncomingKind.REDACTION), target=_id(target))


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("not an object")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value


def _id(value: object) -> str:
    """Read an id. Of encrypted events no homeserver has seen to it that it can be sent or stored."""
    found = _text(value)
    found.encode()  # UnicodeEncodeError, one of MALFORMED
    return found
