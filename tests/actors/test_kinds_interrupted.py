"""Stories and scenes where something changes between two of their steps: settings, the clock, an actor reloaded."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from actors.actor import Address
from memory.events import JournalState
from memory.settings import KindSettings
from tests.actors.conftest import JUNO, START, Bot, until
from tests.actors.telling import ASKED, THREAD, as_teller, cut, entry_of, holding, lines, rows_of, thread
from texts.catalogue import Speaker

say = Speaker()


@pytest.fixture
def teller(bot: Bot) -> Bot:
    return as_teller(bot)


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_story_that_is_switched_off_on_the_way_ends_and_says_so(teller: Bot, *, restarted: bool) -> None:
    asked, go = holding(teller, 2)
    event = teller.message(ASKED)
    await teller.deliver(event)
    await asyncio.wait_for(asked.wait(), 5)
    teller.settings.of_kinds = KindSettings(story_enabled=False)
    go.set()
    if restarted:
        await teller.restart()
    await teller.settle()
    told = 1 if restarted else 2
    assert thread(teller, event) == THREAD[: told + 1]
    assert lines(teller)[-1].endswith(cut(told, "story-off"))
    assert (await entry_of(teller, event)).state is JournalState.LEARNED
    assert await rows_of(teller, "SELECT * FROM effects") == []


async def test_drawing_switched_off_on_the_way_leaves_out_the_pictures_that_were_to_come(teller: Bot) -> None:
    asked, go = holding(teller, 2)
    event = teller.message(ASKED)
    await teller.deliver(event)
    await asyncio.wait_for(asked.wait(), 5)
    teller.settings.of_kinds = KindSettings(draw_enabled=False)
    go.set()
    await teller.settle()
    assert thread(teller, event) == THREAD[:-1]
    assert lines(teller)[-1].endswith(f"{say('story-pictures', n=1)} {say('story-pictures-missing', n=1)}")


async def test_who_speaks_in_the_thread_of_a_story_does_not_wait_for_its_end(teller: Bot) -> None:
    asked, go = holding(teller, 2)
    event = teller.message(ASKED)
    await teller.deliver(event)
    await asyncio.wait_for(asked.wait(), 5)
    await teller.deliver(teller.message("and then?", thread_root=event.event_id))
    await until(lambda: "answer" in teller.matrix.bodies())
    go.set()
    await teller.settle()
    assert lines(teller)[-1].startswith("**The Fox")


async def test_p20_no_pass_waits_for_a_story_not_even_of_an_actor_that_comes_back(teller: Bot) -> None:
    asked, go = holding(teller, 2)
    await teller.deliver(teller.message(ASKED))
    await asyncio.wait_for(asked.wait(), 5)
    assert Address("user", JUNO) not in teller.system.cells, "it reads from the journal what is under way"
    await teller.deliver(teller.message("hello"))
    await until(lambda: len(teller.model.requests) == 1)
    go.set()
    await teller.settle()


async def test_a_scene_begun_by_a_clock_that_was_ahead_does_not_overhear_for_longer_than_a_day(bot: Bot) -> None:
    bot.settings.of_kinds = KindSettings(verse_enabled=True)
    bot.clock.advance(timedelta(days=400))
    await bot.say("!verse on")
    bot.clock.set(START)
    await bot.say("!verse")
    assert bot.matrix.bodies()[-1].startswith("You are in no scene")
    await bot.say("a word to nobody", addressed=False)
    assert len(bot.matrix.sent) == 2
    assert bot.model.prompts == []
