"""Values for the tests of storage, and hypothesis strategies for any that may be stored."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

from hypothesis import strategies as st

from memory.events import Incoming, IncomingKind, OutboxRow, SyncBatch, Undecryptable
from memory.types import Draft, ListKey, Match, Origin, Recall, ScopeKind, Source

NOW = datetime(2026, 3, 1, 12, 0, 0, 250, tzinfo=UTC)
DAY = timedelta(days=1)
ALICE, BAU = "@alice:example.org", "@bau:example.org"
ROOM, OTHER_ROOM = "!kitchen:example.org", "!garden:example.org"
ALICE_LIST = ListKey(ScopeKind.PERSONAL, ALICE, "default")
ROOM_LIST = ListKey(ScopeKind.ROOM, ROOM, "default")

_numbers = count(1)


def fresh(prefix: str = "$event") -> str:
    """Return an id that no test used before."""
    return f"{prefix}{next(_numbers)}"


def incoming(event_id: str | None = None, **changes: object) -> Incoming:
    """Return a message of Alice to the bot."""
    event = Incoming(
        event_id=event_id or fresh(),
        room_id=ROOM,
        sender=ALICE,
        kind=IncomingKind.MESSAGE,
        sent_at=NOW,
        body="bot: my cat is Mochi",
        text="my cat is Mochi",
        addressed=True,
    )
    return replace(event, **changes)  # type: ignore[arg-type]


def undecryptable(event_id: str | None = None, session_id: str = "session") -> Undecryptable:
    """Return an encrypted event whose key has not come."""
    return Undecryptable(event_id or fresh(), ROOM, ALICE, session_id, NOW, '{"type": "m.room.encrypted"}')


def batch(*events: Incoming, next_batch: str = "s1", **changes: object) -> SyncBatch:
    """Return a sync batch with these events."""
    return replace(SyncBatch(next_batch=next_batch, events=events), **changes)  # type: ignore[arg-type]


def draft(text: str = "has a cat named Mochi", key: ListKey = ALICE_LIST, **changes: object) -> Draft:
    """Return a memory of a list about to be saved."""
    made = Draft(
        scope=key.kind,
        scope_id=key.owner,
        persona=key.persona,
        text=text,
        source=Source.TOOL,
        origin=Origin(ROOM, "$origin", False),
        first_seen=NOW,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def global_draft(owner: str = ALICE, **changes: object) -> Draft:
    """Return a global memory about to be saved."""
    return draft("speaks Finnish", ListKey(ScopeKind.GLOBAL, owner, ""), **changes)


def outbox_row(txn_id: str | None = None, **changes: object) -> OutboxRow:
    """Return a row to send."""
    row = OutboxRow(txn_id or fresh("txn"), ROOM, "$event", 0, '{"body": "hello"}', NOW, "DEVICE")
    return replace(row, **changes)  # type: ignore[arg-type]


# --- strategies ---------------------------------------------------------------------------------------------------

texts = st.text(max_size=60)  # no lone surrogates: those are replaced, which has a test of its own
words = st.text(min_size=1, max_size=20)
moments = st.datetimes(
    min_value=datetime(1970, 1, 1),
    max_value=datetime(9998, 1, 1),
    timezones=st.sampled_from([UTC]),
)
days = st.dates()
origins = st.builds(Origin, room=words, event=words, private=st.booleans())
messages = st.builds(
    Incoming,
    event_id=st.builds(fresh),
    room_id=words,
    sender=words,
    kind=st.sampled_from(IncomingKind),
    sent_at=moments,
    body=texts,
    text=texts,
    target=st.none() | words,
    thread_root=st.none() | words,
    reply_to=st.none() | words,
    addressed=st.booleans(),
    direct=st.booleans(),
    alone=st.booleans(),
)
matches = st.builds(Match, memory_id=st.integers(1, 2**62), similarity=st.floats(-1, 1))
recalls = st.builds(
    Recall,
    searched_on=days,
    matches=st.lists(matches, max_size=3).map(tuple),
    recalled=st.lists(st.integers(1, 2**62), max_size=3).map(tuple),
)


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """Any draft a rule may produce: only global memories have no persona."""
    scope = draw(st.sampled_from(ScopeKind))
    return Draft(
        scope=scope,
        scope_id=draw(words),
        persona="" if scope is ScopeKind.GLOBAL else draw(words),
        text=draw(words),
        source=draw(st.sampled_from(Source)),
        origin=draw(origins),
        first_seen=draw(moments),
        mentions=draw(st.integers(1, 10_000)),
        protected=draw(st.booleans()),
        shared=draw(st.booleans()),
        rooms=draw(st.lists(words, max_size=3).map(tuple)),
        tags=draw(st.lists(words, max_size=3).map(tuple)),
    )


outbox_rows = st.builds(
    OutboxRow,
    txn_id=st.builds(fresh, st.just("txn")),
    room_id=words,
    event_id=words,
    part=st.integers(0, 1000),
    content=texts,
    created_at=moments,
    device_id=texts,
)
