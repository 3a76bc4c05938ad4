"""The homeserver as the actors see it, in memory: recognises transaction ids like Synapse, fails on request."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict

from memory.errors import MatrixError, Refused
from memory.events import Answer, OutboxRow
from memory.media import Attachment, MediaKind


class FakeMatrix:
    """Satisfies the Matrix port. `sent` is what the room shows: (room, event id, content), once per transaction id."""

    def __init__(self) -> None:
        self.device_id = "DEVICE"
        self.sent: list[tuple[str, str, dict[str, object]]] = []
        self.by_txn: dict[str, str] = {}
        self.failures: list[MatrixError] = []
        self.tries = 0
        self.joined: dict[str, set[str]] = defaultdict(set)
        self.admins: set[str] = set()
        self.levels: dict[str, int] = {}
        self.typing_on: set[str] = set()
        self.typing_calls: list[bool] = []
        self.looked_for: list[str] = []
        self.findable: dict[str, str] = {}
        self.files: dict[tuple[str, str], Attachment] = {}  # by room and event
        self.redacted: set[tuple[str, str]] = set()  # by room and event
        self.fetched: list[str] = []  # events whose files were asked for
        self.fetch_failures: list[Exception] = []
        self.fetch_gate: asyncio.Event | None = None  # while set, holds files back
        self.uploads: list[bytes] = []
        self.direct: dict[str, str] = {}  # rooms by user
        self.unreachable: set[str] = set()  # users with whom no direct room can be had

    async def send(self, row: OutboxRow) -> str:
        self.tries += 1
        if self.failures:
            raise self.failures.pop(0)
        if row.txn_id not in self.by_txn:
            self.by_txn[row.txn_id] = f"$sent{len(self.sent)}"
            self.sent.append((row.room_id, self.by_txn[row.txn_id], json.loads(row.content)))
        return self.by_txn[row.txn_id]

    async def find_sent(self, row: OutboxRow) -> str | None:
        self.looked_for.append(row.txn_id)
        return self.findable.get(row.txn_id)

    async def upload(self, row: OutboxRow) -> str:
        self.tries += 1
        if self.failures:
            raise self.failures.pop(0)
        assert row.attachment is not None
        self.uploads.append(row.attachment)
        return json.dumps({**json.loads(row.content), "url": f"mxc://hs/{len(self.uploads) - 1}"})

    async def attachment(
        self,
        room_id: str,
        event_id: str,
        most_bytes: int,
        kinds: frozenset[MediaKind] = frozenset({MediaKind.FILE}),
    ) -> Attachment | None:
        self.fetched.append(event_id)
        if self.fetch_gate is not None:
            await self.fetch_gate.wait()
        if self.fetch_failures:
            raise self.fetch_failures.pop(0)
        found = self.files.get((room_id, event_id))
        if found is not None and len(found.data) > most_bytes:
            raise Refused("file-too-large", limit=f"{most_bytes / 1_000_000:g}")
        return found if found is not None and (found.kind or MediaKind.FILE) in kinds else None

    async def is_redacted(self, room_id: str, event_id: str) -> bool:
        if self.fetch_gate is not None:
            await self.fetch_gate.wait()
        if self.fetch_failures:
            raise self.fetch_failures.pop(0)
        return (room_id, event_id) in self.redacted

    async def direct_room(self, user_id: str) -> str:
        if user_id in self.unreachable:
            raise MatrixError("no direct room", permanent=True)
        room_id = self.direct.setdefault(user_id, f"!direct-{len(self.direct)}:hs")
        self.joined[room_id] |= {user_id, "@bot:hs"}
        return room_id

    async def typing(self, room_id: str, *, on: bool) -> None:
        self.typing_calls.append(on)
        (self.typing_on.add if on else self.typing_on.discard)(room_id)

    async def members(self, room_id: str) -> frozenset[str]:
        return frozenset(self.joined[room_id])

    def can_write_state(self, room_id: str, user_id: str) -> bool:
        return user_id in self.admins

    def power_level(self, room_id: str, user_id: str) -> int:
        return self.levels.get(user_id, 100 if user_id in self.admins else 0)

    def render(self, answer: Answer) -> tuple[str, ...]:
        content = {"body": answer.markdown, "answers": answer.event_id, "thread": answer.thread_root}
        content |= {"notice": answer.notice, "recipient": answer.recipient}
        said = (json.dumps(content),) if answer.markdown.strip() else ()
        if answer.attachment is None:
            return said
        file = {**content, "body": answer.attachment.name, "type": answer.attachment.media_type}
        if answer.attachment.picture is not None:
            info = answer.attachment.picture
            file |= {
                "msgtype": "m.image",
                "alt": answer.attachment.alt,
                "w": info.width,
                "h": info.height,
                "blurhash": info.blurhash,
            }
        return (*said, json.dumps(file))

    def bodies(self, room_id: str | None = None) -> list[str]:
        """What the bot said, in the order the room shows it."""
        return [str(content["body"]) for room, _, content in self.sent if room_id in {None, room}]
