"""The control socket of a running bot: `control.sock` in its data folder, for the bot's own account only.

What is said there is in davenport/control_protocol.py.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from davenport.control_protocol import SOCKET, VERSION, address_of
from davenport.operations import OPERATIONS, Operation
from davenport.panel import Panel
from memory.errors import DavenportError, Declined, Refused, StorageError
from texts.catalogue import Speaker

log = logging.getLogger(__name__)

MAX_LINE = 64 * 1024  # bytes
IDLE_SECONDS = 60.0

Json = dict[str, Any]


@asynccontextmanager
async def serving(folder: Path, panel: Panel, operations: Sequence[Operation] = OPERATIONS) -> AsyncIterator[None]:
    """Answer at the socket of a data folder until the block ends. The caller holds the folder's lock.

    Raises StorageError when the socket cannot be made.
    """
    path = folder / SOCKET
    desk = _Desk(panel, {operation.name: operation for operation in operations})
    try:
        listener = _bound(path)
    except OSError as error:
        raise StorageError(f"the control socket {path} cannot be made: {error.strerror or error}") from error
    server = await asyncio.start_unix_server(desk.serve, sock=listener, limit=MAX_LINE)
    try:
        yield
    finally:
        server.close()
        await desk.close()
        path.unlink(missing_ok=True)


class _Desk:
    """Serves connections."""

    def __init__(self, panel: Panel, operations: Mapping[str, Operation]) -> None:
        self._panel = panel
        self._operations = operations
        self._open: set[asyncio.Task[None]] = set()
        self._closing = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until it ends, is silent for long, or sends a line too long."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio runs this as a task
        self._open.add(task)
        try:
            while line := await _line(reader):
                await _say(writer, await self._answer(line))
        except _Unreadable as fault:
            writer.write(_encoded(_failure(str(fault))))
        except TimeoutError:
            log.debug("a control connection did not read its answer")
            writer.transport.abort()  # closing would wait for it to be read
        except ConnectionError:
            log.debug("a control connection broke off")
        except asyncio.CancelledError:
            if not self._closing:
                raise  # else it was `close`, which waits for the end of this task
        finally:
            self._open.discard(task)
            writer.close()

    async def close(self) -> None:
        """End every connection."""
        self._closing = True
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _answer(self, line: bytes) -> Json:
        try:
            operation, arguments = self._read(line)
            log.debug("control request %s", operation.name)
            return {"version": VERSION, "ok": True, "result": await operation.run(self._panel, arguments)}
        except Refused as refusal:
            return _failure(Speaker().refusal(refusal))
        except DavenportError as error:
            return _failure(str(error))
        except Exception:
            log.exception("a control request failed")
            return _failure("the bot failed on this request; its log says why")

    def _read(self, line: bytes) -> tuple[Operation, Mapping[str, Any]]:
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            raise Declined("a request is one line of JSON") from None
        if not isinstance(request, dict) or request.get("version") != VERSION:
            raise Declined(f"this bot speaks version {VERSION} of the control protocol")
        arguments = request.get("arguments", {})
        operation = self._operations.get(str(request.get("operation")))
        if operation is None or not isinstance(arguments, dict):
            raise Declined(f"there are these operations, with an object of arguments: {', '.join(self._operations)}")
        return operation, arguments


class _Unreadable(Exception):
    """The connection cannot go on: what came is no request."""


async def _line(reader: asyncio.StreamReader) -> bytes:
    """Return the next line, b"" at the end. Raises _Unreadable."""
    try:
        async with asyncio.timeout(IDLE_SECONDS):
            return await reader.readline()
    except ValueError:
        raise _Unreadable(f"a request has at most {MAX_LINE} bytes") from None
    except TimeoutError:
        raise _Unreadable(f"nothing was asked for {IDLE_SECONDS:.0f} s") from None


async def _say(writer: asyncio.StreamWriter, answer: Json) -> None:
    """Send an answer. Raises TimeoutError when it is not read."""
    async with asyncio.timeout(IDLE_SECONDS):
        writer.write(_encoded(answer))
        await writer.drain()


def _failure(reason: str) -> Json:
    return {"version": VERSION, "ok": False, "error": reason}


def _encoded(answer: Json) -> bytes:
    return json.dumps(answer).encode() + b"\n"


def _bound(path: Path) -> socket.socket:
    """Bind a socket (0600) in place of one that an earlier run left; nothing else is replaced. Raises OSError."""
    if path.exists() and not path.is_socket():
        raise OSError(f"there is something else of that name, which is left alone: {path}")
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with address_of(draft) as address:
            listener.bind(address)
        draft.chmod(0o600)
        draft.replace(path)  # whoever asks meets the old socket, where nobody answers, or this one
    except BaseException:
        listener.close()
        raise
    return listener
