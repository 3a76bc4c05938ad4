"""A row that another program damaged: its list cannot be read, which costs neither an answer nor a day (D7)."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from memory.types import ScopeKind
from tests.actors.conftest import Bot
from tests.actors.test_saving import lay_down
from tests.actors.topic_embedder import TopicEmbedder

PIANO = "Plays the piano"
BOAT = "Has a boat"


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    each = Bot(tmp_path / "data", TopicEmbedder())
    await each.start()
    yield each
    await each.crash()


@pytest.mark.parametrize(("column", "value"), [("counted_on", "2026-13-77"), ("tags", "none"), ("source", "rumour")])
@pytest.mark.parametrize(("damaged", "sound"), [("room", "personal"), ("personal", "room")])
async def test_d7_a_damaged_row_changes_nothing_in_other_lists_and_costs_no_answer(
    bot: Bot, damaged: str, sound: str, column: str, value: str
) -> None:
    await lay_down(bot, PIANO, scope=ScopeKind(damaged), unused_days=0)
    await lay_down(bot, BOAT, scope=ScopeKind(sound), unused_days=8)
    await bot.say("")  # loads the lists, which then get their vectors
    await bot.restart()
    with closing(sqlite3.connect(bot.store.path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        connection.execute(f"UPDATE memories SET {column} = ? WHERE text = ?", (value, PIANO))  # noqa: S608
        bot.next_day()
        await bot.say("where is the boat?")
        found = connection.execute("SELECT unused_days FROM memories WHERE text = ?", (BOAT,)).fetchall()
    assert bot.matrix.bodies() == ["answer", "answer"]
    assert found == [(8,)]
