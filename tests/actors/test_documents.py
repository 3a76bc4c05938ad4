"""`!documents` through the whole bot: added as a reply to a file, listed, deleted; what each touches, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from actors.chunks import ChunkIndex
from actors.document_messages import AddDocument, AddedDocument, AddedFile, DeletedDocuments, DeleteDocuments
from actors.documents import DocumentDesk
from actors.messages import EffectKey
from actors.metrics import NoMetrics
from actors.ports import Vector
from index.builtin import BuiltinEmbedder
from memory.errors import MatrixError, MediaFailed, Refused, StorageError
from memory.events import JournalState
from memory.settings import KindSettings, MemorySettings
from tests.actors.breaking import Breakage
from tests.actors.conftest import BAU, JUNO, ROOM, Bot, until
from tests.actors.document_room import (
    ABOUT_THE_PRINTER,
    CHUNKS,
    HANDBOOK,
    Kills,
    Paragraphs,
    add,
    answer_to,
    command,
    counts,
    living,
    media,
    redact,
    send_file,
    stored,
    texts_given,
)
from tests.actors.touched import touched

DIRECT = "!own:hs"


@pytest.fixture
async def bot(tmp_path: Path, embedder: BuiltinEmbedder) -> AsyncIterator[Bot]:
    async with living(tmp_path / "data", embedder) as each:
        yield each


# --- added ------------------------------------------------------------------------------------------------------------


async def test_a_file_becomes_a_document_with_chunks_and_vectors_and_is_listed_to_everyone(bot: Bot) -> None:
    event_id = send_file(bot)
    assert await add(bot, event_id) == (
        "Added **#1** handbook.txt, in 3 parts. From now on I may use them in answers to everyone in this room."
    )
    rows = stored(bot)
    assert rows["documents"] == [
        (1, ROOM, "handbook.txt", "text/plain", len(HANDBOOK), event_id, JUNO, "2026-03-02T09:00:00.000000+00:00", None)
    ]
    assert [row[1:] for row in rows["chunks"]] == [(1, number, text) for number, text in enumerate(CHUNKS, 1)]
    assert rows["chunk_embeddings"] == [(number, BuiltinEmbedder.model_id) for number in (1, 2, 3)]
    for word in ("documents", "document list", "docs"):
        assert await command(bot, f"!{word}", BAU) == (
            "This room has 1 document, parts of which I may use in answers here:\n\n"
            "- **#1** handbook.txt (text, 1 kB, 3 parts), added by @juno:hs on 2026-03-02"
        )


async def test_which_tables_each_command_touches(bot: Bot) -> None:
    database = bot.folder
    event_id = send_file(bot)
    await bot.say("!help")
    usual = {"journal", "outbox", "sync_state"}
    kept = {"documents", "chunks", "chunk_embeddings"}
    assert await touched(database, lambda: add(bot, event_id)) == usual | kept | {"effects"}
    assert await touched(database, lambda: command(bot, "!documents")) == usual
    assert await touched(database, lambda: command(bot, "!documents del 7")) == usual | {"effects"}
    assert await touched(database, lambda: command(bot, "!documents del 1")) == usual | kept | {"effects"}
    other = send_file(bot)
    await add(bot, other)
    assert await touched(database, lambda: redact(bot, other)) == {"journal", "sync_state"} | kept
    assert not bot.embedder.queries  # type: ignore[union-attr] # no command searches (D2)
    assert not bot.model.requests, "nothing is learned from a command (P1)"


async def test_the_same_file_or_the_same_text_twice_is_there_already(bot: Bot) -> None:
    event_id = send_file(bot)
    await add(bot, event_id)
    media(bot).read.clear()
    there = "This room has that document already: **#1** handbook.txt."
    assert await add(bot, event_id) == there
    assert media(bot).read == [], "it was not even fetched"
    assert await add(bot, send_file(bot, name="other.txt")) == there
    assert counts(bot) == (1, 3, 3)
    longer = await add(bot, send_file(bot, HANDBOOK.replace("blue", "cyan"), name="next year.txt"))
    assert longer.startswith("Added **#2** next year")
    assert counts(bot) == (2, 6, 6)


async def test_its_own_title_is_taken_and_what_people_wrote_is_shown_as_text(bot: Bot) -> None:
    media(bot).title = "  **All**\n about  <b>us</b> "
    said = await add(bot, send_file(bot))
    assert stored(bot)["documents"][0][2] == "**All** about <b>us</b>"
    assert "**All** about <b>" not in said, "it is escaped"
    media(bot).title = ""
    await add(bot, send_file(bot, "Something else.", name="\u202e \n"))
    assert stored(bot)["documents"][1][2] == "Untitled"


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [("text/markdown", "Markdown"), ("text/html", "HTML"), ("application/pdf", "PDF"), ("text/plain", "text")],
)
async def test_the_list_names_the_kind_of_file(bot: Bot, media_type: str, kind: str) -> None:
    await add(bot, send_file(bot, "x", media_type=media_type))
    assert f"({kind}, 1 kB, 1 part)" in await command(bot, "!documents")


class Counting(NoMetrics):
    """Notes changes of documents, and the stages of turns."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, int]] = []
        self.stages: list[str] = []

    def documents(self, change: str, count: int) -> None:
        self.changes.append((change, count))

    def stage(self, stage: str, seconds: float) -> None:
        self.stages.append(stage)


