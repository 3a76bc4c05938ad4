"""Marks change who may see a memory, and nothing else of it (D8, D11)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import Refused
from memory.marking import MAX_TAG_CHARACTERS, MAX_TAGS, Limiting, Sharing, Tagging, applies, checked_tags, marked
from memory.text import blank, clean
from memory.words import Heard, fold
from tests.unit.memory.build import PRIVATE, ROOM, memory

SAID_IN_PRIVATE = memory(1, origin=PRIVATE)


def test_d8_sharing_is_for_what_was_said_in_private_only() -> None:
    assert marked(SAID_IN_PRIVATE, Sharing(on=True)) == replace(SAID_IN_PRIVATE, shared=True)
    assert marked(replace(SAID_IN_PRIVATE, shared=True), Sharing(on=False)) == SAID_IN_PRIVATE
    assert applies(SAID_IN_PRIVATE, Sharing(on=True))
    assert not applies(memory(1), Sharing(on=False))
    assert applies(memory(1), Limiting(ROOM))
    assert applies(memory(1), Tagging(("x",)))


def test_d8_a_room_is_added_once_and_all_go_at_once() -> None:
    here = marked(memory(1), Limiting(ROOM))
    assert here == replace(memory(1), rooms=(ROOM,))
    assert marked(here, Limiting(ROOM)) == here
    both = marked(here, Limiting("!other:hs"))
    assert both.rooms == (ROOM, "!other:hs")
    assert marked(both, Limiting(None)) == memory(1)


def test_d11_no_mark_protects() -> None:
    for mark in (Sharing(on=True), Limiting(ROOM), Tagging(("x",))):
        assert not marked(SAID_IN_PRIVATE, mark).protected


def test_tags_keep_their_case_and_are_compared_folded() -> None:
    assert checked_tags(["Straße", "STRASSE", "Café", "cafe\u0301", " two\u200b  words "]) == (
        "Straße",
        "Café",
        "two words",
    )
    assert checked_tags([]) == ()


@pytest.mark.parametrize(
    ("words", "text_id"),
    [
        (["x" * (MAX_TAG_CHARACTERS + 1)], "tag-too-long"),
        ([f"w{n}" for n in range(MAX_TAGS + 1)], "tags-too-many"),
        (["x", "\u200b"], "tag-blank"),
    ],
)
def test_tags_out_of_bounds_are_refused(words: list[str], text_id: str) -> None:
    with pytest.raises(Refused, match=text_id):
        checked_tags(words)


def test_the_bounds_themselves_are_allowed() -> None:
    assert len(checked_tags([f"{n}" * (MAX_TAG_CHARACTERS // len(f"{n}")) for n in range(MAX_TAGS)])) == MAX_TAGS


@given(st.lists(st.text(max_size=60), max_size=12))
def test_whatever_is_taken_as_tags_is_clean_bounded_distinct_and_can_be_heard(words: list[str]) -> None:
    try:
        tags = checked_tags(words)
    except Refused:
        return
    assert len(tags) == len({fold(tag) for tag in tags}) <= MAX_TAGS
    for tag in tags:
        assert tag == clean(tag)
        assert not blank(tag)
        assert len(tag) <= MAX_TAG_CHARACTERS
        assert Heard((tag,)).has(tag)
