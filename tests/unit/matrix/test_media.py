"""Files of events: only what was sent is handed on, and no more of it than is allowed is read."""

from __future__ import annotations

from typing import Any, cast

import pytest
from nio.crypto.attachments import encrypt_attachment

from matrix.client import Client
from matrix.errors import Rejected
from matrix.media import Media
from memory.errors import MatrixError, Refused
from memory.media import MediaKind

ROOM, ALICE = "!room:example.org", "@alice:example.org"
DATA = b"\x89PNG and more"
PICTURES = frozenset({MediaKind.IMAGE, MediaKind.STICKER})


class StubClient:
    """Answers for one event and one file."""

    def __init__(self, content: dict[str, Any], data: bytes = DATA, **fields: Any) -> None:
        base = {"type": "m.room.message", "event_id": "$1", "room_id": ROOM, "sender": ALICE, "origin_server_ts": 1}
        self.raw = {**base, "content": content, **fields}
        self.data = data
        self.failure: MatrixError | None = None
        self.downloads: list[str] = []

    async def request(self, method: str, path: str) -> dict[str, Any]:
        if self.failure is not None:
            raise self.failure
        return self.raw

    async def download(self, path: str, most_bytes: int) -> bytes | None:
        self.downloads.append(path)
        return self.data if len(self.data) <= most_bytes else None


def image(**more: Any) -> dict[str, Any]:
    content = {"msgtype": "m.image", "body": "cat.png", "info": {"mimetype": "image/png"}}
    return {**content, "url": "mxc://example.org/abc", **more}


def encrypted() -> tuple[dict[str, Any], bytes]:
    ciphertext, keys = encrypt_attachment(DATA)
    content = image(file={**keys, "url": "mxc://example.org/abc"})
    del content["url"]
    return content, ciphertext


def media(client: StubClient) -> Media:
    return Media(cast(Client, client))


async def test_a_picture_comes_with_its_name_its_kind_and_who_sent_it() -> None:
    client = StubClient(image())
    found = await media(client).fetch(ROOM, "$1", 100, PICTURES)
    assert found is not None
    assert (found.data, found.name, found.kind, found.sender) == (DATA, "cat.png", MediaKind.IMAGE, ALICE)
    assert ["_matrix/client/v1/media/download" in path for path in client.downloads] == [True], "authenticated"


async def test_a_sticker_is_one_by_its_type() -> None:
    content = image()
    del content["msgtype"]
    found = await media(StubClient(content, type="m.sticker")).fetch(ROOM, "$1", 100, PICTURES)
    assert found is not None
    assert found.kind is MediaKind.STICKER


async def test_an_encrypted_picture_is_decrypted_and_its_hash_is_checked() -> None:
    content, ciphertext = encrypted()
    found = await media(StubClient(content, ciphertext)).fetch(ROOM, "$1", 100, PICTURES)
    assert found is not None
    assert found.data == DATA
    forged = bytes([ciphertext[0] ^ 1]) + ciphertext[1:]
    with pytest.raises(Refused, match="file-unreadable"):
        await media(StubClient(content, forged)).fetch(ROOM, "$1", 100, PICTURES)


async def test_an_encrypted_picture_without_its_key_is_unreadable() -> None:
    content, ciphertext = encrypted()
    del content["file"]["key"]
    with pytest.raises(Refused, match="file-unreadable"):
        await media(StubClient(content, ciphertext)).fetch(ROOM, "$1", 100, PICTURES)


async def test_what_is_longer_than_allowed_is_refused_whatever_its_event_says_of_its_size() -> None:
    client = StubClient(image(info={"mimetype": "image/png", "size": 1}))
    with pytest.raises(Refused, match="file-too-large"):
        await media(client).fetch(ROOM, "$1", len(DATA) - 1, PICTURES)


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        (image(msgtype="m.file"), {}),
        (image(msgtype="m.text"), {}),
        (image(), {"unsigned": {"redacted_because": {}}}),
        ({}, {"type": "m.room.encrypted", "unsigned": {"redacted_because": {}}}),
        (image(), {"room_id": "!other:example.org"}),
    ],
    ids=["no picture", "text", "redacted", "redacted and encrypted", "another room's"],
)
async def test_nothing_else_is_downloaded(content: dict[str, Any], fields: dict[str, Any]) -> None:
    client = StubClient(content, **fields)
    assert await media(client).fetch(ROOM, "$1", 100, PICTURES) is None
    assert client.downloads == []


async def test_an_event_the_bot_may_not_see_is_none_and_a_homeserver_in_trouble_is_an_error() -> None:
    client = StubClient(image())
    client.failure = Rejected("get", 404, {"errcode": "M_NOT_FOUND"})
    assert await media(client).fetch(ROOM, "$1", 100, PICTURES) is None
    client.failure = Rejected("get", 502, {})
    with pytest.raises(MatrixError):
        await media(client).fetch(ROOM, "$1", 100, PICTURES)


async def test_whether_an_event_was_redacted_is_told_as_far_as_it_can_be_seen() -> None:
    client = StubClient(image())
    assert not await media(client).is_gone(ROOM, "$1")
    client.raw |= {"content": {}, "unsigned": {"redacted_because": {"type": "m.room.redaction"}}}
    assert await media(client).is_gone(ROOM, "$1")
    client.failure = Rejected("GET", 404, {"errcode": "M_NOT_FOUND"})
    assert not await media(client).is_gone(ROOM, "$1")
    client.failure = Rejected("GET", 502, {})
    with pytest.raises(MatrixError):
        await media(client).is_gone(ROOM, "$1")


@pytest.mark.parametrize("address", ["https://example.org/cat.png", "mxc://example.org/../secret", "", None])
async def test_only_addresses_of_the_homeservers_media_are_followed(address: str | None) -> None:
    client = StubClient(image(url=address))
    with pytest.raises(Refused, match="file-unreadable"):
        await media(client).fetch(ROOM, "$1", 100, PICTURES)
    assert client.downloads == []


@pytest.mark.parametrize(("named", "uploaded"), [({"filename": "drawing.png"}, "drawing.png"), ({}, "A cat.")])
async def test_a_file_is_uploaded_by_its_name_and_not_by_its_caption(named: dict[str, Any], uploaded: str) -> None:
    class Uploading:
        async def upload(self, data: bytes, media_type: str, name: str = "") -> str:
            assert (data, media_type, name) == (DATA, "image/png", uploaded)
            return "mxc://example.org/put"

    content = {"msgtype": "m.image", "body": "A cat.", "info": {"mimetype": "image/png"}, **named}
    put = await Media(cast(Client, Uploading())).put(content, DATA, encrypted=False)
    assert put == {**content, "url": "mxc://example.org/put"}
