"""The table of mutants read, and the tests of each rule found by what they say of themselves."""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("table.toml")
PROMOTION = tuple(f"P{number}" for number in range(1, 21))
DECAY = tuple(f"D{number}" for number in range(1, 19))

_CITED = re.compile(r"(?<![A-Za-z0-9])([PpDd])(20|1?[0-9])(?![0-9A-Za-z])")
_RANGE = re.compile(r"(?<![A-Za-z0-9])([PpDd])([0-9]{1,2})(?:-| to )[PpDd]([0-9]{1,2})(?![0-9A-Za-z])")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: in `file`, `old` stands exactly once, and with `new` in its place each of `tests` fails."""

    rule: str
    fault: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def applied(self, text: str) -> str:
        """Return the file's text with the fault in it. Raises ValueError where `old` is not there exactly once."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.rule}, {self.fault}: stands {text.count(self.old)} times in {self.file}")
        return text.replace(self.old, self.new)


def mutants() -> tuple[Mutant, ...]:
    """Return the table, in its order."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["mutant"]
    return tuple(Mutant(**{**row, "tests": tuple(row["tests"])}) for row in rows)


def cited(text: str) -> frozenset[str]:
    """Return the rules a text names, such as P7 in `test_p7_…`; of a range, P2-P5, all of it."""
    found = {f"{letter.upper()}{number}" for letter, number in _CITED.findall(text)}
    for letter, first, last in _RANGE.findall(text):
        found |= {f"{letter.upper()}{number}" for number in range(int(first), int(last) + 1)}
    return frozenset(found)


@lru_cache(maxsize=1)
def citing_tests() -> dict[str, frozenset[str]]:
    """Return every test by its id (`tests/…/test_x.py::test_y`), with the rules that its name or docstring cites.

    A state machine counts as one test, `…::TestX`, and cites what its module does.
    """
    found: dict[str, frozenset[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        name = path.relative_to(ROOT).as_posix()
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found[f"{name}::{node.name}"] = cited(f"{node.name} {ast.get_docstring(node) or ''}")
            elif isinstance(node, ast.Assign) and _is_machine(node):
                machine = node.targets[0]
                assert isinstance(machine, ast.Name)
                found[f"{name}::{machine.id}"] = cited(ast.get_docstring(tree) or "")
    return found


def _is_machine(node: ast.Assign) -> bool:
    """Whether this is `TestX = X.TestCase`."""
    return isinstance(node.value, ast.Attribute) and node.value.attr == "TestCase"


def rule_order(rule: str) -> tuple[bool, int]:
    """Sort P before D, and each by number."""
    return rule.startswith("D"), int(rule[1:])
