"""What the log says at the start about the model."""

from __future__ import annotations

import logging
import re
import tomllib
from pathlib import Path

import pytest
from pydantic import SecretStr

from davenport.clock import SystemClock
from davenport.services import opened_model
from davenport.settings_load import load
from llm.settings import LlmSettings

CONFIGURING = Path(__file__).parents[3] / "docs/configuring.md"
ACCOUNT = '[matrix]\nhomeserver = "https://a.org"\nuser_id = "@b:a.org"\npassword = "sesame-open"\n'


async def said(settings: LlmSettings, caplog: pytest.LogCaptureFixture) -> list[str]:
    async def admit() -> None:
        raise AssertionError("nothing is asked at the start")

    caplog.set_level(logging.INFO, "davenport.services")
    async with opened_model(settings, SystemClock(), admit, lambda usage: None):
        return [f"{record.levelname} {record.getMessage()}" for record in caplog.records]


async def test_server_and_models_are_named_and_the_key_is_not(caplog: pytest.LogCaptureFixture) -> None:
    settings = LlmSettings(base_url="http://127.0.0.1:11434", api_key=SecretStr("sk-x"), memory_model="")
    expected = "INFO the language model at http://127.0.0.1:11434: claude-sonnet-5-5 answers, claude-sonnet-5-5 finds"
    assert await said(settings, caplog) == [f"{expected} what to remember"]


async def test_without_a_key_the_fix_is_named(caplog: pytest.LogCaptureFixture) -> None:
    (line,) = await said(LlmSettings(), caplog)
    assert line.startswith("WARNING no key for the language model at https://api.anthropic.com: set llm.api_key")
    assert "ANTHROPIC_API_KEY" in line and "any text" in line


@pytest.mark.parametrize("block", re.findall(r"```toml\n(\[llm\].*?)```", CONFIGURING.read_text("utf-8"), re.DOTALL))
def test_the_examples_for_operators_load(tmp_path: Path, block: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(ACCOUNT + block, encoding="utf-8")
    settings = load(path, {})
    given = tomllib.loads(block)["llm"]
    assert settings.llm.model_dump(include=set(given) - {"api_key", "prices"}).items() <= given.items()
    assert set(settings.llm.prices) == set(given.get("prices", {}))


def test_there_are_examples() -> None:
    assert CONFIGURING.read_text("utf-8").count("```toml\n[llm]") == 2
