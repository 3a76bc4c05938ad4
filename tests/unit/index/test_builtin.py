from __future__ import annotations

import asyncio

import numpy as np
import pytest

from index.builtin import MAX_CHARACTERS, WEIGHT_OF_WORDS, BuiltinEmbedder, as_messages
from index.embedders import build_embedder
from index.settings import EmbeddingSettings
from memory.errors import EmbeddingError, SettingsError

FINGERPRINT = [0.0232, 0.0112, 0.0124, 0.6999, 0.0]
PLACES = [104, 147, 233, 315, 377, 423, 466, 507]


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


async def test_a_query_is_of_unit_length_and_never_nearer_than_1(embedder: BuiltinEmbedder) -> None:
    texts = ["Has a cat named Mochi", "", "👍", "the", "So much to say about cellos, boats, maps and owls. " * 20]
    rows = await embedder.embed(texts)
    for text in texts:
        query = await embedder.embed_query(text)
        assert (query.shape, query.dtype) == ((embedder.dim,), np.float32)
        assert np.linalg.norm(query) == pytest.approx(1.0, abs=1e-6)
        assert float((rows @ query).max()) <= 1.0 + 1e-6


async def test_a_name_finds_its_memory_where_the_meaning_does_not_tell(embedder: BuiltinEmbedder) -> None:
    names = ("Zbigniew", "Yolotzin", "Quillon", "Tamsin")
    rows = await embedder.embed([f"Has a colleague called {name}" for name in names])
    for number, name in enumerate(names):
        assert int((rows @ await embedder.embed_query(f"what would you write to {name}?")).argmax()) == number


async def test_a_long_message_counts_less_and_ranks_the_same(embedder: BuiltinEmbedder) -> None:
    """Beyond a sentence each word brings a memory nearer by chance; which one comes first is not touched."""
    parts = embedder.parts(["we sailed, cooked risotto, met Tamsin and Quillon, saw owls, and repaired the old Volvo"])
    long, plain = as_messages(parts)[0], np.hstack([parts.meaning[0], parts.words[0] * WEIGHT_OF_WORDS**0.5])
    rows = await embedder.embed(["Drives an old Volvo", "Is afraid of flying", "Cooks risotto on Sundays"])
    assert list(np.argsort(rows @ long)) == list(np.argsort(rows[:, : len(plain)] @ plain))
    assert float((rows @ long).max()) < float((rows[:, : len(plain)] @ plain).max())


async def test_d17_vectors_change_only_with_the_name_of_the_model(embedder: BuiltinEmbedder) -> None:
    """Stored vectors are compared with new ones as long as the name is the same: count it up when this fails."""
    [row] = await embedder.embed(["Has a cat named Mochi"])
    assert embedder.model_id == "use-multilingual-v3+words-1"
    assert np.allclose(row[[0, 1, 511, -2, -1]], FINGERPRINT, atol=0.002)
    assert np.flatnonzero(row[512:-2]).tolist() == PLACES


async def test_no_texts_no_rows(embedder: BuiltinEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, embedder.dim)


async def test_only_the_first_2000_characters_count(embedder: BuiltinEmbedder) -> None:
    text = "My cat is named Mochi. " * 100
    long, short = await embedder.embed([text + "Something else. " * 3000, text[:MAX_CHARACTERS]])
    assert np.allclose(long, short, atol=1e-5)


async def test_a_text_that_cannot_be_embedded_is_an_embedding_error(embedder: BuiltinEmbedder) -> None:
    with pytest.raises(EmbeddingError) as failed:
        await embedder.embed(["lone surrogate \ud83d"])
    assert "surrogate" not in str(failed.value), "it comes into the log"
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


async def test_a_short_message_is_read_at_once_and_on_the_thread_while_another_text_is_read(
    embedder: BuiltinEmbedder,
) -> None:
    """The library's settings are process-wide, so calls never overlap (D2: the vector is the same either way)."""
    alone = await embedder.embed_query("how is my cat Mochi?")
    long = asyncio.create_task(embedder.embed(["so much to say " * 130] * 8))
    await asyncio.sleep(0)  # the thread has it
    beside = [await embedder.embed_query("how is my cat Mochi?") for _ in range(3)]
    await long
    assert all(np.array_equal(alone, vector) for vector in beside)
