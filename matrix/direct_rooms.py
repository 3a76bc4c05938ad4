"""Which rooms are direct conversations, and a direct room with whoever must be told something in private."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any
from weakref import WeakValueDictionary

from nio.rooms import MatrixRoom

from matrix.client import Client
from matrix.errors import MALFORMED, Rejected
from matrix.http import Json, endpoint
from matrix.ports import EncryptedRooms
from memory.errors import MatrixError

log = logging.getLogger(__name__)

_HERE = frozenset({"join", "invite"})
_CLOSED = frozenset({"invite", "private", "knock"})  # join rules by which nobody comes in unasked
_ALGORITHM = "m.megolm.v1.aes-sha2"
_MODERATOR = 50  # may set what rooms may have of their own, in a room that is theirs


def is_closed(room: MatrixRoom) -> bool:
    """Whether nobody comes into a room unasked, or reads it from outside: else nothing in it is private (D8)."""
    return room.join_rule in _CLOSED and room.history_visibility != "world_readable"


class DirectRooms:
    """The account's `m.direct` data: which rooms are direct conversations, and with whom."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._content: dict[str, Any] = {}
        self._marked: set[str] = set()  # by us; a sync under way may still bring the content from before
        self._marking = asyncio.Lock()

    def __contains__(self, room_id: object) -> bool:
        return room_id in self._marked or any(room_id in rooms for rooms in self._content.values())

    async def load(self) -> None:
        """Ask the homeserver. Raises MatrixError."""
        try:
            self.replace(await self._client.request("GET", self._path))
        except Rejected as error:
            if error.errcode != "M_NOT_FOUND":
                raise
            self.replace({})

    def replace(self, content: Mapping[str, Any]) -> None:
        """Take over what a sync brought."""
        self._content = {user: rooms for user, rooms in content.items() if isinstance(rooms, list)}

    def of(self, user_id: str) -> tuple[str, ...]:
        """Return the direct rooms with a user, as last loaded, newest first."""
        rooms = self._content.get(user_id, [])
        return tuple(dict.fromkeys(room for room in reversed(rooms) if isinstance(room, str)))

    async def mark(self, room_id: str, user_id: str) -> None:
        """Note for good that a room is a direct conversation with this user. Raises MatrixError."""
        async with self._marking:
            await self.load()
            if room_id not in self._content.get(user_id, []):
                content = {**self._content, user_id: [*self._content.get(user_id, []), room_id]}
                await self._client.request("PUT", self._path, content)
                self.replace(content)
            self._marked.add(room_id)

    @property
    def _path(self) -> str:
        return endpoint("user", self._client.user_id, "account_data", "m.direct")


class PrivateRooms:
    """Finds the direct room with a user, or makes it: a room in which nobody but the two can read."""

    def __init__(self, client: Client, direct: DirectRooms, rooms: EncryptedRooms) -> None:
        self._client = client
        self._direct = direct
        self._rooms = rooms
        # By user: two searches at once would make two rooms. Whoever waits keeps the lock alive.
        self._finding: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def with_user(self, user_id: str) -> str:
        """Return the room's id. Raises MatrixError.

        A room that both are in comes before one the user was only invited to, and before one they left, to which they
        are invited again. A room where they cannot be invited does not keep another from being made.
        """
        finding = self._finding.setdefault(user_id, asyncio.Lock())
        async with finding:
            found = await self._known(user_id)
            if found is None:
                found = await self._make(user_id)
                await self._invite(found, user_id)
            return found

    async def _known(self, user_id: str) -> str | None:
        """Return a direct room that will do, the user invited where they are not in it; None: there is none."""
        await self._direct.load()
        by_membership: dict[str | None, list[str]] = {}
        for room_id in self._direct.of(user_id):
            membership = await self._alone_with(room_id, user_id)
            if membership == "join":
                return room_id
            by_membership.setdefault(membership, []).append(room_id)
        if "invite" in by_membership:
            return by_membership["invite"][0]
        for room_id in by_membership.get("leave", []):
            if await self._invited(room_id, user_id):
                return room_id
        return None

    async def _alone_with(self, room_id: str, user_id: str) -> str | None:
        """Return the user's membership of a room that nobody but they and the bot can be in; None: it will not do."""
        me = self._client.user_id
        try:
            members = _memberships(await self._client.request("GET", endpoint("rooms", room_id, "members")))
            if members.get(me) != "join" or {user for user, how in members.items() if how in _HERE} - {me, user_id}:
                return None
            room = await self._client.room(room_id)
        except MALFORMED as error:
            log.warning("the members of %s cannot be read: %s", room_id, type(error).__name__)
            return None
        except MatrixError as error:
            if not error.permanent:
                raise
            return None
        if not is_closed(room):
            return None
        return members.get(user_id, "leave")

    async def _make(self, user_id: str) -> str:
        """Make a room, known as encrypted and as direct before anybody but the bot is in it."""
        body: Json = {
            "preset": "trusted_private_chat",  # nobody is invited yet, so that nobody is made an admin by it
            "is_direct": True,
            "initial_state": [
                {"type": "m.room.encryption", "state_key": "", "content": {"algorithm": _ALGORITHM}},
                {"type": "m.room.history_visibility", "state_key": "", "content": {"history_visibility": "invited"}},
                {"type": "m.room.guest_access", "state_key": "", "content": {"guest_access": "forbidden"}},
            ],
        }
        room_id = str((await self._client.request("POST", endpoint("createRoom"), body))["room_id"])
        await self._rooms.mark_encrypted([room_id])
        await self._direct.mark(room_id, user_id)
        await self._promote(room_id, user_id)
        log.info("made the direct room %s", room_id)
        return room_id

    async def _promote(self, room_id: str, user_id: str) -> None:
        """Let the user set what rooms may have of their own; no more. Which creators there are, the server knows."""
        path = endpoint("rooms", room_id, "state", "m.room.power_levels", "")
        levels = await self._client.request("GET", path)
        users = levels.get("users")
        levels["users"] = {**(users if isinstance(users, dict) else {}), user_id: _MODERATOR}
        await self._client.request("PUT", path, levels)

    async def _invited(self, room_id: str, user_id: str) -> bool:
        """Invite a user to a room again; False: the bot may not."""
        try:
            await self._invite(room_id, user_id)
        except MatrixError as error:
            if not error.permanent:
                raise
            log.info("cannot invite to %s again: %s", room_id, error)
            return False
        return True

    async def _invite(self, room_id: str, user_id: str) -> None:
        """Invite the user, and have them among those who get the room's keys at once."""
        path = endpoint("rooms", room_id, "state", "m.room.member", user_id)
        await self._client.request("PUT", path, {"membership": "invite", "is_direct": True})
        await self._client.reload(room_id)


def _memberships(answer: Json) -> dict[str, str]:
    """Read the members of a room. Raises one of MALFORMED."""
    return {str(event["state_key"]): str(event["content"]["membership"]) for event in answer["chunk"]}
