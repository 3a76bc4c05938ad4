"""One turn, from the journalled event to the answer in the outbox. Runs as a task of its room actor.

embed once -> every list scores -> merged best three -> one transaction settles all counters -> prompt -> model with
tools -> one transaction holds the answer and the journal's `answered`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import datetime

from actors.actor import Address
from actors.answers import answering
from actors.confirming import Confirmation
from actors.messages import ListScore, Score, Settled
from actors.metrics import timed
from actors.parts import Parts
from actors.ports import Vector
from actors.runtime import ActorSystem
from actors.tools import TOOLS, Toolbox
from memory import decay
from memory.contents import Contents, choose
from memory.errors import ActorFailed, BudgetSpent, EmbeddingError, ModelError, ModelKeyMissing, ModelPaused
from memory.events import Incoming, JournalEntry, JournalState
from memory.model import Prompt, Reply, Usage
from memory.prompt import build_prompt
from memory.settings import MemorySettings
from memory.text import blank, visible
from memory.types import Conversation, Given, Persona, Recall, TurnKind, WindowEntry
from memory.window import Window, authors, known_in, owners_today, participants, present, without_authors
from memory.words import Heard

log = logging.getLogger(__name__)

_TOLD: dict[type[ModelError], str] = {  # ids of texts
    ModelKeyMissing: "model-key-missing",
    ModelPaused: "model-paused",
    BudgetSpent: "budget-spent",
}
BOT_AND_ONE = 2  # joined members of a room in which a private word can be said


@dataclass(frozen=True, slots=True)
class Turn:
    """What is fixed when a turn begins. `members`: who is joined to the room; `window`: without this message;
    `typing`: shows the typing notice while it is entered.
    """

    entry: JournalEntry
    kind: TurnKind
    said: str
    persona: Persona
    window: Window
    members: frozenset[str]
    typing: AbstractAsyncContextManager[None]

    @property
    def message(self) -> WindowEntry:
        """The message as the window and the prompt hold it."""
        event = self.entry.incoming
        return WindowEntry(event.event_id, event.sender, self.said, self.entry.received_at)

    @property
    def heard(self) -> Heard:
        """What stands in the window, this message included: tags and lorebook keys are looked for in it."""
        return Heard((*(entry.text for entry in self.window.entries), self.said))

    @property
    def conversation(self) -> Conversation:
        """The place, as visibility sees it (D8)."""
        event = self.entry.incoming
        return conversation(event, self.members, self.persona.name)


@dataclass(frozen=True, slots=True)
class Answered:
    """A turn that succeeded, as the journal holds it now. heard: what stood in its window."""

    entry: JournalEntry
    members: frozenset[str]
    heard: Heard


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What the model is asked with. searched: this turn's search succeeded, now or before a restart (D7)."""

    prompt: Prompt
    contents: Contents
    searched: bool


