"""Scenes (`!verse on`): who is in one and until when, and which messages are part of it.

A scene is of one person, in the main timeline of a room or in one thread. It is open up to and including its last
moment. Whether a message is part of one is decided once, when it comes in.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from actors.messages import EffectKey, Request
from actors.parts import Parts
from actors.store import Tables
from memory.errors import Refused
from memory.events import Incoming, IncomingKind, SyncBatch
from memory.text import blank
from memory.types import Privacy, TurnKind

_Place = tuple[str, str | None, str]  # room, thread root or None, person
_ENDED, _THERE_WAS_NONE = "ended", "none"


@dataclass(frozen=True, slots=True)
class OpenScene(Request[None]):
    """Begin this user's scene, or let it go on, for a time from now; user actor only. Raises Refused."""

    room_id: str
    thread_root: str | None
    length: timedelta
    effect: EffectKey


@dataclass(frozen=True, slots=True)
class CloseScene(Request[bool]):
    """End this user's scene; answers whether one was open. User actor only."""

    room_id: str
    thread_root: str | None
    effect: EffectKey


@dataclass(frozen=True, slots=True)
class ReadScene(Request[timedelta | None]):
    """Answer for how long this user's scene stays open if nothing is said; None: it is not. User actor only."""

    room_id: str
    thread_root: str | None


async def answer(user_id: str, request: OpenScene | CloseScene | ReadScene, parts: Parts) -> timedelta | bool | None:
    """Carry out a request about a scene of this user, once for its effect key. Raises Refused."""
    place, now = (request.room_id, request.thread_root, user_id), parts.clock.now()
    async with parts.store.transaction() as tables:
        match request:
            case OpenScene():
                await _begin(tables, place, now, request)
                return None
            case CloseScene():
                return await _end(tables, place, now, request.effect)
            case ReadScene():
                until = await tables.scenes.until(*place)
                return None if until is None or now > until else until - now


async def _begin(tables: Tables, place: _Place, now: datetime, request: OpenScene) -> None:
    effect = request.effect
    if await tables.effects.recorded(effect.event_id, effect.call) is not None:
        return
    if await tables.users.privacy(place[2]) is Privacy.SILENT:
        raise Refused("verse-silent")
    await tables.scenes.put(*place, now + request.length)
    await tables.effects.record(effect.event_id, effect.call, "")


async def _end(tables: Tables, place: _Place, now: datetime, effect: EffectKey) -> bool:
    recorded = await tables.effects.recorded(effect.event_id, effect.call)
    if recorded is None:
        until = await tables.scenes.end(*place)
        recorded = _THERE_WAS_NONE if until is None or now > until else _ENDED
        await tables.effects.record(effect.event_id, effect.call, recorded)
    return recorded == _ENDED


class Scenes:
    """Finds, among the events of a batch, what is said in a scene."""

    def __init__(self, parts: Parts) -> None:
        self._settings = parts.settings
        self._dispatcher = parts.dispatcher
        self._clock = parts.clock

    async def mark(
        self, tables: Tables, batch: SyncBatch, events: Sequence[Incoming], silent: Collection[str]
    ) -> tuple[Incoming, ...]:
        """Return the events of a batch, those marked that are part of a scene, which goes on by them.

        Part of it is what the person says to the bot; in a group room also what is said to nobody, since they have
        asked for that. What mentions or answers somebody else is not, nor commands, nor what holds no text.
        """
        if not any(map(_is_message, events)) or not await tables.scenes.any():
            return tuple(events)
        now = self._clock.now()
        late = frozenset(event.event_id for event in batch.late)
        open_now: dict[_Place, bool] = {}
        going_on: set[_Place] = set()
        marked = []
        for event in events:
            place = (event.room_id, event.thread_root, event.sender)
            if _may_be_said_in_one(event, late) and event.sender not in silent:
                if place not in open_now:
                    open_now[place] = await self._is_open(tables, place, now)
                meaning = self._dispatcher.recognise(event.text, meant=True) if open_now[place] else None
                if open_now[place] and (meaning is None or meaning.turn is TurnKind.VERSE):
                    going_on.add(place)
                    event = replace(event, scene=meaning is None)  # noqa: PLW2901
            marked.append(event)
        for place in going_on:
            length = timedelta(minutes=self._settings.kinds(place[0]).verse_minutes)
            await tables.scenes.put(*place, now + length)
        return tuple(marked)

    async def _is_open(self, tables: Tables, place: _Place, now: datetime) -> bool:
        """Whether a person is in a scene; one that is over, or switched off in the room, is removed."""
        until = await tables.scenes.until(*place)
        if until is None:
            return False
        if now <= until and self._settings.kinds(place[0]).verse_enabled:
            return True
        await tables.scenes.end(*place)
        return False


def _is_message(event: Incoming) -> bool:
    return event.kind is IncomingKind.MESSAGE


def _may_be_said_in_one(event: Incoming, late: Collection[str]) -> bool:
    """Whether a message is for the bot if its author is in a scene.

    One whose key came late was said before, perhaps before the scene: it is for the bot only if it says so.
    """
    if not _is_message(event) or blank(event.text):
        return False
    to_nobody = not event.for_others and event.reply_to is None and event.event_id not in late
    return event.addressed or event.direct or to_nobody
