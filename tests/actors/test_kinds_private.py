"""Drawings, stories, code, pictures and documents of somebody alone with the bot, where others come in (D8)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from memory.drawing import SYSTEM_TEXT as DRAWING_TEXT
from memory.errors import ModelError
from memory.media import Attachment, MediaKind
from memory.model import Prompt
from memory.seeing import UNREADABLE
from tests.actors.conftest import BAU, BOT, Bot, until
from tests.fakes.media import JPEG, FakeMedia

DIRECT = "!direct:hs"
ALONE: dict[str, object] = {"room": DIRECT, "direct": True, "alone": True}
JOINED: dict[str, object] = {"room": DIRECT, "direct": True, "alone": False}
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><title>A secret cat</title></svg>'
CODE = "A secret script:\n\n```python\n" + "print('secret')\n" * 40 + "```"


def answers(prompt: Prompt) -> str:
    return SVG if prompt.system[0].text == DRAWING_TEXT else CODE


@pytest.fixture
def secretive(bot: Bot) -> Bot:
    bot.media = FakeMedia()
    bot.parts = replace(bot.parts, media=bot.media)
    bot.model.answer = answers
    return bot


def shown(bot: Bot, room: str) -> str:
    return repr([content for where, _, content in bot.matrix.sent if where == room])


KINDS = ["my secret?", "!code my secret", "!draw my secret", "!story my secret"]


@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("text", KINDS)
async def test_d8_what_was_asked_in_private_is_answered_in_private_though_another_came_in_before_its_turn(
    secretive: Bot, text: str, failing: bool
) -> None:
    """A message may wait for the one before it, or for a restart."""
    bot = secretive
    gate = bot.model.gates["first"] = asyncio.Event()
    await bot.deliver(bot.message("first", **ALONE))
    await until(lambda: bot.model.replying == {"first"})
    event = bot.message(text, **ALONE)
    bot.matrix.joined[DIRECT].add(BAU)
    if failing:
        bot.model.answer = lambda prompt: ModelError("down")
        bot.model.planner = lambda request: ModelError("down")
    await bot.deliver(event)
    gate.set()
    await bot.settle()
    assert "secret" not in shown(bot, DIRECT)
    assert bot.matrix.sent


@pytest.mark.parametrize("text", KINDS)
async def test_d8_nor_after_a_restart(secretive: Bot, text: str) -> None:
    bot = secretive
    bot.model.gates["secret"] = asyncio.Event()
    bot.model.plan_gate = asyncio.Event()
    event = bot.message(text, **ALONE)
    await bot.deliver(event)
    await until(lambda: bool(bot.model.replying or bot.model.story_requests))
    bot.matrix.joined[DIRECT].add(BAU)
    bot.model.gates.clear()
    bot.model.plan_gate = None
    await bot.restart()
    await bot.settle()
    assert "secret" not in shown(bot, DIRECT)
    assert bot.matrix.sent


async def test_d8_a_drawing_of_the_bots_asked_for_in_private_long_ago_is_looked_at_for_nobody_else(
    secretive: Bot,
) -> None:
    bot = secretive
    await bot.say("!draw my secret", **ALONE)
    [(_, drawn, _)] = bot.matrix.sent
    bot.matrix.files[DIRECT, drawn] = Attachment("d.png", "image/png", JPEG.data, kind=MediaKind.IMAGE, sender=BOT)
    bot.next_day(40)
    async with bot.store.transaction() as tables:
        await tables.journal.prune(bot.clock.now())
        await tables.journal.forget(bot.clock.now(), 1000)
        await tables.outbox.prune(bot.clock.now())
    await bot.say("what is this?", BAU, reply_to=drawn, **JOINED)
    assert bot.model.prompts[-1].messages[-1].images == ()
    assert UNREADABLE in repr(bot.model.prompts[-1].messages[-1])
