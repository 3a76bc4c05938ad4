"""Redacting a file's event takes its document and all vectors along, whoever redacts it and whenever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from index.builtin import BuiltinEmbedder
from memory.errors import MatrixError
from memory.events import Incoming, IncomingKind, JournalState
from tests.actors.breaking import Breakage
from tests.actors.conftest import BAU, BOT, JUNO, ROOM, Bot, until
from tests.actors.document_room import (
    ABOUT_THE_PRINTER,
    CHUNKS,
    Kills,
    add,
    answer_to,
    counts,
    living,
    media,
    redact,
    redaction,
    send_file,
    texts_given,
)


@pytest.fixture
async def bot(tmp_path: Path, embedder: BuiltinEmbedder) -> AsyncIterator[Bot]:
    async with living(tmp_path / "data", embedder) as each:
        yield each


async def test_a_file_the_journal_never_saw_takes_its_document_along(bot: Bot) -> None:
    file = send_file(bot)
    await add(bot, file)
    await add(bot, send_file(bot, "Something that stays."))
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == [CHUNKS[0]]
    await redact(bot, file, sender=BAU)
    assert counts(bot) == (1, 1, 1)
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == []


@pytest.mark.parametrize("addressed", [True, False])
async def test_a_file_that_was_journalled_does_so_too(bot: Bot, *, addressed: bool) -> None:
    """As a message for the bot, or as one that was ignored."""
    file = send_file(bot)
    sent = bot.message("", addressed=addressed)
    sent = Incoming(file, ROOM, JUNO, IncomingKind.MESSAGE, sent.sent_at, addressed=addressed)
    await bot.deliver(sent)
    await bot.settle()
    await add(bot, file)
    assert counts(bot) == (1, 3, 3)
    await redact(bot, file)
    assert counts(bot) == (0, 0, 0)


async def test_months_later_when_no_event_is_known_any_more(bot: Bot) -> None:
    file = send_file(bot)
    await add(bot, file)
    bot.clock.advance(timedelta(days=90))
    async with bot.store.transaction() as tables:
        await tables.journal.prune(bot.clock.now())
        await tables.journal.forget(bot.clock.now(), 1000)
    await bot.restart()
    await redact(bot, file)
    assert counts(bot) == (0, 0, 0)


async def test_a_redaction_in_another_room_or_of_another_event_takes_nothing(bot: Bot) -> None:
    file = send_file(bot)
    added = bot.message("!documents add", reply_to=file)
    await bot.deliver(added)
    await bot.settle()
    await redact(bot, file, room="!two:hs")
    await redact(bot, "$another")
    await redact(bot, added.event_id)
    assert counts(bot) == (1, 3, 3), "the document hangs on its file, not on the command"


async def test_an_edit_of_the_file_changes_nothing(bot: Bot) -> None:
    file = send_file(bot)
    await add(bot, file)
    await bot.deliver(Incoming("$edit", ROOM, JUNO, IncomingKind.EDIT, bot.clock.now(), "new", "new", target=file))
    await bot.settle()
    assert counts(bot) == (1, 3, 3)


async def test_while_it_is_being_added_nothing_is_left(bot: Bot) -> None:
    media(bot).gate = asyncio.Event()
    file = send_file(bot)
    event = bot.message("!documents add", reply_to=file)
    await bot.deliver(event)
    await until(lambda: bool(media(bot).read))
    await redact_only(bot, file)
    media(bot).gate.set()
    await bot.settle()
    assert answer_to(bot, event).startswith("That file was deleted while I read it")
    assert counts(bot) == (0, 0, 0)


async def redact_only(bot: Bot, file: str) -> None:
    """Take in a redaction and wait until it is dealt with, though a command is still under way."""
    event = redaction(bot, file)
    await bot.deliver(event)

    async def dealt_with() -> bool:
        async with bot.store.transaction() as tables:
            return event.event_id not in {each.incoming.event_id for each in await tables.journal.unfinished()}

    await until(dealt_with)


async def test_the_command_taken_back_while_it_runs_adds_nothing(bot: Bot) -> None:
    media(bot).gate = asyncio.Event()
    event = bot.message("!documents add", reply_to=send_file(bot))
    await bot.deliver(event)
    await until(lambda: bool(media(bot).read))
    await redact(bot, event.event_id)
    assert counts(bot) == (0, 0, 0)
    assert bot.matrix.sent == []


async def test_after_a_kill_during_the_addition_a_redacted_file_adds_nothing(bot: Bot) -> None:
    media(bot).gate = asyncio.Event()
    file = send_file(bot)
    event = bot.message("!documents add", reply_to=file)
    await bot.deliver(event)
    await until(lambda: bool(media(bot).read))
    await redact_only(bot, file)
    media(bot).gate = None  # it was read before, and the homeserver still gives it: only the journal knows
    await bot.restart()
    await bot.settle()
    assert counts(bot) == (0, 0, 0)
    assert answer_to(bot, event).startswith("That file was deleted while I read it")


async def test_a_bot_killed_anywhere_in_a_redaction_has_all_or_nothing_and_ends_with_nothing(
    bot: Bot, tmp_path: Path
) -> None:
    file = send_file(bot)
    await add(bot, file)
    kills = Kills(bot, tmp_path)
    with Breakage(on_commit=kills.keep):
        await redact(bot, file)
    assert {kills.counted[folder] for folder in kills.folders} == {(1, 3, 3), (0, 0, 0)}
    for folder in kills.folders:
        async with kills.revived(folder) as killed:
            assert counts(killed) == (0, 0, 0)
            await killed.say(ABOUT_THE_PRINTER)
            assert texts_given(killed) == []


async def test_nothing_of_its_text_is_left_in_the_database(bot: Bot) -> None:
    file = send_file(bot)
    await add(bot, file)
    await redact(bot, file)
    async with bot.store.transaction() as tables:
        rows = await tables.journal._sql.rows("SELECT result FROM effects")
    assert "handbook" not in str(rows)
    assert counts(bot) == (0, 0, 0)


async def test_an_event_of_the_same_id_in_another_room_keeps_its_document(bot: Bot) -> None:
    """Ids are of one homeserver's making; a room's documents are looked for by both."""
    bot.matrix.files["!two:hs", "$shared"] = bot.matrix.files[ROOM, "$shared"] = bot.matrix.files[ROOM, send_file(bot)]
    await add(bot, "$shared")
    await add(bot, "$shared", room="!two:hs")
    assert counts(bot) == (2, 6, 6)
    await redact(bot, "$shared")
    assert counts(bot) == (1, 3, 3)
    await bot.say(ABOUT_THE_PRINTER, room="!two:hs")
    assert texts_given(bot) == [CHUNKS[0]]


@pytest.mark.parametrize("killed", [False, True])
async def test_what_was_deleted_while_the_bot_was_not_in_the_room_is_gone_once_it_is_back(
    bot: Bot, *, killed: bool
) -> None:
    file, other = send_file(bot), send_file(bot, "Something that stays.")
    await add(bot, file)
    await add(bot, other)
    bot.matrix.redacted.add((ROOM, file))
    bot.matrix.fetch_gate = asyncio.Event()
    await bot.deliver(Incoming("$back", ROOM, BOT, IncomingKind.JOINED, bot.clock.now()))
    if killed:
        await bot.restart()
    assert counts(bot)[0] == 2
    bot.matrix.fetch_gate.set()
    await bot.settle()
    assert counts(bot) == (1, 1, 1)
    assert bot.matrix.bodies()[-1].startswith("Hello"), "and it greets the room"
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == []


async def test_where_the_homeserver_cannot_tell_documents_stay_and_only_those(bot: Bot) -> None:
    file, other = send_file(bot), send_file(bot, "Something that goes.")
    await add(bot, file)
    await add(bot, other)
    bot.matrix.fetch_failures = [MatrixError("down")]
    bot.matrix.redacted |= {(ROOM, file), (ROOM, other)}
    await bot.deliver(Incoming("$back", ROOM, BOT, IncomingKind.JOINED, bot.clock.now()))
    await bot.settle()
    assert counts(bot) == (1, 3, 3)
    assert bot.matrix.bodies()[-1].startswith("Hello")


@pytest.mark.parametrize("deleted", ["redaction", "command"])
async def test_an_answer_under_way_that_was_given_a_part_of_it_is_not_sent(bot: Bot, deleted: str) -> None:
    """What was deleted is not answered from any more; what the answer cost stays counted, and nothing is learned."""
    file = send_file(bot)
    await add(bot, file)
    gate = bot.model.gates["Gutenberg"] = asyncio.Event()
    event = bot.message(ABOUT_THE_PRINTER)
    await bot.deliver(event)
    await until(lambda: "Gutenberg" in bot.model.replying)
    if deleted == "redaction":
        await redact_only(bot, file)
    else:
        bot.matrix.admins.add(BAU)
        await bot.deliver(bot.message("!documents del 1", BAU))
        await until(lambda: counts(bot)[0] == 0)
    gate.set()
    await bot.settle()
    assert answer_to(bot, event) == bot.parts.speaker(ROOM)("given-deleted")
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event.event_id)
        spent = await tables.journal._sql.rows("SELECT purpose FROM usage WHERE event_id = ?", event.event_id)
    assert entry is not None
    assert (entry.state, entry.answer) == (JournalState.FAILED, None)
    assert len(spent) == 1
    assert bot.model.requests == []


async def test_an_answer_under_way_that_was_given_parts_of_another_goes_out(bot: Bot) -> None:
    await add(bot, send_file(bot))
    other = send_file(bot, "Something about quite another thing.")
    await add(bot, other)
    bot.settings.of_kinds = replace(bot.settings.of_kinds, documents_in_prompt=1)
    gate = bot.model.gates["Gutenberg"] = asyncio.Event()
    event = bot.message(ABOUT_THE_PRINTER)
    await bot.deliver(event)
    await until(lambda: "Gutenberg" in bot.model.replying)
    await redact_only(bot, other)
    gate.set()
    await bot.settle()
    assert texts_given(bot) == [CHUNKS[0]]
    assert answer_to(bot, event) == "answer"
