"""`!story`: planned and told part by part in a thread; no memories, no search, nothing learned (Words, D2, P1)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from actors.spending import Spending
from memory.errors import MatrixError, ModelAnswerInvalid, ModelError, ModelPaused, Refused
from memory.events import JournalState
from memory.model import Reply, Usage
from memory.settings import KindSettings
from memory.spending import BudgetSettings
from memory.story import PartPlan, StoryPlan, StoryRequest
from memory.text import unfence
from memory.types import TurnKind
from tests.actors.conftest import BAU, ROOM, Bot, until
from tests.actors.telling import (
    ASKED,
    LINES,
    PLAN,
    THREAD,
    as_teller,
    cut,
    entry_of,
    holding,
    instead,
    lines,
    part_of,
    rows_of,
    say,
    spent,
    telling,
    thread,
)
from tests.fakes.media import PNG, FakeMedia


@pytest.fixture
def teller(bot: Bot) -> Bot:
    return as_teller(bot)


# --- it is told ------------------------------------------------------------------------------------------------------


async def test_a_story_is_told_in_a_thread_and_a_line_says_how_far_it_is(teller: Bot) -> None:
    event = await teller.say(ASKED)
    assert lines(teller) == LINES
    assert thread(teller, event) == THREAD
    assert teller.matrix.uploads == [PNG.data, PNG.data]
    entry = await entry_of(teller, event)
    assert (entry.state, entry.turn, entry.answer) == (JournalState.LEARNED, TurnKind.STORY, None)
    assert await spent(teller) == [("story", 6)]
    line = teller.matrix.sent[0][2]
    assert (line["thread"], line["answers"], line["notice"]) == (None, event.event_id, True)


async def test_a_picture_that_says_nothing_of_itself_is_described_by_the_plan_alone(teller: Bot) -> None:
    """What the painter is told besides stands in English around it, whatever language the story is in."""
    asked: list[str] = []

    class Painter:
        async def paint(self, description: str) -> bytes:
            asked.append(description)
            return b"as painted"

    teller.painter = Painter()
    await teller.restart()
    await teller.say(ASKED)
    shown = [part.picture for part in PLAN.parts if part.picture]
    assert [str(content["alt"]) for _, _, content in teller.matrix.sent if content.get("alt")] == shown
    assert all(picture in said and said != picture for picture, said in zip(shown, asked, strict=True))


async def test_the_model_is_given_the_request_the_plan_and_what_was_told(teller: Bot) -> None:
    teller.settings.of_kinds = KindSettings(story_parts=4, story_illustrations=2)
    await teller.say(ASKED)
    assert teller.model.story_requests == [StoryRequest("a fox who looks for the moon", 4, 2)]
    prompts = [prompt for prompt in teller.model.prompts if part_of(prompt)]
    assert [part_of(prompt) for prompt in prompts] == [1, 2, 3]
    told = [unfence("told", prompt.messages[-1].blocks[1].text)[0].text for prompt in prompts]
    assert told == ["", "Text 1.", "Text 1.\n\nText 2."]
    assert len({prompt.system for prompt in prompts}) == len({prompt.messages[0].blocks[0] for prompt in prompts}) == 1


async def test_asked_in_a_thread_all_of_it_is_said_there(teller: Bot) -> None:
    event = await teller.say(ASKED, thread_root="$root")
    assert thread(teller, event, "$root") == THREAD
    assert {content["thread"] for _, _, content in teller.matrix.sent} == {"$root"}


async def test_a_slow_homeserver_gets_the_story_whole_and_only_the_last_line(bot: Bot) -> None:
    bot.parts = replace(bot.parts, media=telling(bot).media)
    bot.matrix.failures = [MatrixError("down", retry_after=0.0)] * 6 + [MatrixError("down", retry_after=0.05)]
    event = await bot.say(ASKED)
    assert thread(bot, event) == THREAD
    assert lines(bot) == [LINES[0], LINES[-1]]


async def test_drawing_switched_off_there_are_no_pictures(teller: Bot) -> None:
    teller.settings.of_kinds = KindSettings(draw_enabled=False)
    await teller.say(ASKED)
    assert teller.model.story_requests[0].pictures == 0


async def test_a_story_of_one_part_has_no_headings(teller: Bot) -> None:
    teller.model.planner = lambda request: StoryPlan("Rain", (PartPlan("Heading", "It rains."),))
    event = await teller.say(ASKED)
    assert thread(teller, event) == ["## Rain\n\nText 1."]
    assert lines(teller)[-1] == "**Rain**, in 1 part, is in the thread."


async def test_it_is_told_about_in_the_language_of_the_room(teller: Bot) -> None:
    teller.settings.languages[ROOM] = "de"
    await teller.say(ASKED)
    assert lines(teller)[-1] == "**The Fox \\*and\\* the Moon**, in 3 Teilen, steht im Thread. Dazu gibt es 2 Bilder."


# --- nothing is remembered (Words) ------------------------------------------------------------------------------------


async def test_d2_p1_no_search_no_memories_no_extraction_no_window(
    teller: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    teller.learns({"Mochi": "Cat is named Mochi"})
    teller.settings.rules = replace(teller.settings.rules, promotion_threshold=1)
    await teller.say("my cat is named Mochi")
    teller.next_day()
    before, passes = await teller.memories(), len(teller.model.requests)
    searches: list[str] = []
    monkeypatch.setattr(teller.embedder, "embed_query", searches.append)
    teller.model.prompts.clear()
    await teller.say("!story a cat called Mochi")
    monkeypatch.undo()
    assert searches == []
    assert await teller.memories() == before
    assert len(teller.model.requests) == passes
    assert "Cat is named Mochi" not in repr(teller.model.prompts)
    assert "my cat is named" not in repr(teller.model.prompts)
    teller.model.prompts.clear()
    await teller.say("and now?")
    assert "Text 1" not in repr(teller.model.prompts)
    assert "a cat called Mochi" not in repr(teller.model.prompts)


async def test_which_tables_a_story_changes(teller: Bot) -> None:
    tables = [row[0] for row in await rows_of(teller, "SELECT name FROM sqlite_master WHERE type = 'table'")]

    async def dumped() -> dict[str, list[Any]]:
        return {name: await rows_of(teller, f"SELECT * FROM {name}") for name in tables}  # noqa: S608 - names of ours

    await teller.deliver()
    before = await dumped()
    await teller.say(ASKED)
    after = await dumped()
    changed = {name for name in tables if before[name] != after[name]}
    assert changed - {"sqlite_sequence"} == {"journal", "sync_state", "outbox", "usage"}


# --- it may be told ---------------------------------------------------------------------------------------------------


async def test_switched_off_in_the_room_it_is_refused(teller: Bot) -> None:
    teller.settings.of_kinds = KindSettings(story_enabled=False)
    await teller.say(ASKED)
    assert teller.matrix.bodies() == [say("story-off")]
    assert teller.model.story_requests == []


async def test_a_person_waits_between_two_stories_and_is_told_how_long(teller: Bot) -> None:
    await teller.say(ASKED)
    teller.clock.advance(timedelta(minutes=4))
    sent = len(teller.matrix.sent)
    await teller.say(ASKED)
    assert list(teller.matrix.bodies()[sent:]) == [say("quota-user", wait=say("wait-minutes", n=6))]
    await teller.say(ASKED, sender=BAU)
    teller.clock.advance(timedelta(minutes=6))
    await teller.say(ASKED)
    assert len(teller.model.story_requests) == 3


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("!story " + "x" * 2_001, say("story-too-long", length=2_001, limit=2_000)),
        ("!story \u2800\u2800", say("story-blank")),
    ],
)
async def test_what_cannot_be_told_is_refused_before_the_model_is_asked(teller: Bot, text: str, refusal: str) -> None:
    event = await teller.say(text)
    assert teller.matrix.bodies() == [refusal]
    assert teller.model.story_requests == []
    assert (await entry_of(teller, event)).state is JournalState.FAILED


async def test_a_story_holds_nobody_up(teller: Bot) -> None:
    asked, go = holding(teller, 2)
    event = teller.message(ASKED)
    await teller.deliver(event)
    await asyncio.wait_for(asked.wait(), 5)
    await teller.deliver(teller.message("hello"))
    await until(lambda: "answer" in teller.matrix.bodies())
    go.set()
    await teller.settle()
    assert thread(teller, event)[-1] == "picture-2.png"


# --- it is cut short --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [ModelError("down", [Usage("fake", 3)]), Reply(" \u2800", (Usage("fake", 3),))])
async def test_the_model_fails_at_a_part(teller: Bot, answer: Reply | ModelError) -> None:
    teller.model.answer = instead(3, answer)
    event = await teller.say(ASKED)
    told = cut(2, "story-cut-model")
    assert thread(teller, event) == THREAD[:3]
    assert teller.matrix.bodies()[-2:] == [
        told,
        f"**The Fox \\*and\\* the Moon**, in 2 parts, is in the thread. It has 1 picture. {told}",
    ]
    note = teller.matrix.sent[-2][2]
    assert (note["thread"], note["notice"]) == (event.event_id, True)
    assert (await entry_of(teller, event)).state is JournalState.LEARNED
    assert await spent(teller) == [("story", 5)], "what failed counts too"


async def test_a_part_that_reaches_the_length_limit_is_the_last(teller: Bot) -> None:
    teller.model.answer = instead(2, Reply("Text 2, and then", (Usage("fake", 3),), cut=True))
    event = await teller.say(ASKED)
    assert thread(teller, event) == [*THREAD[:2], "### The hill\n\nText 2, and then"]
    assert teller.matrix.bodies()[-2] == cut(2, "story-cut-length")
    assert teller.matrix.bodies()[-1].endswith(cut(2, "story-cut-length"))


async def test_the_budget_is_spent_in_the_middle(teller: Bot) -> None:
    plan, part, drawing = 12, 12, 12
    teller.parts = replace(teller.parts, spending=Spending(BudgetSettings(plan + part + drawing + part)))
    event = await teller.say(ASKED)
    assert thread(teller, event) == THREAD[:3]
    assert teller.matrix.bodies()[-2] == cut(2, "story-cut-budget")


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (ModelPaused("paused"), "model-paused"),
        (ModelAnswerInvalid("of another schema", [Usage("fake", 9)]), "model-failed"),
    ],
)
async def test_without_a_plan_there_is_no_story(teller: Bot, failure: ModelError, told: str) -> None:
    teller.model.planner = lambda request: failure
    event = await teller.say(ASKED)
    assert lines(teller) == [LINES[0], say(told)]
    assert len(teller.matrix.sent) == 2
    assert (await entry_of(teller, event)).state is JournalState.FAILED
    assert await spent(teller) == ([("story", 1)] if failure.usage else [])


async def test_without_a_first_part_there_is_no_story(teller: Bot) -> None:
    teller.model.answer = instead(1, ModelError("down"))
    event = await teller.say(ASKED)
    assert lines(teller) == [*LINES[:2], say("model-failed")]
    assert thread(teller, event) == []
    assert (await entry_of(teller, event)).state is JournalState.FAILED
    assert await rows_of(teller, "SELECT * FROM effects") == []


@pytest.mark.parametrize("failures", [1, 2])
async def test_a_picture_that_fails_is_left_out_and_said_at_the_end(teller: Bot, failures: int) -> None:
    media = teller.parts.media
    assert isinstance(media, FakeMedia)
    media.failures = [Refused("draw-nothing")] * failures
    event = await teller.say(ASKED)
    assert [body for body in thread(teller, event) if body.startswith("#")] == [t for t in THREAD if t.startswith("#")]
    assert lines(teller)[-1].endswith(say("story-pictures-missing", n=failures))
    assert len(teller.matrix.uploads) == 2 - failures
    assert (await entry_of(teller, event)).state is JournalState.LEARNED


async def test_where_the_line_was_refused_the_story_is_told_all_the_same(teller: Bot) -> None:
    teller.matrix.failures = [MatrixError("M_TOO_LARGE", permanent=True)]
    event = await teller.say(ASKED)
    assert thread(teller, event) == THREAD
    assert [content for _, _, content in teller.matrix.sent if content["notice"]] == []
