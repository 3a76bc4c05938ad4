"""Documents through the whole bot with files read as they are in life, each in a process of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from index.builtin import BuiltinEmbedder
from media.jobs import MediaJobs
from memory.media import Attachment
from memory.settings import KindSettings
from tests.actors.conftest import BAU, JUNO, ROOM, Bot
from tests.actors.document_room import (
    ABOUT_THE_PRINTER,
    Counted,
    add,
    command,
    counted,
    counts,
    given,
    redact,
    send_file,
)

MARKDOWN = """# Office handbook

## Printing

The printer on the second floor is called Gutenberg and needs blue toner.

## Holidays

Holidays are requested from Mrs Kowalski three weeks before they begin.
"""
HTML = """<!DOCTYPE html><html><head><title>Rules &amp; customs</title><script>alert("toner")</script></head>
<body><h1>Printing</h1><p>The printer <b>Gutenberg</b> needs blue toner.</p></body></html>"""


@pytest.fixture
async def bot(tmp_path: Path, embedder: BuiltinEmbedder) -> AsyncIterator[Bot]:
    each = Bot(tmp_path / "data", Counted(embedder))
    assert isinstance(each.media, MediaJobs)
    each.matrix.admins = {JUNO}
    await each.start()
    yield each
    await each.crash()


async def test_a_markdown_file_is_read_added_found_listed_and_gone_with_its_file(bot: Bot) -> None:
    file = send_file(bot, MARKDOWN, name="handbook.md", media_type="text/markdown")
    assert "Office handbook" in await add(bot, file)
    assert counts(bot)[0] == 1
    assert "Office handbook (Markdown, 1 kB, " in await command(bot, "!documents", BAU)
    await bot.say(ABOUT_THE_PRINTER, BAU)
    [best, *_] = given(bot)
    assert best[0] == "Office handbook"
    assert "called Gutenberg and needs blue toner" in best[2]
    assert counted(bot).queries == [ABOUT_THE_PRINTER], "one embedding for memories and documents (D2)"
    await redact(bot, file)
    assert counts(bot) == (0, 0, 0)
    await bot.say(ABOUT_THE_PRINTER, BAU)
    assert given(bot) == []


async def test_of_an_html_file_the_words_are_kept_and_nothing_else(bot: Bot) -> None:
    await add(bot, send_file(bot, HTML, name="rules.html", media_type="text/html"))
    await bot.say(ABOUT_THE_PRINTER)
    [(title, part, text)] = given(bot)
    assert (title, part) == ("Rules & customs", "1 of 1")
    assert "Gutenberg" in text
    assert "alert" not in text


async def test_a_file_that_cannot_be_read_is_refused_in_one_sentence_and_leaves_nothing(bot: Bot) -> None:
    bot.matrix.files[ROOM, "$bytes"] = Attachment("a.pdf", "application/pdf", bytes(range(256)) * 20, sender=JUNO)
    assert "and this file is none of these" in await add(bot, "$bytes")
    bot.matrix.files[ROOM, "$pdf"] = Attachment("a.pdf", "application/pdf", b"%PDF-1.7\n%%EOF", sender=JUNO)
    assert "is damaged and cannot be read" in await add(bot, "$pdf")
    bot.settings.of_kinds = KindSettings(documents_chunks=2)
    assert "That document is too long" in await add(bot, send_file(bot, "A sentence of some length. " * 1000))
    assert counts(bot) == (0, 0, 0)
