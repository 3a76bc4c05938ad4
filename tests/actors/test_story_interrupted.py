"""A story that is taken back, entered by others (D8), or cut off by a crash: nothing is said twice, or to the wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from memory.events import Answer, Incoming, IncomingKind, JournalState
from memory.model import Reply, Usage
from memory.quota import CommandQuota, Quota
from memory.settings import KindSettings
from tests.actors.breaking import Breakage
from tests.actors.conftest import BAU, JUNO, ROOM, Bot, until
from tests.actors.telling import (
    ASKED,
    DIRECT,
    LINES,
    PLAN,
    THREAD,
    all_is_out,
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

STOPPED = "I stopped telling this story: the message that asked for it, or a part of it, was deleted."


@pytest.fixture
def teller(bot: Bot) -> Bot:
    return as_teller(bot)


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
    assert lines(teller)[-1] == STOPPED
    assert len(teller.matrix.sent) == sent + 1
    assert await rows_of(teller, "SELECT * FROM effects") == []
    assert await rows_of(teller, "SELECT DISTINCT content FROM outbox ORDER BY seq DESC LIMIT -1 OFFSET 1") == [("{}",)]
    assert await rows_of(teller, "SELECT * FROM attachments") == []
    await teller.restart()
    await teller.settle()
    assert len(teller.matrix.sent) == sent + 1
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
    assert lines(teller)[-1] == STOPPED
    assert len(teller.matrix.sent) == sent + 1
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


async def test_d8_nor_to_who_comes_in_while_its_last_line_is_made(teller: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    render = teller.matrix.render

    def entered(answer: Answer) -> tuple[str, ...]:
        if answer.edits is not None and "Fox" in answer.markdown:
            teller.matrix.joined[DIRECT].add(BAU)
        return render(answer)

    monkeypatch.setattr(teller.matrix, "render", entered)
    event = await teller.say(ASKED, room=DIRECT, direct=True, alone=True)
    assert BAU in teller.matrix.joined[DIRECT]
    assert lines(teller, DIRECT)[-1] == say("private-unsent")
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


# --- settings are others after a restart ------------------------------------------------------------------------------


@pytest.fixture(params=["planning", "telling"])
async def begun(request: pytest.FixtureRequest, teller: Bot) -> tuple[Incoming, Incoming]:
    """Two stories that are being planned, or whose second part is being written."""
    teller.settings.enforce = False
    events = teller.message(ASKED), teller.message(ASKED)
    if request.param == "planning":
        teller.model.plan_gate = asyncio.Event()
        await teller.deliver(*events)
        await until(lambda: len(teller.model.story_requests) == len(events))
        await all_is_out(teller)
        teller.model.plan_gate = None
    else:
        _, go = holding(teller, 2)
        await teller.deliver(*events)
        await until(lambda: len(teller.matrix.uploads) == len(events))
        go.set()
    teller.settings.enforce = True
    return events


@pytest.mark.parametrize("whose", ["user", "room"])
async def test_a_story_that_was_let_in_is_told_to_its_end_whatever_the_quota_is_now(
    teller: Bot, begun: tuple[Incoming, Incoming], whose: str
) -> None:
    teller.settings.quotas = {"story": CommandQuota(**{whose: Quota(1, timedelta(minutes=10))})}
    await teller.restart()
    await teller.settle()
    assert [thread(teller, event) for event in begun] == [THREAD, THREAD]
    assert teller.matrix.bodies()[-1] == LINES[-1]
    await teller.say(ASKED)
    assert "Please try again in 10 minutes" in teller.matrix.bodies()[-1], "the next one is not let in"


async def test_where_stories_were_switched_off_its_line_says_so(teller: Bot, begun: tuple[Incoming, Incoming]) -> None:
    teller.settings.of_kinds = KindSettings(story_enabled=False)
    await teller.restart()
    await teller.settle()
    for event in begun:
        of_it = [content for _, _, content in teller.matrix.sent if content["answers"] == event.event_id]
        assert "m.relates_to" in of_it[-1], "the last word is an edit of the line"
        assert str(of_it[-1]["body"]).endswith(say("story-off"))
        assert (await entry_of(teller, event)).state in {JournalState.FAILED, JournalState.LEARNED}
