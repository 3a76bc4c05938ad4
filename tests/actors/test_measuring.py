"""What is counted on the way of a message, and that its event id leads through the log from journal to sent."""

from __future__ import annotations

import json
import logging
from collections import Counter
from dataclasses import replace

import pytest

from actors import outbox
from actors.actor import Actor, Address
from actors.metrics import timed
from actors.runtime import ActorSystem
from actors.tracing import followed, following
from davenport.logs import JsonLines, name_event
from memory.errors import MatrixError, ModelError
from memory.model import ToolCall
from memory.settings import MemorySettings
from tests.actors.conftest import Bot

MOCHI = {"Mochi": "Cat is named Mochi"}


class Counting:
    """Satisfies the Metrics port."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[object, ...]] = Counter()
        self.stages: dict[str, float] = {}

    def turn(self, kind: str, outcome: str) -> None:
        self.seen["turn", str(kind), outcome] += 1

    def stage(self, stage: str, seconds: float) -> None:
        self.stages[stage] = seconds

    def extraction(self, outcome: str) -> None:
        self.seen["extraction", outcome] += 1

    def memories(self, change: str, count: int) -> None:
        self.seen["memories", change] += count

    def send(self, outcome: str) -> None:
        self.seen["send", outcome] += 1

    def quota(self, command: str, kind: str, *, enforced: bool) -> None:
        self.seen["quota", command, kind, enforced] += 1


@pytest.fixture
def counting(bot: Bot) -> Counting:
    counting = Counting()
    bot.parts = replace(bot.parts, metrics=counting)
    return counting


async def test_a_turn_is_counted_with_its_stages_and_what_it_taught(bot: Bot, counting: Counting) -> None:
    bot.learns(MOCHI)
    await bot.say("my cat is named Mochi")
    await bot.say("Mochi again")
    assert counting.seen["turn", "ask", "answered"] == 2
    assert counting.seen["extraction", "applied"] == 2
    assert counting.seen["memories", "promoted"] == 1
    assert counting.seen["send", "sent"] == 2
    assert set(counting.stages) == {"embed", "score", "settle", "prompt", "own", "store"}
    assert counting.stages["own"] > counting.stages["embed"] > 0


async def test_a_recall_a_save_and_a_deletion_are_counted(bot: Bot, counting: Counting) -> None:
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"scope": "me", "text": "Cat is named Mochi"})]
    await bot.say("remember that my cat is named Mochi")
    bot.model.tool_calls = []
    assert counting.seen["memories", "saved"] == 1
    bot.settings.rules = MemorySettings(rest_after_days=1)
    bot.next_day()
    await bot.say("how do I bake bread?")
    await bot.say("what is my cat Mochi called?")
    assert counting.seen["memories", "recalled"] == 1
    [memory] = await bot.memories()
    await bot.say(f"!memories del {memory.id}")
    assert counting.seen["memories", "deleted"] == 1


async def test_p17_a_pass_that_could_not_run_is_counted(bot: Bot, counting: Counting) -> None:
    bot.model.find = lambda request: ModelError("down")
    await bot.say("my cat is named Mochi")
    assert counting.seen["extraction", "failed"] == 1


async def test_p2_a_pass_that_was_not_to_run_is_counted(bot: Bot, counting: Counting) -> None:
    bot.settings.rules = MemorySettings(enabled=False)
    await bot.say("my cat is named Mochi")
    assert counting.seen["extraction", "skipped"] == 1


async def test_a_turn_the_model_or_a_fault_ended_is_counted(bot: Bot, counting: Counting) -> None:
    bot.model.answer = lambda prompt: ModelError("down")
    await bot.say("hello")
    bot.model.answer = lambda prompt: 1 // 0
    await bot.say("hello again")
    assert counting.seen["turn", "ask", "failed"] == 1
    assert counting.seen["turn", "ask", "error"] == 1


async def test_sending_again_keeping_and_refusal_are_counted(
    bot: Bot, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "ATTEMPTS", 2)
    bot.matrix.failures = [MatrixError("busy", retry_after=0.0)]
    await bot.say("one")
    assert (counting.seen["send", "retried"], counting.seen["send", "sent"]) == (1, 1)
    bot.matrix.failures = [MatrixError("gone", permanent=True)]
    await bot.say("two")
    assert counting.seen["send", "refused"] == 1
    bot.matrix.failures = [MatrixError("busy", retry_after=0.0), MatrixError("busy", retry_after=0.0)]
    await bot.say("three")
    assert counting.seen["send", "kept"] == 1


def test_a_stage_that_fails_is_measured_too() -> None:
    counting = Counting()
    with pytest.raises(ZeroDivisionError), timed(counting, "embed"):
        _ = 1 // 0
    assert counting.stages["embed"] >= 0


async def test_an_event_is_followed_from_the_journal_to_the_homeserver(
    bot: Bot, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    event = await bot.say("my cat is named Mochi")
    records = [json.loads(JsonLines().format(record)) for record in caplog.records]
    own = [record for record in records if record.get("event_id") == event.event_id]
    assert [record["message"] for record in own] == ["journalled", "answered", "sent", "learned"]
    assert own[2]["sent_event_id"] == "$sent0"
    assert "Mochi" not in json.dumps(records)


async def test_records_of_an_events_work_name_it(bot: Bot) -> None:
    found: list[str | None] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            name_event(record)
            found.append(getattr(record, "event_id", None))

    handler, log = Listener(), logging.getLogger("tests.measuring")
    log.addHandler(handler)

    def answer(prompt: object) -> str:
        log.warning("in the model")
        return "answer"

    bot.model.answer = answer
    event = await bot.say("hello")
    log.warning("outside")
    log.removeHandler(handler)
    assert found == [event.event_id, None]


async def test_an_actor_does_not_keep_the_event_that_woke_it() -> None:
    found: list[str | None] = []

    class Woken(Actor):
        async def handle(self, message: object) -> None:
            found.append(followed())

    system = ActorSystem({"any": Woken})
    with following("$first"):
        await system.tell(Address("any", "one"), "wake")
    assert await system.drain(5)
    await system.close()
    assert found == [None]


async def test_the_depths_of_mailboxes_are_known(bot: Bot) -> None:
    await bot.say("hello")
    assert isinstance(bot.system, ActorSystem)
    assert bot.system.depths == (0, 0, 0)
    await bot.system.tell(Address("room", "!other:hs"), object())
    assert max(bot.system.depths) == 1
    await bot.settle()
    assert followed() is None
