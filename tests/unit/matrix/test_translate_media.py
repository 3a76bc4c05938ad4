"""Pictures and other files as clients send them: what is a caption, whom it addresses, and what stays unread."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from matrix.translate import media_kind, read
from memory.events import Incoming, IncomingKind
from memory.media import MediaKind
from tests.unit.matrix.test_translate import ME, VIEW, event

ENCRYPTED_FILE = {
    "v": "v2",
    "url": "mxc://example.org/abc",
    "key": {"kty": "oct", "alg": "A256CTR", "ext": True, "k": "k", "key_ops": ["encrypt", "decrypt"]},
    "iv": "iv",
    "hashes": {"sha256": "hash"},
}
INFO = {"mimetype": "image/png", "size": 3, "w": 1, "h": 1}


def image(body: str, **more: Any) -> dict[str, Any]:
    return {"msgtype": "m.image", "body": body, "info": INFO, "url": "mxc://example.org/abc", **more}


def captioned(caption: str, **more: Any) -> dict[str, Any]:
    return image(caption, filename="cat.png", **more)


def pill(words: str) -> dict[str, Any]:
    formatted = f'<a href="https://matrix.to/#/{ME}">davenport</a>: {words}'
    return {"format": "org.matrix.custom.html", "formatted_body": formatted}


def found(content: dict[str, Any], **fields: Any) -> Incoming:
    incoming = read(event(content, **fields), VIEW)
    assert incoming is not None
    return incoming


@pytest.mark.parametrize(
    ("content", "text", "addressed"),
    [
        (image("cat.png"), "", False),
        (image("cat.png", filename="cat.png"), "", False),
        (image("davenport: look.png"), "", False),
        (image("davenport: what is this"), "", False),
        (captioned("my cat"), "my cat", False),
        (captioned("davenport: what is this?"), "what is this?", True),
        (captioned("davenport: what is this?", **pill("what is this?")), "what is this?", True),
        (captioned("what is this?", **{"m.mentions": {"user_ids": [ME]}}), "what is this?", True),
        (captioned("davenport: no", **{"m.mentions": {}}), "davenport: no", False),
        (image("cat.png", **{"m.mentions": {"user_ids": [ME]}}), "", True),
        (image("cat.png", filename="cat.png", **pill("x")), "", False),
        (captioned("!ask what is this?"), "!ask what is this?", False),
    ],
    ids=[
        "older client",
        "no caption",
        "a name that reads like words to the bot",
        "a name without an ending",
        "caption",
        "caption with the bot's name",
        "caption with a pill",
        "caption and m.mentions",
        "m.mentions says no",
        "a reply to the bot without a caption",
        "formatted name",
        "command as caption",
    ],
)
def test_a_body_beside_a_filename_is_the_caption_and_a_name_is_no_text(
    content: dict[str, Any], text: str, addressed: bool
) -> None:
    incoming = found(content)
    assert (incoming.kind, incoming.media) == (IncomingKind.MESSAGE, MediaKind.IMAGE)
    assert (incoming.text, incoming.addressed) == (text, addressed)
    assert bool(incoming.body) == bool(text)


def test_a_caption_for_others_is_for_others() -> None:
    assert found(captioned("bob: look", **{"m.mentions": {"user_ids": ["@bob:x"]}})).for_others


def test_an_encrypted_file_is_read_like_any_other() -> None:
    content = captioned("davenport: what is this?")
    del content["url"]
    incoming = found({**content, "file": ENCRYPTED_FILE})
    assert (incoming.media, incoming.text, incoming.addressed) == (MediaKind.IMAGE, "what is this?", True)


@pytest.mark.parametrize(
    ("msgtype", "kind"),
    [("m.audio", MediaKind.AUDIO), ("m.video", MediaKind.VIDEO), ("m.file", MediaKind.FILE)],
)
def test_other_files_are_read_with_their_kind(msgtype: str, kind: MediaKind) -> None:
    assert found({**image("thing"), "msgtype": msgtype}).media is kind
    assert found({**captioned("davenport: listen"), "msgtype": msgtype}).text == "listen"


def test_a_place_is_no_text_and_no_file() -> None:
    content = {"msgtype": "m.location", "body": "davenport: my house", "geo_uri": "geo:51.5,0.1"}
    incoming = found(content)
    assert (incoming.media, incoming.text, incoming.body, incoming.addressed) == (MediaKind.LOCATION, "", "", False)
    assert found({**content, "m.mentions": {"user_ids": [ME]}}).addressed


def test_a_sticker_is_a_picture_whose_description_is_no_text() -> None:
    content = {"body": "davenport: a cat waves", "info": INFO, "url": "mxc://example.org/abc"}
    incoming = found(content, type="m.sticker")
    assert (incoming.media, incoming.text, incoming.body, incoming.addressed) == (MediaKind.STICKER, "", "", False)
    assert incoming.media is not None
    assert incoming.media.shown


@pytest.mark.parametrize(
    ("relation", "thread_root", "reply_to"),
    [
        ({"m.in_reply_to": {"event_id": "$r"}}, None, "$r"),
        (
            {"rel_type": "m.thread", "event_id": "$t", "m.in_reply_to": {"event_id": "$r"}, "is_falling_back": True},
            "$t",
            None,
        ),
    ],
)
def test_pictures_in_threads_and_replies(
    relation: dict[str, Any], thread_root: str | None, reply_to: str | None
) -> None:
    incoming = found(captioned("davenport: and this?", **{"m.relates_to": relation}))
    assert (incoming.thread_root, incoming.reply_to, incoming.text) == (thread_root, reply_to, "and this?")


def test_an_edited_caption_is_an_edit_and_holds_no_picture_of_its_own() -> None:
    relation = {"rel_type": "m.replace", "event_id": "$0"}
    new = captioned("davenport: what is this, please?")
    incoming = found({**captioned("* what"), "m.relates_to": relation, "m.new_content": new})
    assert (incoming.kind, incoming.target, incoming.media) == (IncomingKind.EDIT, "$0", None)


@pytest.mark.parametrize(
    "raw",
    [
        event(image("cat.png"), sender=ME),
        event({}, unsigned={"redacted_because": {}}),
        event({}, type="m.sticker", unsigned={"redacted_because": {}}),
        event({"msgtype": "org.example.thing", "body": "x", "filename": "y"}),
    ],
    ids=["own", "redacted", "redacted sticker", "unknown"],
)
def test_not_read(raw: dict[str, Any]) -> None:
    assert read(raw, VIEW) is None


def test_a_caption_in_a_direct_room_needs_no_mention() -> None:
    incoming = read(event(captioned("what is this?")), replace(VIEW, direct=True))
    assert incoming is not None
    assert (incoming.direct, incoming.addressed, incoming.text) == (True, False, "what is this?")


@pytest.mark.parametrize("kind", list(MediaKind))
def test_only_pictures_and_stickers_are_shown(kind: MediaKind) -> None:
    assert kind.shown == (kind in {MediaKind.IMAGE, MediaKind.STICKER})
    assert media_kind("m.sticker", {}) is MediaKind.STICKER
