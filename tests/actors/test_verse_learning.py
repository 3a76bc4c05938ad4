"""What characters say of themselves in a scene is no fact about the person (P1, P6), also after a crash.

The model here is the offline extractor, which reads the very requests that a language model gets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from llm.extraction import SCENE_NOTE, extraction_prompt
from llm.offline.extractor import extract
from llm.offline.reading import read_extraction
from llm.wire import messages_of, system_of
from memory.model import Prompt, Reply, ToolSpec
from memory.settings import KindSettings, MemorySettings
from memory.types import Extraction, ExtractionRequest
from tests.actors.conftest import Bot, texts, until
from tests.actors.owned import last_prompt
from tests.fakes.model import ToolRunner

CLAIM = "I have two daughters and I live in Gondor"
CHAT = "I have a cat"


def shown(request: ExtractionRequest) -> str:
    """What the model reads of an exchange."""
    return "\n".join(block.text for message in extraction_prompt(request).messages for block in message.blocks)


def offline(request: ExtractionRequest) -> Extraction:
    prompt = extraction_prompt(request)
    found = extract(read_extraction({"system": system_of(prompt), "messages": messages_of(prompt)}))
    return Extraction(found.new_facts, found.reinforced)


@pytest.fixture
async def stage(bot: Bot) -> Bot:
    bot.settings.of_kinds = KindSettings(verse_enabled=True)
    bot.settings.rules = MemorySettings(promotion_threshold=2)
    bot.model.find = offline
    return bot


async def in_scene(bot: Bot, text: str) -> None:
    await bot.say(text, addressed=False)


async def test_p1_p6_a_pass_follows_a_scene_turn_and_is_told_beside_the_data_that_it_was_one(stage: Bot) -> None:
    await stage.say("!verse on")
    await in_scene(stage, CLAIM)
    [request] = stage.model.requests
    assert request.exchange.scene
    assert f'<message from="{request.exchange.user_id}" scene="yes">{CLAIM}</message>' in shown(request)
    assert shown(request).endswith(SCENE_NOTE)
    await stage.say("!verse off")
    await stage.say(CHAT)
    assert not stage.model.requests[-1].exchange.scene
    assert "scene" not in shown(stage.model.requests[-1])


async def test_p6_what_a_character_says_of_itself_is_learned_in_no_form_of_a_scene(stage: Bot) -> None:
    await stage.say(f"!verse {CLAIM}")
    await stage.say(f"!verse {CLAIM}")
    await stage.say("!verse on")
    await in_scene(stage, CLAIM)
    await stage.say(CLAIM)  # addresses the bot, in the scene all the same
    assert len(stage.model.requests) == 4
    assert await stage.candidates() == ()
    assert await stage.memories() == ()
    await stage.say(f"!ask {CLAIM}")  # out of the scene, it is said by the person
    assert texts(await stage.candidates()) == ["Has two daughters", "Lives in Gondor"]


async def test_p8_what_a_character_says_reinforces_no_candidate(stage: Bot) -> None:
    await stage.say(CHAT)
    await stage.say(f"!verse {CHAT}")
    [candidate] = await stage.candidates()
    assert (candidate.text, candidate.mentions) == ("Has a cat", 1)
    assert await stage.memories() == ()


async def test_p6_what_is_said_out_of_character_counts(stage: Bot) -> None:
    await stage.say("!verse on")
    await in_scene(stage, f"{CLAIM} ((by the way, {CHAT}))")
    assert texts(await stage.candidates()) == ["Has a cat"]
    await in_scene(stage, f"I draw my sword.\nOOC: {CHAT}")
    assert texts(await stage.memories()) == ["Has a cat"]


@pytest.mark.parametrize("said", ["!verse " + CLAIM, CLAIM])
async def test_p6_after_a_kill_between_answered_and_learned_the_pass_still_knows(stage: Bot, said: str) -> None:
    await stage.say("!verse on")
    gate = stage.model.extraction_gates["Gondor"] = asyncio.Event()
    await stage.deliver(stage.message(said, addressed=False))
    await until(lambda: len(stage.model.requests) == 1)
    await stage.crash()
    gate.set()
    stage.next_day()  # the scene is over by then, which changes nothing of what was said in it
    stage.settings.of_kinds = KindSettings()
    await stage.start()
    await stage.deliver()
    await stage.intake.resume()
    await stage.settle()
    assert [request.exchange.scene for request in stage.model.requests] == [True, True]
    assert await stage.candidates() == ()


async def test_p6_a_later_question_sees_the_scene_in_its_window_and_its_pass_does_not(stage: Bot) -> None:
    await stage.say("!verse on")
    await in_scene(stage, CLAIM)
    await stage.say("!verse off")
    await stage.say(f"!ask {CHAT}")
    assert "Gondor" in last_prompt(stage)
    request = stage.model.requests[-1]
    assert request.exchange.said == CHAT and not request.exchange.scene
    assert "Gondor" not in shown(request)
    assert texts(await stage.candidates()) == ["Has a cat"]


async def test_p16_the_tool_stays_offered_in_a_scene_and_the_turn_says_what_it_is_for(stage: Bot) -> None:
    offered: list[str] = []
    reply = stage.model.reply

    async def noting(prompt: Prompt, tools: Sequence[ToolSpec], run_tool: ToolRunner) -> Reply:
        offered.extend(tool.name for tool in tools)
        return await reply(prompt, tools, run_tool)

    stage.model.reply = noting  # type: ignore[method-assign]
    await stage.say("!verse remember that I am a king")
    assert "save_memory" in offered
    assert "A tool is for what the person asks for out of character." in last_prompt(stage)
