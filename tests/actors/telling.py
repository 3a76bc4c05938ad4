"""A story of three parts and two pictures, told by a bot without a homeserver: what its tests share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from memory.drawing import SYSTEM_TEXT as DRAWING_TEXT
from memory.errors import ModelError
from memory.events import Incoming, JournalEntry
from memory.model import Prompt, Reply
from memory.story import PART_SYSTEM_TEXT, PartPlan, StoryPlan, StoryRequest
from memory.text import unfence
from tests.actors.conftest import ROOM, Bot, until
from tests.fakes.media import FakeMedia
from texts.catalogue import Speaker

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><title>A fox at the edge of a wood</title></svg>'
PLAN = StoryPlan(
    "The Fox *and* the Moon",
    (
        PartPlan("The wood", "A fox sets out.", "A fox at the edge of a wood"),
        PartPlan("The hill", "She climbs."),
        PartPlan("The moon", "She finds it.", "The moon above a hill"),
    ),
)
DIRECT = "!direct:hs"
ASKED = "!story a fox who looks for the moon"
say = Speaker()
LINES = [
    "Thinking up the story …",
    "Writing part 1 of 3 …",
    "Drawing picture 1 of 2 …",
    "Writing part 2 of 3 …",
    "Writing part 3 of 3 …",
    "Drawing picture 2 of 2 …",
    "**The Fox \\*and\\* the Moon**, in 3 parts, is in the thread. It has 2 pictures.",
]
THREAD = [
    "## The Fox \\*and\\* the Moon\n\n### The wood\n\nText 1.",
    "picture-1.png",
    "### The hill\n\nText 2.",
    "### The moon\n\nText 3.",
    "picture-2.png",
]


def part_of(prompt: Prompt) -> int:
    """Which part a prompt asks for; 0: it asks for none."""
    if prompt.system[0].text != PART_SYSTEM_TEXT:
        return 0
    [part] = unfence("part", prompt.messages[-1].blocks[-1].text)
    return int(part.attributes["number"])


def tells(prompt: Prompt) -> str:
    if prompt.system[0].text == DRAWING_TEXT:
        return SVG
    number = part_of(prompt)
    return f"Text {number}." if number else "answer"


def instead(part: int, answer: Reply | ModelError | str) -> Callable[[Prompt], str | Reply | ModelError]:
    """Tell, but answer otherwise when a part is asked for."""
    return lambda prompt: answer if part_of(prompt) == part else tells(prompt)


async def all_is_out(bot: Bot) -> None:
    """Wait until the homeserver has all that was said."""

    async def out() -> bool:
        async with bot.store.transaction() as tables:
            return not await tables.outbox.pending()

    await until(out)


def telling(bot: Bot) -> Bot:
    """Let the model plan PLAN and tell it."""
    bot.media = FakeMedia()
    bot.model.planner = lambda request: PLAN
    bot.model.answer = tells
    return bot


def paced(bot: Bot) -> Bot:
    """Let the model wait until what was said is out, so that the room sees every edit of the line."""
    reply, plan = bot.model.reply, bot.model.plan_story

    async def paced_reply(*arguments: Any) -> Reply:
        await all_is_out(bot)
        return await reply(*arguments)

    async def paced_plan(request: StoryRequest) -> Any:
        await all_is_out(bot)
        return await plan(request)

    bot.model.reply, bot.model.plan_story = paced_reply, paced_plan  # type: ignore[method-assign]
    return bot


def as_teller(bot: Bot) -> Bot:
    """Return a started bot that tells, paced."""
    paced(telling(bot))
    bot.parts = replace(bot.parts, media=bot.media)
    return bot


def lines(bot: Bot, room: str = ROOM) -> list[str]:
    """What the edited line said, one after the other, as the room shows it; each edit is of the first."""
    notices = [(each, content) for where, each, content in bot.matrix.sent if where == room and content["notice"]]
    edits = [(content, relation) for _, content in notices if (relation := content.get("m.relates_to"))]
    first = next((each, content) for each, content in notices if "m.relates_to" not in content)
    assert all(relation == {"rel_type": "m.replace", "event_id": first[0]} for _, relation in edits)
    return [str(first[1]["body"]), *(str(content["body"]) for content, _ in edits)]


def thread(bot: Bot, event: Incoming, root: str | None = None) -> list[str]:
    """What was said in the story's thread, notices left out."""
    said = [
        content for _, _, content in bot.matrix.sent if not content["notice"] and content["answers"] == event.event_id
    ]
    assert {content["thread"] for content in said} <= {root or event.event_id}
    return [str(content["body"]) for content in said]


async def entry_of(bot: Bot, event: Incoming) -> JournalEntry:
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event.event_id)
    assert entry is not None
    return entry


async def rows_of(bot: Bot, query: str) -> list[Any]:
    async with bot.store.transaction() as tables:
        return list(await tables.outbox._sql.rows(query))  # type: ignore[attr-defined]


async def spent(bot: Bot) -> list[tuple[str, int]]:
    return [tuple(row) for row in await rows_of(bot, "SELECT purpose, count(*) FROM usage GROUP BY purpose ORDER BY 1")]


def holding(bot: Bot, part: int) -> tuple[asyncio.Event, asyncio.Event]:
    """Hold the reply with a part back: the events that it was asked for, and that it may come."""
    asked, go = asyncio.Event(), asyncio.Event()
    reply = bot.model.reply

    async def held(prompt: Prompt, *more: Any) -> Reply:
        if part_of(prompt) == part:
            await all_is_out(bot)
            asked.set()
            await go.wait()
        return await reply(prompt, *more)

    bot.model.reply = held  # type: ignore[method-assign]
    return asked, go


def cut(number: int, reason: str) -> str:
    """Return the sentence on a story that has so many parts. reason: the id of a text."""
    return say("story-cut", number=number, total=3, reason=say(reason))
