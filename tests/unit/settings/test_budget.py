"""The daily budget and the prices of models, as settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from davenport.reload import Reloader
from davenport.settings_load import load
from llm.settings import LlmSettings
from memory.errors import SettingsError
from memory.spending import BudgetSettings, Price

WriteConfig = Callable[..., Path]

CURRENCY = """
[llm]
assistant_model = "big"
memory_model = "small"
daily_budget = 2.5
budget_unit = "currency"
"""
PRICES = """
[llm.prices."big"]
input = 3
output = 15.0
cache_read = 0.3
cache_write = 3.75
[llm.prices."small"]
input = 1
output = 5
"""


def fault(path: Path, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(SettingsError) as caught:
        load(path, environ or {})
    _, line = str(caught.value).splitlines()
    return line.removeprefix(f"  {path}: ")


def test_there_is_no_budget_unless_one_is_set(write_config: WriteConfig) -> None:
    settings = load(write_config(), {}).llm
    assert settings.budget() == BudgetSettings()
    assert settings.client() == LlmSettings()


def test_prices_are_read_by_model(write_config: WriteConfig) -> None:
    prices = {"big": Price(3, 15, 0.3, 3.75), "small": Price(1, 5)}
    assert load(write_config(CURRENCY + PRICES), {}).llm.budget() == BudgetSettings(2.5, "currency", prices)
    environ = {"DAVENPORT_LLM__PRICES": json.dumps({"big": {"input": 3, "output": 15}, "small": prices_of_small()})}
    assert load(write_config(CURRENCY), environ).llm.budget().prices["big"] == Price(3, 15)


def prices_of_small() -> dict[str, float]:
    return {"input": 1, "output": 5}


@pytest.mark.parametrize(
    ("left_out", "key"), [("big", "llm.assistant_model"), ("small", "llm.memory_model"), ("", "both")]
)
def test_a_model_without_a_price_is_refused_at_start_and_its_key_named(
    write_config: WriteConfig, left_out: str, key: str
) -> None:
    kept = PRICES.replace(f'"{left_out}"', '"other"') if left_out else ""
    keys = "llm.assistant_model and llm.memory_model" if key == "both" else key
    expected = f'llm.prices has no price for the model of {keys}; budget_unit "currency" needs it'
    assert fault(write_config(CURRENCY + kept)) == expected


def test_prices_are_needed_neither_for_tokens_nor_without_a_budget(write_config: WriteConfig) -> None:
    in_tokens = load(write_config(CURRENCY.replace("currency", "tokens")), {}).llm
    without = load(write_config(CURRENCY.replace("2.5", "0")), {}).llm
    assert (in_tokens.budget_unit, in_tokens.daily_budget, in_tokens.prices) == ("tokens", 2.5, {})
    assert (without.budget_unit, without.daily_budget, without.prices) == ("currency", 0, {})


def test_one_model_for_both_needs_one_price(write_config: WriteConfig) -> None:
    one = CURRENCY.replace('"small"', '""') + '[llm.prices."big"]\ninput = 3\noutput = 15\n'
    assert set(load(write_config(one), {}).llm.prices) == {"big"}


@pytest.mark.parametrize(
    "wrong",
    [
        '"big" = 3',
        "big = { input = 3 }",
        "big = { input = -1, output = 2 }",
        "big = { input = 1, output = 2, out = 3 }",
    ],
)
def test_a_price_that_is_none_is_refused(write_config: WriteConfig, wrong: str) -> None:
    assert fault(write_config(f"[llm.prices]\n{wrong}\n")).startswith("llm.prices must be a table by model with input")


def test_a_variable_that_is_not_json_is_refused(write_config: WriteConfig) -> None:
    line = fault(write_config(), {"DAVENPORT_LLM__PRICES": "big=3"})
    assert line.strip().startswith("DAVENPORT_LLM__PRICES: llm.prices must be a table by model")


def test_another_model_with_its_price_acts_at_once(write_config: WriteConfig) -> None:
    path = write_config(CURRENCY + PRICES)
    reloader = Reloader(path, load(path, {}), {})
    write_config((CURRENCY + PRICES).replace('"big"', '"bigger"').replace("2.5", "4"))
    reloader.reload()
    assert reloader.settings.llm.assistant_model == "bigger"
    assert reloader.settings.llm.budget().daily == 4
    assert reloader.settings.llm.budget().prices["bigger"].output == 15
