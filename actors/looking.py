"""The picture of a turn: the one its message holds, else the one it replies to or whose thread it opens, fetched beside
the search.

A picture that cannot be had never costs the answer: the model is told that there was one, and where it is the file's
fault, the person too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from actors.confirming import Confirmation
from actors.parts import Parts
from actors.turns import Turn
from memory.errors import MatrixError, MediaFailed, Refused
from memory.events import Incoming, IncomingKind, JournalEntry, JournalState
from memory.media import MediaKind
from memory.model import Image
from memory.seeing import (
    HERE,
    THERE,
    UNREADABLE,
    WHY_GONE,
    WHY_NOT_FOR_HERE,
    WHY_NOT_NOW,
    WHY_OFF,
    WHY_REFUSED,
    not_shown,
    not_understood,
)

log = logging.getLogger(__name__)

LOOKING_SECONDS = 30.0  # to fetch and decode a picture, while somebody waits for the answer
PICTURES = frozenset(kind for kind in MediaKind if kind.shown)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Seen:
    """What there was to look at.

    images: at most one, that of the event `event_id`. notes: for the model. told: for the person, where a picture was
    not shown; line: the same where it is said under an answer too, since the file is at fault.
    """

    images: tuple[Image, ...] = ()
    notes: tuple[str, ...] = ()
    told: str = ""
    line: str = ""
    event_id: str = ""

    def under(self, notices: Confirmation) -> Confirmation:
        """Return what stands under the answer besides, with the word on the file before it."""
        if not self.line:
            return notices
        return replace(notices, room="\n\n".join(filter(None, (self.line, notices.room))))


NOTHING_SEEN = Seen()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a picture is said to be. where: HERE or THERE. sure: it is known that there is one."""

    event_id: str
    where: str
    sure: bool


class Looking:
    """Looks at pictures for turns; holds nothing between them."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def beside(self, turn: Turn, work: Coroutine[Any, Any, T]) -> tuple[T, Seen]:
        """Do some work and look at the turn's picture meanwhile; without any, nothing but the work is done."""
        if turn.entry.incoming.media is None and _target(turn) is None:
            return await work, NOTHING_SEEN
        looking = asyncio.create_task(self.look(turn))
        try:
            done = await work
            return done, await looking
        finally:
            looking.cancel()  # where the turn is stopped, or the work failed

    async def look(self, turn: Turn) -> Seen:
        """Return what a turn has to look at. A failure is told in it, not raised."""
        event = turn.entry.incoming
        if event.media is not None:
            if not event.media.shown:
                return Seen(notes=(not_understood(HERE, event.media),))
            return await self._picture(event, _Place(event.event_id, HERE, sure=True))
        target = _target(turn)
        return NOTHING_SEEN if target is None else await self._replied_to(turn, target)

    async def _replied_to(self, turn: Turn, target: str) -> Seen:
        """Look at what a message replies to; the homeserver is asked only where it may be a picture."""
        event = turn.entry.incoming
        known = await self._known(event.room_id, target)
        if known is None:
            if event.direct and not turn.conversation.private:  # it may have been for one of them alone
                return Seen(notes=(UNREADABLE,))
            return await self._picture(event, _Place(target, THERE, sure=False))
        media, said = known
        if media is None:
            return NOTHING_SEEN
        if said is not None and _kept_private(said, turn):
            return self._not_for_here(event)
        if not media.shown:
            return Seen(notes=(not_understood(THERE, media),))
        return await self._picture(event, _Place(target, THERE, sure=True))

    async def _known(self, room_id: str, target: str) -> tuple[MediaKind | None, JournalEntry | None] | None:
        """Return what an event of the room holds and the entry it belongs to, its own or the one it answers.

        None: the event is from before the bot came, forgotten since, or was never readable.
        """
        async with self._parts.store.transaction() as tables:
            entry = await tables.journal.get(target)
            if entry is None and (own := await tables.outbox.picture(target, room_id)) is not None:
                return (MediaKind.IMAGE if own[1] else None), await tables.journal.get(own[0])
        if entry is None or entry.state is JournalState.UNDECRYPTED:
            return None
        there = entry.incoming
        here = there.room_id == room_id and there.kind is IncomingKind.MESSAGE
        return (there.media if here else None), entry

    async def _picture(self, event: Incoming, place: _Place) -> Seen:
        settings, say = self._parts.settings.kinds(event.room_id), self._parts.speaker(event.room_id)
        if not settings.pictures_enabled:
            return self._unshown(place, WHY_OFF, say("pictures-off"))
        try:
            async with asyncio.timeout(LOOKING_SECONDS):
                return await self._fetched(event, place, settings.pictures_most_bytes)
        except Refused as refused:
            log.info("no picture for %s: %s", event.event_id, refused)
            why, told, line = WHY_REFUSED, say(refused.text_id, **refused.values), True
        except (MatrixError, MediaFailed, TimeoutError) as error:
            log.warning("no picture for %s: %s (%s)", event.event_id, error, type(error).__name__)
            why, told, line = WHY_NOT_NOW, say("picture-not-now"), False
        if not place.sure:  # it may be anything that a reply is to
            return Seen(notes=(UNREADABLE,))
        return Seen(notes=(not_shown(place.where, why),), told=told, line=told if line else "")

    async def _fetched(self, event: Incoming, place: _Place, most_bytes: int) -> Seen:
        """Fetch and decode. Raises Refused, MatrixError, MediaFailed."""
        file = await self._parts.matrix.attachment(event.room_id, place.event_id, most_bytes, PICTURES)
        if file is None:
            return self._unshown(place, WHY_GONE, self._parts.speaker(event.room_id)("picture-gone"))
        if await self._keeps_silent(file.sender, event):
            return self._not_for_here(event)
        picture = await self._parts.media.picture(file.data)
        return Seen(images=(Image(picture.media_type, picture.data),), event_id=place.event_id)

    async def _keeps_silent(self, sender: str, event: Incoming) -> bool:
        """Whether a picture is somebody else's who wants nothing of what they say used."""
        if sender in ("", event.sender):
            return False
        async with self._parts.store.transaction() as tables:
            return bool(await tables.users.silent((sender,)))

    def _not_for_here(self, event: Incoming) -> Seen:
        told = self._parts.speaker(event.room_id)("picture-not-for-here")
        return Seen(notes=(not_shown(THERE, WHY_NOT_FOR_HERE),), told=told)

    def _unshown(self, place: _Place, why: str, told: str) -> Seen:
        """Say why a picture was not shown; of what may be no picture at all there is nothing to say."""
        return Seen(notes=(not_shown(place.where, why),), told=told) if place.sure else NOTHING_SEEN


def _target(turn: Turn) -> str | None:
    """Return what a message replies to; what begins a conversation in a thread replies to the thread's root."""
    event = turn.entry.incoming
    if event.reply_to is None and not turn.window.entries:
        return event.thread_root
    return event.reply_to


def _kept_private(entry: JournalEntry, turn: Turn) -> bool:
    """Whether something was said in private to the bot by somebody who is not alone with it now (D8)."""
    there, here = entry.incoming, turn.conversation
    return there.private and not (here.private and here.asker == there.sender)
