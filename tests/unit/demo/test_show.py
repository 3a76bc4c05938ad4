"""What the demo prints is whole, on a terminal and in a file."""

import io
from datetime import date

import pytest
from rich.console import Console

from davenport.demo.play import Fault, _missing, summary
from davenport.demo.script import Expectation
from davenport.demo.show import Row, Screen

LONG = "東京の大学で日本文学を教えていて、週末には山へ行き、" * 4
WORDS = "She said so again and again " * 8


def printed(width: int | None) -> str:
    """What a screen of that width prints; None: a file."""
    output = io.StringIO()
    terminal = {} if width is None else {"force_terminal": True, "width": width, "color_system": None}
    screen = Screen(Console(file=output, highlight=False, **terminal))  # type: ignore[arg-type]
    screen.day(1, date(2026, 3, 2), WORDS)
    screen.said("juno", WORDS)
    screen.table([Row("juno", LONG, "memory", 2, 0, "active")])
    screen.fault(WORDS)
    return output.getvalue()


def test_lines_in_a_file_stay_whole() -> None:
    lines = printed(None).splitlines()
    assert sum(WORDS.strip() in line for line in lines) == 3
    [row] = [line for line in lines if LONG in line]
    assert row.split() == ["juno", LONG, "memory", "2", "0", "active"]
    assert max(map(len, lines)) < 300  # nothing is filled up to the width


@pytest.mark.parametrize("width", [80, 60])
def test_a_narrow_terminal_breaks_a_fact_and_loses_nothing_of_it(width: int) -> None:
    output = printed(width)
    assert "…" not in output
    held = [[c for c in line if ord(c) > 0x2FFF] for line in output.splitlines()]  # wide characters
    assert sum(map(bool, held)) > 1
    assert "".join(c for line in held for c in line) == LONG
    assert all(word in output for word in ("memory", "active", "mentions", "unused days"))


def test_an_empty_table_says_so() -> None:
    output = io.StringIO()
    Screen(Console(file=output)).table([])
    assert output.getvalue() == "Nothing is remembered yet.\n"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "nothing like it is remembered"),
        ([Row("ana", "Dog is named Rex", "candidate", 1)], "it is a candidate, mentioned 1 time"),
        (
            [Row("ana", "Dog is named Rex", "memory", 3, 7, "resting")],
            "it is a memory, mentioned 3 times, unused for 7 days, resting",
        ),
    ],
)
def test_what_is_not_as_expected_is_told_in_words(rows: list[Row], said: str) -> None:
    expected = Expectation(who="ana", contains="Rex", stage="memory", mentions=2)
    wanted = "what ana said about “Rex” should be a memory, mentioned 2 times"
    assert _missing(expected, rows) == f"{wanted}; {said}"


def test_a_fact_that_stays_wrong_is_told_once() -> None:
    rex, mia = ("ana", "Rex"), ("ana", "Mia")
    faults = [Fault(1, rex, "first"), Fault(2, rex, "second"), Fault(2, mia, "other"), Fault(9, rex, "third")]
    assert summary(faults) == ["day 1: first (not as expected on 2 later days either)", "day 2: other"]


def test_what_others_write_cannot_command_the_terminal() -> None:
    output = io.StringIO()
    screen = Screen(Console(file=output, highlight=False, force_terminal=True, color_system=None, width=200))
    hostile = "a\x1b]52;c;aGk=\x07b\x9b31mc\x1b[2Jd"
    screen.said(hostile, hostile)
    screen.between("eve", hostile)
    screen.table([Row("juno", hostile, "memory", 2, 0, "active")])
    screen.fault(hostile)
    assert "\x1b]" not in output.getvalue()
    assert "\x9b" not in output.getvalue()
    assert "\x1b[2J" not in output.getvalue()
