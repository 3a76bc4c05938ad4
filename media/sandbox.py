"""Starts a process for one job, hands it the file and takes its answer; whatever happens, no process stays behind."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from signal import SIGKILL, SIGSYS
from typing import Any

from media.worker import EXIT_TOO_COSTLY, Job, Json
from memory.errors import MediaFailed, Refused

log = logging.getLogger(__name__)

AT_ONCE = 2
TOO_COSTLY = "file-too-costly"
_ROOT = str(Path(__file__).resolve().parents[1])
# The very package that runs here: -I keeps folders of chance and the environment's wishes out of the path.
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from media.worker import main; main()"
_NEEDED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")  # where some systems keep what Python itself is made of
_COMPLAINT_BYTES = 20_000  # a traceback of the program's own, from before the file was read
_HEAD_BYTES = 1_000_000
_PIECE = 65_536
_BURIAL_SECONDS = 10.0  # a killed process is gone in no time, but for one that waits for a broken disk
_UNREADABLE = "answered what it never answers"


class Sandbox:
    """Runs jobs, `at_once` at one time; the others wait their turn."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        """Each job may take its own share of memory, so `at_once` bounds what they take together."""
        self._free = asyncio.Semaphore(at_once)

    async def run(self, job: Job, arguments: Mapping[str, Any], data: bytes) -> tuple[Json, bytes]:
        """Return what a job answers: values, and the bytes it made. arguments: what JSON can say.

        Raises Refused: the job's own, or file-too-costly where it wanted too much time or memory or took its process
        down; MediaFailed where the process could not be had or met a fault of the program's own.
        """
        async with self._free:
            head, made = await _talk(job, json.dumps(dict(arguments)).encode() + b"\n" + data)
        match head:
            case {"result": dict(result)}:
                return result, made
            case {"refused": str(text_id), "values": dict(values)}:
                raise Refused(text_id, **values)
            case {"broken": str(fault)}:
                raise MediaFailed(f"the job {job.module} met {fault}")
        raise MediaFailed(f"the job {job.module} {_UNREADABLE}")


async def _talk(job: Job, request: bytes) -> tuple[object, bytes]:
    """Return what the process says, which is anything where a file has taken it over, and the bytes after that."""
    process = await _started(job)
    try:
        async with asyncio.timeout(job.wall_seconds):
            _, answer, complaint = await asyncio.gather(
                _give(process.stdin, request),
                _take(process, process.stdout, job.most_bytes + _HEAD_BYTES),
                _take(process, process.stderr, _COMPLAINT_BYTES),
            )
            code = await process.wait()
    except TimeoutError:
        log.info("the job %s was ended: it took too long", job.module)
        raise Refused(TOO_COSTLY) from None
    finally:
        await _buried(process)
    if code == -SIGSYS:  # no file does that: systemd or a container ends whoever makes a call that is not on its list
        raise MediaFailed(f"the process for {job.module} was ended by a filter of system calls; let it use Landlock's")
    if code < 0 or code == EXIT_TOO_COSTLY or (code == 0 and not answer):  # done writing too much before it was killed
        log.info("the job %s ended itself with %d", job.module, code)
        raise Refused(TOO_COSTLY)
    if code != 0:
        raise MediaFailed(f"the process for {job.module} ended with {code}: {complaint.decode(errors='replace')}")
    head, _, made = answer.partition(b"\n")
    try:
        return json.loads(head), made
    except (ValueError, RecursionError):
        raise MediaFailed(f"the job {job.module} {_UNREADABLE}") from None


async def _started(job: Job) -> Process:
    """Start the process, apart from the terminal, so that an interrupted bot may still finish what has begun."""
    try:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-X", "utf8", "-c", _START, _ROOT, json.dumps(asdict(job))),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd="/",
            env={key: os.environ[key] for key in _NEEDED if key in os.environ},
            start_new_session=True,
        )
    except (OSError, RuntimeError) as error:  # RuntimeError: no thread, with which asyncio waits for its end
        raise MediaFailed(f"no process could be started for {job.module}: {error}") from error


async def _give(stream: asyncio.StreamWriter | None, request: bytes) -> None:
    """Write the request to its end; a process that does not want it tells why by how it ends."""
    if stream is not None:
        with suppress(BrokenPipeError, ConnectionResetError):
            stream.write(request)
            await stream.drain()
        stream.close()


async def _take(process: Process, stream: asyncio.StreamReader | None, most: int) -> bytes:
    """Read to the end; a process that writes more than `most` is killed."""
    taken = bytearray()
    while stream is not None and (chunk := await stream.read(_PIECE)):
        taken += chunk
        if len(taken) > most:
            _kill(process)
            taken.clear()  # what else is in the pipe is read away, or asyncio would not notice the end
    return bytes(taken)


def _kill(process: Process) -> None:
    """Kill the process and what it has started, which only root's can (media/worker.py)."""
    streams = (process.stdout, process.stderr)
    if process.returncode is None or not all(stream is None or stream.at_eof() for stream in streams):
        with suppress(ProcessLookupError, PermissionError):  # macOS says that of a group that is dead
            os.killpg(process.pid, SIGKILL)


async def _buried(process: Process) -> None:
    """Kill the process where it still runs, and wait for its end.

    What it wrote is read away: a pipe that nobody reads would keep asyncio from noticing the end.
    """
    _kill(process)
    try:
        async with asyncio.timeout(_BURIAL_SECONDS):
            for stream in (process.stdout, process.stderr):
                while stream is not None and await stream.read(_PIECE):
                    pass
            await process.wait()
    except TimeoutError:
        log.error("a process that worked on a file does not end, or has left another behind; is the bot run as root?")
