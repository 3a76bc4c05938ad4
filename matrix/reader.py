"""From raw room events to the events of a batch: decrypted, translated, odd ones logged and left out."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from nio.rooms import MatrixRoom

from matrix.client import Client
from matrix.crypto import Decryptor, KeyMissing, undecryptable
from matrix.direct_rooms import is_closed
from matrix.errors import MALFORMED, Rejected
from matrix.http import Json, endpoint
from matrix.mentions import Identity
from matrix.timeline import is_arrival
from matrix.translate import RoomView, arrival, echoed_txn, is_redacted, read
from memory.events import Echo, Incoming, IncomingKind, Undecryptable

log = logging.getLogger(__name__)

_REMEMBERED_SENDERS = 10_000
_OF_INTEREST = frozenset({"m.room.message", "m.sticker", "m.room.redaction", "m.room.encrypted"})


@dataclass(slots=True)
class Read:
    """What was read so far, in order."""

    events: list[Incoming] = field(default_factory=list)
    undecryptable: list[Undecryptable] = field(default_factory=list)
    echoes: list[Echo] = field(default_factory=list)


class Reader:
    """Reads raw events of rooms as this bot."""

    def __init__(self, client: Client, is_direct: Callable[[str], bool], ignore_users: Iterable[str]) -> None:
        """`ignore_users`: globs over user ids whose events are not read."""
        self._client = client
        self._is_direct = is_direct
        self._ignore_users = tuple(ignore_users)
        self._senders: OrderedDict[str, str] = OrderedDict()
        self.decryptor = Decryptor(client)
        self.display_name = ""

    def ignore(self, users: Iterable[str]) -> None:
        """Replace the globs over user ids whose events are not read."""
        self._ignore_users = tuple(users)

    def ignores(self, user_id: str) -> bool:
        """Whether this user is none the bot listens to."""
        return any(fnmatchcase(user_id, pattern) for pattern in self._ignore_users)

    async def read(self, room_id: str, raws: Iterable[Json], into: Read) -> None:
        """Read events of one room, oldest first. Raises MatrixError when members or an edit's target must be asked."""
        me = self._client.user_id
        wanted = [raw for raw in raws if raw.get("type") in _OF_INTEREST or is_arrival(raw, me)]
        if not wanted:
            return
        view = self._view(await self._client.room_with_members(room_id))
        for raw in wanted:
            try:
                found = self._one(raw, view)
            except MALFORMED as error:
                log.warning("event %s skipped: %s", raw.get("event_id"), type(error).__name__)
                continue
            if isinstance(found, Echo):
                into.echoes.append(found)
            elif isinstance(found, Undecryptable):
                into.undecryptable.append(found)
            elif found is not None and await self._may(found):
                into.events.append(found)

    def _one(self, raw: Json, view: RoomView) -> Incoming | Undecryptable | Echo | None:
        me, sender, event_id = view.me.user_id, str(raw["sender"]), str(raw["event_id"])
        self._remember(event_id, sender)
        if is_arrival(raw, me):  # into a room of its own making nobody invited the bot
            return None if view.room_id in self._client.made else arrival(raw, view)
        if (txn_id := echoed_txn(raw, me)) is not None:
            return Echo(txn_id, event_id, view.room_id)
        # What anybody deletes is deleted, though they be a bot that is not listened to, or people in this one's name.
        unheard = (sender == me or self.ignores(sender)) and raw["type"] != "m.room.redaction"
        if unheard or is_redacted(raw):
            return None
        if raw["type"] != "m.room.encrypted":
            return read(raw, view)
        try:
            plain = self.decryptor.decrypt(view.room_id, raw)
        except KeyMissing as missing:
            return undecryptable(view.room_id, raw, missing.session_id)
        return read(plain, view)

    async def _may(self, incoming: Incoming) -> bool:
        """Whether an edit is by the author of what it edits; everything else may pass."""
        if incoming.kind is not IncomingKind.EDIT or incoming.target is None:
            return True
        if await self._sender_of(incoming.room_id, incoming.target) == incoming.sender:
            return True
        log.warning("edit %s skipped: its target is not its sender's", incoming.event_id)
        return False

    async def _sender_of(self, room_id: str, event_id: str) -> str | None:
        if event_id in self._senders:
            return self._senders[event_id]
        try:
            raw: Mapping[str, Any] = await self._client.request("GET", endpoint("rooms", room_id, "event", event_id))
        except Rejected as error:
            if not error.permanent:
                raise
            return None
        return str(raw.get("sender"))

    def _remember(self, event_id: str, sender: str) -> None:
        self._senders[event_id] = sender
        while len(self._senders) > _REMEMBERED_SENDERS:
            self._senders.popitem(last=False)

    def _view(self, room: MatrixRoom) -> RoomView:
        me = self._client.user_id
        own = room.users.get(me)
        names = (me[1:].partition(":")[0], self.display_name, (own and own.display_name) or "")
        return RoomView(
            room_id=room.room_id,
            me=Identity(me, tuple(name for name in names if name)),
            direct=self._is_direct(room.room_id),
            members=frozenset(room.users),
            closed=is_closed(room),
        )
