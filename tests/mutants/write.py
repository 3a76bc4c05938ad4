"""The page docs/rules-tests.md: each rule with the tests that cite it, and the faults they notice."""

from __future__ import annotations

from tests.mutants.table import DECAY, PROMOTION, ROOT, citing_tests, mutants, rule_order

PAGE = ROOT / "docs" / "rules-tests.md"
NAMED = 3  # of the tests that cite a rule

_HEAD = """\
# Which tests hold which rule

Written by `make pages` from the tests themselves and from `tests/mutants/table.toml`; change them there.

A test cites a rule by its number in its name or its docstring. For each rule there is a small fault of the code that
carries it out; `make mutants` puts one after the other into a copy of the tree and shows that the tests named beside it
fail there, and only there. The rules: [memory.md](memory.md).
"""


def page() -> str:
    """Return the page."""
    return "\n".join((_HEAD, _tests(), _faults()))


def _tests() -> str:
    lines = ["## Tests by rule", "", "| Rule | Tests that cite it | The first of them |", "|---|---|---|"]
    by_test = citing_tests()
    for rule in (*PROMOTION, *DECAY):
        found = sorted(test for test, rules in by_test.items() if rule in rules)
        first = "<br>".join(f"`{_short(test)}`" for test in found[:NAMED])
        lines.append(f"| {rule} | {len(found)} | {first} |")
    return "\n".join((*lines, ""))


def _faults() -> str:
    lines = ["## Faults by rule", "", "| Rule | Fault | In | Noticed by |", "|---|---|---|---|"]
    for mutant in sorted(mutants(), key=lambda each: rule_order(each.rule)):  # of one rule in the order of the table
        tests = "<br>".join(f"`{_short(test)}`" for test in mutant.tests)
        lines.append(f"| {mutant.rule} | {mutant.fault} | `{mutant.file}` | {tests} |")
    return "\n".join((*lines, ""))


def _short(test: str) -> str:
    return test.removeprefix("tests/")
