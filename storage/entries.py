"""How a journalled event looks in a row of `journal`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date

from memory.events import Incoming, IncomingKind, JournalEntry, JournalState, Undecryptable
from memory.media import MediaKind
from memory.types import Match, Recall, TurnKind
from storage.codec import read_time, read_time_or_none, storable, storable_or_none, time_text
from storage.sql import Row, Value

_COLUMNS = (
    "seq, event_id, room_id, sender, kind, sent_at, body, text, target, thread_root, reply_to, addressed, direct, "
    "alone, media, scene, state, received_at, persona, recall, said, answer, answered_at, in_context, turn"
)
SELECT = f"SELECT {_COLUMNS} FROM journal"


def encode(event: Incoming, state: JournalState, at: str) -> tuple[Value, ...]:
    """Write an event that arrived `at`; an ignored one without any text."""
    heard = state is not JournalState.IGNORED
    return (
        storable(event.event_id),
        storable(event.room_id),
        storable(event.sender),
        event.kind.value,
        time_text(event.sent_at),
        storable(event.body) if heard else "",
        storable(event.text) if heard else "",
        storable_or_none(event.target),
        storable_or_none(event.thread_root),
        storable_or_none(event.reply_to),
        event.addressed,
        event.direct,
        event.alone,
        None if event.media is None else event.media.value,
        event.scene,
        state.value,
        at,
    )


def encode_waiting(event: Undecryptable, at: str) -> tuple[Value, ...]:
    """Write an event whose key has not come."""
    sent = time_text(event.sent_at)
    return (event.event_id, event.room_id, event.sender, sent, at, storable(event.session_id), storable(event.raw))


def decode_all(rows: Iterable[Row]) -> tuple[JournalEntry, ...]:
    """Read rows of `SELECT`."""
    return tuple([decode(row) for row in rows])


def decode(row: Row) -> JournalEntry:
    """Read a row of `SELECT`."""
    (
        seq, event_id, room_id, sender, kind, sent_at, body, text, target, thread_root, reply_to, addressed, direct,
        alone, media, scene, state, received_at, persona, recall, said, answer, answered_at, in_context, turn,
    ) = row  # fmt: skip
    incoming = Incoming(
        event_id=event_id,
        room_id=room_id,
        sender=sender,
        kind=IncomingKind(kind),
        sent_at=read_time(sent_at),
        body=body,
        text=text,
        target=target,
        thread_root=thread_root,
        reply_to=reply_to,
        addressed=bool(addressed),
        direct=bool(direct),
        alone=bool(alone),
        media=None if media is None else MediaKind(media),
        scene=bool(scene),
    )
    return JournalEntry(
        seq=seq,
        incoming=incoming,
        state=JournalState(state),
        received_at=read_time(received_at),
        persona=persona,
        recall=None if recall is None else _read_recall(recall),
        said=said,
        answer=answer,
        answered_at=read_time_or_none(answered_at),
        in_context=bool(in_context),
        turn=None if turn is None else TurnKind(turn),
    )


def write_recall(recall: Recall) -> str:
    """Write what a search found as JSON."""
    return json.dumps(
        {
            "searched_on": recall.searched_on.isoformat(),
            "matches": [[match.memory_id, match.similarity] for match in recall.matches],
            "recalled": list(recall.recalled),
            "rested": list(recall.rested),
        }
    )


def _read_recall(text: str) -> Recall:
    value = json.loads(text)
    return Recall(
        searched_on=date.fromisoformat(value["searched_on"]),
        matches=tuple(Match(memory_id, similarity) for memory_id, similarity in value["matches"]),
        recalled=tuple(value["recalled"]),
        rested=tuple(value.get("rested", ())),  # not in rows of earlier versions
    )
