"""docs/memory.md states every rule of memory and marks those that are not built."""

import re
from pathlib import Path

import pytest

from tests.unit.test_rules_covered import COVERED, LATER

PAGE = (Path(__file__).parents[3] / "docs/memory.md").read_text(encoding="utf-8")
STATED = {
    number: " ".join(text.split())
    for number, text in re.findall(r"^- \*\*(\w+)\*\* (.+(?:\n  .+)*)", PAGE, re.MULTILINE)
}


def test_every_rule_is_stated_once_in_order() -> None:
    every = [f"P{number}" for number in range(1, 21)] + [f"D{number}" for number in range(1, 19)]
    assert re.findall(r"^- \*\*(\w+)\*\*", PAGE, re.MULTILINE) == every
    assert {*COVERED, *LATER} == set(every)


@pytest.mark.parametrize("rule", [*COVERED, *LATER])
def test_the_rule_is_documented_in_words(rule: str) -> None:
    assert len(STATED[rule].split()) > 7


def test_what_is_not_built_is_marked_and_nothing_else() -> None:
    assert {rule for rule, text in STATED.items() if "Not yet" in text} == set(LATER)
