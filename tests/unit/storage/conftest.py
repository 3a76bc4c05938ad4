from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from storage import Database

# Each example has ids of its own, so examples may share the database; the disk sets the pace, not the code.
settings.register_profile(
    "storage", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
STORAGE = settings.get_profile("storage")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with await Database.open(tmp_path / "data") as opened:
        yield opened