async def test_what_comes_and_goes_is_counted_once_and_the_search_timed(bot: Bot) -> None:
    metrics = Counting()
    bot.parts = replace(bot.parts, metrics=metrics)
    first, second, third = (send_file(bot, f"{HANDBOOK} {number}") for number in range(3))
    for file in (first, first, second, third):
        await add(bot, file)
    assert "documents" not in metrics.stages
    await bot.say(ABOUT_THE_PRINTER)
    assert metrics.stages.count("documents") == 1
    await command(bot, "!documents del 1 2 8")
    await redact(bot, third)
    await redact(bot, third)
    assert metrics.changes == [*[("added", 1)] * 3, ("deleted", 2), ("deleted", 1)]
    await bot.say(ABOUT_THE_PRINTER)
    assert metrics.stages.count("documents") == 1, "there was nothing to search any more"


# --- refused ----------------------------------------------------------------------------------------------------------


async def test_each_refusal_says_in_one_sentence_or_two_what_to_do(bot: Bot) -> None:
    settings = KindSettings(documents_most_bytes=5000, documents_chunks=3, documents_most=1)
    bot.settings.of_kinds = settings
    event_id = send_file(bot)
    assert "reply to it with `!documents add`" in await command(bot, "!documents add")
    assert "Reply to a text, Markdown, HTML or PDF file" in await add(bot, "$a-text")
    assert "no more than 0.005 MB" in await add(bot, send_file(bot, "x" * 6000))
    assert "no text in that file" in await add(bot, send_file(bot, " \n\n\u200b"))
    bot.settings.of_kinds = replace(settings, documents_enabled=False)
    assert "config room documents.enabled true" in await add(bot, event_id)
    bot.settings.of_kinds = settings
    media(bot).fails = MediaFailed("no process")
    assert "could not read that file just now" in await add(bot, event_id)
    media(bot).fails = Refused("file-unreadable")
    assert "I cannot read that file" in await add(bot, event_id)
    media(bot).fails = None
    assert counts(bot) == (0, 0, 0)
    await add(bot, event_id)
    assert "as it may have (1)" in await add(bot, send_file(bot, "Another."))
    assert counts(bot) == (1, 3, 3)


async def test_a_homeserver_that_does_not_answer_is_named_and_the_log_has_the_cause(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(*values: object) -> None:
        raise MatrixError("down for repairs")

    monkeypatch.setattr(bot.matrix, "attachment", fails)
    assert "could not get that file from the homeserver" in await add(bot, send_file(bot))
    assert "down for repairs" in caplog.text


async def test_the_log_has_the_cause_where_no_process_reads_files_and_no_word_where_the_file_is_at_fault(
    bot: Bot, caplog: pytest.LogCaptureFixture
) -> None:
    media(bot).fails = MediaFailed("the process was ended by a filter of system calls")
    assert "could not read that file just now" in await add(bot, send_file(bot))
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        f"the command of $e{bot.events} came to nothing: the process was ended by a filter of system calls"
    ]
    caplog.clear()
    media(bot).fails = Refused("document-damaged")
    await add(bot, send_file(bot))
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []


