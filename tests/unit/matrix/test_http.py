"""Files over HTTP: bounded while they are read, renewed tokens, errors of the project's own tree."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from matrix.client import Client
from matrix.errors import Rejected
from memory.errors import MatrixError

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def client_of(folder: Path, handle: Handler) -> AsyncIterator[Client]:
    """A client whose homeserver answers everything with this handler."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    client = Client(f"http://127.0.0.1:{runner.addresses[0][1]}", "@bot:hs", store_dir=folder, pickle_key="secret")
    client.restore_login("@bot:hs", "BOT", "old token")
    try:
        yield client
    finally:
        await client.close()
        await runner.cleanup()


async def test_a_download_ends_at_its_limit_whatever_length_is_announced(tmp_path: Path) -> None:
    sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while sent < 50_000_000:
            try:
                await response.write(b"x" * 100_000)
            except ConnectionError:
                break
            sent += 100_000
        return response

    async with client_of(tmp_path, endless) as client:
        assert await client.download("/file", 1_000_000) is None
    assert sent < 20_000_000, "the rest was not read"


async def test_what_unpacks_to_more_than_the_limit_is_too_long(tmp_path: Path) -> None:
    async def packed(request: web.Request) -> web.StreamResponse:
        return web.Response(body=gzip.compress(b"x" * 10_000_000), headers={"Content-Encoding": "gzip"})

    async with client_of(tmp_path, packed) as client:
        assert await client.download("/file", 1_000_000) is None
        assert await client.download("/file", 10_000_000) == b"x" * 10_000_000


async def test_a_download_and_an_upload_renew_a_rejected_token(tmp_path: Path) -> None:
    uploads: list[tuple[bytes, str, str]] = []

    async def guarded(request: web.Request) -> web.StreamResponse:
        if request.headers["Authorization"] != "Bearer new token":
            return web.json_response({"errcode": "M_UNKNOWN_TOKEN"}, status=401)
        if request.method == "GET":
            return web.Response(body=b"file")
        uploads.append((await request.read(), request.content_type, request.query["filename"]))
        return web.json_response({"content_uri": "mxc://hs/1"})

    async with client_of(tmp_path, guarded) as client:

        async def renew(rejected: str) -> None:
            client.access_token = "new token"

        client.renew = renew
        assert await client.download("/file", 4) == b"file"
        client.access_token = "old token"
        assert await client.upload(b"\x00\xff", "application/json", "ä b.json") == "mxc://hs/1"
    assert uploads == [(b"\x00\xff", "application/json", "ä b.json")]


async def test_errors_of_files_are_those_of_every_request(tmp_path: Path) -> None:
    async def refused(request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            return web.json_response({"errcode": "M_NOT_FOUND"}, status=404)
        return web.json_response({})

    async with client_of(tmp_path, refused) as client:
        with pytest.raises(Rejected, match="M_NOT_FOUND"):
            await client.download("/file", 4)
        with pytest.raises(MatrixError, match="names no file"):
            await client.upload(b"", "application/json")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[" * 100_000, b"\xff", b"[]"])
async def test_an_answer_that_is_no_json_object_is_an_error_of_ours(tmp_path: Path, body: bytes) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=body)

    async with client_of(tmp_path, answer) as client:
        with pytest.raises(MatrixError, match="not a JSON object"):
            await client.request("GET", "/_matrix/client/v3/sync")