class TurnRunner:
    """Runs turns; holds nothing between them."""

    def __init__(self, parts: Parts, system: ActorSystem) -> None:
        self._parts = parts
        self._system = system
        self._metrics = parts.metrics

    async def run(self, turn: Turn) -> Answered | None:
        """Answer a turn. None: the model failed; a sentence was sent and nothing is learned."""
        now = self._parts.clock.now()
        event = turn.entry.incoming
        settings = self._parts.settings.memory(event.room_id)
        with timed(self._metrics, "own"):
            turn = replace(turn, window=await self._usable(known_in(turn.window, turn.conversation), event.sender))
            prepared = await self._prepare(turn, settings, now)
        log.debug("asking the model", extra={"event_id": event.event_id})
        shown = prepared.contents.owned_by(event.sender)
        toolbox = Toolbox(
            self._parts,
            self._system,
            event,
            turn.conversation,
            settings,
            now,
            shown=shown,
            searched=prepared.searched,
            heard=turn.heard,
        )
        try:
            await self._parts.spending.check(self._parts.store, now.date())
            async with turn.typing:
                reply = await self._parts.model.reply(prepared.prompt, TOOLS, toolbox.run)
                if blank(visible(reply.text)):
                    raise ModelError("the model answered with nothing that can be seen", reply.usage)
        except ModelError as error:
            log.warning("no answer to %s: %s", event.event_id, error)
            say = self._parts.speaker(event.room_id)
            await self._fail(turn, say(_TOLD.get(type(error), "model-failed")), error.usage, toolbox.notices)
            return None
        return await self._answer(turn, reply, prepared.contents.given, toolbox.notices)

    async def _prepare(self, turn: Turn, settings: MemorySettings, now: datetime) -> _Prepared:
        event = turn.entry.incoming
        people = participants(turn.window, event.sender)
        here = present(turn.window, event.sender, turn.members)
        room = Address("room", event.room_id)
        scores, recall = await self._search(turn, (room, *(Address("user", user) for user in here)), settings)
        # Who has left is not searched, but stays in the prompt's start until the window is trimmed (D14).
        left = [Address("user", user) for user in people if user not in here]
        scores |= await self._scores(turn, left, settings, None)
        usable = {address.name: score.usable for address, score in scores.items()}
        contents = choose(
            room=usable.get(event.room_id, ()),
            people=[(user, usable.get(user, ())) for user in people],
            recalled=recall.recalled if recall is not None else (),
            rest_after_days=decay.rest_after(settings),
            rested=recall.rested if recall is not None else (),
        )
        with timed(self._metrics, "prompt"):
            prompt = build_prompt(
                persona=turn.persona,
                contents=contents,
                history=turn.window.entries,
                message=turn.message,
                today=now.date(),
                heard=turn.heard,
            )
        return _Prepared(prompt, contents, searched=recall is not None)

    async def _usable(self, window: Window, asker: str) -> Window:
        """Return a window without others who are silent by now: their rooms may not have been told yet."""
        others = tuple(sorted(authors(window) - {asker}))
        if not others:
            return window
        async with self._parts.store.transaction() as tables:
            silent = await tables.users.silent(others)
        return without_authors(window, silent) if silent else window

    async def _search(
        self, turn: Turn, lists: Sequence[Address], settings: MemorySettings
    ) -> tuple[dict[Address, ListScore], Recall | None]:
        """Search once (D2) and settle; a turn whose search is already recorded only reads (a replay, D2)."""
        recorded = turn.entry.recall
        vector = await self._vector(turn, settings) if recorded is None else None
        with timed(self._metrics, "score"):
            scores = await self._scores(turn, lists, settings, vector)
        if recorded is None and vector is not None and not any(score.failed for score in scores.values()):
            with timed(self._metrics, "settle"):
                recorded = await self._settle(turn, scores, settings)
            self._metrics.memories("recalled", len(recorded.recalled))
        else:
            async with self._parts.store.transaction() as tables:
                await tables.journal.begin_turn(turn.entry.incoming.event_id, turn.persona.name, turn.said)
        return scores, recorded

    async def _vector(self, turn: Turn, settings: MemorySettings) -> Vector | None:
        embedder = self._parts.embedder
        if embedder is None or not decay.searches(turn.said, settings):
            return None
        try:
            with timed(self._metrics, "embed"):
                return await embedder.embed_query(turn.said)
        except EmbeddingError as error:
            log.warning("no search for %s: %s", turn.entry.incoming.event_id, error)
            return None

    async def _scores(
        self, turn: Turn, lists: Sequence[Address], settings: MemorySettings, vector: Vector | None
    ) -> dict[Address, ListScore]:
        """Ask every list; one that cannot be read says so, and the search failed (D7)."""
        request = Score(turn.conversation, settings, vector, turn.heard)
        answers = await asyncio.gather(
            *(self._system.ask(address, request) for address in lists), return_exceptions=True
        )
        scores: dict[Address, ListScore] = {}
        for address, answer in zip(lists, answers, strict=True):
            if isinstance(answer, ListScore):
                scores[address] = answer
            elif isinstance(answer, ActorFailed):
                scores[address] = ListScore(failed=True)
            else:
                raise answer
        return scores

    async def _settle(self, turn: Turn, scores: dict[Address, ListScore], settings: MemorySettings) -> Recall:
        """Merge the best matches and settle every counter in one transaction (D3, D4), then tell the lists.

        The date is that of the transaction: a search that took over midnight must not take back what turns beside it
        have settled for the new day (D16).
        """
        searched = [memory for score in scores.values() for memory in score.searched]
        matches = decay.merge(score.best for score in scores.values())
        event_id = turn.entry.incoming.event_id
        async with self._parts.store.transaction() as tables:
            now = self._parts.clock.now()
            wrote = owners_today((*turn.window.entries, turn.message), now.date())
            settlement = decay.settle(searched, matches, now.date(), now, wrote)
            recall = Recall(
                now.date(),
                matches,
                decay.recalled(searched, matches, settings.rest_after_days),
                decay.rested(searched, settlement, settings.rest_after_days),
            )
            await tables.journal.begin_turn(event_id, turn.persona.name, turn.said)
            await tables.memories.settle(settlement)
            await tables.journal.record_recall(event_id, recall)
        if settlement.healed:
            log.warning("memories %s were dated more than 7 days ahead and are set to today", settlement.healed)
        for address in scores:
            await self._system.tell(address, Settled(settlement))
        return recall

    async def _answer(self, turn: Turn, reply: Reply, given: Given, notices: Confirmation) -> Answered:
        event = turn.entry.incoming
        now = self._parts.clock.now()
        with timed(self._metrics, "store"):
            async with answering(
                self._parts,
                self._system,
                event,
                reply.text,
                line=notices.room,
                private=notices.privately(event.sender),
                alone=turn.conversation.private,
            ) as tables:
                await tables.journal.answered(event.event_id, reply.text, JournalState.ANSWERED, now, given)
                recorded = await self._parts.spending.of_reply(tables, event, reply.usage, now)
            self._parts.spending.committed(recorded)
        entry = replace(
            turn.entry,
            state=JournalState.ANSWERED,
            persona=turn.persona.name,
            said=turn.said,
            answer=reply.text,
            answered_at=now,
        )
        log.info("answered", extra={"event_id": event.event_id, "model_calls": len(reply.usage)})
        return Answered(entry, turn.members, turn.heard)

    async def _fail(self, turn: Turn, sentence: str, usage: Sequence[Usage], notices: Confirmation) -> None:
        event = turn.entry.incoming
        async with answering(
            self._parts,
            self._system,
            event,
            sentence,
            notice=True,
            line=notices.room,
            private=notices.privately(event.sender),
            alone=turn.conversation.private,
        ) as tables:
            await tables.journal.finish(event.event_id, JournalState.FAILED)
            recorded = await self._parts.spending.of_reply(tables, event, usage, self._parts.clock.now())
        self._parts.spending.committed(recorded)


def conversation(event: Incoming, members: frozenset[str], persona: str) -> Conversation:
    """Return the place of a turn or command (D8). Who has joined since the event was read hears nothing private."""
    private = event.private and event.sender in members and len(members) <= BOT_AND_ONE
    return Conversation(event.room_id, private, event.sender, persona)
