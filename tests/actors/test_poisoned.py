"""A fault of ours that one message meets each time: its sender is told, and the room goes on for everybody else."""

from __future__ import annotations

import asyncio

import pytest

from actors.documents import DocumentDesk
from actors.room import RoomActor
from memory.events import Answer, Incoming, JournalState
from tests.actors.conftest import BAU, ROOM, Bot, until


def failing(monkeypatch: pytest.MonkeyPatch, owner: type, method: str, times: int) -> list[None]:
    """Let a method of an actor fail so often; return a list of its failures, which grows."""
    whole = getattr(owner, method)
    failed: list[None] = []

    async def broken(self: object, *arguments: object, **named: object) -> object:
        if len(failed) < times:
            failed.append(None)
            raise ValueError("a fault")
        return await whole(self, *arguments, **named)

    monkeypatch.setattr(owner, method, broken)
    return failed


async def state(bot: Bot, event: Incoming) -> JournalState:
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event.event_id)
    assert entry is not None
    return entry.state


def said_to(bot: Bot, event: Incoming) -> list[str]:
    return [str(content["body"]) for _, _, content in bot.matrix.sent if content["answers"] == event.event_id]


async def test_a_command_that_makes_its_rooms_actor_fail_each_time_is_answered(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = failing(monkeypatch, DocumentDesk, "_list", times=100)
    poison = await bot.say("!documents")
    assert said_to(bot, poison) == [bot.parts.speaker(ROOM)("internal-error")]
    assert await state(bot, poison) is JournalState.FAILED
    assert len(failed) == 2, "it may have been a passing fault: it is tried once more"
    other = await bot.say("hello", BAU)
    assert said_to(bot, other) == ["answer"]
    await bot.restart()
    await bot.settle()
    assert len(failed) == 2, "a restart does not try it again"


async def test_a_command_that_makes_it_fail_once_is_carried_out(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, DocumentDesk, "_list", times=1)
    event = await bot.say("!documents")
    assert said_to(bot, event) == [bot.parts.speaker(ROOM)("documents-none")]


async def test_who_is_answered_beside_it_gets_the_answer(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, DocumentDesk, "_list", times=100)
    gate = bot.model.gates["slow"] = asyncio.Event()
    beside = bot.message("slow", BAU)
    await bot.deliver(beside)
    await until(lambda: "slow" in bot.model.replying)
    poison = bot.message("!documents")
    await bot.deliver(poison)
    await until(lambda: bool(said_to(bot, poison)))
    gate.set()
    await bot.settle()
    assert said_to(bot, poison) == [bot.parts.speaker(ROOM)("internal-error")]
    assert said_to(bot, beside) == ["answer"]


async def test_a_turn_that_makes_it_fail_each_time_is_answered_and_holds_up_nobody(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        failing(patch, RoomActor, "_score", times=100)
        poison = await bot.say("what now?")
    assert said_to(bot, poison) == [bot.parts.speaker(ROOM)("internal-error")]
    await bot.say("I have a cat")
    assert [request.exchange.said for request in bot.model.requests] == ["I have a cat"], "its pass is not waited for"


async def test_a_command_whose_answer_cannot_be_written_is_answered_all_the_same(bot: Bot) -> None:
    render = bot.matrix.render

    def broken(answer: Answer) -> tuple[str, ...]:
        if "no documents" in answer.markdown:
            raise RecursionError("too deep")
        return render(answer)

    bot.matrix.render = broken  # type: ignore[method-assign]
    poison = await bot.say("!documents")
    assert said_to(bot, poison) == [bot.parts.speaker(ROOM)("internal-error")]
    assert await state(bot, poison) is JournalState.FAILED
    assert said_to(bot, await bot.say("hello")) == ["answer"]
