"""The `openai` embedder against a real HTTP server (D7: every failure is an EmbeddingError)."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from index.embedders import build_embedder
from index.openai import MAX_ANSWER_BYTES, MAX_BATCH, MAX_CHARACTERS, OpenAiEmbedder
from index.settings import EmbeddingSettings
from memory.errors import EmbeddingError, SettingsError
from tests.fakes.embeddings_server import KEY, MODEL, NATIVE, EmbeddingsServer, Step, vector_of

TEXT = "a private matter"
Make = Callable[..., OpenAiEmbedder]


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingsServer]:
    async with EmbeddingsServer() as each:
        yield each


@pytest.fixture
async def make(server: EmbeddingsServer) -> AsyncIterator[Make]:
    made: list[OpenAiEmbedder] = []

    def embedder(**changes: Any) -> OpenAiEmbedder:
        made.append(OpenAiEmbedder(server.settings(**changes)))
        return made[-1]

    yield embedder
    for each in made:
        await each.aclose()


async def failure(embedder: OpenAiEmbedder) -> str:
    """Return what an operator reads when embedding fails, with everything that is chained to it."""
    with pytest.raises(EmbeddingError) as caught:
        await embedder.embed([TEXT])
    return "".join(traceback.format_exception(caught.value))


async def test_rows_of_unit_length_in_the_order_of_the_texts(make: Make) -> None:
    texts = ["has a cat named Mochi", "works at sea", "has a cat"]
    rows = await make().embed(texts)
    assert (rows.shape, rows.dtype) == ((3, NATIVE), np.float32)
    for row, text in zip(rows, texts, strict=True):
        expected = np.array(vector_of(text)) / np.linalg.norm(vector_of(text))
        assert np.allclose(row, expected, atol=1e-6)


async def test_answers_are_ordered_by_their_index(make: Make, server: EmbeddingsServer) -> None:
    embedder = make()
    usual = await embedder.embed(["one", "two", "three"])
    server.steps = [Step(change=lambda answer: answer["data"].reverse())]
    assert np.array_equal(await embedder.embed(["one", "two", "three"]), usual)


async def test_many_texts_go_in_bounded_batches(make: Make, server: EmbeddingsServer) -> None:
    texts = [f"fact number {number}" for number in range(2 * MAX_BATCH + 5)]
    rows = await make().embed(texts)
    assert [len(request["input"]) for request in server.requests] == [MAX_BATCH, MAX_BATCH, 5]
    assert [text for request in server.requests for text in request["input"]] == texts
    assert np.allclose(rows[-1], np.array(vector_of(texts[-1])) / np.linalg.norm(vector_of(texts[-1])), atol=1e-6)


async def test_no_texts_no_request(make: Make, server: EmbeddingsServer) -> None:
    assert len(await make().embed([])) == 0
    assert server.requests == []


async def test_what_is_sent(make: Make, server: EmbeddingsServer) -> None:
    await make().embed(["x" * 3000])
    await make(api_key=EmbeddingSettings().api_key, dimensions=8).embed(["y"])
    assert server.requests[0] == {"model": MODEL, "input": ["x" * MAX_CHARACTERS]}
    assert server.requests[1] == {"model": MODEL, "input": ["y"], "dimensions": 8}
    assert server.keys == [f"Bearer {KEY}", None]


async def test_dimensions_are_learned_from_the_first_answer_or_set(make: Make) -> None:
    learning, told = make(), make(dimensions=8)
    assert (learning.dim, told.dim) == (None, 8)
    await learning.embed(["x"])
    assert learning.dim == NATIVE


async def test_d17_model_id_changes_with_model_and_dimensions(make: Make, server: EmbeddingsServer) -> None:
    embedders = [make(), make(model="other"), make(dimensions=8), make(dimensions=16)]
    for embedder in embedders:
        await embedder.embed(["x"])
    server.native = 64
    embedders.append(make())
    await embedders[-1].embed(["x"])
    assert len({embedder.model_id for embedder in embedders}) == len(embedders)
    again = make(dimensions=8)
    assert again.model_id == embedders[2].model_id


async def test_d7_a_server_that_is_down_at_the_start_may_come_up_later(make: Make, server: EmbeddingsServer) -> None:
    await server.stop()
    embedder = make()
    assert "cannot be reached (ClientConnectorError)" in await failure(embedder)
    assert embedder.dim is None
    await server.start()
    assert (await embedder.embed([TEXT])).shape == (1, NATIVE)


async def test_a_connection_that_went_stale_is_tried_once_more(make: Make, server: EmbeddingsServer) -> None:
    embedder = make()
    server.steps = [Step(drop=True)]
    assert (await embedder.embed([TEXT])).shape == (1, NATIVE)
    server.steps = [Step(drop=True), Step(drop=True)]
    assert "cannot be reached (ServerDisconnectedError)" in await failure(embedder)


async def test_d7_the_time_limit_holds_for_all_batches_together(make: Make, server: EmbeddingsServer) -> None:
    server.steps = [Step(), Step(hold=asyncio.Event())]
    embedder = make(timeout_seconds=0.3)
    with pytest.raises(EmbeddingError, match=r"within 0\.3 s \(embeddings\.timeout_seconds\)"):
        await embedder.embed([TEXT] * (MAX_BATCH + 1))
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (500, "status 500"),
        (429, "status 429"),
        (400, "status 400"),
        (302, "status 302"),
        (401, "status 401; check embeddings.api_key"),
        (404, "status 404; check embeddings.base_url and embeddings.model"),
    ],
)
async def test_d7_a_status_is_named_and_what_the_server_wrote_is_not(
    make: Make, server: EmbeddingsServer, status: int, said: str
) -> None:
    echo = f'{{"error": "Incorrect key {KEY} for {TEXT}"}}'.encode()
    server.steps = [Step(status=status, raw=echo, headers={"Location": "/elsewhere"})]
    told = await failure(make())
    assert said in told
    assert KEY not in told
    assert TEXT not in told
    assert len(server.requests) == 1


def without_one(answer: dict[str, Any]) -> None:
    answer["data"].pop()


def with_embedding(value: object) -> Step:
    def change(answer: dict[str, Any]) -> None:
        answer["data"][0]["embedding"] = value

    return Step(change=change)


@pytest.mark.parametrize(
    "step",
    [
        Step(raw=b"<html>"),
        Step(raw=b"\xff\xfe"),
        Step(raw=b""),
        Step(raw=b"[" * 100_000),
        Step(change=lambda answer: [answer]),
        Step(raw=b"null"),
        Step(raw=b'{"data": null}'),
        Step(raw=b'{"data": []}'),
        Step(raw=b'{"data": [1]}'),
        Step(change=without_one),
        Step(change=lambda answer: answer["data"].append(answer["data"][0])),
        Step(change=lambda answer: answer["data"][0].update(index=1)),
        Step(change=lambda answer: answer["data"][0].update(index=[0])),
        with_embedding(None),
        with_embedding([]),
        with_embedding("AAAA"),
        with_embedding([[1.0]]),
        with_embedding([None] * NATIVE),
        with_embedding([0.0] * NATIVE),
        with_embedding([float("nan")] * NATIVE),
        with_embedding([float("inf")] * NATIVE),
        with_embedding([1e308] * NATIVE),
        with_embedding([10**400] * NATIVE),
    ],
)
async def test_d7_what_is_no_list_of_usable_vectors_is_refused(
    make: Make, server: EmbeddingsServer, step: Step
) -> None:
    server.steps = [step]
    embedder = make()
    told = await failure(embedder)
    assert "the embeddings server sent" in told
    assert TEXT not in told
    assert np.isfinite(await embedder.embed([TEXT])).all()


async def test_d7_vectors_of_unequal_or_other_length_are_refused(make: Make, server: EmbeddingsServer) -> None:
    embedder = make()
    server.steps = [with_embedding([1.0])]
    with pytest.raises(EmbeddingError):
        await embedder.embed(["one", "two"])
    assert embedder.dim is None
    await embedder.embed(["one"])
    server.native = NATIVE + 1
    assert f"vectors of {NATIVE + 1} numbers, expected were {NATIVE}" in await failure(embedder)
    server.steps = [with_embedding([1.0] * NATIVE)]
    assert "embeddings.dimensions" in await failure(make(dimensions=8))


async def test_an_answer_without_end_is_cut_off(make: Make, server: EmbeddingsServer) -> None:
    server.steps = [Step(raw=b" " * (MAX_ANSWER_BYTES + 1))]
    assert "answered with over" in await failure(make())


async def test_key_and_texts_are_in_no_log(
    make: Make, server: EmbeddingsServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    embedder = make()
    await embedder.embed([TEXT])
    server.steps = [Step(status=500)]
    await failure(embedder)
    await server.stop()
    await failure(embedder)
    assert MODEL in caplog.text
    assert KEY not in caplog.text + repr(server.settings())
    assert TEXT not in caplog.text


def test_openai_needs_a_model() -> None:
    with pytest.raises(SettingsError, match=r"embeddings\.model"):
        build_embedder(EmbeddingSettings("openai"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"api_key": SecretStr(f"{KEY}\nof two lines")},
        {"base_url": f"http://[::1/{KEY}"},
        {"base_url": f"http://127.0.0.1:{KEY}/v1"},
        {"base_url": KEY},
    ],
)
async def test_d7_a_key_or_address_that_cannot_be_sent(make: Make, wrong: dict[str, Any]) -> None:
    assert KEY not in await failure(make(**wrong))


async def test_a_server_on_this_machine_is_asked_past_any_proxy(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    proxied(monkeypatch, "http://127.0.0.1:9")
    assert (await make().embed([TEXT])).shape == (1, NATIVE)


async def test_any_other_server_is_asked_by_way_of_the_proxy(
    make: Make, server: EmbeddingsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxied(monkeypatch, server.base_url.removesuffix("/v1"))
    assert (await make(base_url="http://embeddings.invalid/v1").embed([TEXT])).shape == (1, NATIVE)


def proxied(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", proxy)
