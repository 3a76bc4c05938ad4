"""From the JSON of /sync to nio's response, with events that nio cannot parse left out; what nio does not read."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from typing import Any

from nio.events.room_events import Event, RoomCreateEvent
from nio.events.to_device import ToDeviceEvent
from nio.responses import SyncResponse

from matrix.errors import MALFORMED
from matrix.http import Json
from memory.errors import MatrixError

log = logging.getLogger(__name__)

_CREATORS_SINCE = 12  # room version from which creators stand above every power level


def parse_sync(raw: Mapping[str, Any]) -> SyncResponse:
    """Return nio's view of a sync. Raises MatrixError when the answer as a whole is not a sync."""
    try:
        response = SyncResponse.from_dict(copy.deepcopy(dict(raw)))  # nio takes parts out of what it parses
    except MALFORMED:
        # One event that nio cannot even parse must not stop the sync for good.
        response = SyncResponse.from_dict(_sifted(raw))
    if not isinstance(response, SyncResponse):
        raise MatrixError("GET /sync: the answer has an unexpected shape")
    return response


def creators_of(event: RoomCreateEvent) -> frozenset[str]:
    """Return who stands above every power level by this creation of a room: nobody before version 12."""
    content = event.source["content"]
    version = str(content.get("room_version"))
    if not version.isdecimal() or int(version) < _CREATORS_SINCE:
        return frozenset()
    additional = content.get("additional_creators")
    extra = additional if isinstance(additional, list) else []
    return frozenset([event.sender, *(user for user in extra if isinstance(user, str))])


def _sifted(raw: Mapping[str, Any]) -> Json:
    sync: Json = copy.deepcopy(dict(raw))
    to_device = sync.get("to_device", {})
    to_device["events"] = [event for event in to_device.get("events", []) if _parses(ToDeviceEvent, event)]
    for room in sync.get("rooms", {}).get("join", {}).values():
        for part in (room.get("state", {}), room.get("timeline", {})):
            part["events"] = [event for event in part.get("events", []) if _parses(Event, event)]
    return sync


def _parses(kind: type[Event] | type[ToDeviceEvent], event: Json) -> bool:
    try:
        kind.parse_event(event)
    except MALFORMED as error:
        log.warning("event %s skipped: %s", event.get("event_id", "(to-device)"), type(error).__name__)
        return False
    return True
