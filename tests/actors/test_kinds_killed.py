"""A bot killed after any transaction of a turn, of whatever kind, answers once, counts once and teaches once, though
the model answers otherwise the second time (D2, P8).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from index.builtin import BuiltinEmbedder
from memory.drawing import SYSTEM_TEXT as DRAWING_TEXT
from memory.media import Attachment, MediaKind
from memory.model import Prompt
from memory.settings import KindSettings
from memory.types import Extraction, ExtractionRequest
from tests.actors.breaking import Breakage
from tests.actors.conftest import JUNO, ROOM, Bot, texts
from tests.actors.document_room import HANDBOOK, Counted, Kills, add, send_file
from tests.actors.test_kinds_logged import Library

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><title>A cat</title></svg>'
CODE = "First:\n\n```python\n" + "print('first')\n" * 40 + "```"
AGAIN = "Second:\n\n```python second.py\n" + "print('second')\n" * 40 + "```"
FACT = "Has a dog"


def answers(code: str) -> Callable[[Prompt], str]:
    return lambda prompt: SVG if prompt.system[0].text == DRAWING_TEXT else code


def find(request: ExtractionRequest) -> Extraction:
    known = {candidate.text: candidate.id for candidate in request.candidates}
    return Extraction((), (known[FACT],)) if FACT in known else Extraction((FACT,))


@pytest.fixture
async def bot(tmp_path: Path, embedder: BuiltinEmbedder) -> AsyncIterator[Bot]:
    each = Bot(tmp_path / "data", Counted(embedder))
    each.media = Library()
    each.matrix.admins = {JUNO}
    each.settings.of_kinds = KindSettings(verse_enabled=True, documents_threshold=0.0)
    each.model.answer = answers(CODE)
    each.model.find = find
    await each.start()
    yield each
    await each.crash()


# What is said, and the answers there may be: of the first run, or of the second.
CASES: dict[str, tuple[list[str], list[str]]] = {
    "my dog?": ([CODE], [AGAIN]),
    "!code my dog": ([CODE, "code.py"], [AGAIN, "second.py"]),
    "!verse my dog": ([CODE], [AGAIN]),
    "!draw my dog": (["drawing.png"], ["drawing.png"]),
    "what is this dog?": ([CODE], [AGAIN]),
}


@pytest.mark.parametrize("text", CASES)
async def test_d2_p8_killed_anywhere_a_turn_is_answered_counted_and_learned_from_once(
    bot: Bot, tmp_path: Path, text: str
) -> None:
    await add(bot, send_file(bot, HANDBOOK))
    await bot.say("!memories add The sea is wide")
    bot.next_day()
    sent = len(bot.matrix.sent)
    event = bot.message(text, media=MediaKind.IMAGE if "this" in text else None)
    bot.matrix.files[ROOM, event.event_id] = Attachment("d.png", "image/png", b"", kind=MediaKind.IMAGE, sender=JUNO)
    kills = Kills(bot, tmp_path)
    with Breakage(on_commit=kills.keep):
        await bot.deliver(event)
        await bot.settle()
    first, second = CASES[text]
    learned = [] if text.startswith("!draw") else [FACT]
    assert bot.matrix.bodies()[sent:] == first
    assert len(kills.folders) > 3
    for folder in kills.folders:
        async with kills.revived(folder, model) as killed:
            said = killed.matrix.bodies()[sent:]
            assert said in (first, second), folder
            assert await counted(killed) == await counted(bot)
            assert texts(await killed.candidates()) == learned
            assert all(candidate.mentions == 1 for candidate in await killed.candidates())


async def counted(bot: Bot) -> list[tuple[str, int]]:
    return [(memory.text, memory.unused_days) for memory in await bot.memories()]


def model(bot: Bot) -> None:
    """Let a revived bot's model answer otherwise."""
    bot.model.answer = answers(AGAIN)
    bot.model.find = find
