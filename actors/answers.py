"""From an answer to outbox rows: stored in the transaction that changes the journal, sent afterwards."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from actors.actor import Address
from actors.messages import Flush
from actors.parts import Parts
from actors.runtime import ActorSystem
from actors.store import Tables
from memory.errors import MatrixError
from memory.events import Answer, Incoming, IncomingKind, OutboxRow, Told
from memory.media import Attachment

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Private:
    """What one person is told where nobody else reads it, on account of an event: words, a file or both.

    secret: not to be said in the event's room where the direct room cannot be had.
    """

    user_id: str
    markdown: str
    attachment: Attachment | None = None
    secret: bool = True


def private_of(told: Told, user_id: str) -> tuple[Private, ...]:
    """Return what of a command's answer is for its caller alone."""
    if not told.private and told.attachment is None:
        return ()
    return (Private(user_id, told.private, told.attachment),)


@dataclass(frozen=True, slots=True)
class Said:
    """What is said on account of an event: `markdown` is the answer, and goes into the room of the event.

    files: pictures and files that follow the words. line: a notice under the answer, of what the bot did meanwhile
    (D12). private: goes into the direct room of whom it is for, or into this one where nobody else hears it; where that
    room cannot be had the answer goes out all the same, and says so, or says it here where it is no secret. alone: it
    was made for somebody alone with the bot; where another has joined meanwhile all of it is private (D8), or not sent
    where they join only then. label: which of several answers to one event (transaction_id). thread_root: where it goes
    if not where the event is. quiet: nobody is mentioned. more: rows that follow, as rows_of made them.
    """

    markdown: str
    notice: bool = False
    line: str = ""
    files: Sequence[Attachment] = ()
    private: Sequence[Private] = ()
    alone: bool = False
    label: str = ""
    thread_root: str | None = None
    quiet: bool = False
    more: Sequence[OutboxRow] = ()


@asynccontextmanager
async def answering(parts: Parts, system: ActorSystem, event: Incoming, said: Said) -> AsyncIterator[Tables]:
    """Open the transaction that answers an event; the caller notes in it what became of the event.

    To the bot's own arrival the answer is a word to the whole room. Rows already there, from a run that was cut off,
    are left as they are.
    """
    if said.alone and await joined_meanwhile(parts, event):
        said = _all_private(parts, event, said)
    notes = [(note, await _private_room(parts, event, note.user_id)) for note in said.private]
    said = _with_unsent(parts, event, said, [note for note, room in notes if room is None])
    rows = await _rows(parts, event, said)
    for number, (note, room) in enumerate(notes, 1):
        if room is not None:
            own = await rows_of(parts, _as_answer(note, room, event), f"{said.label} private {number}".lstrip())
            rows += [replace(row, only_for=note.user_id) for row in own]
    rows += said.more
    async with parts.store.transaction() as tables:
        await tables.outbox.add(rows)
        yield tables
    for room_id in dict.fromkeys((event.room_id, *(row.room_id for row in rows))):
        await system.tell(Address("outbox", room_id), Flush())


def transaction_id(event_id: str, part: int, label: str = "") -> str:
    """Return the transaction id of one part of the answer to an event: the same however often it is worked out.

    `label`: which of the things said on account of the event, "" for the answer in its room.
    """
    whose = f"{event_id} {label}" if label else event_id  # an event id holds no space
    return f"dvp-{hashlib.sha256(whose.encode()).hexdigest()[:32]}-{part}"


def _under(said: str, more: str) -> str:
    return f"{said}\n\n{more}" if said else more


def _all_private(parts: Parts, event: Incoming, said: Said) -> Said:
    """Return an answer to somebody alone as what they are told apart, with a word on that in the room (D8)."""
    answer = Private(event.sender, _under(said.markdown, said.line) if said.line else said.markdown)
    files = (Private(event.sender, "", file) for file in said.files)
    told = parts.speaker(event.room_id)("private-no-more")
    private = (answer, *files, *said.private)
    return replace(said, markdown=told, notice=True, line="", files=(), private=private, alone=False)


def _with_unsent(parts: Parts, event: Incoming, said: Said, unsent: Sequence[Private]) -> Said:
    """Return an answer that says what could not be told in private: that it could not, or what it was if no secret."""
    unreachable = parts.speaker(event.room_id)("private-unreachable")
    for told in dict.fromkeys(unreachable if note.secret else note.markdown for note in unsent):
        if said.notice:
            said = replace(said, markdown=_under(said.markdown, told))
        else:
            said = replace(said, line=_under(said.line, told))
    return said


async def joined_meanwhile(parts: Parts, event: Incoming) -> bool:
    """Whether others than the asker and the bot are in the room by now; as far as is known."""
    try:
        return len(await parts.matrix.members(event.room_id) - {event.sender}) > 1
    except MatrixError as error:
        log.warning("the members of %s cannot be had: %s", event.room_id, error)
        return False


async def _private_room(parts: Parts, event: Incoming, user_id: str) -> str | None:
    """Return the room in which this person alone hears the bot; None: there is none just now."""
    try:
        if event.private and user_id == event.sender:
            others = await parts.matrix.members(event.room_id) - {user_id}
            if len(others) <= 1:  # the bot; who has joined since the event was read hears nothing private
                return event.room_id
        return await parts.matrix.direct_room(user_id)
    except MatrixError as error:
        log.warning("no direct room for what %s is to be told: %s", event.event_id, error)
        return None


def _as_answer(note: Private, room_id: str, event: Incoming) -> Answer:
    """Return a note as what is said in a room: a reply where the event is, else a word of its own."""
    here = room_id == event.room_id
    return Answer(
        room_id,
        event.event_id,
        event.sender if here else None,
        note.markdown,
        event.thread_root if here else None,
        notice=True,
        attachment=note.attachment,
    )


async def _rows(parts: Parts, event: Incoming, said: Said) -> list[OutboxRow]:
    """Return what is said in the event's room as outbox rows: the words, the files after them, the notice under it."""
    recipient = None if event.kind is IncomingKind.JOINED else event.sender
    root = said.thread_root or event.thread_root
    answer = Answer(event.room_id, event.event_id, recipient, said.markdown, root, said.notice, quiet=said.quiet)
    rows = await rows_of(parts, answer, said.label)
    for number, file in enumerate(said.files, 1):
        more = replace(answer, markdown="", attachment=file)
        rows += await rows_of(parts, more, f"{said.label} file {number}".lstrip())
    if said.line:
        notice = replace(answer, markdown=said.line, notice=True)
        rows += await rows_of(parts, notice, f"{said.label} line".lstrip())
    return [replace(row, only_for=event.sender if said.alone else None) for row in rows]


async def rows_of(parts: Parts, answer: Answer, label: str = "") -> list[OutboxRow]:
    """Return an answer as outbox rows. `label`: which of the things said on account of the event (transaction_id)."""
    contents = await asyncio.to_thread(parts.matrix.render, answer)  # hostile Markdown takes seconds
    now, device = parts.clock.now(), parts.matrix.device_id
    rows = [
        OutboxRow(
            transaction_id(answer.event_id, part, label),
            answer.room_id,
            answer.event_id,
            part,
            content,
            now,
            device,
            edits=answer.edits,
        )
        for part, content in enumerate(contents)
    ]
    if answer.attachment is not None:  # its content is the last
        rows[-1] = replace(rows[-1], attachment=answer.attachment.data)
    return rows
