"""The whole of a room's timeline since the last sync: homeservers leave out the older part of a burst."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, cast

from matrix.client import Client
from matrix.http import Json, endpoint
from matrix.ports import Journal

log = logging.getLogger(__name__)

_PAGE = 250
_MOST_PAGES = 400  # 100,000 events; what is older than that is given up and logged
_FILTER = json.dumps({"lazy_load_members": True})


class Timelines:
    """Completes timelines and cuts off what was said before the bot was invited."""

    def __init__(self, client: Client, journal: Journal) -> None:
        self._client = client
        self._journal = journal

    async def complete(self, room_id: str, timeline: Mapping[str, Any], since: str) -> list[Json]:
        """Return the raw events since `since`, oldest first, the gap of a limited timeline filled from /messages.

        Where the bot joined meanwhile, nothing from before its invitation (without one: before its join) is returned,
        and everything after it is, its join among it, even what the token `since` had already passed. Raises
        MatrixError.
        """
        events = [event for event in timeline.get("events", []) if isinstance(event, dict)]
        me = self._client.user_id
        token = timeline.get("prev_batch")
        if timeline.get("limited") is True and isinstance(token, str) and not any(_opens(e, me) for e in events):
            just_joined = any(is_arrival(event, me) for event in events)
            events = await self._older(room_id, token, None if just_joined else since) + events
        return events[start_of_reading(events, me) :]

    async def _older(self, room_id: str, token: str, since: str | None) -> list[Json]:
        """Page back from `token` to a journalled event, to our invitation, or to `since`; oldest first."""
        query = {"dir": "b", "limit": str(_PAGE), "filter": _FILTER} | ({"to": since} if since else {})
        found: list[Json] = []
        for _ in range(_MOST_PAGES):
            page = await self._client.request("GET", endpoint("rooms", room_id, "messages", **query, **{"from": token}))
            chunk = [event for event in page.get("chunk", []) if isinstance(event, dict)]
            known = await self._journal.known([str(event.get("event_id")) for event in chunk])
            for event in chunk:
                if event.get("event_id") in known:
                    return found[::-1]
                found.append(event)
                if _opens(event, self._client.user_id):
                    return found[::-1]
            end = page.get("end")
            if not isinstance(end, str) or end == token:
                return found[::-1]
            token = end
        log.error("room %s: the gap is longer than %d events, the older ones are lost", room_id, len(found))
        return found[::-1]


def start_of_reading(events: Sequence[Mapping[str, Any]], me: str) -> int:
    """Return the index after our last invitation that was accepted, or that of our last uninvited join; else 0."""
    joins = [number for number, event in enumerate(events) if is_arrival(event, me)]
    if not joins:
        return 0
    if not _was_invited(events[joins[-1]]):
        return joins[-1]
    invites = [n for n, e in enumerate(events[: joins[-1]]) if _membership(e, me) == "invite"]
    return invites[-1] + 1 if invites else 0


def is_arrival(event: Mapping[str, Any], me: str) -> bool:
    """Whether this event brought us into the room; a changed display name is a `join` too, but no arrival."""
    if _membership(event, me) != "join":
        return False
    before = _previous_membership(event)
    if before is None:  # not every homeserver tells what was before, but then it may say that something was
        return "replaces_state" not in _object(event.get("unsigned"))
    return before != "join"


def _opens(event: Mapping[str, Any], me: str) -> bool:
    """Whether nothing before this event is ours to read: our invitation, or a join without one."""
    return _membership(event, me) == "invite" or (is_arrival(event, me) and not _was_invited(event))


def _was_invited(event: Mapping[str, Any]) -> bool:
    return _previous_membership(event) == "invite"


def _membership(event: Mapping[str, Any], me: str) -> object:
    if event.get("type") != "m.room.member" or event.get("state_key") != me:
        return None
    return _object(event.get("content")).get("membership")


def _previous_membership(event: Mapping[str, Any]) -> object:
    unsigned = _object(event.get("unsigned"))
    return _object(unsigned.get("prev_content")).get("membership")


def _object(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}
