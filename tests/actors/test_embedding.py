"""D17: what could not be embedded is saved all the same, and embedded later; over HTTP, with a server that fails."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from actors.embedding import BATCH
from actors.sweep import Sweep
from index.openai import OpenAiEmbedder
from memory.errors import EmbeddingError
from memory.model import ToolCall
from memory.settings import MemorySettings
from memory.types import Draft, ListKey, Memory, Origin, ScopeKind, Source
from tests.actors.conftest import BAU, JUNO, ROOM, Bot, until
from tests.actors.test_recall import last_recall_matches
from tests.fakes.embeddings_server import EmbeddingsServer, Step

TEA = "likes tea"


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingsServer]:
    async with EmbeddingsServer() as each:
        yield each


@pytest.fixture
async def bot(tmp_path: Path, server: EmbeddingsServer) -> AsyncIterator[Bot]:
    """A bot that has not asked its embeddings server anything yet."""
    embedder = OpenAiEmbedder(server.settings())
    each = Bot(tmp_path / "data", embedder)
    each.settings.rules = MemorySettings(match_threshold=0.5)
    await each.start()
    yield each
    await each.crash()
    await embedder.aclose()


async def save(bot: Bot, text: str) -> None:
    """Let the model save a text during a turn."""
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": text})]
    await bot.say("please remember that")
    bot.model.tool_calls = []


async def stored(bot: Bot, texts: list[str], user: str = JUNO) -> tuple[Memory, ...]:
    """Save memories as an earlier run would have, without vectors."""
    origin = Origin(ROOM, "$old", private=False)
    async with bot.store.transaction() as tables:
        for text in texts:
            draft = Draft(ScopeKind.PERSONAL, user, "default", text, Source.PROMOTION, origin, bot.clock.now())
            await tables.memories.insert(draft, bot.clock.now())
    return await bot.memories(user)


async def embedded(bot: Bot, user: str = JUNO) -> list[str]:
    """Return the texts of a user's memories that have a stored vector."""
    assert bot.embedder is not None
    async with bot.store.transaction() as tables:
        missing, _ = await tables.memories.without_vector(bot.embedder.model_id, 0, 1000)
    lacking = {memory.id for memory in missing}
    return [memory.text for memory in await bot.memories(user) if memory.id not in lacking]


def sweep(bot: Bot) -> Sweep:
    return Sweep(bot.parts, bot.system, per_minute=math.inf)


async def test_d17_saved_while_the_server_is_down_and_embedded_by_the_next_turn(
    bot: Bot, server: EmbeddingsServer
) -> None:
    await bot.say("hello")
    await server.stop()
    await save(bot, TEA)
    assert [memory.text for memory in await bot.memories()] == [TEA]
    assert await embedded(bot) == []
    bot.next_day()
    await server.start()
    await bot.say("who likes tea")  # not searchable yet: it neither matches nor ages
    assert await last_recall_matches(bot) == []
    [memory] = await bot.memories()
    assert memory.unused_days == 0
    assert await embedded(bot) == [TEA]
    await bot.say("who likes tea")  # the list was never unloaded
    assert await last_recall_matches(bot) == [memory.id]


async def test_d7_d17_a_start_with_the_server_down_searches_as_soon_as_it_answers(
    bot: Bot, server: EmbeddingsServer
) -> None:
    await bot.say("hello")
    await save(bot, TEA)
    await server.stop()
    await bot.crash()
    bot.embedder = OpenAiEmbedder(server.settings())  # has forgotten how long the vectors are
    await bot.start()
    bot.next_day()
    await bot.say("who likes tea")
    assert bot.matrix.bodies()[-1] == "answer"
    assert [memory.unused_days for memory in await bot.memories()] == [0]
    await server.start()
    asked = len(server.requests)
    await bot.say("who likes tea")
    [memory] = await bot.memories()
    assert await last_recall_matches(bot) == [memory.id]
    assert len(server.requests) == asked + 1  # the stored vector still serves
    await bot.embedder.aclose()


