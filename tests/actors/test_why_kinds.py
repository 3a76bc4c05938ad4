"""`!why` of answers that are no ordinary ones, and of those given parts of documents or a picture."""

from __future__ import annotations

import pytest

from memory.documents import Document
from memory.events import Incoming, JournalState
from memory.types import Given, TurnKind
from tests.actors.conftest import JUNO, ROOM, Bot

NOTHING = Given()
NO_MEMORIES = "My last answer to you here was given no memories."


async def why(bot: Bot) -> list[str]:
    await bot.say("!why")
    return bot.matrix.bodies()[-1].split("\n\n")


async def answered(bot: Bot, given: Given = NOTHING, kind: TurnKind = TurnKind.ASK) -> Incoming:
    """Have a message answered, and note in the journal that its turn was of this kind and was given this."""
    event, now = await bot.say("hello"), bot.clock.now()
    async with bot.store.transaction() as tables:
        if kind.remembers:
            await tables.journal.begin_turn(event.event_id, "default", "hello", kind)
            await tables.journal.answered(event.event_id, "answer", JournalState.LEARNED, now, given)
        else:
            await tables.journal.answered_apart(event.event_id, kind, now)
    return event


async def add_document(bot: Bot, title: str, *chunks: str, room: str = ROOM) -> tuple[int, tuple[int, ...]]:
    """Store a document; return its id and those of its parts."""
    document = Document(0, room, title, "text/plain", 10, f"$file of {title}", JUNO, bot.clock.now(), 0)
    async with bot.store.transaction() as tables:
        document_id = await tables.documents.add(document, chunks)
        parts = await tables.documents.lacking(room, "model", None, 100)
    return document_id, tuple(chunk.id for chunk in parts if chunk.document_id == document_id)


KINDS = {
    TurnKind.ASK: [NO_MEMORIES],
    TurnKind.CODE: ["My last answer to you here was to a request for code.", NO_MEMORIES],
    TurnKind.VERSE: ["My last answer to you here was part of a scene.", NO_MEMORIES],
    TurnKind.DRAW: ["My last answer to you here was a drawing. Drawings are made without any memories."],
    TurnKind.STORY: ["My last answer to you here was a story. Stories are told without any memories."],
}


@pytest.mark.parametrize("kind", TurnKind)
async def test_the_kind_is_said_where_it_is_no_ordinary_answer(bot: Bot, kind: TurnKind) -> None:
    await answered(bot, kind=kind)
    assert await why(bot) == KINDS[kind]


@pytest.mark.parametrize("kind", TurnKind)
async def test_the_kind_is_said_in_german(bot: Bot, kind: TurnKind) -> None:
    bot.settings.languages[ROOM] = "de"
    await answered(bot, kind=kind)
    assert (await why(bot))[0].startswith(("Meine letzte Antwort an dich hier ", "Für meine letzte Antwort an dich "))


async def test_a_drawing_after_an_answer_is_what_is_asked_about(bot: Bot) -> None:
    await answered(bot, Given(picture=True))
    await answered(bot, kind=TurnKind.DRAW)
    assert await why(bot) == KINDS[TurnKind.DRAW]


async def test_parts_of_documents_by_number_and_title_best_first_and_no_text_of_them(bot: Bot) -> None:
    first, (one, two) = await add_document(bot, "House *rules*", "no shoes inside", "quiet after ten")
    second, (three,) = await add_document(bot, "Menu", "soup on Mondays")
    await answered(bot, Given(chunks=(three, two)))
    assert one not in (two, three)
    assert await why(bot) == [
        NO_MEMORIES,
        "It was given 2 parts of this room’s documents:",
        f"- **#{second}** Menu, part 1 of 1\n- **#{first}** House \\*rules\\*, part 2 of 2",
    ]


async def test_parts_that_are_gone_are_counted_and_not_named(bot: Bot) -> None:
    gone, (one,) = await add_document(bot, "Old menu", "soup on Mondays")
    kept, (two, three) = await add_document(bot, "House rules", "no shoes inside", "quiet after ten")
    await answered(bot, Given(chunks=(one, two, three)), TurnKind.CODE)
    async with bot.store.transaction() as tables:
        await tables.documents.delete((gone,))
    told = await why(bot)
    assert told[2:] == [
        "It was given 2 parts of this room’s documents:",
        f"- **#{kept}** House rules, part 1 of 2\n- **#{kept}** House rules, part 2 of 2",
        "1 part of a document it was given is gone since.",
    ]
    assert "menu" not in "".join(told)


async def test_a_picture_is_told(bot: Bot) -> None:
    await answered(bot, Given(picture=True))
    assert await why(bot) == [NO_MEMORIES, "It was shown a picture."]
