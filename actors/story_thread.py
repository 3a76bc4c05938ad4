"""What a story says in its room: a line that is edited along, and a thread; each step is one transaction.

The result of a step is recorded with the rows that say it, so that a story taken up again after a crash goes on after
the last step there is: nothing is asked for, said or counted twice.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from actors.actor import Address
from actors.answers import Said, answering, joined_meanwhile, rows_of, transaction_id
from actors.messages import Flush
from actors.parts import Parts
from actors.runtime import ActorSystem
from actors.store import Tables
from memory.errors import DavenportError
from memory.events import Answer, Incoming, JournalState, OutboxRow
from memory.media import Attachment
from memory.model import Usage
from memory.types import TurnKind

_LINE = "status"  # labels of transaction ids
_PURPOSE = "story"


async def line_said(tables: Tables, event_id: str) -> bool:
    """Whether a story was begun: its line is said, or about to be."""
    return await tables.outbox.known(transaction_id(event_id, 0, _LINE))


class TakenBack(DavenportError):
    """The story goes no further: its command, or something said of it, was redacted."""


class StoryThread:
    """Says and stores one story; `event` is the command."""

    def __init__(self, parts: Parts, system: ActorSystem, event: Incoming) -> None:
        self._parts = parts
        self._system = system
        self._event = event

    async def recorded(self, call: int) -> Any | None:
        """Return the result of a step that was taken before, by an earlier run perhaps; None: it was not."""
        async with self._parts.store.transaction() as tables:
            stored = await tables.effects.recorded(self._event.event_id, call)
        return None if stored is None else json.loads(stored)

    async def alone_no_more(self) -> bool:
        """Whether it was asked for in private and somebody else is there now."""
        return self._event.private and await joined_meanwhile(self._parts, self._event)

    async def begin(self, line: str) -> None:
        """Say the line that is edited along, where the command was given."""
        async with self._saying(Said(line, notice=True, label=_LINE)):
            pass

    async def step(
        self,
        call: int,
        result: object,
        *,
        line: str | None,
        markdown: str = "",
        files: Sequence[Attachment] = (),
        quiet: bool = False,
        usage: Iterable[Usage] = (),
    ) -> None:
        """Say what a step brought, in the thread, and record its result. Raises TakenBack.

        line: what the edited line says now. quiet: who asked is not mentioned. Where somebody else has come into a
        private room what the step brought goes to the direct room (D8).
        """
        alone = self._event.private and bool(markdown or files)
        said = Said(
            markdown, files=files, alone=alone, label=f"step {call}", thread_root=self._thread_root, quiet=quiet
        )
        async with self._saying(said, line=line, usage=usage) as tables:
            await tables.effects.record(self._event.event_id, call, json.dumps(result, ensure_ascii=False))

    async def end(
        self, line: str, *, told: bool, named: bool = False, note: str = "", usage: Iterable[Usage] = ()
    ) -> None:
        """End the story; the results of its steps are needed no more and go. Raises TakenBack.

        line: what the edited line says of it. note: what is said in the thread. told: at least a part of it was told.
        named: the line says its title, which in private is for whoever asked alone, also where another comes in (D8).
        """
        event_id = self._event.event_id
        said = Said(note, notice=True, label="end", thread_root=self._thread_root)
        async with self._saying(said, line=line, named=named, usage=usage) as tables:
            if told:
                await tables.journal.answered_apart(event_id, TurnKind.STORY, self._parts.clock.now())
            else:
                await tables.journal.finish(event_id, JournalState.FAILED)
            await tables.effects.drop(event_id)

    async def stopped(self, line: str) -> None:
        """Let the edited line say that the story was taken back; where it was never said, nothing is."""
        rows = await self._edited(line, "stopped")
        async with self._parts.store.transaction() as tables:
            await tables.outbox.add(rows)
        await self._system.tell(Address("outbox", self._event.room_id), Flush())

    async def refuse(self, sentence: str) -> None:
        """Say why there is no story, before anything else was said."""
        async with self._saying(Said(sentence, notice=True)) as tables:
            await tables.journal.finish(self._event.event_id, JournalState.FAILED)

    @property
    def _thread_root(self) -> str:
        return self._event.thread_root or self._event.event_id

    @asynccontextmanager
    async def _saying(
        self, said: Said, *, line: str | None = None, named: bool = False, usage: Iterable[Usage] = ()
    ) -> AsyncIterator[Tables]:
        event, spending = self._event, self._parts.spending
        if line is not None:
            said = replace(said, more=await self._edited(line, said.label, named=named))
        async with answering(self._parts, self._system, event, said) as tables:
            await self._refuse_if_taken_back(tables)
            yield tables
            recorded = await spending.of_reply(tables, event, usage, self._parts.clock.now(), _PURPOSE)
        spending.committed(recorded)

    async def _edited(self, line: str, label: str, *, named: bool = False) -> list[OutboxRow]:
        event = self._event
        first = transaction_id(event.event_id, 0, _LINE)
        said = Answer(event.room_id, event.event_id, event.sender, line, event.thread_root, notice=True, edits=first)
        rows = await rows_of(self._parts, said, f"{_LINE} {label}")
        alone = event.private and (named or not await self.alone_no_more())
        only_for = event.sender if alone else None
        return [replace(row, only_for=only_for) for row in rows]

    async def _refuse_if_taken_back(self, tables: Tables) -> None:
        entry = await tables.journal.get(self._event.event_id)
        if entry is None or entry.state is not JournalState.RECEIVED:
            raise TakenBack(self._event.event_id)
