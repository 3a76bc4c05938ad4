"""Cleanups of one user's memories or one room's list (P13-P15): the model is asked in a task, outside the mailbox.

The start takes a snapshot in one transaction; the end carries out what the model answered for all groups in one other,
or nothing of it. One runs at a time for each owner; passes go on meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from actors.actor import Work
from actors.cleanup_messages import CleanUp, CleanupAnswered, CleanupSummary
from actors.cleanup_run import Applied, Asked, Run
from actors.lists import Lists
from actors.parts import Parts
from actors.ports import CleanupOutcome
from actors.store import Tables
from actors.tracing import following
from memory.cleanup import Changes, CleanupAnswer, Reason, Rejected, check, due, groups
from memory.errors import ActorFailed, BudgetSpent, ModelError, ModelKeyMissing, ModelPaused, Refused, Stopping
from memory.model import Usage
from memory.settings import MemorySettings
from memory.types import Exchange, ListKey, Memory, Privacy, ScopeKind
from memory.undo import Taken
from memory.visibility import Place, View, may_learn, usable

log = logging.getLogger(__name__)

_IDS_NAMED = 20
_TOLD: dict[type[ModelError], str] = {  # ids of texts
    ModelKeyMissing: "model-key-missing",
    ModelPaused: "model-paused",
    BudgetSpent: "budget-spent",
}


class Cleaning:
    """Runs the cleanups of one owner of lists."""

    def __init__(
        self,
        kind: ScopeKind,
        owner: str,
        parts: Parts,
        lists: Lists,
        spawn: Callable[[Work], object],
        privacy: Callable[[], Privacy],
    ) -> None:
        """`kind`: ROOM or PERSONAL; `owner`: the id of the room or user; `privacy`: tells the owner's level now."""
        self._kind = kind
        self._owner = owner
        self._parts = parts
        self._lists = lists
        self._spawn = spawn
        self._privacy = privacy
        self._running: Run | None = None
        self._waiting: tuple[Exchange, MemorySettings] | None = None

    # --- it begins --------------------------------------------------------------------------------------------------

    async def asked(self, request: CleanUp) -> asyncio.Future[CleanupSummary]:
        """Begin a cleanup that was asked for, and return what its end resolves. Raises Refused."""
        told: asyncio.Future[CleanupSummary] = asyncio.get_running_loop().create_future()
        running = self._running.asked if self._running is not None else None
        if running is not None and running.effect == request.effect:
            running.told.cancel()  # asked again by a room's actor that came back
            running.told = told
            return told
        effect, place = request.effect, request.view.conversation
        async with self._parts.store.transaction() as tables:
            recorded = await tables.effects.recorded(effect.event_id, effect.call)
            if recorded is not None:
                told.set_result(await self._with_texts(tables, CleanupSummary.read(recorded), request.view))
                return told
            self._refuse(request.view.settings)
            memories = await self._memories(tables, place.persona)
            found = groups(memories)
            if not found:
                told.set_result(CleanupSummary(len(memories)))
                await tables.effects.record(effect.event_id, effect.call, told.result().written())
        if found:
            cause = (effect.event_id, place.asker, place.room_id)
            asked = Asked(request.view, effect, told)
            self._start(Run(found, cause, request.view.settings, len(memories), asked=asked))
        else:
            self._parts.metrics.cleanup("nothing")
        return told

    def _refuse(self, settings: MemorySettings) -> None:
        """Raise Refused where the owner is not to be learned about, or while a cleanup runs already."""
        if not self._may(settings):
            raise Refused(self._forbidden)
        if self._running is not None:
            raise Refused("cleanup-running")

    async def promoted(self, exchange: Exchange, settings: MemorySettings, passes: int) -> None:
        """Begin a cleanup if it is due after a pass that promoted, the counter being at `passes` (P13)."""
        if not due(passes, settings):
            return
        if self._running is not None:
            self._waiting = (exchange, settings)
            return
        await self._begin_periodic(exchange, settings)

    async def _begin_periodic(self, exchange: Exchange, settings: MemorySettings) -> None:
        if not self._may(settings):
            return
        async with self._parts.store.transaction() as tables:
            passes = await tables.users.promoting_passes(self._owner)
            if not due(passes, settings):  # one has run since it was wanted
                return
            memories = await self._memories(tables, exchange.persona)
            found = groups(memories)
            if not found:
                await tables.users.cleaned_up(self._owner, passes)
        if found:
            cause = (exchange.event_id, self._owner, exchange.room_id)
            self._start(Run(found, cause, settings, len(memories), counted=passes))
        else:
            self._parts.metrics.cleanup("nothing")

    def _may(self, settings: MemorySettings) -> bool:
        return may_learn(self._owner, self._privacy(), settings)

    @property
    def _forbidden(self) -> str:
        return "room-cleanup-forbidden" if self._kind is ScopeKind.ROOM else "cleanup-forbidden"

    async def _memories(self, tables: Tables, persona: str) -> tuple[Memory, ...]:
        """Return what is tidied: all of a user's, over all personas; of a room the list of one (P14)."""
        if self._kind is ScopeKind.ROOM:
            return await tables.memories.of_list(ListKey(self._kind, self._owner, persona))
        return await tables.memories.of_user(self._owner)

    # --- the model is asked -----------------------------------------------------------------------------------------

    def _start(self, run: Run) -> None:
        self._running = run
        self._spawn(self._ask(run))

    async def _ask(self, run: Run) -> CleanupAnswered:
        event_id = run.cause[0]
        answers: list[CleanupAnswer] = []
        usage: list[Usage] = []
        try:
            with following(event_id):
                for group in run.groups:
                    await self._parts.spending.check(self._parts.store, self._parts.clock.today())
                    answer, spent = await self._parts.model.tidy(group)
                    answers.append(answer)
                    usage.append(spent)
        except ModelError as error:
            log.warning("the cleanup for %s could not run: %s", event_id, error)
            failed = _TOLD.get(type(error), "cleanup-failed")
            return CleanupAnswered(run, None, (*usage, *error.usage), failed)
        except Exception:
            log.exception("the cleanup for %s failed", event_id)
            return CleanupAnswered(run, None, tuple(usage), "internal-error")
        return CleanupAnswered(run, tuple(answers), tuple(usage))

    # --- it is carried out, or not ----------------------------------------------------------------------------------

    async def answered(self, message: CleanupAnswered) -> None:
        """Carry out what the model answered for all groups, or nothing of it, and tell whoever asked (P15)."""
        run = self._running
        if run is None or message.run is not run:
            return  # an answer to an instance of this actor that is gone
        at = self._parts.clock.now()
        async with self._parts.store.transaction() as tables:
            recorded = await self._parts.spending.of_cleanup(tables, run.cause, message.usage, at)
            result = await self._apply(tables, run, message, at)
        self._parts.spending.committed(recorded)
        self._running = None
        self._tell(run, result)
        if isinstance(result, Applied):
            await self._follow(result)
        await self._go_on()

    async def _apply(
        self, tables: Tables, run: Run, message: CleanupAnswered, at: datetime
    ) -> Applied | Rejected | str:
        """Carry it out. A text's id says why that cannot be, "" that nobody wants it any more."""
        if run.unwanted:
            return ""
        if not self._may(run.settings):
            return self._forbidden  # its user has switched learning off meanwhile (P20)
        if message.answers is None:
            return message.failed
        ids = [memory.id for group in run.groups for memory in group.memories]
        changes = check(run.groups, message.answers, await tables.memories.get(ids), at)
        return changes if isinstance(changes, Rejected) else await self._carry_out(tables, run, changes, at)

    async def _carry_out(self, tables: Tables, run: Run, changes: Changes, at: datetime) -> Applied:
        was = await tables.undo.as_they_are(changes.removed) if changes.removed else ()
        await tables.memories.delete([drop.memory_id for drop in changes.drops])
        made = tuple([await tables.memories.merge(each) for each in changes.merges])
        merges = tuple((merge.sources, new.id) for merge, new in zip(changes.merges, made, strict=True))
        summary = CleanupSummary(run.looked_at, changes.drops, merges)
        if run.asked is None:
            await tables.users.cleaned_up(self._owner, run.counted)
            return Applied(changes, made, summary)
        effect = run.asked.effect
        if was:
            await tables.undo.keep(self._owner, effect.event_id, at, Taken(was, made))
        await tables.effects.record(effect.event_id, effect.call, summary.written())
        return Applied(changes, made, await self._with_texts(tables, summary, run.asked.view))

    async def _follow(self, applied: Applied) -> None:
        """Let what is loaded follow; a new memory gets a vector of its own (P15)."""
        self._lists.drop(applied.changes.removed)
        for memory in applied.made:
            if memory.scope is ScopeKind.GLOBAL:  # on every list of its user; one that is loaded later reads storage
                keys = [owned.key for owned in self._lists.loaded]
            else:
                keys = [ListKey(self._kind, self._owner, memory.persona)]
            for key in keys:
                await self._lists.add(key, (memory,))

    def _tell(self, run: Run, result: Applied | Rejected | str) -> None:
        outcome: CleanupOutcome
        refusal = ""
        match result:
            case Applied(changes=changes):
                outcome = "applied"
                log.info("tidied", extra={"event_id": run.cause[0], "removed": len(changes.removed)})
            case Rejected(reason, ids):
                outcome = "rejected"
                refusal = "cleanup-changed" if reason is Reason.CHANGED else "cleanup-rejected"
                named = list(ids[:_IDS_NAMED])  # not all of very many: the model made them up
                log.warning("the cleanup for %s is rejected, %s: %s", run.cause[0], reason.value, named)
            case text_id:
                refusal = text_id
                outcome = "dropped" if text_id in ("", self._forbidden) else "failed"
        self._parts.metrics.cleanup(outcome)
        if run.asked is None or run.asked.told.done():
            return
        if isinstance(result, Applied):
            run.asked.told.set_result(result.summary)
        else:
            run.asked.told.set_exception(Refused(refusal))

    async def _go_on(self) -> None:
        """Begin the cleanup that a pass wanted while this one ran (P13)."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            await self._begin_periodic(*waiting)

    def unload(self, *, stopping: bool) -> None:
        """Let go of a cleanup in flight; nothing of it was carried out. `stopping`: the whole bot stops."""
        run, self._running = self._running, None
        if run is not None and run.asked is not None and not run.asked.told.done():
            run.asked.told.set_exception(
                Stopping("a cleanup was cut off") if stopping else ActorFailed(f"{self._owner} failed at a cleanup")
            )
            run.asked.told.exception()  # whoever asked may be gone as well

    async def _with_texts(self, tables: Tables, summary: CleanupSummary, view: View) -> CleanupSummary:
        """Add the texts of what stays, where the asker may be shown them (D8); others are named by id."""
        place = replace(view, privacy=self._privacy())
        shown = (memory for memory in await tables.memories.get(summary.named) if usable(memory, place, Place.NOTICE))
        return replace(summary, texts={memory.id: memory.text for memory in shown})
