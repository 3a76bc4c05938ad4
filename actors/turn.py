"""One turn, from the journalled event to the answer in the outbox. Runs as a task of its room actor.

embed once -> every list scores -> merged best three -> one transaction settles all counters -> prompt -> model with
tools -> one transaction holds the answer and the journal's `answered`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from actors.actor import Address
from actors.answers import Said, answering
from actors.code_files import code_files
from actors.confirming import Confirmation
from actors.failures import sentence
from actors.looking import Looking, Seen
from actors.metrics import timed
from actors.parts import Parts
from actors.runtime import ActorSystem
from actors.searching import Search
from actors.store import Tables
from actors.tools import TOOLS, Toolbox
from actors.turns import Answered, Turn
from memory import decay
from memory.contents import Contents, choose
from memory.documents import Chunk
from memory.errors import DavenportError, ModelError
from memory.events import Incoming, JournalState
from memory.model import Prompt, Reply, Usage
from memory.prompt import build_prompt
from memory.settings import MemorySettings
from memory.text import blank, visible
from memory.types import Given
from memory.window import Window, authors, known_in, participants, present, without_authors
from texts.catalogue import Speaker

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What the model is asked with. searched: this turn's search succeeded, now or before a restart (D7)."""

    prompt: Prompt
    contents: Contents
    searched: bool
    seen: Seen
    chunks: tuple[Chunk, ...]

    @property
    def given(self) -> Given:
        """What of it `!why` tells."""
        chunks = tuple(chunk.id for chunk in self.chunks)
        return replace(self.contents.given, chunks=chunks, picture=bool(self.seen.images))


class _GivenDeleted(DavenportError):
    """The picture that the model was shown, or a part of a document, was deleted while it answered."""


class TurnRunner:
    """Runs turns; holds nothing between them."""

    def __init__(self, parts: Parts, system: ActorSystem) -> None:
        self._parts = parts
        self._system = system
        self._metrics = parts.metrics
        self._search = Search(parts, system)
        self._looking = Looking(parts)

    async def run(self, turn: Turn) -> Answered | None:
        """Answer a turn. None: the model failed; a sentence was sent and nothing is learned."""
        now = self._parts.clock.now()
        event = turn.entry.incoming
        settings = self._parts.settings.memory(event.room_id)
        with timed(self._metrics, "own"):
            turn = replace(turn, window=await self._usable(known_in(turn.window, turn.conversation), event.sender))
            prepared = await self._prepare(turn, settings, now)
        seen = prepared.seen
        if seen.told and blank(turn.said):  # there is nothing else to answer
            await self._fail(turn, seen.told, (), Confirmation())
            return None
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
            reply = await self._asked(turn, prepared, toolbox, now)
        except ModelError as error:
            log.warning("no answer to %s: %s", event.event_id, error)
            told = sentence(self._parts.speaker(event.room_id), error)
            await self._fail(turn, told, error.usage, toolbox.notices)
            return None
        try:
            return await self._answer(turn, reply, prepared, seen.under(toolbox.notices))
        except _GivenDeleted:
            log.info("no answer to %s: what it was given was deleted meanwhile", event.event_id)
            told = self._parts.speaker(event.room_id)("given-deleted")
            await self._fail(turn, told, reply.usage, toolbox.notices)
            return None

    async def _asked(self, turn: Turn, prepared: _Prepared, toolbox: Toolbox, now: datetime) -> Reply:
        """Return the model's answer, where the day's budget lets it be asked. Raises ModelError."""
        await self._parts.spending.check(self._parts.store, now.date())
        async with turn.typing:
            reply = await self._parts.model.reply(prepared.prompt, TOOLS, toolbox.run)
            if blank(visible(reply.text)):
                raise ModelError("the model answered with nothing that can be seen", reply.usage)
        return reply

    async def _prepare(self, turn: Turn, settings: MemorySettings, now: datetime) -> _Prepared:
        event = turn.entry.incoming
        people = participants(turn.window, event.sender)
        here = present(turn.window, event.sender, turn.members)
        room = Address("room", event.room_id)
        search = self._search.search(turn, (room, *(Address("user", user) for user in here)), settings)
        found, seen = await self._looking.beside(turn, search)
        scores, recall = found.scores, found.recall
        # Who has left is not searched, but stays in the prompt's start until the window is trimmed (D14).
        left = [Address("user", user) for user in people if user not in here]
        scores |= await self._search.scores(turn, left, settings, None)
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
                kind=turn.kind,
                chunks=found.chunks,
                images=seen.images,
                notes=seen.notes,
            )
        return _Prepared(prompt, contents, searched=recall is not None, seen=seen, chunks=found.chunks)

    async def _usable(self, window: Window, asker: str) -> Window:
        """Return a window without others who are silent by now: their rooms may not have been told yet."""
        others = tuple(sorted(authors(window) - {asker}))
        if not others:
            return window
        async with self._parts.store.transaction() as tables:
            silent = await tables.users.silent(others)
        return without_authors(window, silent) if silent else window

    async def _answer(self, turn: Turn, reply: Reply, prepared: _Prepared, notices: Confirmation) -> Answered:
        """Store the answer. Raises _GivenDeleted, and then nothing is stored."""
        event = turn.entry.incoming
        now = self._parts.clock.now()
        files = await code_files(self._parts, turn, reply)
        with timed(self._metrics, "store"):
            line = _line(self._parts.speaker(event.room_id), reply, notices)
            private = notices.privately(event.sender)
            said = Said(reply.text, line=line, files=files, private=private, alone=event.private)
            async with answering(self._parts, self._system, event, said) as tables:
                await _refuse_if_deleted(tables, event, prepared)
                await tables.journal.answered(event.event_id, reply.text, JournalState.ANSWERED, now, prepared.given)
                recorded = await self._parts.spending.of_reply(tables, event, reply.usage, now)
            self._parts.spending.committed(recorded)
        entry = replace(
            turn.entry,
            state=JournalState.ANSWERED,
            persona=turn.persona.name,
            said=turn.said,
            answer=reply.text,
            answered_at=now,
            turn=turn.kind,
        )
        log.info("answered", extra={"event_id": event.event_id, "model_calls": len(reply.usage)})
        return Answered(entry, turn.members, turn.heard)

    async def _fail(self, turn: Turn, told: str, usage: Sequence[Usage], notices: Confirmation) -> None:
        event = turn.entry.incoming
        private = notices.privately(event.sender)
        said = Said(told, notice=True, line=notices.room, private=private, alone=event.private)
        async with answering(self._parts, self._system, event, said) as tables:
            await tables.journal.finish(event.event_id, JournalState.FAILED)
            recorded = await self._parts.spending.of_reply(tables, event, usage, self._parts.clock.now())
        self._parts.spending.committed(recorded)


def _line(say: Speaker, reply: Reply, notices: Confirmation) -> str:
    """Return what is said under an answer; not in it, where a code block may be open that has no end any more."""
    return "\n\n".join(filter(None, (say("answer-cut") if reply.cut else "", notices.room)))


async def _refuse_if_deleted(tables: Tables, event: Incoming, prepared: _Prepared) -> None:
    """Refuse an answer from what is there no more: a redaction is never answered around. Raises _GivenDeleted."""
    ids = prepared.given.chunks
    if ids and len(await tables.documents.chunks(ids)) < len(ids):
        raise _GivenDeleted
    picture = prepared.seen.event_id
    if picture and await tables.journal.redacted(event.room_id, picture, event.event_id):
        raise _GivenDeleted
