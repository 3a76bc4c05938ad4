"""The table of mutants fits the tree; `make mutants` shows that it is true."""

from __future__ import annotations

import ast

import pytest

from tests.mutants.table import DECAY, PROMOTION, ROOT, Mutant, cited, citing_tests, mutants
from tests.mutants.write import PAGE, page

TABLE = mutants()
IDS = [f"{mutant.rule}-{number}" for number, mutant in enumerate(TABLE)]


@pytest.mark.parametrize("mutant", TABLE, ids=IDS)
def test_the_fault_can_be_put_in_and_is_still_a_program(mutant: Mutant) -> None:
    broken = mutant.applied((ROOT / mutant.file).read_text(encoding="utf-8"))
    assert mutant.old != mutant.new
    ast.parse(broken)


@pytest.mark.parametrize("mutant", TABLE, ids=IDS)
def test_each_test_named_for_it_is_there_and_cites_the_rule(mutant: Mutant) -> None:
    assert mutant.tests
    for test in mutant.tests:
        assert mutant.rule in citing_tests().get(test, ()), test


def test_every_rule_has_a_fault() -> None:
    assert {mutant.rule for mutant in TABLE} >= {*PROMOTION, *DECAY}


def test_a_range_cites_all_that_is_in_it() -> None:
    assert cited("P2-P4, d7 and test_p10_x; D1 to D3, not PD5 or P21") == {
        *("P2", "P3", "P4", "P10"),
        *("D1", "D2", "D3", "D7"),
    }


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make pages`"