async def test_only_who_may_change_the_rooms_memories_adds_but_alone_with_the_bot_one_may(bot: Bot) -> None:
    assert "Only people who may change this room's memories" in await add(bot, send_file(bot), BAU)
    assert counts(bot) == (0, 0, 0)
    in_private = send_file(bot, room=DIRECT, sender=BAU)
    assert (await add(bot, in_private, BAU, DIRECT, direct=True, alone=True)).startswith("Added **#1**")
    bot.matrix.joined[DIRECT] |= {"@third:hs"}
    other = send_file(bot, "Another.", room=DIRECT, sender=BAU)
    assert "Only people who" in await add(bot, other, BAU, DIRECT, direct=True), "somebody has come in"


async def test_d8_a_file_of_somebody_silent_or_sent_in_private_is_added_by_themselves_only(bot: Bot) -> None:
    """As a picture of theirs is looked at; somebody silent may still give commands."""
    bot.matrix.admins = {JUNO, BAU}
    await bot.say("!privacy silent", BAU)
    silent = send_file(bot, "Of Bau.", sender=BAU)
    refused = "I do not add that file: whoever sent it did not send it for everyone here. They can add it themselves."
    assert await add(bot, silent) == refused
    assert media(bot).read == [], "it was not even read"
    assert (await add(bot, silent, BAU)).startswith("Added **#1**")
    private = send_file(bot, "Of Bau alone.", room=DIRECT, sender=BAU)
    sent = bot.message("", BAU, DIRECT, direct=True, alone=True)
    await bot.deliver(replace(sent, event_id=private))
    await bot.settle()
    assert await add(bot, private, room=DIRECT) == refused
    assert counts(bot) == (1, 1, 1)


async def test_a_room_kept_out_of_memory_adds_nothing_and_searches_nothing(bot: Bot) -> None:
    await add(bot, send_file(bot))
    bot.settings.rules = MemorySettings(blacklist=("!room:*",))
    assert "keeps this room out of my memory" in await add(bot, send_file(bot, "More."))
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == []
    assert "They are not used in answers" in await command(bot, "!documents")
    assert "Deleted: #1." in await command(bot, "!documents del 1")


async def test_too_many_at_once_are_held_to_the_limit_too(bot: Bot) -> None:
    """Both pass the first look; the transaction that stores decides."""
    bot.settings.of_kinds = KindSettings(documents_most=1)
    media(bot).gate = asyncio.Event()
    bot.matrix.admins |= {BAU}
    events = [
        bot.message("!documents add", JUNO, reply_to=send_file(bot, "One.")),
        bot.message("!documents add", BAU, reply_to=send_file(bot, "Two.")),
    ]
    await bot.deliver(*events)
    await until(lambda: len(media(bot).read) == 2)
    media(bot).gate.set()
    await bot.settle()
    answers = sorted(answer_to(bot, event).split()[0] for event in events)
    assert answers == ["Added", "This"]
    assert counts(bot) == (1, 1, 1)


# --- deleted ----------------------------------------------------------------------------------------------------------


async def test_editors_delete_any_others_what_they_added_themselves(bot: Bot) -> None:
    bot.matrix.admins = {JUNO, BAU}
    for number, sender in enumerate((JUNO, BAU, BAU), 1):
        await add(bot, send_file(bot, f"Text {number}."), sender)
    bot.matrix.admins = {JUNO}
    assert await command(bot, "!documents del 1 2 9 x", BAU) == (
        "Deleted: #2. Not deleted: #1. Only those who added a document, and those who may change what I remember of "
        "this room, can delete it. Not among this room's documents: #9, x."
    )
    assert await command(bot, "!documents del 2", JUNO) == (
        "I deleted no document. Not among this room's documents: #2."
    )
    assert await command(bot, "!docs delete 1-3", JUNO) == ("Deleted: #1, #3. Not among this room's documents: #2.")
    assert counts(bot) == (0, 0, 0)
    assert "no documents" in await command(bot, "!documents")


async def test_a_document_of_another_room_cannot_be_listed_or_deleted_here(bot: Bot) -> None:
    await add(bot, send_file(bot, room="!two:hs"), room="!two:hs")
    assert "no documents" in await command(bot, "!documents")
    assert "Not among this room's documents: #1." in await command(bot, "!documents del 1")
    assert counts(bot) == (1, 3, 3)


async def test_ids_are_not_used_again(bot: Bot) -> None:
    await add(bot, send_file(bot))
    await command(bot, "!documents del 1")
    assert (await add(bot, send_file(bot))).startswith("Added **#2**")
    assert [row[0] for row in stored(bot)["chunks"]] == [4, 5, 6]


