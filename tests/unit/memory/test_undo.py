"""What undoing changes, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import Refused
from memory.types import ScopeKind, Source
from memory.undo import Kept, Restoration, Taken, restoration
from tests.unit.memory.build import ROOM, memory, noon

OLD = memory(1)
EDITED = replace(OLD, text="Has a dog", protected=True, updated_at=noon(1))
MERGED = memory(9, "Has a cat and a dog", source=Source.MERGE)
DEAR = replace(MERGED, protected=True)


def whole(*mentions: tuple[str, ...], protected: bool = False) -> Kept:
    """Return a merged memory that was put together from one for each of these mentions."""
    parts = tuple(Kept(memory(number), events) for number, events in enumerate(mentions, start=1))
    events = tuple(dict.fromkeys(event for each in mentions for event in each))
    return Kept(DEAR if protected else MERGED, events, parts)


def test_parts_of_a_merged_memory_come_back_as_visible_and_used_as_it_is() -> None:
    tagged = replace(MERGED, tags=("cat",), rooms=(ROOM,), unused_days=3, counted_on=noon(2).date())
    (left,) = Taken((replace(whole(("$1",), ("$2",)), memory=tagged),)).without_event("$1").was
    assert left.memory == replace(
        memory(2), tags=("cat",), rooms=(ROOM,), unused_days=3, counted_on=noon(2).date(), last_matched_at=None
    )


def test_a_deletion_brings_everything_back_as_it_was() -> None:
    taken = Taken((Kept(OLD, ("$1",)), Kept(memory(2))))
    assert restoration(taken, ()) == Restoration(taken.was, (), ())


def test_an_edit_gets_back_wording_protection_and_date_of_change_only() -> None:
    now = replace(EDITED, unused_days=3, last_matched_at=noon(2), counted_on=noon(2).date(), tags=("cat",), shared=True)
    step = restoration(Taken((Kept(OLD),), (EDITED,)), (now,))
    old = replace(now, text=OLD.text, protected=False, updated_at=OLD.updated_at)
    assert step == Restoration((), (Kept(old),), ())


def test_d11_what_became_global_since_stays_protected() -> None:
    now = replace(EDITED, scope=ScopeKind.GLOBAL, persona="")
    (reworded,) = restoration(Taken((Kept(OLD),), (EDITED,)), (now,)).reworded
    assert (reworded.memory.text, reworded.memory.protected) == (OLD.text, True)


def test_a_cleanup_brings_back_what_was_and_takes_what_it_made() -> None:
    taken = Taken((Kept(OLD), Kept(memory(2))), (MERGED,))
    assert restoration(taken, (replace(MERGED, unused_days=4, last_matched_at=noon(3)),)) == Restoration(
        taken.was, (), (9,)
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "Has two cats"},
        {"protected": True},
        {"scope": ScopeKind.GLOBAL, "persona": ""},
        {"shared": True},
        {"rooms": (ROOM,)},
        {"tags": ("cat",)},
    ],
)
def test_what_a_cleanup_made_and_somebody_changed_is_not_taken(changes: dict[str, object]) -> None:
    taken = Taken((Kept(OLD), Kept(memory(2))), (MERGED,))
    with pytest.raises(Refused) as refused:
        restoration(taken, (replace(MERGED, **changes),))  # type: ignore[arg-type]
    assert refused.value.text_id == "undo-changed"
    assert refused.value.values == {"ids": "#9"}


@pytest.mark.parametrize("current", [(), (replace(EDITED, text="Has a bird"),), (replace(EDITED, protected=False),)])
def test_an_edit_is_not_undone_when_its_memory_is_gone_or_says_something_else(current: tuple[object, ...]) -> None:
    with pytest.raises(Refused, match="undo-changed"):
        restoration(Taken((Kept(OLD),), (EDITED,)), current)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kept", "left"),
    [
        (Kept(OLD, ("$1",)), None),
        (Kept(OLD, ("$1", "$2")), Kept(OLD, ("$2",))),
        (Kept(OLD, ("$2",)), Kept(OLD, ("$2",))),
        (Kept(OLD), Kept(OLD)),
        (Kept(replace(OLD, protected=True), ("$1",)), Kept(replace(OLD, protected=True))),
        (Kept(replace(OLD, source=Source.TOOL), ("$1",)), Kept(replace(OLD, source=Source.TOOL))),
        (whole(("$1",), ("$1",)), None),
        (whole(("$1",), ("$2",)), Kept(memory(2), ("$2",))),  # a part of it was learned from $1 alone
        (whole(("$1", "$2"), ("$2",)), whole(("$2",), ("$2",))),
        (whole(("$1",), ("$2",), protected=True), Kept(DEAR, ("$2",), (Kept(memory(2), ("$2",)),))),
    ],
)
def test_an_event_taken_back_takes_what_only_it_had_taught(kept: Kept, left: Kept | None) -> None:
    assert Taken((kept,)).without_event("$1").was == (() if left is None else (left,))


@given(
    was=st.lists(st.integers(1, 9), unique=True).map(lambda ids: tuple(Kept(memory(each)) for each in ids)),
    now=st.lists(st.integers(1, 9), unique=True).map(lambda ids: tuple(map(memory, ids))),
)
def test_undoing_leaves_exactly_the_memories_there_were(was: tuple[Kept, ...], now: tuple[object, ...]) -> None:
    """What is there after the command, without what goes, with what comes back: the ids from before it."""
    step = restoration(Taken(was, now), now)  # type: ignore[arg-type]
    there = {each.id for each in now} - set(step.gone)  # type: ignore[attr-defined]
    assert {each.memory.id for each in step.reworded} == there
    assert there | {kept.memory.id for kept in step.back} == {kept.memory.id for kept in was}
    assert not there & {kept.memory.id for kept in step.back}
