"""From event JSON to what the bot takes note of, whatever the JSON."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nio.rooms import MatrixRoom

from matrix.direct_rooms import is_closed
from matrix.errors import MALFORMED
from matrix.mentions import Identity
from matrix.translate import RoomView, arrival, echoed_txn, read, without_fallback
from memory.events import Incoming, IncomingKind

ME = "@davenport:example.org"
ALICE = "@alice:example.org"
VIEW = RoomView("!room", Identity(ME, ("davenport",)), direct=False, members=frozenset({ME, ALICE}))


def event(content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    base = {"type": "m.room.message", "event_id": "$1", "sender": ALICE, "origin_server_ts": 1_700_000_000_000}
    return {**base, "content": content, **fields}


def text(body: str, **more: Any) -> dict[str, Any]:
    return {"msgtype": "m.text", "body": body, **more}


def test_message() -> None:
    assert read(event(text("davenport: hi")), VIEW) == Incoming(
        event_id="$1",
        room_id="!room",
        sender=ALICE,
        kind=IncomingKind.MESSAGE,
        sent_at=datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        body="davenport: hi",
        text="hi",
        addressed=True,
        alone=True,
    )


@pytest.mark.parametrize(
    ("members", "direct", "private"),
    [({ME, ALICE}, True, True), ({ME, ALICE}, False, False), ({ME, ALICE, "@bob:x"}, True, False), ({ME}, True, False)],
)
def test_private_means_direct_and_alone(members: set[str], direct: bool, private: bool) -> None:
    found = read(event(text("hi")), RoomView("!room", VIEW.me, direct, frozenset(members)))
    assert found is not None
    assert found.private is private


def test_d8_a_room_that_anybody_may_enter_or_read_is_not_private() -> None:
    found = read(event(text("hi")), replace(VIEW, direct=True, closed=False))
    assert found is not None
    assert not found.private


@pytest.mark.parametrize(
    ("join_rule", "history_visibility", "closed"),
    [
        ("invite", "shared", True),
        ("knock", "joined", True),
        ("public", "joined", False),
        ("restricted", "invited", False),
        ("invite", "world_readable", False),
    ],
)
def test_d8_which_rooms_are_closed(join_rule: str, history_visibility: str, closed: bool) -> None:
    room = MatrixRoom("!room", ME)
    assert is_closed(room), "what a homeserver has of its own accord"
    room.join_rule, room.history_visibility = join_rule, history_visibility
    assert is_closed(room) is closed


@pytest.mark.parametrize(
    "raw",
    [
        event(text("mine"), sender=ME),
        event({"msgtype": "m.notice", "body": "beep"}),
        event({"msgtype": "m.key.verification.request", "body": "somebody wants to verify"}),
        event({"m.relates_to": {"rel_type": "m.annotation"}}, type="m.reaction"),
        event({"name": "x"}, type="m.room.name", state_key=""),
        event(text("a message that is state"), state_key=""),
        event({}, unsigned={"redacted_because": {}}),
        event({"m.relates_to": {"rel_type": "m.replace", "event_id": "$0"}, "m.new_content": {"msgtype": "m.notice"}}),
    ],
)
def test_not_read(raw: dict[str, Any]) -> None:
    assert read(raw, VIEW) is None


def test_edit_is_read_from_its_new_content() -> None:
    relation = {"rel_type": "m.replace", "event_id": "$0"}
    found = read(event(text("* old", **{"m.relates_to": relation, "m.new_content": text("davenport: new")})), VIEW)
    assert found is not None
    assert (found.kind, found.target, found.body, found.text) == (IncomingKind.EDIT, "$0", "davenport: new", "new")


@pytest.mark.parametrize("raw", [event({"redacts": "$0"}), event({}, redacts="$0")], ids=["in content", "at the top"])
def test_redaction(raw: dict[str, Any]) -> None:
    found = read({**raw, "type": "m.room.redaction"}, VIEW)
    assert found is not None
    assert (found.kind, found.target) == (IncomingKind.REDACTION, "$0")


@pytest.mark.parametrize(
    ("relation", "thread_root", "reply_to"),
    [
        ({"m.in_reply_to": {"event_id": "$r"}}, None, "$r"),
        ({"rel_type": "m.thread", "event_id": "$t"}, "$t", None),
        (
            {"rel_type": "m.thread", "event_id": "$t", "m.in_reply_to": {"event_id": "$r"}, "is_falling_back": True},
            "$t",
            None,
        ),
        ({"rel_type": "m.thread", "event_id": "$t", "m.in_reply_to": {"event_id": "$r"}}, "$t", "$r"),
    ],
)
def test_relations(relation: dict[str, Any], thread_root: str | None, reply_to: str | None) -> None:
    found = read(event(text("x", **{"m.relates_to": relation})), VIEW)
    assert found is not None
    assert (found.thread_root, found.reply_to) == (thread_root, reply_to)


@pytest.mark.parametrize(
    "relation",
    [
        {"m.in_reply_to": {"event_id": "$\ud800"}},
        {"rel_type": "m.thread", "event_id": "$\ud800"},
        {"rel_type": "m.replace", "event_id": "$\ud800"},
    ],
)
def test_an_id_that_utf8_cannot_hold_is_malformed(relation: dict[str, Any]) -> None:
    """As it may come in an encrypted event, which no homeserver reads: neither a path nor a database takes it."""
    content = text("x", **{"m.relates_to": relation, "m.new_content": text("x")})
    with pytest.raises(MALFORMED):
        read(event(content), VIEW)


def test_reply_fallback_is_removed_from_replies_only() -> None:
    quoted = "> <@bob:x> one\n> two\n\ndavenport: three"
    assert without_fallback(quoted, {"m.in_reply_to": {"event_id": "$r"}}) == "davenport: three"
    assert without_fallback(quoted, {}) == quoted
    assert without_fallback("> a quote of my own", {"m.in_reply_to": {}}) == "> a quote of my own"
    found = read(event(text(quoted, **{"m.relates_to": {"m.in_reply_to": {"event_id": "$r"}}})), VIEW)
    assert found is not None
    assert (found.text, found.addressed, found.body) == ("three", True, quoted)


def test_own_events_confirm_their_transaction() -> None:
    assert echoed_txn(event({}, sender=ME, unsigned={"transaction_id": "t1"}), ME) == "t1"
    assert echoed_txn(event({}, sender=ALICE, unsigned={"transaction_id": "t1"}), ME) is None
    assert echoed_txn(event({}, sender=ME, unsigned=None), ME) is None


def test_the_bots_own_join_is_an_arrival_without_words() -> None:
    join = event({"membership": "join", "displayname": "hello"}, type="m.room.member", sender=ME, state_key=ME)
    found = arrival(join, VIEW)
    assert (found.kind, found.sender, found.room_id, found.body) == (IncomingKind.JOINED, ME, "!room", "")
    assert read(join, VIEW) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["msgtype", "body", "formatted_body", "format", "m.mentions", "m.relates_to", "m.new_content", "redacts"]
)
CONTENT = st.dictionaries(FIELDS, JSON | st.just("m.text") | st.just({"rel_type": "m.replace"}), max_size=6)


@given(
    st.sampled_from(["m.room.message", "m.room.redaction", "m.reaction"]) | JSON,
    CONTENT | JSON,
    st.dictionaries(st.sampled_from(["event_id", "sender", "origin_server_ts", "unsigned", "redacts"]), JSON),
)
def test_odd_events_are_read_or_malformed(kind: Any, content: Any, fields: dict[str, Any]) -> None:
    """No event of a stranger raises anything that the reader does not catch."""
    try:
        found = read({**event({}), "type": kind, "content": content, **fields}, VIEW)
    except MALFORMED:
        return
    if found is not None:
        assert isinstance(found.body, str)
        assert isinstance(found.event_id, str)
        assert found.sent_at.tzinfo is UTC
