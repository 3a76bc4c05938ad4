from __future__ import annotations

import asyncio

import numpy as np
import pytest

from index.builtin import MAX_CHARACTERS, BuiltinEmbedder
from index.embedders import build_embedder
from index.settings import EmbeddingSettings
from memory.errors import EmbeddingError, SettingsError


@pytest.fixture(scope="module")
def embedder() -> BuiltinEmbedder:
    return BuiltinEmbedder()


async def test_rows_of_unit_length_in_the_order_of_the_texts(embedder: BuiltinEmbedder) -> None:
    texts = ["Has a cat named Mochi", "", "👍", "Works as an engineer", "日本語を勉強している"]
    vectors = await embedder.embed(texts)
    assert (vectors.shape, vectors.dtype) == ((5, embedder.dim), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    alone = np.concatenate([await embedder.embed([text]) for text in texts])
    assert np.allclose(vectors, alone, atol=1e-5)


async def test_no_texts_no_rows(embedder: BuiltinEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, embedder.dim)


async def test_only_the_first_2000_characters_count(embedder: BuiltinEmbedder) -> None:
    text = "My cat is named Mochi. " * 100
    long, short = await embedder.embed([text + "Something else. " * 3000, text[:MAX_CHARACTERS]])
    assert np.allclose(long, short, atol=1e-5)


async def test_a_text_that_cannot_be_embedded_is_an_embedding_error(embedder: BuiltinEmbedder) -> None:
    with pytest.raises(EmbeddingError):
        await embedder.embed(["lone surrogate \ud83d"])
    assert len(await embedder.embed(["and it works afterwards"])) == 1


async def test_embedding_leaves_the_event_loop_free(embedder: BuiltinEmbedder) -> None:
    work = asyncio.create_task(embedder.embed(["The quick brown fox. " * 100] * 5))
    turns = 0
    while not work.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 10
    assert len(await work) == 5


async def test_overlapping_calls_each_get_their_own_rows(embedder: BuiltinEmbedder) -> None:
    texts = [f"Fact number {number} about a cat" for number in range(8)]
    rows = await asyncio.gather(*(embedder.embed([text]) for text in texts))
    assert np.allclose(np.concatenate(rows), await embedder.embed(texts), atol=1e-5)


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        ("Has a cat named Mochi", "how's Mochi doing?"),
        ("Hat eine Katze namens Mochi", "Wie geht es meiner Katze?"),
        ("Is allergic to peanuts", "¿puedo comer cacahuetes?"),
    ],
)
async def test_the_threshold_lets_a_fitting_fact_through_and_small_talk_not(
    embedder: BuiltinEmbedder, fact: str, message: str
) -> None:
    [about] = await embedder.embed([fact])
    fitting, small_talk = [float(about @ await embedder.embed_query(text)) for text in (message, "ok thanks")]
    assert fitting >= embedder.match_threshold > small_talk


def test_d13_none_means_no_embedder() -> None:
    assert build_embedder(EmbeddingSettings("none")) is None


def test_an_unknown_embedder_is_refused_naming_key_and_choices() -> None:
    with pytest.raises(SettingsError, match=r"embeddings\.provider.*'bulitin'.*builtin, openai, none"):
        build_embedder(EmbeddingSettings("bulitin"))


def test_builtin_is_the_built_in_one() -> None:
    assert isinstance(build_embedder(EmbeddingSettings("builtin")), BuiltinEmbedder)
