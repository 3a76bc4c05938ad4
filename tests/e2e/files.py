"""Files as a person's client sends and opens them; written apart from the bot's own code."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any
from urllib.parse import urlencode

import aiohttp
from nio.crypto.attachments import decrypt_attachment, encrypt_attachment

from matrix.person import Heard, Person

Json = dict[str, Any]


async def send_file(
    person: Person,
    room_id: str,
    data: bytes,
    *,
    name: str = "memories.json",
    media_type: str = "application/json",
    msgtype: str = "m.file",
    details: Json | None = None,
    **info: Any,
) -> str:
    """Upload a file and send it, encrypted where the room is; return its event. details: more of its content."""
    encrypted = person.client.rooms[room_id].encrypted
    content: Json = {"msgtype": msgtype, "body": name, "info": {"mimetype": media_type, **info}, **(details or {})}
    if encrypted:
        ciphertext, keys = encrypt_attachment(data)
        content["file"] = {**keys, "url": await upload(person, ciphertext)}
    else:
        content["url"] = await upload(person, data)
    return await person.send(room_id, content)


async def upload(person: Person, data: bytes) -> str:
    path = "/_matrix/media/v3/upload?" + urlencode({"filename": "upload"})
    address = person.client.homeserver + path
    async with aiohttp.ClientSession(headers=_headers(person)) as session, session.post(address, data=data) as response:
        assert response.status == 200, await response.text()
        return str((await response.json())["content_uri"])


async def open_file(person: Person, event: Heard) -> bytes:
    """Download the file of an event and decrypt it; its hash has to be right."""
    assert event.content["msgtype"] in {"m.file", "m.image"}
    file = event.content.get("file")
    data = await download(person, file["url"] if file else event.content["url"])
    if file is None:
        assert not event.encrypted, "an encrypted room gets encrypted files"
        return data
    assert base64.b64encode(hashlib.sha256(data).digest()).decode().rstrip("=") == file["hashes"]["sha256"]
    return bytes(decrypt_attachment(data, file["key"]["k"], file["hashes"]["sha256"], file["iv"]))


async def download(person: Person, mxc: str) -> bytes:
    server, _, media_id = mxc.removeprefix("mxc://").partition("/")
    path = f"/_matrix/client/v1/media/download/{server}/{media_id}"
    address = person.client.homeserver + path
    async with aiohttp.ClientSession(headers=_headers(person)) as session, session.get(address) as response:
        assert response.status == 200, await response.text()
        return await response.read()


async def wait_for_file(person: Person, room_id: str, sender: str, *, seconds: float = 20) -> Heard:
    return await person.wait_for(
        lambda event: (event.room_id, event.sender, event.content.get("msgtype")) == (room_id, sender, "m.file"),
        seconds=seconds,
    )


async def wait_for_invitation(person: Person, inviter: str) -> str:
    """Return the room to which somebody invites this person; invitations are no room events, so the sync is asked."""
    for _ in range(200):
        raw = await person.client.fetch_sync(None, sync_filter=_INVITES, full_state=False, wait_seconds=0)
        for room_id, room in raw.get("rooms", {}).get("invite", {}).items():
            if any(event.get("sender") == inviter for event in room["invite_state"]["events"]):
                return str(room_id)
        await _next_sync(person, raw["next_batch"])
    raise AssertionError(f"{inviter} invited nobody")


async def _next_sync(person: Person, since: str) -> None:
    """Wait until something happens."""
    await person.client.fetch_sync(since, sync_filter=_INVITES, full_state=False, wait_seconds=5)


_INVITES = json.dumps({"room": {"timeline": {"limit": 1}}, "presence": {"not_types": ["*"]}})


def _headers(person: Person) -> dict[str, str]:
    return {"Authorization": f"Bearer {person.client.access_token}"}