async def test_d17_a_failing_server_is_not_asked_again_for_the_same_at_every_turn(
    bot: Bot, server: EmbeddingsServer
) -> None:
    await stored(bot, [TEA])
    server.refused = TEA
    for _ in range(4):
        await bot.say("hello")
    assert [request["input"] for request in server.requests].count([TEA]) == 1
    bot.clock.advance(timedelta(minutes=1))
    server.refused = None
    await bot.say("hello")
    assert await embedded(bot) == [TEA]


async def test_d17_a_text_that_the_model_refuses_keeps_no_other_away(bot: Bot, server: EmbeddingsServer) -> None:
    texts = [f"fact {number}" for number in range(2 * BATCH)]
    server.refused = "poison"
    await stored(bot, [texts[0], "poison", *texts[1:]])
    await bot.say("hello")
    assert await embedded(bot) == texts
    assert max(len(request["input"]) for request in server.requests) == BATCH


async def test_d17_a_list_in_use_is_embedded_anew_when_the_model_changes(bot: Bot, server: EmbeddingsServer) -> None:
    await stored(bot, [TEA, "works at sea"])
    await bot.say("hello")
    await bot.crash()
    bot.embedder = OpenAiEmbedder(server.settings(dimensions=16))
    await bot.start()
    assert await embedded(bot) == []
    await bot.say("who likes tea")
    assert await embedded(bot) == [TEA, "works at sea"]
    await bot.say("who likes tea")
    assert len(await last_recall_matches(bot)) == 1
    await bot.embedder.aclose()


async def test_d17_an_edit_while_its_old_text_is_embedded_wins(bot: Bot, server: EmbeddingsServer) -> None:
    [memory] = await stored(bot, [TEA])
    await bot.say("hello", sender=BAU)  # so that the length of vectors is known
    server.refused = TEA
    await bot.say("hello")
    server.refused = None
    await bot.say(f"!memories edit {memory.id} likes coffee")
    await bot.say("who likes coffee")
    assert await last_recall_matches(bot) == [memory.id]


async def test_d17_the_sweep_embeds_what_no_loaded_list_holds_in_bounded_batches(
    bot: Bot, server: EmbeddingsServer
) -> None:
    texts = [f"fact {number}" for number in range(BATCH + 3)]
    await stored(bot, texts)
    await stored(bot, [TEA], user=BAU)
    assert bot.embedder is not None
    assert await sweep(bot).round(bot.embedder) == len(texts) + 1
    assert (await embedded(bot), await embedded(bot, BAU)) == (texts, [TEA])
    assert [len(request["input"]) for request in server.requests] == [1, BATCH, 4]
    assert bot.system.cells == {}  # no list was loaded for it
    assert await sweep(bot).round(bot.embedder) == 0
    assert len(server.requests) == 3


async def test_d17_what_the_sweep_embeds_is_searched_in_loaded_lists_at_once(
    bot: Bot, server: EmbeddingsServer
) -> None:
    await bot.say("hello")
    await server.stop()
    await save(bot, TEA)
    await server.start()
    assert bot.embedder is not None
    assert await sweep(bot).round(bot.embedder) == 1
    await bot.settle()
    await bot.say("who likes tea")
    [memory] = await bot.memories()
    assert await last_recall_matches(bot) == [memory.id]


async def test_d17_the_sweep_ends_its_round_when_the_model_does_not_answer(bot: Bot, server: EmbeddingsServer) -> None:
    await stored(bot, [f"fact {number}" for number in range(100)])
    server.steps = [Step(), *[Step(status=500)] * 50]  # it answers the probe, then nothing
    assert bot.embedder is not None
    with pytest.raises(EmbeddingError, match="status 500"):
        await sweep(bot).round(bot.embedder)
    assert len(server.requests) < 10
    server.steps.clear()
    assert await sweep(bot).round(bot.embedder) == 100


