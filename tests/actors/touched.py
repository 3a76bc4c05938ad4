"""Which tables one piece of work changes, without a watch over the whole bot (see touching.py)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.actors.touching import all_rows


async def touched(folder: Path, work: Callable[[], Awaitable[object]]) -> set[str]:
    """Do something and return the tables that have other rows by it."""
    before = all_rows(folder)
    await work()
    after = all_rows(folder)
    return {name for name in after if after[name] != before[name]}