async def test_documents_are_the_rooms_whatever_becomes_of_who_added_them(bot: Bot) -> None:
    await add(bot, send_file(bot))
    await bot.say("!privacy silent")
    await bot.say("!memories clear")
    await bot.say("!forget")
    await bot.say(ABOUT_THE_PRINTER, BAU)
    assert texts_given(bot) == [CHUNKS[0]]


# --- once -------------------------------------------------------------------------------------------------------------


async def test_a_bot_killed_anywhere_in_an_addition_adds_the_document_once_and_says_so_once(
    bot: Bot, tmp_path: Path
) -> None:
    """What a kill leaves is what the last commit left: each of those states is gone on with."""
    event = bot.message("!documents add", reply_to=send_file(bot))
    kills = Kills(bot, tmp_path)
    with Breakage(on_commit=kills.keep):
        await bot.deliver(event)
        await bot.settle()
    found = set()
    for folder in kills.folders:
        found.add(kills.counted[folder])
        async with kills.revived(folder) as killed:
            assert answer_to(killed, event).startswith("Added **#1** handbook.txt, in 3 parts.")
            assert counts(killed) == (1, 3, 3)
            async with killed.store.transaction() as tables:
                entry = await tables.journal.get(event.event_id)
            assert entry is not None
            assert entry.state is JournalState.LEARNED
    assert found == {(0, 0, 0), (1, 3, 3)}, "a document is there whole or not at all"


async def test_a_bot_killed_anywhere_in_a_deletion_says_the_same(bot: Bot, tmp_path: Path) -> None:
    await add(bot, send_file(bot))
    event = bot.message("!documents del 1")
    kills = Kills(bot, tmp_path)
    with Breakage(on_commit=kills.keep):
        await bot.deliver(event)
        await bot.settle()
    for folder in kills.folders:
        assert kills.counted[folder] in {(0, 0, 0), (1, 3, 3)}
        async with kills.revived(folder) as killed:
            assert answer_to(killed, event) == "Deleted: #1."
            assert counts(killed) == (0, 0, 0)


async def test_an_addition_that_fails_at_any_statement_leaves_nothing_or_all_and_can_be_tried_again(bot: Bot) -> None:
    await bot.say("!documents add")  # an event for the redactions that came after it to be looked for
    desk = DocumentDesk(ROOM, bot.parts, ChunkIndex(ROOM, bot.parts, lambda work: None))
    assert bot.embedder is not None
    vectors = tuple(await bot.embedder.embed(CHUNKS))
    with Breakage() as all_of_it:
        await desk.answer(addition("$whole", "$e1", vectors))
    await command(bot, "!documents del 1")
    for number in range(len(all_of_it.statements)):
        request = addition(f"$file-{number}", f"$command-{number}", vectors)
        with pytest.raises(StorageError), Breakage(at=number):
            await desk.answer(request)
        assert counts(bot) == (0, 0, 0), all_of_it.statements[number]
        added = await desk.answer(request)
        assert isinstance(added, AddedDocument)
        assert counts(bot) == (1, 3, 3)
        assert await desk.answer(request) == added
        again = DeleteDocuments((added.document.id,), JUNO, True, EffectKey(f"$delete-{number}"))
        assert await desk.answer(again) == DeletedDocuments((added.document.id,), (), ())
        with pytest.raises(Refused, match="documents-gone"):
            await desk.answer(request)


def addition(event_id: str, by: str, vectors: tuple[Vector, ...]) -> AddDocument:
    file = AddedFile("handbook.txt", "text/plain", len(HANDBOOK), event_id, JUNO, JUNO)
    return AddDocument(file, CHUNKS, BuiltinEmbedder.model_id, vectors, 50, EffectKey(by))


async def test_without_an_embedder_documents_are_kept_and_not_searched_and_add_says_so_d13(tmp_path: Path) -> None:
    bot = Bot(tmp_path / "data", None)
    bot.media, bot.matrix.admins = Paragraphs(), {JUNO}
    await bot.start()
    said = await add(bot, send_file(bot))
    assert said.startswith("Added **#1** handbook.txt. I do not search it, though")
    assert counts(bot) == (1, 3, 0)
    assert "They are not used in answers" in await command(bot, "!documents")
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == []
    await bot.crash()
