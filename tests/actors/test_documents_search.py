"""Documents in a turn: embedded once with the memories (D2), what fails (D7), what is embedded later (D17)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from actors.sweep import Sweep
from index.builtin import BuiltinEmbedder
from index.faiss_index import FaissIndexes
from memory.errors import EmbeddingError, StorageError
from memory.settings import KindSettings, MemorySettings
from memory.types import Draft, Given, Origin, ScopeKind, Source
from storage.documents import DocumentRows
from tests.actors.conftest import BAU, JUNO, ROOM, START, Bot, until
from tests.actors.document_room import (
    ABOUT_THE_PRINTER,
    CHUNKS,
    HANDBOOK,
    Counted,
    add,
    command,
    counted,
    counts,
    given,
    living,
    redact,
    send_file,
    stored,
    texts_given,
)
from tests.fakes.word_embedder import WordEmbedder

OTHER = "!two:hs"


@pytest.fixture
async def bot(tmp_path: Path, embedder: BuiltinEmbedder) -> AsyncIterator[Bot]:
    async with living(tmp_path / "data", embedder) as each:
        yield each


async def last_given(bot: Bot, sender: str = JUNO) -> Given:
    async with bot.store.transaction() as tables:
        found = await tables.journal.last_given(ROOM, None, sender)
    assert found is not None
    return found


async def remembered(bot: Bot, text: str) -> int:
    draft = Draft(
        ScopeKind.PERSONAL, JUNO, "default", text, Source.TOOL, Origin(ROOM, "$said", private=False), bot.clock.now()
    )
    [vector] = await counted(bot).embed([text])
    async with bot.store.transaction() as tables:
        memory = await tables.memories.insert(draft, bot.clock.now())
        await tables.memories.put_vectors(Counted.model_id, [(memory.id, text, vector)])
    return memory.id


# --- searched ---------------------------------------------------------------------------------------------------------


async def test_d2_a_message_is_embedded_once_for_memories_and_documents(bot: Bot) -> None:
    await add(bot, send_file(bot))
    for text in (ABOUT_THE_PRINTER, f"!ask {ABOUT_THE_PRINTER}", f"!code {ABOUT_THE_PRINTER}"):
        counted(bot).queries.clear()
        await bot.say(text)
        assert counted(bot).queries == [ABOUT_THE_PRINTER]
        assert ABOUT_THE_PRINTER not in counted(bot).texts
        assert given(bot) == [("handbook.txt", "1 of 3", CHUNKS[0])]
        assert (await last_given(bot)).chunks == (1,)


async def test_best_first_no_more_than_allowed_and_none_below_the_threshold(bot: Bot) -> None:
    await add(bot, send_file(bot, "\n\n".join((*CHUNKS, "Gutenberg is the printer; its toner is blue."))))
    bot.settings.of_kinds = KindSettings(documents_in_prompt=1)
    await bot.say(ABOUT_THE_PRINTER)
    best = texts_given(bot)
    bot.settings.of_kinds = KindSettings(documents_in_prompt=4, documents_threshold=0.0)
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot)[:1] == best
    assert set(texts_given(bot)[:2]) == {CHUNKS[0], "Gutenberg is the printer; its toner is blue."}
    bot.settings.of_kinds = KindSettings(documents_threshold=1.0)
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == []
    assert (await last_given(bot)).chunks == ()


async def test_d14_documents_stand_beside_the_last_message_and_leave_the_start_as_it_is(bot: Bot) -> None:
    await bot.say(ABOUT_THE_PRINTER)
    start = bot.model.prompts[-1].system
    await add(bot, send_file(bot))
    await bot.say(ABOUT_THE_PRINTER)
    assert bot.model.prompts[-1].system == start
    assert "<document" not in "".join(block.text for m in bot.model.prompts[-1].messages[:-1] for block in m.blocks)


async def test_a_document_is_found_in_its_room_only_whoever_asks(bot: Bot) -> None:
    await add(bot, send_file(bot))
    for room in (OTHER, "!own:hs"):
        await bot.say(ABOUT_THE_PRINTER, room=room, direct=room == "!own:hs", alone=room == "!own:hs")
        assert texts_given(bot) == []
    await bot.say(ABOUT_THE_PRINTER, BAU)
    assert texts_given(bot) == [CHUNKS[0]]
    own = send_file(bot, "The password hint of Juno is a blue toner.", room="!own:hs")
    await add(bot, own, room="!own:hs", direct=True, alone=True)
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == [CHUNKS[0]]


async def test_d2_nothing_else_searches_documents(bot: Bot) -> None:
    """No command, no message without text, nothing while they are off; extraction sees none of them (P6)."""
    await add(bot, send_file(bot))
    for text in ("!memories", "!documents", "!why", "!help printer", "", " \u200b "):
        await bot.say(text)
    bot.settings.of_kinds = KindSettings(documents_enabled=False)
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == []
    assert counted(bot).queries == [ABOUT_THE_PRINTER], "that one for the memories"
    bot.settings.of_kinds = KindSettings()
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == [CHUNKS[0]]
    request = bot.model.requests[-1]
    assert "Gutenberg is" not in str(request.exchange.said) + str(request.memories)


async def test_a_room_without_documents_is_looked_at_once(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    real = DocumentRows.for_whom

    async def look(rows: DocumentRows, room_id: str) -> frozenset[str | None]:
        looks.append(room_id)
        return await real(rows, room_id)

    monkeypatch.setattr(DocumentRows, "for_whom", look)
    for _ in range(3):
        await bot.say("hello")
    assert looks == [ROOM]
    bot.settings.rules = MemorySettings(decay_enabled=False)
    counted(bot).queries.clear()
    await bot.say("hello")
    assert counted(bot).queries == [], "nothing is embedded for the sake of documents there are none of"
    assert looks == [ROOM]


async def test_what_was_added_or_deleted_is_so_in_the_next_prompt(bot: Bot) -> None:
    await bot.say(ABOUT_THE_PRINTER)
    first = send_file(bot)
    await add(bot, first)
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == [CHUNKS[0]]
    await add(bot, send_file(bot, "Printer Gutenberg: the blue toner is in the cellar."))
    await bot.say(ABOUT_THE_PRINTER)
    assert len(texts_given(bot)) == 2
    await command(bot, "!documents del 1")
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == ["Printer Gutenberg: the blue toner is in the cellar."]


async def test_after_a_restart_and_when_evicted_they_are_read_again(bot: Bot) -> None:
    await add(bot, send_file(bot))
    await bot.restart()
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == [CHUNKS[0]]
    indexes = bot.parts.chunk_indexes
    assert isinstance(indexes, FaissIndexes)
    assert indexes.size > 0
    for key in list(indexes._lists):
        indexes.unload(key)
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == [CHUNKS[0]]
    counted(bot).texts.clear()
    assert counts(bot) == (1, 3, 3), "nothing was embedded again"


# --- without a search of memories (D13) -------------------------------------------------------------------------------


async def test_d13_with_decay_off_documents_are_still_searched_and_no_memory_counts(bot: Bot) -> None:
    await add(bot, send_file(bot))
    bot.settings.rules = MemorySettings(decay_enabled=False)
    memory_id = await remembered(bot, "Juno fills the blue toner into the printer Gutenberg")
    bot.next_day()
    counted(bot).queries.clear()
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == [CHUNKS[0]]
    assert counted(bot).queries == [ABOUT_THE_PRINTER]
    [memory] = await bot.memories()
    assert (memory.id, memory.unused_days, memory.last_matched_at) == (memory_id, 0, None)
    async with bot.store.transaction() as tables:
        [entry] = await tables.journal.window(ROOM, None, START, 1)
    assert entry.recall is None


# --- what fails (D7) --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "error"),
    [
        ("vectors", StorageError("broken")),
        ("vectors", EmbeddingError("broken")),
        ("for_whom", StorageError("broken")),
        ("chunks", StorageError("broken")),
    ],
)
async def test_d7_a_search_of_documents_that_fails_costs_no_answer_and_no_memory(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, method: str, error: Exception
) -> None:
    await add(bot, send_file(bot))
    await remembered(bot, "Juno fills the blue toner into the printer Gutenberg")
    await bot.restart()

    async def fails(*values: object) -> object:
        raise error

    monkeypatch.setattr(DocumentRows, method, fails)
    await bot.say(ABOUT_THE_PRINTER)
    assert bot.matrix.bodies()[-1] == "answer"
    assert texts_given(bot) == []
    [memory] = await bot.memories()
    assert memory.last_matched_at == bot.clock.now(), "the search of memories counted all the same"
    monkeypatch.undo()
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == [CHUNKS[0]]


async def test_d7_a_search_of_memories_that_fails_does_not_keep_documents_back(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(bot, send_file(bot))
    memory_id = await remembered(bot, "Juno likes tea")
    real = FaissIndexes.search

    def search(indexes: FaissIndexes, *values: object) -> object:
        if indexes is bot.parts.indexes:
            raise EmbeddingError("broken")
        return real(indexes, *values)  # type: ignore[arg-type]

    monkeypatch.setattr(FaissIndexes, "search", search)
    bot.next_day()
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == [CHUNKS[0]]
    [memory] = await bot.memories()
    assert (memory.id, memory.unused_days) == (memory_id, 0)


async def test_d7_an_embedder_that_is_down_costs_documents_and_no_answer(bot: Bot) -> None:
    await add(bot, send_file(bot))
    counted(bot).down = True
    await bot.say(ABOUT_THE_PRINTER)
    assert bot.matrix.bodies()[-1] == "answer"
    assert texts_given(bot) == []


async def test_d2_a_turn_taken_up_again_searches_documents_again_and_no_memory_twice(bot: Bot) -> None:
    await add(bot, send_file(bot))
    memory_id = await remembered(bot, "Juno fills the blue toner into the printer Gutenberg")
    await bot.restart()
    bot.model.gates["Gutenberg"] = asyncio.Event()
    await bot.deliver(bot.message(ABOUT_THE_PRINTER))
    await until(lambda: bool(bot.model.replying))
    [before] = await bot.memories()
    assert before.last_matched_at is not None
    bot.model.gates.clear()
    bot.clock.advance(timedelta(days=1))
    await bot.restart()
    await bot.settle()
    assert texts_given(bot) == [CHUNKS[0]]
    assert await bot.memories() == (before,)
    assert before.id == memory_id
    assert (await last_given(bot)).chunks == (1,)


# --- embedded later (D17) ---------------------------------------------------------------------------------------------


async def test_d17_what_could_not_be_embedded_is_kept_and_found_once_the_embedder_answers(bot: Bot) -> None:
    counted(bot).down = True
    said = await add(bot, send_file(bot))
    assert said.startswith("Added **#1**")
    assert "I cannot search all of it just yet" in said
    assert counts(bot) == (1, 3, 0)
    counted(bot).down = False
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == []
    assert counts(bot) == (1, 3, 3)
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == [CHUNKS[0]]


async def test_d17_another_model_embeds_a_rooms_chunks_anew_when_they_are_first_searched(bot: Bot) -> None:
    text = "\n\n".join(f"Paragraph {number} is about word{number}." for number in range(11))
    await add(bot, send_file(bot, text))
    await add(bot, send_file(bot, HANDBOOK, room=OTHER), room=OTHER)
    await bot.crash()
    bot.embedder = WordEmbedder("other", 64)
    await bot.start()
    await bot.say("what is word7 about?")
    assert texts_given(bot) == [], "no vector of this model yet"
    models = dict(stored(bot)["chunk_embeddings"])
    assert [model for _, model in sorted(models.items())] == ["other"] * 11 + [BuiltinEmbedder.model_id] * 3
    await bot.say("paragraph 7 is about word7")
    assert texts_given(bot)[0] == "Paragraph 7 is about word7."
    assert max(map(len, bot.embedder.asked)) <= 4, "a turn waits for few of them"


async def test_d17_the_sweep_embeds_documents_nobody_asks_about_rooms_in_use_first(bot: Bot) -> None:
    for room in (OTHER, ROOM):
        await add(bot, send_file(bot, room=room), room=room)
    await bot.crash()
    words = WordEmbedder("other", 64)
    bot.embedder = words
    await bot.start()
    await bot.say("hello", room=ROOM)  # its own chunks follow at once
    words.asked.clear()
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    each = Sweep(bot.parts, bot.system, per_minute=60, sleep=sleep)
    await each.round(words)
    assert [text for texts in words.asked for text in texts] == list(CHUNKS), "those of the other room, once"
    assert sum(slept) > 2.9, "no faster than allowed"
    assert set(dict(stored(bot)["chunk_embeddings"]).values()) == {"other"}
    await bot.say(CHUNKS[0], room=OTHER)
    assert texts_given(bot) == [CHUNKS[0]]
    words.asked.clear()
    await each.round(words)
    assert words.asked == []


async def test_d17_a_room_in_use_finds_what_the_sweep_embedded(bot: Bot) -> None:
    counted(bot).down = True
    await add(bot, send_file(bot))
    await bot.say(ABOUT_THE_PRINTER)
    counted(bot).down = False
    await Sweep(bot.parts, bot.system, per_minute=60_000).round(counted(bot))
    assert counts(bot) == (1, 3, 3)
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == [CHUNKS[0]]
    counted(bot).down = True
    await add(bot, send_file(bot, "Never to be embedded."))
    with pytest.raises(EmbeddingError):
        await Sweep(bot.parts, bot.system, per_minute=60_000).round(counted(bot))


async def test_d17_what_is_embedded_later_joins_what_is_loaded_and_nothing_is_asked_for_twice(bot: Bot) -> None:
    await add(bot, send_file(bot))
    counted(bot).down = True
    await add(bot, send_file(bot, "\n\n".join(f"Gutenberg fact {number}." for number in range(9))))
    counted(bot).down = False
    counted(bot).texts.clear()
    for _ in range(3):
        await bot.say(ABOUT_THE_PRINTER)
    assert len(counted(bot).texts) == 9
    assert counts(bot) == (2, 12, 12)
    [key] = bot.parts.chunk_indexes._lists  # type: ignore[attr-defined]
    assert len(bot.parts.chunk_indexes.ids(key)) == 12


async def test_d17_texts_that_the_model_refuses_keep_none_of_the_others_away_and_are_tried_after_a_while(
    bot: Bot,
) -> None:
    counted(bot).down = True
    await add(bot, send_file(bot, "\n\n".join([*("Refused paragraph." + "!" * n for n in range(5)), *CHUNKS])))
    counted(bot).down, counted(bot).refused = False, "Refused"
    for _ in range(3):
        await bot.say(ABOUT_THE_PRINTER)
    assert counts(bot) == (1, 8, 3)
    assert texts_given(bot) == [CHUNKS[0]]
    counted(bot).refused = None
    await bot.say(ABOUT_THE_PRINTER)
    assert counts(bot) == (1, 8, 3), "not at once"
    bot.clock.advance(timedelta(minutes=2))
    await bot.say(ABOUT_THE_PRINTER)
    assert counts(bot) == (1, 8, 8)


async def test_d17_a_document_deleted_while_it_is_embedded_leaves_nothing(bot: Bot) -> None:
    counted(bot).down = True
    file = send_file(bot)
    await add(bot, file)
    counted(bot).down = False
    await bot.deliver(bot.message(ABOUT_THE_PRINTER))
    await redact(bot, file)
    assert counts(bot) == (0, 0, 0)
    await bot.say(ABOUT_THE_PRINTER)
    assert texts_given(bot) == []


async def test_the_settings_of_the_room_are_those_of_the_turn(bot: Bot) -> None:
    await add(bot, send_file(bot))
    bot.settings.of_kinds = replace(KindSettings(), documents_in_prompt=2, documents_threshold=0.0)
    await bot.say(ABOUT_THE_PRINTER)
    assert len(texts_given(bot)) == 2
