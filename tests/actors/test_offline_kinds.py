"""Every kind of turn of a whole bot that runs on the offline rules, files read and drawings made in processes of their
own: answered, and honest about what answered.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from pathlib import Path

import PIL.Image
import pytest
from pydantic import SecretStr

from index.builtin import BuiltinEmbedder
from llm.client import AnthropicModel
from llm.offline.brain import OfflineServer
from llm.settings import LlmSettings
from memory.media import MediaKind
from memory.settings import KindSettings
from memory.types import TurnKind
from tests.actors.conftest import JUNO, Bot
from tests.actors.touching import RULES as HOUSE_RULES
from tests.actors.touching import send_file

RULES = "offline rules"


@pytest.fixture
async def offline(tmp_path: Path, embedder: BuiltinEmbedder) -> AsyncIterator[Bot]:
    async with OfflineServer() as server:
        bot = Bot(tmp_path / "data", embedder)
        model = AnthropicModel(LlmSettings(base_url=server.base_url, api_key=SecretStr("offline"), max_retries=0))
        bot.model = model  # type: ignore[assignment]
        bot.settings.of_kinds = KindSettings(verse_enabled=True, code_attach_lines=20)
        await bot.start()
        yield bot
        await bot.crash()
        await model.aclose()


ASKED = {
    TurnKind.ASK: "Hello there",
    TurnKind.CODE: "!code the game of life",
    TurnKind.VERSE: "!verse I knock at the tower's door",
    TurnKind.DRAW: "!draw a red house under the sun",
    TurnKind.STORY: "!story of a cat at sea",
}


def said(bot: Bot) -> str:
    return "\n".join(str(content) for _, _, content in bot.matrix.sent)


@pytest.mark.parametrize("kind", TurnKind)
async def test_every_kind_is_answered_by_rules_that_say_so(offline: Bot, kind: TurnKind) -> None:
    await offline.say(ASKED[kind])
    assert RULES in said(offline)
    await offline.say("!why")
    assert "not answered you" not in offline.matrix.bodies()[-1]
    assert bool(offline.matrix.uploads) is (kind in {TurnKind.CODE, TurnKind.DRAW, TurnKind.STORY})


async def test_p6_what_is_said_in_character_is_not_taken_for_a_fact_by_the_rules_either(offline: Bot) -> None:
    for _ in range(2):
        await offline.say("!verse I have a dragon named Smoke.")
    assert await offline.candidates() == ()
    assert await offline.memories() == ()
    await offline.say("I have a cat named Mochi.")
    assert [candidate.text for candidate in await offline.candidates()] == ["Has a cat named Mochi"]


async def test_a_document_is_quoted_with_its_title(offline: Bot) -> None:
    offline.matrix.admins.add(JUNO)
    data = "\n\n".join(HOUSE_RULES).encode()
    await offline.say("!documents add", reply_to=send_file(offline, data=data))
    await offline.say("When do the quiet hours begin in the evening?")
    assert "In “rules”, part 1 of 1, it says: “Quiet hours begin at ten in the evening.”" in said(offline)


async def test_a_picture_is_named_as_not_looked_at(offline: Bot) -> None:
    message = offline.message("what is this?", media=MediaKind.IMAGE)
    picture = io.BytesIO()
    PIL.Image.new("RGB", (8, 6), "teal").save(picture, "PNG")
    send_file(offline, message.event_id, MediaKind.IMAGE, picture.getvalue())
    await offline.deliver(message)
    await offline.settle()
    assert "I cannot look at pictures (offline rules, not a language model)." in offline.matrix.bodies()[-1]


@pytest.mark.parametrize("kind", [MediaKind.AUDIO, MediaKind.FILE])
async def test_any_other_file_with_a_question_is_named_as_not_understood(offline: Bot, kind: MediaKind) -> None:
    await offline.deliver(offline.message("what do I say there?", media=kind))
    await offline.settle()
    assert "I cannot see, hear or open (offline rules, not a language model)." in offline.matrix.bodies()[-1]
    await offline.say("what do I say there?")
    assert "cannot see" not in offline.matrix.bodies()[-1]
