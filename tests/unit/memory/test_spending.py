"""What calls cost, in tokens and by a table of prices."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from memory.model import Usage
from memory.spending import BudgetSettings, Price, next_reset, spent

USAGE = Usage(
    "big", input_tokens=1_000_000, output_tokens=200_000, cache_read_tokens=500_000, cache_write_tokens=10_000
)


def test_tokens_are_all_that_went_in_and_out() -> None:
    assert spent([USAGE, Usage("other", 1, 2, 3, 4)], BudgetSettings(1)) == 1_710_010


@pytest.mark.parametrize(
    ("price", "cost"),
    [
        (Price(3.0, 15.0, cache_read=0.3, cache_write=3.75), 3.0 + 3.0 + 0.15 + 0.0375),
        (Price(3.0, 15.0), 3.0 + 3.0 + 1.5 + 0.03),
        (Price(0.0, 0.0), 0.0),
    ],
)
def test_money_goes_by_the_price_of_the_model_and_kind_of_token(price: Price, cost: float) -> None:
    assert spent([USAGE], BudgetSettings(1, "currency", {"big": price})) == pytest.approx(cost)


def test_a_model_without_a_price_costs_what_the_dearest_would() -> None:
    prices = {"small": Price(1, 5), "big": Price(10, 50)}
    assert spent([Usage("gone", 1_000_000)], BudgetSettings(1, "currency", prices)) == 10


def test_the_budget_is_new_at_midnight_utc() -> None:
    assert next_reset(date(2026, 12, 31)) == datetime(2027, 1, 1, tzinfo=UTC)
