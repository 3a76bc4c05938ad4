"""Nothing that people wrote, sent, asked for or were told stands in a log, whatever kind of turn it was and however it
ended.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from davenport.logs import JsonLines
from index.builtin import BuiltinEmbedder
from memory.documents import ReadDocument
from memory.drawing import SYSTEM_TEXT as DRAWING_TEXT
from memory.errors import MatrixError, MediaFailed, ModelError, Refused
from memory.media import Attachment, MediaKind, Picture
from memory.model import Prompt
from memory.settings import KindSettings
from memory.story import PartPlan, StoryPlan
from tests.actors.conftest import JUNO, ROOM, Bot
from tests.actors.document_room import Counted
from tests.fakes.media import FakeMedia

WORD = "Xylotrupes"
SVG = f'<svg xmlns="http://www.w3.org/2000/svg"><title>{WORD}</title></svg>'
CODE = f"{WORD}\n\n```python {WORD}.py\n" + f"print('{WORD}')\n" * 40 + "```"


class Library(FakeMedia):
    """Reads documents too; of whatever file, the same one."""

    async def document(self, file: Attachment, most_chunks: int) -> ReadDocument:
        self._done(Picture("", b"", None))  # type: ignore[arg-type]
        return ReadDocument(WORD, (f"{WORD} is a beetle.", f"The {WORD} lives in Asia."))


def answers(prompt: Prompt) -> str:
    return SVG if prompt.system[0].text == DRAWING_TEXT else CODE


@pytest.fixture
async def bot(tmp_path: Path, embedder: BuiltinEmbedder) -> AsyncIterator[Bot]:
    each = Bot(tmp_path / "data", Counted(embedder))
    each.media = Library()
    each.matrix.admins = {JUNO}
    each.settings.admins = {JUNO}
    each.settings.of_kinds = KindSettings(verse_enabled=True, documents_threshold=0.0)
    each.model.answer = answers
    each.model.planner = lambda request: StoryPlan(WORD, (PartPlan(WORD, WORD, WORD), PartPlan(WORD, WORD)))
    await each.start()
    yield each
    await each.crash()


def file(bot: Bot, kind: MediaKind, event_id: str) -> str:
    bot.matrix.files[ROOM, event_id] = Attachment(
        f"{WORD}.txt", f"text/{WORD}", WORD.encode(), kind=kind, sender=JUNO, alt=WORD
    )
    return event_id


async def everything(bot: Bot) -> None:
    await bot.say("!documents add", reply_to=file(bot, MediaKind.FILE, "$file"))
    await bot.say("!documents")
    picture = file(bot, MediaKind.IMAGE, "$picture")
    for text in (f"{WORD}?", f"!code {WORD}", f"!verse {WORD}", f"!draw {WORD}", f"!story {WORD}", "!verse on"):
        await bot.say(text)
        await bot.say("!why")
    await bot.say(f"so says {WORD}", addressed=False)
    await bot.say(f"what is {WORD}?", reply_to=picture)
    captioned = bot.message(f"look: {WORD}", media=MediaKind.IMAGE)
    file(bot, MediaKind.IMAGE, captioned.event_id)
    await bot.deliver(captioned)
    await bot.settle()
    await bot.say(f"!documents del {WORD}")
    await bot.say("!documents add", reply_to="$nothing")
    await bot.say(f"!story {WORD * 500}")
    await bot.say(f"!draw {WORD * 500}")
    await bot.restart()


@pytest.mark.parametrize(
    "failing", ["nothing", "model", "media refuses", "media fails", "embedder", "homeserver", "no drawing"]
)
async def test_no_word_of_a_file_caption_description_title_or_answer_is_logged(
    bot: Bot, caplog: pytest.LogCaptureFixture, failing: str
) -> None:
    caplog.set_level(logging.DEBUG)
    library = bot.media
    assert isinstance(library, Library)
    assert isinstance(bot.embedder, Counted)
    match failing:
        case "model":
            bot.model.answer = lambda prompt: ModelError("down")
        case "media refuses":
            library.failures = [Refused("drawing-forbidden", name=WORD) for _ in range(50)]
        case "media fails":
            library.failures = [MediaFailed("broken") for _ in range(50)]
        case "embedder":
            bot.embedder.down = True
        case "homeserver":
            bot.matrix.fetch_failures = [MatrixError("down") for _ in range(50)]
        case "no drawing":
            bot.model.answer = lambda prompt: WORD
    await everything(bot)
    form = JsonLines()
    assert caplog.records
    logged = "\n".join(form.format(record) for record in caplog.records if record.name != "asyncio")
    assert WORD not in logged
    assert "beetle" not in logged
