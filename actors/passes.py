"""A user's extraction passes: one at a time, in turn order, none lost, none in the way of the next message (P20)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from actors.actor import Work
from actors.lists import Lists
from actors.messages import PassAnswered
from actors.parts import Parts
from actors.ports import PassOutcome
from actors.store import Tables
from actors.tracing import following
from memory import promotion
from memory.errors import ModelError
from memory.events import Incoming, IncomingKind, JournalEntry, JournalState
from memory.settings import MemorySettings
from memory.text import blank
from memory.types import (
    Conversation,
    Exchange,
    Extraction,
    ExtractionRequest,
    ListKey,
    Memory,
    Origin,
    Privacy,
    ScopeKind,
    TurnKind,
)
from memory.visibility import Place, View, blacklisted, may_learn, usable
from memory.words import NOTHING, Heard

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Pending:
    """A turn that may be followed by a pass. exchange: None until the turn is over."""

    event_id: str
    exchange: Exchange | None = None
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class _Running:
    """The pass whose model call is in flight, with the settings and the moment read at its start (P5)."""

    seq: int
    exchange: Exchange
    settings: MemorySettings
    now: datetime
    request: ExtractionRequest


class PassQueue:
    """The passes of one user, by the journal number of their turn."""

    def __init__(
        self,
        user_id: str,
        parts: Parts,
        lists: Lists,
        spawn: Callable[[Work], object],
        privacy: Callable[[], Privacy],
        promoted: Callable[[Exchange, MemorySettings, int], Awaitable[None]],
    ) -> None:
        """`privacy`: tells the user's level now. `promoted`: told of a pass that promoted, with the counter of P13."""
        self._user_id = user_id
        self._parts = parts
        self._lists = lists
        self._spawn = spawn
        self._privacy = privacy
        self._promoted = promoted
        self._pending: dict[int, _Pending] = {}
        self._running: _Running | None = None
        self._forgotten_through = 0

    async def load(self) -> None:
        """Take up this user's turns that are not over and passes that are not done, from the journal."""
        async with self._parts.store.transaction() as tables:
            entries = await tables.journal.unfinished(sender=self._user_id)
            self._forgotten_through = await tables.users.forgotten_through(self._user_id)
        for entry in entries:
            if entry.incoming.kind is IncomingKind.MESSAGE and self._may_teach(entry.incoming):
                self._pending[entry.seq] = _Pending(entry.incoming.event_id, exchange_of(entry))
        await self._next()

    def _may_teach(self, event: Incoming) -> bool:
        """Whether a pass may follow a message (P1). A cleanup or a story may take long, and no pass waits for them."""
        recognised = self._parts.dispatcher.recognise(event.text, meant=event.addressed or event.direct)
        return recognised is None or (recognised.turn is not None and recognised.turn.remembers)

    def began(self, seq: int, event_id: str) -> None:
        """Keep the place of a turn that began."""
        self._pending.setdefault(seq, _Pending(event_id))

    async def over(self, seq: int, event_id: str, exchange: Exchange | None) -> None:
        """Note that a turn ended; without an exchange there is nothing to learn from it."""
        if exchange is None:
            self._pending.pop(seq, None)
        elif seq in self._pending or await self._is_unlearned(event_id):
            self._pending.setdefault(seq, _Pending(event_id)).exchange = exchange
        await self._next()

    async def _is_unlearned(self, event_id: str) -> bool:
        """Whether the pass of a turn whose beginning was not noted is still to come, and not done long since."""
        async with self._parts.store.transaction() as tables:
            entry = await tables.journal.get(event_id)
        return entry is not None and entry.state is JournalState.ANSWERED

    async def answered(self, message: PassAnswered) -> None:
        """Apply the pass in flight, or drop it, and start the next one."""
        running = self._running
        if running is None or running.exchange.event_id != message.event_id:
            return  # an answer to an instance of this actor that is gone
        dropped = self._is_dropped(running.seq)
        async with self._parts.store.transaction() as tables:
            spending, now = self._parts.spending, self._parts.clock.now()
            recorded = await spending.of_extraction(tables, running.exchange, message.usage, now)
            promoted: tuple[Memory, ...] = ()
            passes = 0
            if message.extraction is not None and not dropped:
                promoted = await self._apply(tables, running, message.extraction)
            if promoted:
                passes = await tables.users.add_promoting_pass(self._user_id)
            await tables.journal.finish(message.event_id, JournalState.LEARNED)
        spending.committed(recorded)
        self._pending.pop(running.seq)
        self._running = None
        self._count(message, dropped=dropped, promoted=len(promoted))
        await self._lists.add(self._key(running.exchange.persona), promoted)
        if promoted:
            await self._promoted(running.exchange, running.settings, passes)
        await self._next()

    async def drop(self, event_id: str) -> None:
        """Drop the pass of an event that was redacted or edited (P20)."""
        for pending in self._pending.values():
            pending.dropped |= pending.event_id == event_id
        await self._next()

    async def forget_through(self, seq: int) -> None:
        """Drop every pass of what was said up to this journal number (P20)."""
        self._forgotten_through = max(self._forgotten_through, seq)
        await self._next()

    def _is_dropped(self, seq: int) -> bool:
        return self._pending[seq].dropped or seq <= self._forgotten_through

    async def _next(self) -> None:
        """Start the pass that is first in turn order, as soon as its turn is over."""
        while self._running is None and self._pending:
            seq = min(self._pending)
            pending = self._pending[seq]
            if pending.exchange is None:
                return
            dropped = self._is_dropped(seq)
            self._running = None if dropped else await self._start(seq, pending.exchange)
            if self._running is None:
                self._parts.metrics.extraction("dropped" if dropped else "skipped")
                async with self._parts.store.transaction() as tables:
                    await tables.journal.finish(pending.event_id, JournalState.LEARNED)
                self._pending.pop(seq)
            else:
                self._spawn(self._ask(self._running))

    async def _start(self, seq: int, exchange: Exchange) -> _Running | None:
        """Begin a pass (P1-P6): None when this user or room is not to be learned from now."""
        settings = self._parts.settings.memory(exchange.room_id)
        now = self._parts.clock.now()
        if not settings.enabled or blacklisted(exchange.room_id, settings):
            return None
        if not may_learn(self._user_id, self._privacy(), settings):
            return None
        async with self._parts.store.transaction() as tables:
            if not promotion.may_extract(await tables.memories.count_of_user(self._user_id), settings):
                return None
            before = promotion.prune_before(settings, now)
            if before is not None:
                await tables.candidates.prune(self._user_id, before)
            memories = await tables.memories.of_list(self._key(exchange.persona))
            candidates = await tables.candidates.of_user(self._user_id)
        place = Conversation(exchange.room_id, exchange.private, self._user_id, exchange.persona)
        view = View(place, settings, self._privacy(), Heard((*exchange.heard.texts, exchange.said, exchange.answered)))
        shown = tuple(memory for memory in memories if usable(memory, view, Place.EXTRACTION))
        return _Running(seq, exchange, settings, now, ExtractionRequest(exchange, shown, candidates))

    async def _ask(self, running: _Running) -> PassAnswered:
        event_id = running.exchange.event_id
        if blank(running.exchange.said):  # such as a picture without words: a pass all the same (P1, P4), with no call
            return PassAnswered(event_id, Extraction())
        try:
            with following(event_id):
                await self._parts.spending.check(self._parts.store, running.now.date())
                extraction, usage = await self._parts.model.extract(running.request)
        except ModelError as error:
            log.warning("extraction for %s could not run: %s", event_id, error)
            return PassAnswered(event_id, None, error.usage)
        except Exception:
            log.exception("extraction for %s failed", event_id)
            return PassAnswered(event_id, None)
        return PassAnswered(event_id, extraction, (usage,))

    async def _apply(self, tables: Tables, running: _Running, extraction: Extraction) -> tuple[Memory, ...]:
        """Carry out what the model found (P7-P12) inside the transaction of the pass."""
        exchange, settings, now = running.exchange, running.settings, running.now
        candidates = await tables.candidates.of_user(self._user_id)
        take_up = promotion.take_up(extraction, candidates, running.request.memories)
        touched = [
            await tables.candidates.reinforce(candidate_id, exchange.event_id, now)
            for candidate_id in take_up.reinforce
        ]
        origin = Origin(exchange.room_id, exchange.event_id, exchange.direct)
        touched += [await tables.candidates.insert(self._user_id, text, origin, now) for text in take_up.insert]
        chosen = promotion.promotions(
            [candidate for candidate in touched if candidate is not None],
            settings,
            user_count=await tables.memories.count_of_user(self._user_id),
            list_count=await tables.memories.count_of_list(self._key(exchange.persona)),
        )
        promoted = []
        for candidate in chosen:
            memory = await tables.memories.insert(promotion.draft_of(candidate, exchange.persona), now)
            await tables.candidates.promoted(candidate.id, memory.id)
            promoted.append(memory)
        return tuple(promoted)

    def _count(self, message: PassAnswered, *, dropped: bool, promoted: int) -> None:
        outcome: PassOutcome = "dropped" if dropped else "failed" if message.extraction is None else "applied"
        self._parts.metrics.extraction(outcome)
        self._parts.metrics.memories("promoted", promoted)
        log.info("learned", extra={"event_id": message.event_id, "outcome": outcome, "promoted": promoted})

    def _key(self, persona: str) -> ListKey:
        return ListKey(ScopeKind.PERSONAL, self._user_id, persona)


def exchange_of(entry: JournalEntry, heard: Heard = NOTHING) -> Exchange | None:
    """Return what there is to learn from a journalled turn that was answered, None before that.

    `heard`: what stood in its window, as far as that is still known.
    """
    if entry.state is not JournalState.ANSWERED or entry.answer is None:
        return None
    event = entry.incoming
    return Exchange(
        event_id=event.event_id,
        room_id=event.room_id,
        user_id=event.sender,
        persona=entry.persona or "default",
        direct=event.direct,
        private=event.private,
        said=entry.said or "",
        answered=entry.answer,
        heard=heard,
        scene=entry.turn is TurnKind.VERSE,
    )
