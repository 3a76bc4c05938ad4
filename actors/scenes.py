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
_LONGEST = timedelta(days=1)  # that `verse.minutes` may say; one open for longer was begun by a clock that was wrong
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
                return until - now if until is not None and _is_open(until, now) else None


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
        recorded = _ENDED if until is not None and _is_open(until, now) else _THERE_WAS_NONE
        await tables.effects.record(effect.event_id, effect.call, recorded)
    return recorded == _ENDED


class Scenes:
    """Finds, among the events of a batch, what is said in a scene."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def mark(
        self, tables: Tables, batch: SyncBatch, events: Sequence[Incoming], silent: Collection[str]
    ) -> tuple[Incoming, ...]:
        """Return the events of a batch, those marked that are part of a scene, which goes on by them.

        Part of it is what the person says to the bot; in a group room also what is said to nobody else, since they
        have asked for that. What mentions or answers somebody else is not, nor commands, nor what holds no text. The
        command that ends a scene ends it here.
        """
        if not any(map(_is_message, events)) or not await tables.scenes.any():
            return tuple(events)
        late = frozenset(event.event_id for event in batch.late)
        reading = _Reading(self._parts, tables)
        marked = []
        for event in events:
            heard = _may_be_said_in_one(event, late) and event.sender not in silent
            marked.append(replace(event, scene=True) if heard and await reading.is_part(event) else event)
        await reading.end()
        return tuple(marked)


class _Reading:
    """The scenes of one batch, in the transaction that journals it."""

    def __init__(self, parts: Parts, tables: Tables) -> None:
        self._parts = parts
        self._tables = tables
        self._now = parts.clock.now()
        self._open: dict[_Place, bool] = {}
        self._going_on: dict[_Place, None] = {}

    async def is_part(self, event: Incoming) -> bool:
        """Whether a message, if its author is in a scene there, is said in it."""
        place = (event.room_id, event.thread_root, event.sender)
        if place not in self._open:
            self._open[place] = await self._is_open(place)
        if not self._open[place] or await self._answers_another(event):
            return False
        meaning = self._parts.dispatcher.recognise(event.text, meant=True)
        if meaning is None or meaning.turn is TurnKind.VERSE:
            self._going_on[place] = None
        elif meaning.ends_scene and await _ended_by(self._tables, event.event_id, place):
            self._open[place] = False
            self._going_on.pop(place, None)
        return meaning is None

    async def _answers_another(self, event: Incoming) -> bool:
        """Whether a message that is not expressly for the bot is a reply to anything but a word of the bot's own."""
        if event.reply_to is None or event.addressed or event.direct:
            return False
        return await self._tables.outbox.answers(event.reply_to, event.room_id) is None

    async def end(self) -> None:
        """Let those scenes go on in which something was said."""
        for place in self._going_on:
            length = timedelta(minutes=self._parts.settings.kinds(place[0]).verse_minutes)
            await self._tables.scenes.put(*place, self._now + length)

    async def _is_open(self, place: _Place) -> bool:
        """Whether a person is in a scene; one that is over, or switched off in the room, is removed."""
        until = await self._tables.scenes.until(*place)
        if until is None:
            return False
        if _is_open(until, self._now) and self._parts.settings.kinds(place[0]).verse_enabled:
            return True
        await self._tables.scenes.end(*place)
        return False


def _is_open(until: datetime, now: datetime) -> bool:
    return now <= until <= now + _LONGEST


async def _ended_by(tables: Tables, event_id: str, place: _Place) -> bool:
    """End a scene by the command that says so, before its turn comes: answers that still run may keep it waiting.

    The command then finds that recorded as its effect. False: it was carried out long since, and comes in once more.
    """
    if await tables.journal.known((event_id,)):
        return False
    await tables.scenes.end(*place)
    await tables.effects.record(event_id, EffectKey(event_id).call, _ENDED)
    return True


def _is_message(event: Incoming) -> bool:
    return event.kind is IncomingKind.MESSAGE


def _may_be_said_in_one(event: Incoming, late: Collection[str]) -> bool:
    """Whether a message is for the bot if its author is in a scene.

    One whose key came late was said before, perhaps before the scene: it is for the bot only if it says so.
    """
    if not _is_message(event) or blank(event.text):
        return False
    to_nobody_else = not event.for_others and event.event_id not in late
    return event.addressed or event.direct or to_nobody_else