async def test_d17_the_sweep_passes_by_a_text_that_the_model_refuses(bot: Bot, server: EmbeddingsServer) -> None:
    server.refused = "poison"
    await stored(bot, ["poison"])
    await stored(bot, [TEA], user=BAU)
    assert bot.embedder is not None
    assert await sweep(bot).round(bot.embedder) == 1
    assert (await embedded(bot), await embedded(bot, BAU)) == ([], [TEA])


async def test_d17_the_sweep_does_not_store_a_vector_of_an_old_text(bot: Bot, server: EmbeddingsServer) -> None:
    [memory] = await stored(bot, [TEA])
    hold = asyncio.Event()

    async def edit_meanwhile() -> None:
        await until(lambda: any(TEA in request["input"] for request in server.requests))
        async with bot.store.transaction() as tables:
            await tables.memories.edit(memory.id, "likes coffee", bot.clock.now())
        hold.set()

    server.steps = [Step(), Step(hold=hold)]
    editing = asyncio.create_task(edit_meanwhile())
    assert bot.embedder is not None
    await sweep(bot).round(bot.embedder)
    await editing
    assert await embedded(bot) == []
    assert await sweep(bot).round(bot.embedder) == 1


async def test_the_index_of_a_list_that_was_evicted_is_read_again(bot: Bot) -> None:
    await stored(bot, [TEA])
    await bot.say("hello")
    key = ListKey(ScopeKind.PERSONAL, JUNO, "default")
    assert bot.parts.indexes.has(key)
    bot.parts.indexes.unload(key)
    await bot.say("who likes tea")
    assert len(await last_recall_matches(bot)) == 1


class Picky:
    """Refuses every batch with a text that begins with "bad"."""

    model_id, dim, match_threshold, document_threshold = "picky", 4, 0.5, 0.5

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any(text.startswith("bad") for text in texts):
            raise EmbeddingError("status 400")
        return np.tile(np.array([1, 0, 0, 0], np.float32), (len(texts), 1))

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        row: NDArray[np.float32] = (await self.embed([text]))[0]
        return row

    async def aclose(self) -> None:
        """Has nothing to close."""


@pytest.fixture
async def picky(tmp_path: Path) -> AsyncIterator[Bot]:
    each = Bot(tmp_path / "picky", Picky())
    await each.start()
    yield each
    await each.crash()


@pytest.mark.parametrize("count", [2, 3, BATCH, 2 * BATCH + 1])
async def test_d17_refused_texts_at_the_front_keep_no_other_away(picky: Bot, count: int) -> None:
    good = [f"good {number}" for number in range(BATCH - 2)]
    await stored(picky, [*[f"bad {number}" for number in range(count)], *good])
    await picky.say("hello")
    assert await embedded(picky) == good


async def test_d17_refused_texts_are_tried_again_after_a_while(picky: Bot) -> None:
    asked: list[str] = []
    embed = Picky.embed

    async def noting(texts: Sequence[str]) -> NDArray[np.float32]:
        asked.extend(texts)
        return await embed(Picky(), texts)

    picky.embedder.embed = noting  # type: ignore[method-assign,union-attr]
    await stored(picky, ["bad 1", "bad 2", "good"])
    await picky.say("hello")
    assert asked.count("bad 1") == 2, "with its batch and alone"
    await picky.say("hello")
    assert asked.count("bad 1") == 2
    picky.clock.advance(timedelta(minutes=1))
    await picky.say("hello")
    assert asked.count("bad 1") == 4


async def test_d17_the_sweep_gets_past_refused_texts_at_the_front(picky: Bot) -> None:
    good = [f"good {number}" for number in range(BATCH - 2)]
    await stored(picky, ["bad 1", "bad 2", *good])
    assert picky.embedder is not None
    assert await sweep(picky).round(picky.embedder) == len(good)
    assert await embedded(picky) == good
