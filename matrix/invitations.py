"""Joining where the bot is invited."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from matrix.backoff import Outage
from matrix.client import Client
from matrix.direct_rooms import DirectRooms
from matrix.http import endpoint
from memory.errors import MatrixError

log = logging.getLogger(__name__)

_MOST_TRIES = 8
# No joined room passes this filter, so that the answer holds what invitations are open and little else.
_ONLY_INVITES = json.dumps(
    {
        "room": {"rooms": ["!none:none"], "timeline": {"limit": 1}},
        "presence": {"not_types": ["*"]},
        "account_data": {"not_types": ["*"]},
    }
)


class Invitations:
    """Accepts invitations in the background, each by a task of its own, since a join may take a minute."""

    def __init__(self, client: Client, direct: DirectRooms, welcome: Callable[[str], bool]) -> None:
        """`welcome` says of a user id whether this user may invite the bot."""
        self._client = client
        self._direct = direct
        self._welcome = welcome
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def accept_open(self) -> None:
        """Accept what was offered while no sync was running, or before a crash. Raises MatrixError."""
        raw = await self._client.fetch_sync(None, sync_filter=_ONLY_INVITES, full_state=False, wait_seconds=0)
        self.accept(raw)

    def accept(self, sync: Mapping[str, Any]) -> None:
        """Begin to accept the invitations of a sync."""
        for room_id, invitation in sync.get("rooms", {}).get("invite", {}).items():
            events = invitation.get("invite_state", {}).get("events", [])
            mine = [
                e for e in events if e.get("type") == "m.room.member" and e.get("state_key") == self._client.user_id
            ]
            if not mine or room_id in self._tasks:
                continue
            inviter, content = str(mine[-1].get("sender")), mine[-1].get("content", {})
            if not self._welcome(inviter):
                log.info("invitation to %s by %s not accepted", room_id, inviter)
                continue
            is_direct = isinstance(content, Mapping) and content.get("is_direct") is True
            task = asyncio.create_task(self._accept(room_id, inviter, is_direct), name=f"join {room_id}")
            self._tasks[room_id] = task
            task.add_done_callback(partial(self._done, room_id))

    async def close(self) -> None:
        """Give up joins under way; they are taken up again at the next start."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _done(self, room_id: str, _: asyncio.Task[None]) -> None:
        self._tasks.pop(room_id, None)

    async def _accept(self, room_id: str, inviter: str, is_direct: bool) -> None:
        outage = Outage(self._client.homeserver, first=2.0)
        for _ in range(_MOST_TRIES):
            try:
                if is_direct:  # first, for after the join nobody would remember it across a crash
                    await self._direct.mark(room_id, inviter)
                await self._client.request("POST", endpoint("rooms", room_id, "join"), {}, seconds=300)
            except MatrixError as error:
                if error.permanent:
                    log.warning("cannot join %s: %s", room_id, error)
                    return
                await asyncio.sleep(outage.failed(error))
            else:
                log.info("joined %s", room_id)
                return
        log.error("gave up joining %s after %d tries; invite the bot again", room_id, _MOST_TRIES)
