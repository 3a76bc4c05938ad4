"""A person at a Matrix client, for the demo and the tests: says things, hears things, waits for an answer.

It speaks to the homeserver as any client does and shares no state with the bot.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from matrix.account import Account
from matrix.client import Client
from matrix.crypto import Decryptor, KeyMissing
from matrix.errors import MALFORMED
from matrix.http import Json, endpoint
from memory.errors import MatrixError

log = logging.getLogger(__name__)

_FILTER = json.dumps({"room": {"timeline": {"limit": 1000}}, "presence": {"not_types": ["*"]}})


@dataclass(frozen=True, slots=True)
class Heard:
    """One room event as this person's client shows it. `encrypted`: it came encrypted; `raw`: as it was received."""

    event_id: str
    room_id: str
    sender: str
    type: str
    content: Json
    encrypted: bool
    raw: Json

    @property
    def body(self) -> str:
        """The plain text of a message, else ""."""
        body = self.content.get("body")
        return body if isinstance(body, str) else ""

    @property
    def relates_to(self) -> Json:
        """The relation of the event, {} where it has none."""
        relation = self.content.get("m.relates_to")
        return relation if isinstance(relation, dict) else {}

    @property
    def replies_to(self) -> str | None:
        """The event this one answers, in a thread or not."""
        reply = self.relates_to.get("m.in_reply_to")
        return reply.get("event_id") if isinstance(reply, dict) else None


