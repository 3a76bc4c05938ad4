"""Which tables each command touches, and that none of them searches (D2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from commands.table import TABLE, Row
from index.builtin import BuiltinEmbedder
from memory.types import TurnKind
from tests.actors.touching import ALWAYS_SAID, Watch, send_file, watched


@pytest.fixture
async def watch(tmp_path: Path, embedder: BuiltinEmbedder, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watch]:
    async with watched(tmp_path, embedder, monkeypatch) as each:
        yield each


@dataclass(frozen=True)
class Told:
    """A command, the commands before it, what it touches beside the journal and the outbox, and what it answers."""

    command: str
    tables: Iterable[str] = ()
    before: tuple[str, ...] = ()
    answer: str = ""


SAVES = ("memories", "embeddings", "effects")
TAKES = (*SAVES, "undo")
DOCUMENT = ("documents", "chunks", "chunk_embeddings", "effects")
COMMANDS = {
    "memories": Told("!memories", answer="I remember 2 things"),
    "memories show": Told("!memories show 1", answer="Mochi"),
    "memories add": Told("!memories add I like tea", SAVES, answer="Saved"),
    "memories del": Told("!memories del 1", TAKES, answer="Forgotten: #1"),
    "memories edit": Told("!memories edit 1 Has a dog", TAKES, answer="now reads"),
    "memories clear": Told("!memories clear", (*TAKES, "user_state"), answer="Forgotten: 3"),
    "memories cleanup": Told("!memories cleanup", ("effects", "usage"), answer="nothing to tidy"),
    "memories undo": Told("!memories undo", ("memories", "effects", "undo"), ("!memories del 1",), answer="Undone"),
    "memories share": Told("!memories share 4", ("memories", "effects"), answer="#4"),
    "memories unshare": Told("!memories unshare 4", ("memories", "effects"), ("!memories share 4",), answer="#4"),
    "memories limit": Told("!memories limit 1 here", ("memories", "effects"), answer="#1"),
    "memories tag": Told("!memories tag 1 chess", ("memories", "effects"), answer="chess"),
    "memories export": Told("!memories export", answer="memories-"),
    "memories import": Told("!memories import", answer="not JSON"),
    "memories global": Told("!memories global 1", ("memories", "effects"), answer="Global now"),
    "memories room": Told("!memories room", answer="I remember 1 thing"),
    "memories room show": Told("!memories room show 3", answer="Film night"),
    "memories room add": Told("!memories room add Tea at five", SAVES, answer="Saved"),
    "memories room del": Told("!memories room del 3", TAKES, answer="Forgotten: #3"),
    "memories room edit": Told("!memories room edit 3 Film night", TAKES, answer="now reads"),
    "memories room cleanup": Told("!memories room cleanup", ("effects",), answer="nothing to tidy"),
    "memories room undo": Told(
        "!memories room undo", ("memories", "effects", "undo"), ("!memories room del 3",), answer="Undone"
    ),
    "documents": Told("!documents", answer="no documents"),
    "documents add": Told("!documents add", DOCUMENT, answer="House rules"),
    "documents del": Told("!documents del 1", DOCUMENT, ("!documents add",), answer="#1"),
    "verse on": Told("!verse on", ("scenes", "effects"), answer="scene is on"),
    "verse off": Told("!verse off", ("scenes", "effects"), ("!verse on",), answer="scene is over"),
    "why": Told("!why", answer="not answered you"),
    "usage": Told("!usage", answer="Today"),
    "config": Told("!config memory.max_per_user 40", ("settings", "effects"), answer="40"),
    "config list": Told("!config list", answer="Nothing is set"),
    "config reset": Told(
        "!config reset memory.max_per_user", ("settings", "effects"), ("!config memory.max_per_user 40",)
    ),
    "config room": Told("!config room memory.enabled off", ("settings", "effects"), answer="memory.enabled"),
    "config room reset": Told(
        "!config room reset memory.enabled", ("settings", "effects"), ("!config room memory.enabled off",)
    ),
    "privacy": Told("!privacy no-memory", ("user_state", "effects"), answer="no-memory"),
    "forget": Told("!forget", ("effects",), answer="begin anew"),
    "persona": Told("!persona captain", ("room_state", "effects"), answer="captain"),
    "help": Told("!help", answer="!memories"),
}


def named(rows: Iterable[Row], above: str = "") -> list[str]:
    """Return the names of commands and all below them, each with those above it."""
    return [name for row in rows for name in (f"{above}{row.name}", *named(row.below, f"{above}{row.name} "))]


def test_every_command_of_the_table_is_here() -> None:
    assert set(named(TABLE)) == COMMANDS.keys() | {kind.value for kind in TurnKind}


@pytest.mark.parametrize("name", COMMANDS)
async def test_d2_a_command_touches_its_tables_and_searches_nothing(watch: Watch, name: str) -> None:
    told, bot = COMMANDS[name], watch.bot
    file = send_file(bot)
    for command in told.before:
        await bot.say(command, reply_to=file)
    with watch.watching() as seen:
        await bot.say(told.command, reply_to=file)
    assert told.answer in bot.matrix.bodies()[-1]
    assert seen.tables == ALWAYS_SAID | set(told.tables)
    assert (seen.queries, seen.lists, seen.documents) == ((), (), ())
    assert seen.turns == Counter()
    assert bot.model.prompts == []
