"""Whether a turn or command may begin, by the quotas of its person and its room; what is refused is answered here."""

from __future__ import annotations

import logging
from datetime import timedelta

from actors.actor import Address
from actors.answers import Said, answering
from actors.messages import TurnOver
from actors.parts import Parts
from actors.ports import QuotaKind
from actors.quotas import Over
from actors.runtime import ActorSystem
from actors.story_thread import line_said
from actors.wordless import refusal
from memory.events import JournalEntry, JournalState, Recognised
from memory.settings import KindSettings
from memory.types import TurnKind
from texts.catalogue import Speaker

log = logging.getLogger(__name__)

_REFUSED: dict[QuotaKind, str] = {"user": "quota-user", "room": "quota-room"}  # ids of texts
_SHORT = timedelta(seconds=90)  # waits up to this are told in seconds
_LONG = timedelta(minutes=90)  # and up to this in minutes


class Gate:
    """What a room actor asks before it begins a turn or a command."""

    def __init__(self, parts: Parts, system: ActorSystem) -> None:
        self._parts = parts
        self._system = system

    async def admits(self, entry: JournalEntry, meaning: Recognised) -> bool:
        """Count a try, or refuse it: then it is answered at most once for each wait, and teaches nothing.

        So is a file without words that nothing can be made of. Admins (`matrix.admins`) have no quota and do not
        count. `limits.enforce` off: what is over is only logged. A story that was begun before a restart goes on, and
        ends in its thread where stories are off by now: its line must not stand for ever.
        """
        event, settings = entry.incoming, self._parts.settings
        begun = await self._is_begun(entry, meaning)
        off = _switched_off(meaning.turn, settings.kinds(event.room_id))
        if off is not None and not begun:
            await self._answer(entry, meaning, self._parts.speaker(event.room_id)(off))
            return False
        if not await self._within_quota(entry, meaning, begun=begun):
            return False
        told = refusal(event, meaning, settings.kinds(event.room_id), self._parts.speaker(event.room_id))
        if told is not None:
            await self._answer(entry, meaning, told)
        return told is None

    async def _is_begun(self, entry: JournalEntry, meaning: Recognised) -> bool:
        if meaning.turn is not TurnKind.STORY:
            return False
        async with self._parts.store.transaction() as tables:
            return await line_said(tables, entry.incoming.event_id)

    async def _within_quota(self, entry: JournalEntry, meaning: Recognised, *, begun: bool) -> bool:
        event, settings = entry.incoming, self._parts.settings
        if settings.admin(event.sender):
            return True
        name = meaning.name or (meaning.turn.value if meaning.turn is not None else "")
        over = self._parts.quotas.take(self._parts.dispatcher.limit(name), entry, self._parts.clock.now())
        if over is None or begun:
            return True
        enforced = settings.enforces_limits()
        self._parts.metrics.quota(over.command, over.kind, enforced=enforced)
        log.log(
            logging.INFO if enforced else logging.WARNING,
            "%s over the quota of its %s%s",
            *(over.command, over.kind, "" if enforced else ", let through"),
            extra={"event_id": event.event_id, "room_id": event.room_id, "user_id": event.sender},
        )
        if enforced:
            await self._refuse(entry, meaning, over)
        return not enforced

    async def _refuse(self, entry: JournalEntry, meaning: Recognised, over: Over) -> None:
        """Finish an event that is refused; its person's actor may have taken it for a turn when it loaded."""
        event, now = entry.incoming, self._parts.clock.now()
        told = None
        if self._parts.quotas.tells(over, event.sender, now):
            say = self._parts.speaker(event.room_id)
            told = say(_REFUSED[over.kind], wait=wait_text(say, over.again - now))
        await self._answer(entry, meaning, told)

    async def _answer(self, entry: JournalEntry, meaning: Recognised, told: str | None) -> None:
        """Finish an event that does not begin, and say why unless `told` is None."""
        event = entry.incoming
        state = JournalState.LEARNED if meaning.turn is None else JournalState.FAILED
        if told is not None:
            async with answering(self._parts, self._system, event, Said(told, notice=True)) as tables:
                await tables.journal.finish(event.event_id, state)
        else:
            async with self._parts.store.transaction() as tables:
                await tables.journal.finish(event.event_id, state)
        await self._system.tell(Address("user", event.sender), TurnOver(entry.seq, event.event_id, None))


def _switched_off(turn: TurnKind | None, settings: KindSettings) -> str | None:
    """Return the text that says that turns of this kind are off in the room; None: they are not."""
    match turn:
        case TurnKind.VERSE if not settings.verse_enabled:
            return "verse-off"
        case TurnKind.DRAW if not settings.draw_enabled:
            return "draw-off"
        case TurnKind.STORY if not settings.story_enabled:
            return "story-off"
    return None


def wait_text(say: Speaker, wait: timedelta) -> str:
    """Say how long to wait, rounded up: in seconds, minutes or hours."""
    for text_id, unit, most in (("wait-seconds", 1, _SHORT), ("wait-minutes", 60, _LONG)):
        if wait <= most:
            return say(text_id, n=_rounded_up(wait, unit))
    return say("wait-hours", n=_rounded_up(wait, 3600))


def _rounded_up(wait: timedelta, seconds: int) -> int:
    return max(1, -(-wait // timedelta(seconds=seconds)))
