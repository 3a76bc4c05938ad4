"""What a room sets for the kinds of turn and its documents (`!config room`) holds from then on, and there alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from memory.story import StoryRequest
from tests.actors.conftest import BAU, JUNO, ROOM, Bot
from tests.actors.document_room import (
    ABOUT_THE_PRINTER,
    HANDBOOK,
    Paragraphs,
    add,
    command,
    counts,
    send_file,
    texts_given,
)
from tests.actors.test_config import OTHER, configured
from tests.fakes.media import FakeMedia

__all__ = ["configured"]  # the fixture


@pytest.fixture
async def here(configured: Bot) -> Bot:
    configured.media = Paragraphs()
    configured.matrix.admins = {JUNO, BAU}
    await configured.restart()
    return configured


async def test_the_most_documents_lowered_below_what_is_there_takes_none_away(here: Bot) -> None:
    first, second = send_file(here, "One."), send_file(here, "Two.")
    await add(here, first, BAU)
    await add(here, second, BAU)
    await command(here, "!config room documents.most 1", BAU)
    assert "as many documents as it may have (1)" in await add(here, send_file(here, "Three."), BAU)
    assert "already" in await add(here, first, BAU), "which is no new one"
    assert counts(here) == (2, 2, 2)
    await command(here, "!documents del 1", BAU)
    assert "as many documents as it may have (1)" in await add(here, send_file(here, "Three."), BAU)
    await command(here, "!documents del 2", BAU)
    assert (await add(here, send_file(here, "Three."), BAU)).startswith("Added **#3**")


async def test_the_parts_that_go_along_are_as_many_as_the_room_says(here: Bot) -> None:
    for room in (ROOM, OTHER):
        await add(here, send_file(here, HANDBOOK, room=room), room=room)
        await command(here, "!config room documents.match_threshold 0", room=room)
    await command(here, "!config room documents.in_prompt 1")
    await here.say(ABOUT_THE_PRINTER)
    assert len(texts_given(here)) == 1
    await here.say(ABOUT_THE_PRINTER, room=OTHER)
    assert len(texts_given(here)) == 3
    await command(here, "!config room documents.enabled false")
    await here.say(ABOUT_THE_PRINTER)
    assert texts_given(here) == []


async def test_a_story_has_the_parts_and_pictures_of_its_room(here: Bot) -> None:
    here.parts = replace(here.parts, media=FakeMedia())
    await command(here, "!config room story.parts 1")
    await command(here, "!config room story.illustrations 0")
    await here.say("!story of a fox")
    await here.say("!story of a fox", BAU, OTHER)
    assert here.model.story_requests == [StoryRequest("of a fox", 1, 0), StoryRequest("of a fox", 5, 3)]


async def test_every_block_of_code_is_a_file_where_the_room_wants_that(here: Bot) -> None:
    here.model.answer = lambda prompt: "```python\nx = 1\n```"
    await here.say("!code one line")
    await command(here, "!config room code.attach_lines 0")
    await here.say("!code one line")
    assert here.matrix.bodies()[-1] == "code.py"
    assert here.matrix.bodies().count("code.py") == 1


async def test_scenes_are_as_long_as_the_room_says_and_end_with_the_switch(here: Bot) -> None:
    await command(here, "!config room verse_enabled true")
    await command(here, "!config room verse.minutes 1")
    await here.say("!verse on")
    here.clock.advance(timedelta(minutes=1))
    await here.say("I bow", addressed=False)
    assert here.matrix.bodies()[-1] == "answer"
    await command(here, "!config room reset verse.enabled")
    said = len(here.matrix.sent)
    await here.say("I bow again", addressed=False)
    await here.say("!verse on", room=OTHER)
    assert ["not switched on" in body for body in here.matrix.bodies()[said:]] == [True]
