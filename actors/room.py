"""One actor per room. Read top to bottom, it is the path of a message from the journal to its answer.

Turns overlap: two people are answered side by side. Order is kept within a lane, which is a thread, or outside threads
one person's messages.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from actors import texts
from actors.answers import answering
from actors.lanes import Job, Lanes
from actors.lists import Lists, MemoryList
from actors.messages import Deliver, Embedded, SaveMemory, Score, Settled, TakenBack, TurnBegan, TurnOver
from actors.parts import Parts
from actors.passes import exchange_of
from actors.runtime import Actor, Address, Context
from actors.saving import save
from actors.tracing import following
from actors.turn import Answered, Turn, TurnRunner
from actors.typing_notice import TypingNotice
from memory import window
from memory.errors import DavenportError, Refused, Stopping
from memory.events import Caller, Incoming, IncomingKind, JournalEntry, JournalState, Recognised
from memory.text import blank
from memory.types import Conversation, Exchange, ListKey, ScopeKind, TurnKind, WindowEntry

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Done:
    """A job ended; `answered` when it was a turn that succeeded."""

    event_id: str
    answered: Answered | None = None


class RoomActor(Actor):
    """Owns a room's list, conversation windows and lanes."""

    def __init__(self, context: Context, parts: Parts) -> None:
        super().__init__(context)
        self.room_id = context.address.name
        self._parts = parts
        self._lists = Lists(parts, context.spawn)
        self._turns = TurnRunner(parts, context.system)
        self._typing = TypingNotice(self.room_id, parts.matrix, context.spawn)
        self._lanes = Lanes()
        self._windows: dict[str | None, window.Window] = {}
        self._persona = "default"

    async def load(self) -> None:
        """Read the persona, and take up what an earlier run or instance left unanswered."""
        async with self._parts.store.transaction() as tables:
            self._persona = await tables.rooms.persona(self.room_id)
            entries = await tables.journal.unfinished(room_id=self.room_id)
        for entry in entries:
            await self._accept(entry)

    def unload(self) -> None:
        """Let go of the room list's index."""
        self._lists.unload()

    async def handle(self, message: object) -> object | None:
        """Dispatch one message; see actors/messages.py for what each means."""
        match message:
            case Deliver(entry):
                await self._accept(entry)
            case _Done(event_id, answered):
                await self._done(event_id, answered)
            case Score(conversation, settings, vector):
                return await (await self._own_list(conversation.persona)).score(conversation, settings, vector)
            case Settled(settlement):
                self._lists.follow(settlement)
            case Embedded():
                await self._lists.store_vectors(message)
            case SaveMemory():
                return await self._save(message)
            case _:
                return await super().handle(message)
        return None

    # --- an event arrives -------------------------------------------------------------------------------------------

    async def _accept(self, entry: JournalEntry) -> None:
        """Decide what a journalled event means and queue it; one that is already queued is left alone."""
        event = entry.incoming
        if event.event_id in self._lanes.by_event:
            return
        if event.kind is not IncomingKind.MESSAGE:
            await self._retraction(entry)
        elif entry.state is JournalState.ANSWERED:
            await self._tell_over(entry, exchange_of(entry))
        elif entry.state is JournalState.RECEIVED:
            await self._queue(entry)

    async def _queue(self, entry: JournalEntry) -> None:
        event = entry.incoming
        meaning = self._meaning(event)
        if meaning is None:
            await self._finish(entry, JournalState.IGNORED)
            return
        if meaning.turn is not None:
            await self.context.system.tell(Address("user", event.sender), TurnBegan(entry.seq, event.event_id))
        lane = (event.thread_root, "") if event.thread_root else (None, event.sender)
        job = Job(entry, meaning, lane)
        if self._lanes.add(job):
            await self._start(job)

    def _meaning(self, event: Incoming) -> Recognised | None:
        """Read an event: a command, else a turn if it speaks to the bot (an empty text does only by a mention)."""
        recognised = self._parts.dispatcher.recognise(event.text, meant=event.addressed or event.direct)
        if recognised is not None:
            return recognised
        if event.addressed or (event.direct and not blank(event.text)):
            return Recognised(turn=TurnKind.ASK, text=event.text)
        return None

    # --- its turn comes ---------------------------------------------------------------------------------------------

    async def _start(self, job: Job) -> None:
        if job.meaning.turn is None:
            job.task = self.context.spawn(self._command(job.entry, job.meaning.command))
            return
        event = job.entry.incoming
        members = self._parts.matrix.members(self.room_id)
        turn = Turn(
            entry=job.entry,
            kind=job.meaning.turn,
            said=job.meaning.text,
            persona=self._parts.settings.persona(self._persona),
            window=await self._window(event.thread_root, (), members),
            members=members,
            typing=self._typing,
        )
        job.task = self.context.spawn(self._turn(turn))

    async def _turn(self, turn: Turn) -> _Done:
        event_id, kind = turn.entry.incoming.event_id, turn.kind
        with following(event_id):
            try:
                answered = await self._turns.run(turn)
            except Stopping:
                raise  # the journal has it; the next start answers
            except Exception:
                log.exception("the turn of %s failed", event_id)
                self._parts.metrics.turn(kind, "error")
                await self._apologise(turn.entry)
                return _Done(event_id)
        self._parts.metrics.turn(kind, "failed" if answered is None else "answered")
        return _Done(event_id, answered)

    async def _command(self, entry: JournalEntry, command: object) -> _Done:
        event = entry.incoming
        caller = Caller(
            event.sender,
            event.event_id,
            Conversation(self.room_id, event.private, event.sender, self._persona),
        )
        try:
            with following(event.event_id):
                told = await self._parts.dispatcher.run(command, caller)
        except Refused as refusal:
            told = str(refusal)
        except Stopping:
            raise
        except DavenportError:
            log.exception("the command of %s failed", event.event_id)
            told = texts.INTERNAL_ERROR
        async with answering(self._parts, self.context.system, event, told, notice=True) as tables:
            await tables.journal.finish(event.event_id, JournalState.LEARNED)
        return _Done(event.event_id)

    async def _apologise(self, entry: JournalEntry) -> None:
        async with answering(
            self._parts, self.context.system, entry.incoming, texts.INTERNAL_ERROR, notice=True
        ) as tables:
            await tables.journal.finish(entry.incoming.event_id, JournalState.FAILED)

    # --- it is answered ---------------------------------------------------------------------------------------------

    async def _done(self, event_id: str, answered: Answered | None) -> None:
        job = self._lanes.by_event.get(event_id)
        if job is None:
            return  # redacted meanwhile, or a result for an instance of this actor that is gone
        if answered is not None and not job.edits:
            members = self._parts.matrix.members(self.room_id)
            await self._window(job.entry.incoming.thread_root, answered.entries, members)
        await self._tell_over(job.entry, answered.exchange if answered else None)
        for edit in job.edits:
            await self._take_back(edit, job.entry)
        await self._advance(event_id)

    async def _tell_over(self, entry: JournalEntry, exchange: Exchange | None) -> None:
        """Let the asker's actor learn (P1); without an exchange there is nothing to learn."""
        event = entry.incoming
        await self.context.system.tell(Address("user", event.sender), TurnOver(entry.seq, event.event_id, exchange))

    async def _finish(self, entry: JournalEntry, state: JournalState) -> None:
        async with self._parts.store.transaction() as tables:
            await tables.journal.finish(entry.incoming.event_id, state)

    async def _advance(self, event_id: str) -> None:
        following = self._lanes.remove(event_id)
        if following is not None:
            await self._start(following)

    # --- it is redacted or edited -----------------------------------------------------------------------------------

    async def _retraction(self, entry: JournalEntry) -> None:
        """Take in an edit or a redaction. An edit waits for the answer being worked on; a redaction stops it."""
        event = entry.incoming
        async with self._parts.store.transaction() as tables:
            target = await tables.journal.get(event.target or "")
        if target is None or not _may_take_back(event, target.incoming):
            await self._finish(entry, JournalState.IGNORED)
            return
        job = self._lanes.by_event.get(target.incoming.event_id)
        if job is not None and event.kind is IncomingKind.EDIT:
            job.edits.append(entry)
            return
        if job is not None:
            if job.task is not None:
                job.task.cancel()
            await self._finish(target, JournalState.FAILED)
            await self._tell_over(target, None)
            await self._advance(target.incoming.event_id)
        await self._take_back(entry, target)

    async def _take_back(self, entry: JournalEntry, target: JournalEntry) -> None:
        """Let a message leave the context, and what was learned only from it with it."""
        thread_root = target.incoming.thread_root
        if thread_root in self._windows:
            self._windows[thread_root] = window.without(self._windows[thread_root], target.incoming.event_id)
        self.context.spawn(self._unlearn(entry, target))

    async def _unlearn(self, entry: JournalEntry, target: JournalEntry) -> None:
        event_id = target.incoming.event_id
        await self.context.system.ask(Address("user", target.incoming.sender), TakenBack(event_id))
        async with self._parts.store.transaction() as tables:
            await tables.journal.retract(event_id)
            await tables.journal.finish(entry.incoming.event_id, JournalState.LEARNED)

    # --- what the room holds ----------------------------------------------------------------------------------------

    async def _window(
        self, thread_root: str | None, entries: Sequence[WindowEntry], members: frozenset[str]
    ) -> window.Window:
        """Return the window of the main timeline or a thread with `entries` added; read from the journal at first."""
        settings = self._parts.settings.context(self.room_id)
        now = self._parts.clock.now()
        if thread_root not in self._windows:
            since = now - timedelta(minutes=settings.timeout_minutes)
            async with self._parts.store.transaction() as tables:
                turns = await tables.journal.window(self.room_id, thread_root, since, settings.max_messages)
            past = [entry for turn in turns for entry in entries_of(turn)]
            self._windows[thread_root] = window.extend(window.Window(), past, settings, now, members)
        fresh = window.extend(self._windows[thread_root], entries, settings, now, members)
        self._windows[thread_root] = fresh
        return fresh

    async def _own_list(self, persona: str) -> MemoryList:
        return await self._lists.get(ListKey(ScopeKind.ROOM, self.room_id, persona))

    async def _save(self, request: SaveMemory) -> str:
        owned = await self._own_list(request.conversation.persona)
        return await save(owned, self._lists, request, self._parts)


def entries_of(turn: JournalEntry) -> tuple[WindowEntry, WindowEntry]:
    """Return what an answered turn leaves in the window: the message and the answer."""
    event = turn.incoming
    return (
        WindowEntry(event.event_id, event.sender, turn.said or "", turn.received_at),
        WindowEntry(event.event_id, None, turn.answer or "", turn.answered_at or turn.received_at),
    )


def _may_take_back(event: Incoming, target: Incoming) -> bool:
    """Whether an edit or redaction concerns a message of this room; only its author edits a message."""
    if target.room_id != event.room_id or target.kind is not IncomingKind.MESSAGE:
        return False
    return event.kind is IncomingKind.REDACTION or event.sender == target.sender
