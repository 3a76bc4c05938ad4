"""Every rule of RULES.md that is built is named by a test; the others are listed here with the reason."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

COVERED = (
    *(f"P{number}" for number in range(1, 21)),
    *(f"D{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18)),
)

LATER: dict[str, str] = {}  # rule: why


def _named() -> set[str]:
    """Return the rules that names and docstrings of test modules, classes and functions mention, in upper case."""
    found: set[str] = set()
    for path in sorted(TESTS.rglob("test_*.py")):
        if path == Path(__file__):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found |= _rules(ast.get_docstring(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                is_test = node.name.lower().startswith("test")
                found |= _rules(f"{node.name} {ast.get_docstring(node) or ''}" if is_test else None)
    return found


def _rules(text: str | None) -> set[str]:
    """Return the rules a text mentions; a range such as P2-P12 or "D1 to D7" counts for its ends only."""
    return {match.upper() for match in re.findall(r"(?<![A-Za-z0-9])[PpDd](?:20|1?[0-9])(?![0-9A-Za-z])", text or "")}


NAMED = _named()


def test_the_two_lists_are_all_the_rules() -> None:
    every = {f"P{number}" for number in range(1, 21)} | {f"D{number}" for number in range(1, 19)}
    assert set(COVERED) | LATER.keys() == every
    assert not set(COVERED) & LATER.keys()


@pytest.mark.parametrize("rule", COVERED)
def test_the_rule_is_named_by_a_test(rule: str) -> None:
    assert rule in NAMED, f"no test names {rule} in its name or docstring"
