"""What `davenport status` tells, from real parts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from pydantic import SecretStr

from actors.actor import Actor, Address
from actors.ports import Vectors
from actors.runtime import ActorSystem
from actors.sweep import Progress
from davenport.clock import MovableClock
from davenport.day import DayTurn, Keeping
from davenport.panel import Panel
from davenport.status import as_text, status
from llm.client import AnthropicModel
from llm.settings import LlmSettings
from memory.events import OutboxRow
from memory.types import Draft, Origin, ScopeKind, Source
from tests.unit.operations.conftest import NOW


def row(number: int, minutes: int) -> OutboxRow:
    return OutboxRow(f"t{number}", "!r:hs", "$e", number, "{}", NOW - timedelta(minutes=minutes))


async def test_a_bot_that_still_connects_says_so(panel: Panel) -> None:
    found = await status(panel)
    assert found["state"] == "connecting"
    assert (found["actors"], found["model"], found["sync"]) == (None, None, {"age_seconds": None, "rooms": None})
    text = as_text(found)
    assert "connecting for 0:00:00" in text
    assert "sync:      none yet, unknown rooms" in text
    assert "model:     not open yet" in text


async def test_counts_outbox_and_actors_are_those_of_the_parts(panel: Panel) -> None:
    system = panel.system = ActorSystem({"room": Actor, "user": Actor})
    panel.day = DayTurn(panel.store, system, Keeping())
    assert isinstance(panel.clock, MovableClock)
    await panel.day.day_turn(NOW)
    async with panel.store.transaction() as tables:
        await tables.outbox.add([row(1, 3), row(2, 1), row(3, 9)])
        await tables.outbox.sent("t3", "$sent")
        for scope, owner in ((ScopeKind.PERSONAL, "@a:hs"), (ScopeKind.ROOM, "!r:hs")):
            draft = Draft(scope, owner, "default", "likes tea", Source.TOOL, Origin("!r:hs", "$1", False), NOW)
            await tables.memories.insert(draft, NOW)
        for user in ("@a:hs", "@b:hs"):
            await tables.candidates.insert(user, "likes tea", Origin("!r:hs", "$1", False), NOW)
    for _ in range(3):
        await system.tell(Address("room", "!r:hs"), object())
    await system.tell(Address("user", "@a:hs"), object())
    found = await status(panel)
    assert found["counts"] == {"memories": 2, "candidates": 2, "users": 2}
    assert found["outbox"] == {"rows": 2, "oldest_seconds": 180.0}
    assert found["day_turn"] == {"last": NOW.isoformat()}
    restarted = DayTurn(panel.store, system, Keeping())
    await restarted.recall()
    assert restarted.last == NOW
    assert found["actors"]["by_kind"] == {"room": 1, "user": 1}
    text = as_text(found)
    assert "outbox:    2 to send, the oldest for 0:03:00" in text
    assert "2 loaded (1 room, 1 user)" in text
    assert "memory:    2 memories, 2 candidates, 2 users" in text
    await system.close()


class Model:
    model_id, dim, match_threshold, document_threshold = "words", 3, 0.5, 0.5

    async def embed(self, texts: Sequence[str]) -> Vectors:
        raise NotImplementedError


async def test_d17_what_is_still_to_be_embedded_is_told(panel: Panel) -> None:
    assert "embedder:  none (builtin)" in as_text(await status(panel))
    panel.embedder = Model()
    found = await status(panel)
    assert found["embedder"] == {
        "provider": "builtin", "model_id": "words", "dim": 3, "embedded": None, "left": None
    }  # fmt: skip
    panel.sweep = Progress(done=320, left=180)
    found = await status(panel)
    assert (found["embedder"]["embedded"], found["embedder"]["left"]) == (320, 180)
    assert "embedder:  words, 320 memories embedded anew, 180 left\n" in as_text(found)
    panel.sweep.left = 0
    assert "embedder:  words\n" in as_text(await status(panel))


class Busy(Actor):
    """Takes a message and is not done with it."""

    taken = asyncio.Event()

    async def handle(self, message: object) -> None:
        self.taken.set()
        await asyncio.Event().wait()


async def test_the_fullest_mailbox_is_told(panel: Panel) -> None:
    system = panel.system = ActorSystem({"room": Busy})
    for room_id, messages in (("!a:hs", 4), ("!b:hs", 1)):
        for _ in range(messages):
            await system.tell(Address("room", room_id), "work")
    await Busy.taken.wait()
    actors = (await status(panel))["actors"]
    assert (actors["loaded"], actors["mailbox_messages"], actors["mailbox_fullest"]) == (2, 3, 3)
    await system.close()


async def test_the_model_is_named_and_its_key_is_not(panel: Panel) -> None:
    panel.model = AnthropicModel(LlmSettings())
    assert "model:     no key" in as_text(await status(panel))
    panel.model = AnthropicModel(LlmSettings(api_key=SecretStr("sk-secret")))
    found = await status(panel)
    assert found["model"]["key"] is True
    assert "secret" not in str(found)
    assert "claude-sonnet-5-5 and claude-haiku-5-5 at https://api.anthropic.com" in as_text(found)
    await panel.model.aclose()
