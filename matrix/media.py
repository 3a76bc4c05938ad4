"""Files: fetched with the events that hold them, and put onto the homeserver; encrypted where the room is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nio.crypto.attachments import decrypt_attachment, encrypt_attachment
from nio.exceptions import EncryptionError

from matrix.client import Client
from matrix.crypto import Decryptor, KeyMissing
from matrix.errors import MALFORMED, Rejected
from matrix.http import Json, endpoint
from matrix.translate import is_redacted, media_kind
from memory.errors import Refused
from memory.media import Attachment, MediaKind

MEGABYTE = 1_000_000
ONLY_FILES = frozenset({MediaKind.FILE})
_MXC = re.compile(r"mxc://([A-Za-z0-9\[][A-Za-z0-9.:\]-]*)/([A-Za-z0-9_-]+)")
_ENCRYPTED = "application/octet-stream"  # what the homeserver is told of an encrypted file
_UNKNOWN = "application/octet-stream"


class Media:
    """Files of room events."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._decryptor = Decryptor(client)

    async def fetch(
        self, room_id: str, event_id: str, most_bytes: int, kinds: frozenset[MediaKind] = ONLY_FILES
    ) -> Attachment | None:
        """Return what an event holds, None where that is nothing of these kinds or cannot be seen.

        Raises Refused: file-too-large, counted while it is read; file-unreadable, where its key is missing or it is not
        what was sent. MatrixError: the homeserver does not give it now.
        """
        try:
            raw = await self._client.request("GET", endpoint("rooms", room_id, "event", event_id))
            if is_redacted(raw) or raw.get("room_id", room_id) != room_id:
                return None
            content, kind = self._content(room_id, raw)
            if kind is None or kind not in kinds:
                return None
            encrypted = content.get("file")
            address = encrypted["url"] if encrypted is not None else content["url"]
            data = await self._download(address, most_bytes)
            if encrypted is not None:
                data = _decrypted(data, encrypted)
            return Attachment(*_described(content), data, kind=kind, sender=str(raw["sender"]))
        except Rejected as error:
            if not error.permanent:
                raise
            return None
        except (*MALFORMED, KeyMissing, EncryptionError) as error:
            raise Refused("file-unreadable") from error

    async def is_gone(self, room_id: str, event_id: str) -> bool:
        """Whether an event was redacted. One that the bot may not see may still be there. Raises MatrixError."""
        try:
            return is_redacted(await self._client.request("GET", endpoint("rooms", room_id, "event", event_id)))
        except Rejected as error:
            if not error.permanent:
                raise
            return False

    async def put(self, content: Mapping[str, Any], data: bytes, *, encrypted: bool) -> Json:
        """Upload a file and return the content of its event, with where it lies and in an encrypted room its key.

        Raises MatrixError.
        """
        if not encrypted:
            media_type = str(content["info"]["mimetype"])
            name = str(content.get("filename", content["body"]))  # the body of a picture is its caption
            return {**content, "url": await self._client.upload(data, media_type, name)}
        ciphertext, keys = encrypt_attachment(data)
        return {**content, "file": {**keys, "url": await self._client.upload(ciphertext, _ENCRYPTED)}}

    def _content(self, room_id: str, raw: Json) -> tuple[Json, MediaKind | None]:
        """Return the content of an event, and what it holds. Raises KeyMissing, one of MALFORMED."""
        plain = self._decryptor.decrypt(room_id, raw) if raw["type"] == "m.room.encrypted" else raw
        content: Json = plain["content"]
        return content, media_kind(plain["type"], content)

    async def _download(self, address: str, most_bytes: int) -> bytes:
        found = _MXC.fullmatch(address)
        if found is None:
            raise ValueError("not the address of a file")
        path = endpoint("media", "download", found[1], found[2], version="v1")
        data = await self._client.download(path, most_bytes)
        if data is None:
            raise Refused("file-too-large", limit=f"{most_bytes / MEGABYTE:g}")
        return data


def _decrypted(data: bytes, encrypted: Mapping[str, Any]) -> bytes:
    """Decrypt a file. Raises EncryptionError where its hash is another, one of MALFORMED."""
    if encrypted["v"] != "v2":
        raise ValueError("encrypted in a way that is not known")
    return bytes(decrypt_attachment(data, encrypted["key"]["k"], encrypted["hashes"]["sha256"], encrypted["iv"]))


def _described(content: Json) -> tuple[str, str]:
    """Return name and media type of a file."""
    name = content.get("filename") or content.get("body")
    info = content.get("info")
    media_type = info.get("mimetype") if isinstance(info, dict) else None
    return name if isinstance(name, str) else "", media_type if isinstance(media_type, str) else _UNKNOWN
