from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from davenport.clock import MovableClock
from davenport.panel import Panel
from davenport.settings import Settings
from storage import Database

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def settings_for(folder: Path, **http: object) -> Settings:
    account = {"homeserver": "http://127.0.0.1:1", "user_id": "@bot:hs", "password": "sesame"}
    return Settings.model_validate({"matrix": account, "storage": {"data_dir": folder}, "http": http})


@pytest.fixture
async def panel(tmp_path: Path) -> AsyncIterator[Panel]:
    """What operators see of a bot whose database is open and that waits for its homeserver."""
    async with await Database.open(tmp_path / "data") as store:
        yield Panel(settings_for(tmp_path / "data"), store, MovableClock(NOW))
