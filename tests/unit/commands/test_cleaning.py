"""`!memories cleanup`: how it is typed, and what is said of it."""

from __future__ import annotations

import pytest

from actors.cleanup_messages import CleanupSummary
from commands.cleaning import tidied
from commands.memory_values import CleanMine, CleanRoom
from commands.parse import parse
from commands.table import EDITORS, TABLE
from commands.values import Misused
from memory.cleanup import Drop
from texts.catalogue import Speaker

SUMMARY = CleanupSummary(
    9, (Drop(3, 1), Drop(4, 2)), (((5, 6), 10), ((7, 8), 11)), {1: "Has a *cat*", 10: "<b>Tea</b>"}
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!memories cleanup", CleanMine()),
        ("!Memories  CLEANUP ", CleanMine()),
        ("!memories room cleanup", CleanRoom()),
        ("!memories cleanup 3", Misused()),  # whatever follows may be meant to narrow it
        ("!memories room cleanup all", Misused()),
    ],
)
def test_how_it_is_typed(text: str, value: object) -> None:
    call = parse(text, "!", TABLE)
    assert call is not None and call.value == value


def test_a_rooms_list_is_for_those_who_may_change_it() -> None:
    call = parse("!memories room cleanup", "!", TABLE)
    assert call is not None and call.path[-1].who is EDITORS


def test_what_was_done_is_said_with_texts_only_where_there_are_any() -> None:
    assert tidied(Speaker(), SUMMARY).splitlines() == [
        "I looked at 9 memories and tidied up:",
        "",
        "- #5, #6 are now **#10**: \\<b\\>Tea\\</b\\>",
        "- #7, #8 are now **#11**.",
        "- #3 is gone, since **#1** says the same: Has a \\*cat\\*",
        "- #4 is gone, since **#2** says the same.",
    ]


def test_in_german() -> None:
    say = Speaker("de")
    assert tidied(say, CleanupSummary(1)) == "Ich habe 1 Erinnerung durchgesehen und nichts aufzuräumen gefunden."
    assert "- #4 ist weg, denn **#2** sagt dasselbe." in tidied(say, SUMMARY)


def test_a_summary_is_recorded_without_texts_and_read_back() -> None:
    assert "cat" not in SUMMARY.written()
    again = CleanupSummary.read(SUMMARY.written())
    assert (again.looked_at, again.drops, again.merges, again.texts) == (9, SUMMARY.drops, SUMMARY.merges, {})
