"""Asking a running bot over its control socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from davenport.control_protocol import SOCKET, VERSION, address_of
from memory.errors import DavenportError, Declined

SECONDS = 60.0
MAX_ANSWER = 16 * 1024 * 1024  # bytes


class NotRunning(DavenportError):
    """No bot answers for this data folder; the message names it."""


async def ask(folder: Path, operation: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Ask the bot that runs on a data folder to do something and return the result.

    Raises NotRunning, and Declined with what the bot says when it will or can not.
    """
    request = {"version": VERSION, "operation": operation, "arguments": dict(arguments or {})}
    try:
        async with asyncio.timeout(SECONDS):
            answer = json.loads(await _exchange(folder / SOCKET, json.dumps(request).encode() + b"\n"))
    except (FileNotFoundError, ConnectionError, NotADirectoryError):
        raise NotRunning(f"no bot runs on {folder}; `davenport run` starts one") from None
    except PermissionError:
        raise NotRunning(f"{folder} belongs to another account; ask as the one the bot runs under") from None
    except TimeoutError:
        raise NotRunning(f"the bot on {folder} did not answer within {SECONDS:.0f} s") from None
    except (OSError, ValueError) as error:
        raise NotRunning(f"{folder / SOCKET} cannot be asked: {error}") from None
    if not isinstance(answer, dict) or answer.get("ok") is not True:
        raise Declined(str(answer.get("error")) if isinstance(answer, dict) else "the bot's answer is not understood")
    result: dict[str, Any] = answer["result"]
    return result


async def _exchange(path: Path, request: bytes) -> bytes:
    with address_of(path) as address:
        reader, writer = await asyncio.open_unix_connection(address, limit=MAX_ANSWER)
    try:
        writer.write(request)
        await writer.drain()
        if not (answer := await reader.readline()):
            raise ConnectionResetError("the bot closed the connection")
        return answer
    finally:
        writer.close()
