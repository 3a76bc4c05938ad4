"""The painter against a real HTTP server: every failure is a PaintingFailed, and nothing else is asked anywhere."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from pydantic import SecretStr

from media.painter import MAX_ANSWER_BYTES, OpenAiPainter, build_painter
from media.settings import PainterSettings
from memory.errors import ModelError, PaintingFailed, Refused
from tests.fakes.images_server import KEY, MODEL, PICTURE, ImagesServer, Step

DESCRIPTION = "a private lighthouse"
Make = Callable[..., OpenAiPainter]


@pytest.fixture
async def server() -> AsyncIterator[ImagesServer]:
    async with ImagesServer() as each:
        yield each


@pytest.fixture
async def make(server: ImagesServer) -> AsyncIterator[Make]:
    made: list[OpenAiPainter] = []

    def painter(**changes: Any) -> OpenAiPainter:
        made.append(OpenAiPainter(server.settings(**changes)))
        return made[-1]

    yield painter
    for each in made:
        await each.aclose()


async def failure(painter: OpenAiPainter) -> str:
    """Return what an operator reads when painting fails, with everything that is chained to it."""
    with pytest.raises(PaintingFailed) as caught:
        await painter.paint(DESCRIPTION)
    assert isinstance(caught.value, ModelError)
    return "".join(traceback.format_exception(caught.value))


async def test_a_picture_comes_as_it_was_painted(make: Make, server: ImagesServer) -> None:
    assert await make().paint(DESCRIPTION) == PICTURE
    wanted = {"model": MODEL, "prompt": DESCRIPTION, "n": 1, "size": "512x512", "response_format": "b64_json"}
    assert (server.requests, server.keys) == ([wanted], [f"Bearer {KEY}"])


async def test_no_size_and_no_key_are_sent_where_none_are_set(make: Make, server: ImagesServer) -> None:
    await make(size="", api_key=SecretStr("")).paint(DESCRIPTION)
    assert "size" not in server.requests[0]
    assert server.keys == [None]


async def test_a_server_that_refuses_to_be_asked_for_base64_is_asked_without_from_then_on(
    make: Make, server: ImagesServer
) -> None:
    server.picky = True
    painter = make()
    assert [await painter.paint(DESCRIPTION), await painter.paint(DESCRIPTION)] == [PICTURE, PICTURE]
    assert ["response_format" in request for request in server.requests] == [True, False, False]


async def test_any_other_400_is_not_asked_again(make: Make, server: ImagesServer) -> None:
    server.steps = [Step(status=400, raw=b'{"error": {"message": "no such size"}}')]
    assert "status 400" in await failure(make())
    assert len(server.requests) == 1


async def test_an_address_in_place_of_a_picture_is_not_followed(make: Make, server: ImagesServer) -> None:
    address = server.base_url.replace("/v1", "/inside")
    server.steps = [Step(change=lambda answer: {"data": [{"url": address}]})]
    told = await failure(make())
    assert "an address, which is not followed" in told
    assert (address in told, server.elsewhere) == (False, [])


@pytest.mark.parametrize("code", ["content_policy_violation", "moderation_blocked"])
async def test_what_the_server_will_not_paint_is_a_word_to_the_person(
    make: Make, server: ImagesServer, code: str
) -> None:
    server.steps = [Step(status=400, raw=json.dumps({"error": {"code": code, "message": DESCRIPTION}}).encode())]
    with pytest.raises(Refused, match="painter-declined"):
        await make().paint(DESCRIPTION)


async def test_a_refusal_that_comes_in_pieces_is_read_to_its_end(make: Make) -> None:
    body = json.dumps({"error": {"message": "x" * 99, "code": "moderation_blocked"}}).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 400 Bad Request\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        for piece in (body[:20], body[20:]):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.05)  # or the two would be one for who reads
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        with pytest.raises(Refused, match="painter-declined"):
            await make(base_url=f"http://127.0.0.1:{port}/v1").paint(DESCRIPTION)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (500, "status 500"),
        (429, "status 429"),
        (302, "status 302"),
        (401, "status 401; check draw.api_key"),
        (404, "status 404; check draw.base_url and draw.model"),
    ],
)
async def test_a_status_is_named_and_what_the_server_wrote_is_not(
    make: Make, server: ImagesServer, status: int, said: str
) -> None:
    echo = f'{{"error": "Incorrect key {KEY} for {DESCRIPTION}"}}'.encode()
    server.steps = [Step(status=status, raw=echo, headers={"Location": "/elsewhere"})]
    told = await failure(make())
    assert said in told
    assert KEY not in told
    assert DESCRIPTION not in told
    assert (len(server.requests), server.elsewhere) == (1, [])


def data(*items: object) -> Step:
    return Step(change=lambda answer: {"data": list(items)})


@pytest.mark.parametrize(
    "step",
    [
        Step(raw=b"<html>"),
        Step(raw=b"\xff\xfe"),
        Step(raw=b""),
        Step(raw=b"[" * 100_000),
        Step(raw=b"null"),
        Step(raw=b'{"data": null}'),
        data(),
        data(1),
        data({}),
        data({"b64_json": None}),
        data({"b64_json": ""}),
        data({"b64_json": 5}),
        data({"b64_json": "not base64!"}),
        data({"b64_json": "ÄÖÜ="}),
        data({"b64_json": [base64.b64encode(PICTURE).decode()]}),
    ],
)
async def test_what_holds_no_picture_is_refused_and_the_next_one_is_painted(
    make: Make, server: ImagesServer, step: Step
) -> None:
    server.steps = [step]
    painter = make()
    assert "the painting server sent what is no" in await failure(painter)
    assert await painter.paint(DESCRIPTION) == PICTURE


async def test_an_answer_without_end_is_cut_off(make: Make, server: ImagesServer) -> None:
    server.steps = [Step(raw=b" " * (MAX_ANSWER_BYTES + 1))]
    assert "answered with over" in await failure(make())


async def test_a_server_that_hangs_breaks_off_or_is_down(make: Make, server: ImagesServer) -> None:
    server.steps = [Step(hold=asyncio.Event()), Step(drop=True)]
    assert "no picture within 0.2 s (draw.timeout_seconds)" in await failure(make(timeout_seconds=0.2))
    painter = make()
    assert "cannot be reached (ServerDisconnectedError)" in await failure(painter)
    assert len(server.requests) == 2, "no try is repeated: it may cost"
    await server.stop()
    assert "cannot be reached (ClientConnectorError)" in await failure(painter)


async def test_key_and_description_are_in_no_log(
    make: Make, server: ImagesServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    painter = make()
    await painter.paint(DESCRIPTION)
    server.steps = [Step(status=500)]
    await failure(painter)
    assert KEY not in caplog.text + repr(server.settings())
    assert DESCRIPTION not in caplog.text


@pytest.mark.parametrize(
    "wrong",
    [
        {"api_key": SecretStr(f"{KEY}\nof two lines")},
        {"base_url": f"http://[::1/{KEY}"},
        {"base_url": f"http://127.0.0.1:{KEY}/v1"},
        {"base_url": KEY},
    ],
)
async def test_a_key_or_address_that_cannot_be_sent(make: Make, wrong: dict[str, Any]) -> None:
    assert KEY not in await failure(make(**wrong))


async def test_only_openai_has_a_painter(server: ImagesServer) -> None:
    assert build_painter(PainterSettings()) is None
    painter = build_painter(server.settings())
    assert painter is not None
    await painter.aclose()


async def test_a_server_on_this_machine_is_asked_past_any_proxy(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    proxied(monkeypatch, "http://127.0.0.1:9")
    assert await make().paint(DESCRIPTION) == PICTURE


async def test_any_other_server_is_asked_by_way_of_the_proxy(
    make: Make, server: ImagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxied(monkeypatch, server.base_url.removesuffix("/v1"))
    assert await make(base_url="http://images.invalid/v1").paint(DESCRIPTION) == PICTURE


def proxied(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", proxy)