class MemoryAccountStore:
    """An account store that lasts as long as the process."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    async def get(self, key: str) -> str | None:
        """Return the value of a key, or None."""
        return self.values.get(key)

    async def set(self, key: str, value: str | None) -> None:
        """Store a value; None removes the key."""
        if value is None:
            self.values.pop(key, None)
        else:
            self.values[key] = value


class Person:
    """An async context manager: logged in and listening inside the block.

    `heard` holds every room event since the login in order of arrival, own ones too.
    """

    def __init__(self, homeserver: str, localpart: str, password: str, folder: Path) -> None:
        """`folder` keeps this person's keys."""
        self._account = Account(
            MemoryAccountStore(), homeserver=homeserver, user=localpart, password=password, data_dir=folder
        )
        self._client: Client | None = None
        self._loop: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self._undecrypted: list[tuple[str, Json]] = []
        self.heard: list[Heard] = []

    async def __aenter__(self) -> Self:
        self._client = await self._account.open()
        try:
            first = await self._sync(None)
        except BaseException:
            await self._client.close()
            raise
        self._loop = asyncio.create_task(self._listen(first), name=f"listening of {self.user_id}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None:
            self._loop.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._loop
        await self.client.close()

    @property
    def client(self) -> Client:
        """The client underneath, for what has no method here."""
        if self._client is None:
            raise MatrixError("a person is used outside its `async with` block", permanent=True)
        return self._client

    @property
    def user_id(self) -> str:
        """This person's Matrix user id."""
        return self.client.user_id

    # --- rooms ---------------------------------------------------------------------------------------------------

    async def create_room(
        self, *, invite: Sequence[str] = (), encrypted: bool = False, direct: bool = False, name: str | None = None
    ) -> str:
        """Create a private room and return its id."""
        state = []
        if encrypted:
            content = {"algorithm": "m.megolm.v1.aes-sha2"}
            state.append({"type": "m.room.encryption", "state_key": "", "content": content})
        body: Json = {
            "preset": "trusted_private_chat" if direct else "private_chat",
            "is_direct": direct,
            "invite": list(invite),
            "initial_state": state,
        }
        if name is not None:
            body["name"] = name
        return str((await self.client.request("POST", endpoint("createRoom"), body))["room_id"])

    async def invite(self, room_id: str, user_id: str) -> None:
        """Invite somebody."""
        await self.client.request("POST", endpoint("rooms", room_id, "invite"), {"user_id": user_id})

    async def join(self, room_id: str) -> None:
        """Join a room."""
        await self.client.request("POST", endpoint("rooms", room_id, "join"), {})

    async def wait_for_member(self, room_id: str, user_id: str, *, seconds: float = 20) -> None:
        """Wait until somebody has joined."""

        def joined(event: Heard) -> bool:
            return (event.type, event.room_id, event.raw.get("state_key")) == (
                "m.room.member",
                room_id,
                user_id,
            ) and event.content.get("membership") == "join"

        await self.wait_for(joined, seconds=seconds)

    # --- saying --------------------------------------------------------------------------------------------------

    async def say(
        self,
        room_id: str,
        text: str,
        *,
        mention: str | None = None,
        reply_to: str | None = None,
        thread: str | None = None,
        msgtype: str = "m.text",
    ) -> str:
        """Send a text and return its event id. `mention`: a user id for m.mentions; `thread`: the thread's root."""
        content: Json = {"msgtype": msgtype, "body": text, "m.mentions": {"user_ids": [mention] if mention else []}}
        relation: Json = {}
        if reply_to is not None:
            relation["m.in_reply_to"] = {"event_id": reply_to}
        if thread is not None:
            relation |= {"rel_type": "m.thread", "event_id": thread, "is_falling_back": reply_to is None}
            relation.setdefault("m.in_reply_to", {"event_id": thread})
        if relation:
            content["m.relates_to"] = relation
        return await self.send(room_id, content)

    async def edit(self, room_id: str, event_id: str, text: str) -> str:
        """Replace the text of an own message and return the edit's event id."""
        new = {"msgtype": "m.text", "body": text, "m.mentions": {"user_ids": []}}
        relation = {"rel_type": "m.replace", "event_id": event_id}
        return await self.send(room_id, {**new, "body": f"* {text}", "m.new_content": new, "m.relates_to": relation})

    async def redact(self, room_id: str, event_id: str) -> str:
        """Remove an event's content and return the redaction's event id."""
        path = endpoint("rooms", room_id, "redact", event_id, uuid4().hex)
        return str((await self.client.request("PUT", path, {}))["event_id"])

    async def send(self, room_id: str, content: Json, *, event_type: str = "m.room.message") -> str:
        """Send an event of any content, encrypted where the room is, and return its id."""
        return await self.client.send_event(room_id, event_type, content, uuid4().hex)

    # --- hearing -------------------------------------------------------------------------------------------------

    async def wait_for(self, wanted: Callable[[Heard], bool], *, seconds: float = 20) -> Heard:
        """Return the first event heard, before or from now on, that is `wanted`. Raises MatrixError after `seconds`."""
        seen = 0
        try:
            async with asyncio.timeout(seconds), self._news:
                while True:
                    for event in self.heard[seen:]:
                        if wanted(event):
                            return event
                    seen = len(self.heard)
                    await self._news.wait()
        except TimeoutError:
            raise MatrixError(f"{self.user_id} heard nothing of the kind within {seconds:.0f} s") from None

    async def wait_for_answer(self, event_id: str, *, seconds: float = 20) -> Heard:
        """Return the first message of somebody else that answers this event."""
        return await self.wait_for(
            lambda event: (
                event.type == "m.room.message" and event.sender != self.user_id and event.replies_to == event_id
            ),
            seconds=seconds,
        )

    async def hearing(self) -> AsyncIterator[Heard]:
        """Yield every event heard since the login, then each further one as it comes, without end."""
        seen = 0
        while True:
            async with self._news:
                while seen == len(self.heard):
                    await self._news.wait()
            for event in self.heard[seen:]:
                seen += 1
                yield event

    async def _listen(self, since: str) -> None:
        while True:
            try:
                since = await self._sync(since)
            except MatrixError as error:
                log.warning("%s cannot sync: %s", self.user_id, error)
                await asyncio.sleep(0.5)

    async def _sync(self, since: str | None) -> str:
        client = self.client
        raw = await client.fetch_sync(
            since, sync_filter=_FILTER, full_state=False, wait_seconds=0 if since is None else 20
        )
        response = await client.apply_sync(raw)
        await client.upkeep()
        pending, self._undecrypted = self._undecrypted, []
        for room_id, room in raw.get("rooms", {}).get("join", {}).items():
            pending += [(room_id, event) for event in room.get("timeline", {}).get("events", [])]
        async with self._news:
            for room_id, event in pending:
                self._hear(room_id, event)
            self._news.notify_all()
        return response.next_batch

    def _hear(self, room_id: str, raw: Json) -> None:
        plain, encrypted = raw, raw.get("type") == "m.room.encrypted" and "ciphertext" in raw.get("content", {})
        if encrypted:
            try:
                plain = Decryptor(self.client).decrypt(room_id, raw)
            except KeyMissing:
                self._undecrypted.append((room_id, raw))
                return
            except MALFORMED as error:
                log.warning("event %s cannot be read: %s", raw.get("event_id"), type(error).__name__)
                return
        content: Any = plain["content"]
        self.heard.append(
            Heard(str(raw["event_id"]), room_id, str(raw["sender"]), str(plain["type"]), content, encrypted, raw)
        )
