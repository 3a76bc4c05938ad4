"""One actor per room. Read top to bottom, it is the path of a message from the journal to its answer.

Turns overlap: two people are answered side by side. Order is kept within a lane, which is a thread, or outside threads
one person's messages.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from actors.actor import Address
from actors.answers import Said, answering
from actors.arriving import Arrivals, FilesSeen
from actors.commanding import CommandRunner, members_of
from actors.context_messages import ForgetContext, LeftContext, SetPersona
from actors.documents import DocumentOwner
from actors.gate import Gate
from actors.kinds import Runners
from actors.lanes import Job, Lanes, lane_of
from actors.messages import Deliver, Flush, OpenWindow, TurnBegan, TurnOver, Wake
from actors.parts import Parts
from actors.passes import exchange_of
from actors.privacy import forget_context, is_silent, said_before, set_persona, tell_rooms
from actors.runtime import Context
from actors.taking_back import TakingBack
from actors.tracing import following
from actors.turns import Answered, Turn
from actors.typing_notice import TypingNotice
from actors.windows import Windows
from actors.wordless import speaks
from memory.errors import Stopping
from memory.events import Incoming, IncomingKind, JournalEntry, JournalState, Recognised
from memory.types import Exchange, ScopeKind, TurnKind
from memory.window import Window

log = logging.getLogger(__name__)

_TRIES = 2  # of an event whose work makes this actor fail, which may be a passing fault; all others wait meanwhile


@dataclass(frozen=True, slots=True)
class _Done:
    """A job ended; `answered` when it was a turn that succeeded."""

    event_id: str
    answered: Answered | None = None


class RoomActor(DocumentOwner):
    """Owns a room's list, documents, conversation windows and lanes."""

    kind = ScopeKind.ROOM

    def __init__(self, context: Context, parts: Parts) -> None:
        super().__init__(context, parts)
        self.room_id = context.address.name
        self._runners = Runners(parts, context.system)
        self._commands = CommandRunner(self.room_id, parts, context.system)
        self._gate = Gate(parts, context.system)
        self._typing = TypingNotice(self.room_id, parts.matrix, context.spawn)
        self._lanes = Lanes()
        self._windows = Windows(self.room_id, parts)
        self._taking_back = TakingBack(parts, context, self._windows, self.documents)
        self._persona = "default"
        self._arrivals = Arrivals(parts, context, self.documents)

    async def load(self) -> None:
        """Read the persona, and take up what an earlier run or instance left unanswered or unsent."""
        async with self.parts.store.transaction() as tables:
            self._persona = await tables.rooms.persona(self.room_id)
            entries = await tables.journal.unfinished(room_id=self.room_id)
            unsent = await tables.outbox.pending(self.room_id)
        for entry in entries:
            await self._accept(entry)
        if unsent:
            await self._flush()

    async def handle(self, message: object) -> object | None:
        """Dispatch one message; see actors/messages.py for what each means."""
        match message:
            case Deliver(entry):
                await self._accept(entry)
            case OpenWindow(thread_root, members):
                return await self._windows.open(thread_root, members)
            case SetPersona():
                self._persona = await set_persona(self.room_id, message, self.parts)
            case ForgetContext():
                await self._forget(message)
            case LeftContext(user_id, through, silent):
                await self._leave_context(user_id, through, silent=silent)
            case FilesSeen(entry):
                await self._arrivals.follow(message)
                await self._accept(entry)
            case _Done(event_id, answered):
                await self._done(event_id, answered)
            case Wake():
                return None  # loading has taken up what there was
            case _:
                return await super().handle(message)
        return None

    # --- an event arrives -------------------------------------------------------------------------------------------

    async def _accept(self, entry: JournalEntry) -> None:
        """Take in one event; one that cannot be taken in must not keep the room from the others."""
        try:
            await self._sort(entry)
        except Stopping:
            raise
        except Exception:
            log.exception("event %s cannot be taken in", entry.incoming.event_id)
            await self._refuse(entry)

    async def _sort(self, entry: JournalEntry) -> None:
        """Decide what a journalled event means and queue it; one that is already queued is left alone."""
        event = entry.incoming
        if event.event_id in self._lanes.by_event or event.event_id in self._taking_back.gone:
            return
        if event.kind is IncomingKind.JOINED:
            await self._arrivals.take(entry)
        elif event.kind is not IncomingKind.MESSAGE:
            await self._retract(entry)
        elif entry.state is JournalState.ANSWERED:
            await self._tell_over(entry, exchange_of(entry))
        elif entry.state is JournalState.RECEIVED and self.context.failures_on(event.event_id) >= _TRIES:
            log.error("event %s makes the room fail and is not tried again", event.event_id)
            await self._refuse(entry)
        elif entry.state is JournalState.RECEIVED:
            await self._queue(entry)

    async def _queue(self, entry: JournalEntry) -> None:
        event = entry.incoming
        meaning = self._meaning(event)
        if meaning is None:
            await self._finish(entry, JournalState.IGNORED)
            await self._tell_over(entry, None)  # its actor may have taken it for a turn when it loaded
            return
        if not await self._gate.admits(entry, meaning):
            return
        if meaning.turn is not None and meaning.turn.remembers:
            await self.context.system.tell(Address("user", event.sender), TurnBegan(entry.seq, event.event_id))
        job = Job(entry, meaning, lane_of(event, meaning))
        if self._lanes.add(job):
            self._start(job)

    async def _refuse(self, entry: JournalEntry) -> None:
        if entry.incoming.kind is IncomingKind.MESSAGE:
            await self._apologise(entry)
            await self._tell_over(entry, None)
        else:
            await self._finish(entry, JournalState.FAILED)

    def _meaning(self, event: Incoming) -> Recognised | None:
        """Read an event: a command, else a turn if it speaks to the bot."""
        recognised = self.parts.dispatcher.recognise(event.text, meant=event.addressed or event.direct)
        if recognised is not None:
            return recognised
        if speaks(event):
            return Recognised(turn=TurnKind.VERSE if event.scene else TurnKind.ASK, text=event.text)
        return None

    # --- its turn comes ---------------------------------------------------------------------------------------------

    def _start(self, job: Job) -> None:
        turn = job.meaning.turn
        work = self._command(job.entry, job.meaning.command) if turn is None else self._turn(job, turn)
        job.task = self.context.spawn(work)

    async def _turn(self, job: Job, kind: TurnKind) -> _Done:
        event = job.entry.incoming
        with following(event.event_id):
            try:
                if await is_silent(event.sender, self.parts):  # by a command before it, in another room perhaps
                    await self._finish(job.entry, JournalState.IGNORED)
                    return _Done(event.event_id)
                members = await members_of(self.room_id, self.parts)
                turn = Turn(
                    entry=job.entry,
                    kind=kind,
                    said=job.meaning.text,
                    persona=self.parts.settings.persona(self._persona),
                    window=await self._window(event, kind, members),
                    members=members,
                    typing=self._typing,
                )
                answered = await self._runners.run(turn)
            except Stopping:
                raise  # the journal has it; the next start answers
            except Exception:
                log.exception("the turn of %s failed", event.event_id)
                self.parts.metrics.turn(kind, "error")
                await self._apologise(job.entry)
                return _Done(event.event_id)
        self.parts.metrics.turn(kind, "failed" if answered is None else "answered")
        return _Done(event.event_id, answered)

    async def _window(self, event: Incoming, kind: TurnKind, members: frozenset[str]) -> Window:
        """Return the window that a turn begins with; one that takes nothing from it does not even trim it (D14)."""
        if not kind.remembers:
            return Window()
        return await self.context.system.ask(self.context.address, OpenWindow(event.thread_root, members))

    async def _command(self, entry: JournalEntry, command: object) -> _Done:
        persona = self.parts.settings.persona(self._persona).name
        try:
            await self._commands.run(entry.incoming, command, persona)
        except Stopping:
            raise  # as with a turn
        except Exception:
            log.exception("the command of %s cannot be answered", entry.incoming.event_id)
            await self._apologise(entry)
        return _Done(entry.incoming.event_id)

    async def _apologise(self, entry: JournalEntry) -> None:
        told = self.parts.speaker(self.room_id)("internal-error")
        said = Said(told, notice=True)
        async with answering(self.parts, self.context.system, entry.incoming, said) as tables:
            await tables.journal.finish(entry.incoming.event_id, JournalState.FAILED)

    # --- it is answered ---------------------------------------------------------------------------------------------

    async def _done(self, event_id: str, answered: Answered | None) -> None:
        job = self._lanes.by_event.get(event_id)
        if job is None:
            return  # redacted meanwhile, or a result for an instance of this actor that is gone
        exchange = None
        if answered is not None and not job.edits and answered.entry.state is JournalState.ANSWERED:
            exchange = exchange_of(answered.entry, answered.heard)
            if job.entry.in_context:
                self._windows.add(answered.entry, answered.members)
        await self._tell_over(job.entry, exchange)
        for edit in job.edits:
            await self._taking_back.carry_out(edit, job.entry)
        self._advance(event_id)

    async def _tell_over(self, entry: JournalEntry, exchange: Exchange | None) -> None:
        """Let the asker's actor learn (P1); without an exchange there is nothing to learn."""
        event = entry.incoming
        await self.context.system.tell(Address("user", event.sender), TurnOver(entry.seq, event.event_id, exchange))

    async def _flush(self) -> None:
        await self.context.system.tell(Address("outbox", self.room_id), Flush())

    async def _finish(self, entry: JournalEntry, state: JournalState) -> None:
        async with self.parts.store.transaction() as tables:
            await tables.journal.finish(entry.incoming.event_id, state)

    def _advance(self, event_id: str) -> None:
        following = self._lanes.remove(event_id)
        if following is not None:
            self._start(following)

    # --- it leaves the context ---------------------------------------------------------------------------------------

    async def _forget(self, request: ForgetContext) -> None:
        through = await forget_context(self.room_id, request, self.parts)
        await self._leave_context(None, through)
        self.context.spawn(tell_rooms(self.context.system, LeftContext(request.user_id, through)))

    async def _leave_context(self, user_id: str | None, through: int, *, silent: bool = False) -> None:
        """Follow the journal: what was said before, by one person or by all, stands in no window from now on."""
        self._windows.close(user_id)
        for job in [job for job in self._lanes.by_event.values() if said_before(job, through, user_id)]:
            job.entry = replace(job.entry, in_context=False)
            if silent and job.meaning.turn is not None:
                await self._stop(job, JournalState.IGNORED)

    # --- it is redacted or edited -----------------------------------------------------------------------------------

    async def _retract(self, entry: JournalEntry) -> None:
        """Take in an edit or a redaction. An edit waits for the answer being worked on; a redaction stops it."""
        target = await self._taking_back.target(entry)
        if target is None:
            return
        job = self._lanes.by_event.get(target.incoming.event_id)
        if job is not None and entry.incoming.kind is IncomingKind.EDIT:
            job.edits.append(entry)
            return
        if job is not None:
            await self._stop(job, JournalState.FAILED)
        await self._taking_back.carry_out(entry, target)
        if job is not None:
            self.context.spawn(self._runners.stopped(job.entry.incoming, job.meaning.turn))

    async def _stop(self, job: Job, state: JournalState) -> None:
        """End a job before its answer."""
        if job.task is not None:
            job.task.cancel()
        await self._finish(job.entry, state)
        await self._tell_over(job.entry, None)
        self._advance(job.entry.incoming.event_id)
