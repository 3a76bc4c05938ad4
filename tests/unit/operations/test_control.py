"""The control socket, over a real socket."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from davenport import control
from davenport.control_client import NotRunning, ask
from davenport.operations import OPERATIONS, Operation
from davenport.panel import Panel
from memory.errors import Declined, Refused, StorageError
from tests.unit.operations.conftest import settings_for


async def refuse(panel: Panel, arguments: Mapping[str, Any]) -> dict[str, Any]:
    raise Declined(f"not {arguments['what']}")


async def fail(panel: Panel, arguments: Mapping[str, Any]) -> dict[str, Any]:
    raise ZeroDivisionError("secret")


async def echo(panel: Panel, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"said": arguments}


async def forbid(panel: Panel, arguments: Mapping[str, Any]) -> dict[str, Any]:
    raise Refused("memory-unknown", id="7")


HERE = tuple(Operation(run.__name__, "", run) for run in (refuse, fail, echo, forbid))


async def raw(folder: Path, *lines: bytes) -> list[dict[str, Any]]:
    """Send lines over one connection and return the answers up to its end."""
    reader, writer = await asyncio.open_unix_connection(str(folder / control.SOCKET))
    for line in lines:
        writer.write(line)
    writer.write_eof()
    answers = (await reader.read()).splitlines()
    writer.close()
    return [json.loads(answer) for answer in answers]


async def test_operations_answer_refuse_and_fail(panel: Panel, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with control.serving(folder, panel, HERE):
        assert await ask(folder, "echo", {"é": 1}) == {"said": {"é": 1}}
        with pytest.raises(Declined, match="not today"):
            await ask(folder, "refuse", {"what": "today"})
        with pytest.raises(Declined, match="its log says why") as caught:
            await ask(folder, "fail")
        assert "secret" not in str(caught.value)
        with pytest.raises(Declined, match="You have no memory 7"):
            await ask(folder, "forbid")
        with pytest.raises(Declined, match=r"there are these operations.*refuse, fail, echo"):
            await ask(folder, "unknown")


async def test_a_connection_carries_many_requests_and_bad_ones_are_answered(panel: Panel, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    good = b'{"version": 1, "operation": "echo"}\n'
    async with control.serving(folder, panel, HERE):
        answers = await raw(
            folder, good, b"nonsense\n", b"[" * 10_000 + b"\n", b'{"operation": "echo"}\n', b"3\n", b"\xff\n", good
        )
        assert [answer["ok"] for answer in answers] == [True, False, False, False, False, False, True]
        assert {answer["version"] for answer in answers} == {1}
        assert answers[1]["error"] == "a request is one line of JSON"
        assert answers[3]["error"] == "this bot speaks version 1 of the control protocol"
        wrong = b'{"version": 1, "operation": "echo", "arguments": 3}\n'
        assert "object of arguments" in (await raw(folder, wrong))[0]["error"]


async def test_a_line_too_long_ends_the_connection(panel: Panel, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with control.serving(folder, panel, HERE):
        [answer] = await raw(folder, b"x" * (control.MAX_LINE + 2) + b"\n")
        assert "at most 65536 bytes" in answer["error"]


async def test_a_silent_connection_is_ended(panel: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "IDLE_SECONDS", 0.01)
    folder = tmp_path / "data"
    async with control.serving(folder, panel, HERE):
        reader, writer = await asyncio.open_unix_connection(str(folder / control.SOCKET))
        assert b"nothing was asked" in await reader.read()
        writer.close()


async def test_a_client_that_never_reads_is_let_go(
    panel: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, asked = tmp_path / "data", asyncio.Event()

    async def much(panel: Panel, arguments: Mapping[str, Any]) -> dict[str, Any]:
        monkeypatch.setattr(control, "IDLE_SECONDS", 0.05)
        asked.set()
        return {"much": "x" * 8_000_000}

    async with control.serving(folder, panel, [Operation("much", "", much)]):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(folder / control.SOCKET))
            client.sendall(b'{"version": 1, "operation": "much"}\n')
            await asked.wait()
            async with asyncio.timeout(5):
                await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})  # the connection's own
            client.settimeout(5)
            received = 0
            while part := client.recv(1_000_000):
                received += len(part)
    assert received < 8_000_000


async def test_an_answer_may_hold_half_a_character(panel: Panel, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with control.serving(folder, panel, HERE):
        assert await ask(folder, "echo", {"half": "\ud83d"}) == {"said": {"half": "\ud83d"}}


async def test_a_bot_that_stops_ends_open_connections_and_removes_the_socket(panel: Panel, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with control.serving(folder, panel, HERE):
        reader, writer = await asyncio.open_unix_connection(str(folder / control.SOCKET))
        writer.write(b'{"version": 1, "operation": "echo"}\n')
        await reader.readline()
    async with asyncio.timeout(5):
        assert await reader.read() == b""
    writer.close()
    assert not (folder / control.SOCKET).exists()


async def test_the_socket_is_for_its_owner_only(panel: Panel, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with control.serving(folder, panel):
        mode = (folder / control.SOCKET).stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_a_socket_that_a_killed_bot_left_is_replaced(panel: Panel, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(folder / control.SOCKET))
    left.close()
    (folder / f"{control.SOCKET}.new").touch()
    with pytest.raises(NotRunning, match="no bot runs"):
        await ask(folder, "status")
    async with control.serving(folder, panel):
        assert (await ask(folder, "status"))["state"] == "connecting"


async def test_what_is_no_socket_is_left_alone(panel: Panel, tmp_path: Path) -> None:
    other = tmp_path / "data" / control.SOCKET
    other.write_text("mine", encoding="utf-8")
    with pytest.raises(StorageError, match="left alone"):
        async with control.serving(tmp_path / "data", panel):
            raise AssertionError("it was replaced")
    assert other.read_text(encoding="utf-8") == "mine"


async def test_a_folder_with_a_long_name_has_a_socket_too(panel: Panel, tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    panel.settings = settings_for(folder)
    async with control.serving(folder, panel, HERE):
        assert await ask(folder, "echo", {"a": 1}) == {"said": {"a": 1}}
    assert list(folder.iterdir()) == []


async def test_no_bot_is_said_so_with_the_folder(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere", tmp_path / ("far" * 60)):
        with pytest.raises(NotRunning, match=f"no bot runs on {folder}"):
            await ask(folder, "status")


async def test_an_answer_that_is_none_is_said_so(tmp_path: Path) -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"babble\n")
        writer.close()

    server = await asyncio.start_unix_server(babble, str(tmp_path / control.SOCKET))
    with pytest.raises(NotRunning, match="cannot be asked"):
        await ask(tmp_path, "status")
    server.close()


def test_every_operation_is_named_once_and_explained() -> None:
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)
    assert all(operation.help for operation in OPERATIONS)
