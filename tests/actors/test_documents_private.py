"""A document that somebody added alone with the bot is for nobody else, whoever comes in later (D8)."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from index.builtin import BuiltinEmbedder
from index.faiss_index import FaissIndexes
from memory.settings import KindSettings, MemorySettings
from memory.types import Match
from tests.actors.breaking import Breakage
from tests.actors.conftest import BAU, JUNO, Bot, until
from tests.actors.document_room import (
    ABOUT_THE_PRINTER,
    CHUNKS,
    HANDBOOK,
    Counted,
    Kills,
    Paragraphs,
    add,
    command,
    counts,
    redact,
    send_file,
    stored,
    texts_given,
)

DIRECT = "!direct:hs"
ALONE: dict[str, Any] = {"room": DIRECT, "direct": True, "alone": True}
TOGETHER: dict[str, Any] = {"room": DIRECT, "direct": True}
TONER = "Bau: the printer Gutenberg needs no toner at all."
KEPT = "1 document that you added alone with me here is shown and used only when you are alone with me here again."


@pytest.fixture
async def bot(tmp_path: Path, embedder: BuiltinEmbedder) -> AsyncIterator[Bot]:
    each = Bot(tmp_path / "data", Counted(embedder))
    each.media = Paragraphs()
    each.matrix.admins = {JUNO, BAU}  # each of them might do all that can be done with a document of the room
    await each.start()
    yield each
    await each.crash()


def file_of(bot: Bot, sender: str = JUNO, text: str = HANDBOOK) -> str:
    return send_file(bot, text, room=DIRECT, sender=sender)


async def kept_by_juno(bot: Bot) -> str:
    """Let Juno add a document alone, and Bau come in; return the event of its file."""
    file = file_of(bot)
    await add(bot, file, **ALONE)
    bot.matrix.joined[DIRECT].add(BAU)
    return file


def leave(bot: Bot, person: str) -> None:
    bot.matrix.joined[DIRECT].discard(person)


async def asked(bot: Bot, sender: str = JUNO, **where: Any) -> list[str]:
    """Ask about the printer; return the parts of documents that the answer was given."""
    await bot.say(ABOUT_THE_PRINTER, sender, **(where or TOGETHER))
    return texts_given(bot)


async def test_d8_it_is_used_and_listed_while_its_adder_is_alone_there_and_says_so(bot: Bot) -> None:
    said = await add(bot, file_of(bot), **ALONE)
    assert said == (
        "Added **#1** handbook.txt, in 3 parts. From now on I may use them in answers to you here, for as long as you "
        "are alone with me."
    )
    assert [row[-1] for row in stored(bot)["documents"]] == [JUNO]
    assert await asked(bot, **ALONE) == [CHUNKS[0]]
    assert "**#1** handbook.txt, part 1 of 3" in await command(bot, "!why", **ALONE)
    assert (await command(bot, "!documents", **ALONE)).endswith("added by @juno:hs on 2026-03-02, for you alone")


async def test_d8_for_who_comes_in_it_is_as_if_it_were_not_there_and_alone_again_its_adder_has_it(bot: Bot) -> None:
    await add(bot, file_of(bot), **ALONE)
    await asked(bot, **ALONE)
    bot.matrix.joined[DIRECT].add(BAU)
    assert "document" not in await command(bot, "!why", **TOGETHER), "though that answer was given some of it"
    for person in (JUNO, BAU):
        assert await asked(bot, person) == []
        assert "document" not in await command(bot, "!why", person, **TOGETHER)
    assert (await command(bot, "!documents", BAU, **TOGETHER)).startswith("This room has no documents.")
    assert await command(bot, "!documents", **TOGETHER) == KEPT
    assert await command(bot, "!documents del 1", BAU, **TOGETHER) == (
        "I deleted no document. Not among this room's documents: #1."
    )
    leave(bot, BAU)
    assert await asked(bot, **ALONE) == [CHUNKS[0]]
    assert "**#1** handbook.txt" in await command(bot, "!documents", **ALONE)
    bot.matrix.joined[DIRECT].add(BAU)
    leave(bot, JUNO)
    assert await asked(bot, BAU, **ALONE) == [], "another person alone there is not the one who added it"
    assert (await command(bot, "!documents", BAU, **ALONE)).startswith("This room has no documents.")


async def test_d8_beside_documents_for_everybody_it_is_not_even_compared(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[frozenset[int]] = []
    real = FaissIndexes.search

    def search(indexes: FaissIndexes, key: Any, vector: Any, allowed: frozenset[int], *rest: Any) -> tuple[Match, ...]:
        if indexes is bot.parts.chunk_indexes:
            compared.append(allowed)
        return real(indexes, key, vector, allowed, *rest)

    monkeypatch.setattr(FaissIndexes, "search", search)
    await kept_by_juno(bot)
    await add(bot, file_of(bot, BAU, TONER), BAU, **TOGETHER)
    bot.settings.of_kinds = KindSettings(documents_threshold=-1.0)
    for person in (JUNO, BAU):
        assert await asked(bot, person) == [TONER]
    assert await command(bot, "!documents", **TOGETHER) == (
        "This room has 1 document, parts of which I may use in answers here:\n\n"
        f"- **#2** handbook.txt (text, 1 kB, 1 part), added by @bau:hs on 2026-03-02\n\n{KEPT}"
    )
    leave(bot, BAU)
    assert len(await asked(bot, **ALONE)) == 3
    assert compared == [{4}, {4}, {1, 2, 3, 4}]


async def test_where_nothing_is_private_the_index_is_searched_as_it_is(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: list[bool] = []
    real = FaissIndexes.search

    def search(indexes: FaissIndexes, key: Any, vector: Any, allowed: frozenset[int], *rest: Any) -> tuple[Match, ...]:
        if indexes is bot.parts.chunk_indexes:
            whole.append(allowed is indexes.ids(key))
        return real(indexes, key, vector, allowed, *rest)

    monkeypatch.setattr(FaissIndexes, "search", search)
    bot.matrix.joined[DIRECT].add(BAU)
    await add(bot, file_of(bot), **TOGETHER)
    await asked(bot)
    leave(bot, BAU)
    await asked(bot, **ALONE)
    assert whole == [True, True]


async def test_d8_with_nothing_but_it_nothing_is_embedded_for_others(bot: Bot) -> None:
    """What takes time tells too."""
    await kept_by_juno(bot)
    bot.settings.rules = MemorySettings(decay_enabled=False)
    assert isinstance(bot.embedder, Counted)
    bot.embedder.queries.clear()
    await asked(bot, BAU)
    assert bot.embedder.queries == []


async def test_d8_what_is_embedded_later_is_private_too(bot: Bot) -> None:
    assert isinstance(bot.embedder, Counted)
    bot.embedder.down = True
    await kept_by_juno(bot)
    bot.embedder.down = False
    await add(bot, file_of(bot, BAU, TONER), BAU, **TOGETHER)
    await asked(bot, BAU)
    assert counts(bot) == (2, 4, 4), "its chunks are embedded by now, and in the index that is loaded"
    assert await asked(bot, BAU) == [TONER]
    await bot.restart()
    assert await asked(bot, BAU) == [TONER]


async def test_d8_what_is_gone_of_it_is_not_counted_where_others_are(bot: Bot) -> None:
    await add(bot, file_of(bot), **ALONE)
    await asked(bot, **ALONE)
    await command(bot, "!documents del 1", **ALONE)
    assert "is gone since" in await command(bot, "!why", **ALONE)
    bot.matrix.joined[DIRECT].add(BAU)
    assert "gone" not in await command(bot, "!why", **TOGETHER)


# --- added again ------------------------------------------------------------------------------------------------------


async def test_d8_the_same_file_is_added_for_everybody_as_if_it_were_not_there(bot: Bot) -> None:
    file = await kept_by_juno(bot)
    assert "did not send it for everyone here" in await add(bot, file, BAU, **TOGETHER)
    assert (await add(bot, file_of(bot, BAU), BAU, **TOGETHER)).startswith("Added **#2**"), "word for word the same"
    there = "This room has that document already: **#2** handbook.txt."
    assert await add(bot, file, **TOGETHER) == there
    await command(bot, "!documents del 2", BAU, **TOGETHER)
    assert (await add(bot, file, **TOGETHER)).startswith("Added **#3** handbook.txt, in 3 parts. From now on I may use")
    assert await asked(bot, BAU) == [CHUNKS[0]]
    assert [(row[0], row[5], row[-1]) for row in stored(bot)["documents"]] == [(1, file, JUNO), (3, file, None)]
    leave(bot, BAU)
    assert await add(bot, file, **ALONE) == "This room has that document already: **#1** handbook.txt."


async def test_d8_what_everybody_has_is_there_already_for_who_is_alone(bot: Bot) -> None:
    bot.matrix.joined[DIRECT].add(BAU)
    file = file_of(bot)
    await add(bot, file, **TOGETHER)
    leave(bot, BAU)
    assert await add(bot, file, **ALONE) == "This room has that document already: **#1** handbook.txt."
    assert counts(bot) == (1, 3, 3)


async def test_d8_it_counts_for_the_most_documents_of_nobody_else(bot: Bot) -> None:
    bot.settings.of_kinds = KindSettings(documents_most=1)
    await kept_by_juno(bot)
    assert (await add(bot, file_of(bot, BAU, TONER), BAU, **TOGETHER)).startswith("Added **#2**")
    leave(bot, BAU)
    assert "as it may have (1)" in await add(bot, file_of(bot, text="More."), **ALONE)


async def test_d8_a_file_of_somebody_else_that_the_journal_forgot_may_have_been_sent_in_private(bot: Bot) -> None:
    file = file_of(bot)
    bot.matrix.joined[DIRECT].add(BAU)
    assert "did not send it for everyone here" in await add(bot, file, BAU, **TOGETHER)
    sent = send_file(bot, text="In a group.", sender=JUNO)
    assert (await add(bot, sent, BAU)).startswith("Added **#1**"), "there nothing is private"


# --- deleted ----------------------------------------------------------------------------------------------------------


async def test_d8_its_adder_deletes_it_by_its_number_though_others_are_there(bot: Bot) -> None:
    bot.matrix.admins = set()
    await kept_by_juno(bot)
    assert await command(bot, "!documents del 1", BAU, **TOGETHER) == (
        "I deleted no document. Not among this room's documents: #1."
    )
    assert await command(bot, "!documents del 1", **TOGETHER) == "Deleted: #1."
    assert counts(bot) == (0, 0, 0)
    assert (await command(bot, "!documents", **TOGETHER)).startswith("This room has no documents.")


async def test_d8_a_redaction_of_the_file_takes_it_and_the_one_for_everybody_along(bot: Bot) -> None:
    file = await kept_by_juno(bot)
    await add(bot, file, **TOGETHER)
    assert counts(bot) == (2, 6, 6)
    await redact(bot, file, DIRECT, BAU)
    assert counts(bot) == (0, 0, 0)
    assert await asked(bot) == []


# --- somebody comes in meanwhile --------------------------------------------------------------------------------------


async def test_d8_where_somebody_comes_in_while_the_file_is_read_it_stays_private_and_is_told_in_private(
    bot: Bot,
) -> None:
    assert isinstance(bot.media, Paragraphs)
    bot.media.gate = asyncio.Event()
    await bot.deliver(bot.message("!documents add", reply_to=file_of(bot), **ALONE))
    await until(lambda: bool(bot.media.read))  # type: ignore[attr-defined]
    bot.matrix.joined[DIRECT].add(BAU)
    bot.media.gate.set()
    await bot.settle()
    assert [row[-1] for row in stored(bot)["documents"]] == [JUNO]
    assert_told_in_private(bot)
    assert await asked(bot, BAU) == []


@pytest.mark.parametrize("editor", [True, False])
async def test_d8_nor_is_it_everybodys_where_they_came_in_before_the_command_was_dealt_with(
    bot: Bot, *, editor: bool
) -> None:
    """Juno may add documents for everybody perhaps, but asked for this where nobody else was."""
    bot.matrix.admins = {JUNO} if editor else set()
    event = bot.message("!documents add", reply_to=file_of(bot), **ALONE)
    bot.matrix.joined[DIRECT].add(BAU)
    await bot.deliver(event)
    await bot.settle()
    assert [row[-1] for row in stored(bot)["documents"]] == [JUNO]
    assert_told_in_private(bot)


@pytest.mark.parametrize("editor", [True, False])
async def test_d8_a_bot_killed_anywhere_tells_others_nothing_of_it(bot: Bot, tmp_path: Path, *, editor: bool) -> None:
    bot.matrix.admins = {JUNO} if editor else set()
    event = bot.message("!documents add", reply_to=file_of(bot), **ALONE)
    kills = Kills(bot, tmp_path)
    with Breakage(on_commit=kills.keep):
        await bot.deliver(event)
        await bot.settle()
    bot.matrix.joined[DIRECT].add(BAU)
    found = set()
    for folder in kills.folders:
        with closing(sqlite3.connect(folder / "davenport.db")) as connection:
            if connection.execute("SELECT 1 FROM outbox").fetchall():
                continue  # it was answered while they were alone
        found.add(kills.counted[folder])
        async with kills.revived(folder) as killed:
            assert [row[-1] for row in stored(killed)["documents"]] == [JUNO]
            assert await asked(killed, BAU) == []
            assert not [body for body in killed.matrix.bodies(DIRECT) if "handbook" in body]
            assert killed.matrix.bodies(killed.matrix.direct[JUNO])[0].startswith("Added **#1** handbook.txt")
    assert found == {(0, 0, 0), (1, 3, 3)}


def assert_told_in_private(bot: Bot) -> None:
    assert bot.matrix.bodies(DIRECT) == [
        "Somebody has come into this room meanwhile, so I answer you in our direct room."
    ]
    [told] = bot.matrix.bodies(bot.matrix.direct[JUNO])
    assert told.startswith("Added **#1** handbook.txt, in 3 parts. From now on I may use them in answers to you here")


async def test_d8_years_later_it_is_still_private(bot: Bot) -> None:
    """It hangs on no entry of the journal."""
    await kept_by_juno(bot)
    bot.clock.advance(timedelta(days=400))
    async with bot.store.transaction() as tables:
        await tables.journal.prune(bot.clock.now())
        await tables.journal.forget(bot.clock.now(), 1000)
    await bot.restart()
    assert await asked(bot, BAU) == []
    leave(bot, BAU)
    assert await asked(bot, **ALONE) == [CHUNKS[0]]
