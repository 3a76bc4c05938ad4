"""`!story`: planned, told part by part in a thread, resumed after a crash; no memories, no search, nothing learned
(Words, D2, P1).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from actors.spending import Spending
from memory.drawing import SYSTEM_TEXT as DRAWING_TEXT
from memory.errors import MatrixError, ModelAnswerInvalid, ModelError, ModelPaused, Refused
from memory.events import Incoming, IncomingKind, JournalEntry, JournalState
from memory.model import Prompt, Reply, Usage
from memory.settings import KindSettings
from memory.spending import BudgetSettings
from memory.story import PART_SYSTEM_TEXT, PartPlan, StoryPlan, StoryRequest
from memory.text import unfence
from memory.types import TurnKind
from tests.actors.breaking import Breakage
from tests.actors.conftest import BAU, JUNO, ROOM, Bot, until
from tests.fakes.media import PNG, FakeMedia
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


@pytest.fixture
def teller(bot: Bot) -> Bot:
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
    assert lines(teller)[-1] == "**The Fox \\*and\\* the Moon**, in 3 Teilen, steht im Thread. Sie hat 2 Bilder."


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


def cut(number: int, reason: str) -> str:
    return say("story-cut", number=number, total=3, reason=say(reason))


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


# --- it is taken back -------------------------------------------------------------------------------------------------


def redaction(bot: Bot, target: str) -> Incoming:
    bot.events += 1
    return Incoming(f"$e{bot.events}", ROOM, JUNO, IncomingKind.REDACTION, bot.clock.now(), target=target)


async def test_a_redaction_of_the_command_stops_it_and_nothing_follows(teller: Bot) -> None:
    asked, _ = holding(teller, 2)
    event = teller.message(ASKED)
    await teller.deliver(event)
    await asyncio.wait_for(asked.wait(), 5)
    sent = len(teller.matrix.sent)
    await teller.deliver(redaction(teller, event.event_id))
    await teller.settle()
    assert len(teller.matrix.sent) == sent
    assert await rows_of(teller, "SELECT * FROM effects") == []
    assert await rows_of(teller, "SELECT DISTINCT content FROM outbox") == [("{}",)]
    assert await rows_of(teller, "SELECT * FROM attachments") == []
    await teller.restart()
    await teller.settle()
    assert len(teller.matrix.sent) == sent
    assert (await entry_of(teller, event)).incoming.text == ""


async def test_who_goes_silent_is_told_no_more_of_it(teller: Bot) -> None:
    asked, go = holding(teller, 2)
    event = teller.message(ASKED)
    await teller.deliver(event)
    await asyncio.wait_for(asked.wait(), 5)
    sent = len(teller.matrix.sent)
    await teller.deliver(teller.message("!privacy silent"))
    await until(lambda: nothing_recorded(teller, event))
    go.set()
    await teller.settle()
    assert [content["answers"] for _, _, content in teller.matrix.sent[sent:]] == ["$e2"]
    assert (await entry_of(teller, event)).state is JournalState.IGNORED


async def test_a_redaction_of_what_was_said_of_it_stops_it_too(teller: Bot) -> None:
    asked, go = holding(teller, 2)
    event = teller.message(ASKED)
    await teller.deliver(event)
    await asyncio.wait_for(asked.wait(), 5)
    sent = len(teller.matrix.sent)
    part = next(each for _, each, content in teller.matrix.sent if "Text 1." in str(content["body"]))
    await teller.deliver(redaction(teller, part))
    await until(lambda: nothing_recorded(teller, event))
    go.set()
    await teller.settle()
    assert len(teller.matrix.sent) == sent
    assert (await entry_of(teller, event)).state is JournalState.LEARNED


async def nothing_recorded(bot: Bot, event: Incoming) -> bool:
    return await rows_of(bot, f"SELECT * FROM effects WHERE event_id = '{event.event_id}'") == []  # noqa: S608 - ours


# --- asked for in private (D8) ----------------------------------------------------------------------------------------


async def private_story(bot: Bot, part: int) -> tuple[Incoming, asyncio.Event]:
    asked, go = holding(bot, part)
    event = bot.message(ASKED, room=DIRECT, direct=True, alone=True)
    await bot.deliver(event)
    await asyncio.wait_for(asked.wait(), 5)
    return event, go


async def test_d8_in_private_it_is_told_as_anywhere(teller: Bot) -> None:
    event = await teller.say(ASKED, room=DIRECT, direct=True, alone=True)
    assert thread(teller, event) == THREAD
    assert {room for room, _, _ in teller.matrix.sent} == {DIRECT}


async def test_d8_a_story_asked_for_in_private_does_not_go_on_where_somebody_has_come_in(teller: Bot) -> None:
    event, go = await private_story(teller, 2)
    sent = len(teller.matrix.sent)
    teller.matrix.joined[DIRECT].add(BAU)
    go.set()
    await teller.settle()
    later = [(room, str(content["body"])) for room, _, content in teller.matrix.sent[sent:]]
    elsewhere = [body for room, body in later if room != DIRECT]
    here = [body for room, body in later if room == DIRECT]
    assert elsewhere == ["### The hill\n\nText 2."], "what was made meanwhile is for the one who asked"
    assert not any("Text" in body or "Fox" in body or "hill" in body for body in here)
    assert here[-1] == (f"**The story**, in 2 parts, is in the thread. It has 1 picture. {cut(2, 'story-not-alone')}")
    assert len(teller.model.prompts) == 3
    assert (await entry_of(teller, event)).state is JournalState.LEARNED


async def test_d8_nor_after_a_restart(teller: Bot) -> None:
    event, _ = await private_story(teller, 2)
    sent = len(teller.matrix.sent)
    teller.matrix.joined[DIRECT].add(BAU)
    await teller.restart()
    await teller.settle()
    later = [str(content["body"]) for _, _, content in teller.matrix.sent[sent:]]
    assert later == [
        cut(1, "story-not-alone"),
        f"**The story**, in 1 part, is in the thread. It has 1 picture. {cut(1, 'story-not-alone')}",
    ]
    assert (await entry_of(teller, event)).state is JournalState.LEARNED


async def test_d8_what_is_complete_is_not_named_to_who_came_in(teller: Bot) -> None:
    event, go = await private_story(teller, 3)
    teller.model.planner = lambda request: PLAN
    teller.matrix.joined[DIRECT].add(BAU)
    go.set()
    await teller.settle()
    assert "Fox" not in teller.matrix.bodies(DIRECT)[-1]
    assert (await entry_of(teller, event)).state is JournalState.LEARNED


# --- it is cut off by a crash -----------------------------------------------------------------------------------------


COMMITS = 15  # of the task of a story: what it reads and writes


async def test_how_many_transactions_a_story_takes(tmp_path: Path) -> None:
    bot = telling(Bot(tmp_path, None))
    await bot.start()
    with Breakage(task=f"task of room {ROOM}") as breakage:
        event = await bot.say(ASKED)
    assert thread(bot, event) == THREAD
    await bot.crash()
    assert breakage.statements.count("COMMIT") == COMMITS


@pytest.mark.parametrize("commits", range(1, COMMITS + 1))
async def test_cut_off_after_any_transaction_it_goes_on_and_says_nothing_twice(tmp_path: Path, commits: int) -> None:
    bot = telling(Bot(tmp_path, None))
    await bot.start()
    made, killed = 0, asyncio.Event()

    def on_commit() -> None:
        nonlocal made
        current = asyncio.current_task()
        if current is None or current.get_name() != f"task of room {ROOM}":
            return
        made += 1
        if made == commits:
            killed.set()
            raise asyncio.CancelledError

    event = bot.message(ASKED)
    with Breakage(on_commit=on_commit, task=f"task of room {ROOM}"):
        await bot.deliver(event)
        await asyncio.wait_for(killed.wait(), 5)
        await bot.restart()
        await bot.settle()
    assert thread(bot, event) == THREAD
    assert lines(bot)[0] == LINES[0] and lines(bot)[-1] == LINES[-1]
    assert len(set(lines(bot))) == len(lines(bot)), "no line is said twice"
    assert len(bot.model.story_requests) + len(bot.model.prompts) == 6, "nothing that was stored is asked for again"
    assert await spent(bot) == [("story", 6)]
    assert (await entry_of(bot, event)).state is JournalState.LEARNED
    await bot.crash()


@pytest.mark.parametrize("part", [1, 2, 3])
async def test_cut_off_while_the_model_is_asked_that_part_alone_is_asked_again(teller: Bot, part: int) -> None:
    asked, go = holding(teller, part)
    event = teller.message(ASKED)
    await teller.deliver(event)
    await asyncio.wait_for(asked.wait(), 5)
    go.set()
    await teller.crash()
    await teller.start()
    await teller.deliver()
    await teller.intake.resume()
    await teller.settle()
    assert thread(teller, event) == THREAD
    assert len(teller.model.story_requests) == 1
    assert len([prompt for prompt in teller.model.prompts if part_of(prompt) != part]) == 4
    assert lines(teller)[-1] == LINES[-1]


async def test_a_cut_part_ends_the_story_after_a_restart_as_well(teller: Bot) -> None:
    teller.model.answer = instead(2, Reply("Text 2, and then", (Usage("fake", 3),), cut=True))
    made: list[Sequence[str]] = []
    with Breakage(task=f"task of room {ROOM}") as breakage:

        def on_commit() -> None:
            current = asyncio.current_task()
            recorded = sum("INSERT INTO effects" in each for each in breakage.statements)
            if recorded == 4 and not made and current is not None:  # plan, part, picture, the part that is cut
                made.append(tuple(breakage.statements))
                raise asyncio.CancelledError

        breakage.on_commit = on_commit
        event = teller.message(ASKED)
        await teller.deliver(event)
        await until(lambda: bool(made))
        await teller.restart()
        await teller.settle()
    assert thread(teller, event) == [*THREAD[:2], "### The hill\n\nText 2, and then"]
    assert teller.matrix.bodies()[-2] == cut(2, "story-cut-length")
    assert len(teller.model.prompts) == 3
