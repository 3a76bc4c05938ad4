"""The process in which one file is worked on: it takes away from itself what the file could misuse, then does the job.

It gets one line of JSON (the arguments) and the file on its standard input, to the end of it, and answers with one line
of JSON and what was made. The order is what protects: the job's module is imported first, then memory and time are
limited, then the file is read, then the way to other files and to the network is closed, and only then is anybody's
file looked at. What nobody foresaw is told by its type and place, never in its words, which could be the file's.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from media.landlock import forbid_files
from memory.errors import Refused

Json = dict[str, Any]
Work = Callable[[Mapping[str, Any], bytes], tuple[Json, bytes]]

EXIT_TOO_COSTLY = 75  # the exit code of a job that wanted more than it may have
NICE = 10
_MEGABYTE = 1 << 20
_ANSWER = 3  # the descriptor of the answer, above the three that every program has
_LAST_DESCRIPTOR = 4_096  # far more than Python opens for its imports; the parent hands down none


@dataclass(frozen=True, slots=True)
class Job:
    """A kind of job. module: its function `work` (a Work) does it. Nothing can be imported later, codecs neither: the
    module imports all that it will need. A renderer that reads its fonts when it comes to them names their paths in the
    module's `READS`; one file may then be open at a time, and by Landlock, where the kernel has it, only of these.

    megabytes: above what the process has once everything is imported. cpu_seconds: of computing; wall_seconds: from its
    start to the end of its answer, on a machine that has other things to do too. most_bytes: of what is made.
    """

    module: str
    megabytes: int = 512
    cpu_seconds: int = 5
    wall_seconds: float = 30.0
    most_bytes: int = 16_000_000


def main() -> NoReturn:
    """Do the job that stands on the command line as JSON; ends the process."""
    job = Job(**json.loads(sys.argv[1]))
    module = importlib.import_module(job.module)
    work: Work = module.work
    reads: tuple[str, ...] = getattr(module, "READS", ())
    answer = _answer_aside()
    _limit(job)
    try:
        arguments = json.loads(sys.stdin.buffer.readline())
        data = sys.stdin.buffer.read()
        _close_the_door(reads)
        head, made = _outcome(work, arguments, data)
        _write(answer, json.dumps(head).encode() + b"\n")
        _write(answer, made)
    except (MemoryError, RecursionError):
        os._exit(EXIT_TOO_COSTLY)
    os._exit(0)  # nothing to tidy up, and no library's last words


def _answer_aside() -> int:
    """Move standard output out of the way of libraries that print, and return where the answer goes.

    Standard error stays until the file has been read: what goes wrong before is of the machine.
    """
    os.dup2(1, _ANSWER)
    os.dup2(2, 1)
    os.closerange(_ANSWER + 1, _LAST_DESCRIPTOR)
    return _ANSWER


def _limit(job: Job) -> None:
    """Limit memory, computing time and everything a job never does: write files, start processes, leave a core.

    The bot goes first: for the processor, and where the machine runs out of memory.
    """
    os.nice(NICE)
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write("1000")
    except OSError:
        pass  # not Linux, or not shown to us: the limits hold all the same
    mapped = _mapped_bytes()
    _set("RLIMIT_AS", None if mapped is None else mapped + job.megabytes * _MEGABYTE)
    _set("RLIMIT_CPU", job.cpu_seconds)
    _set("RLIMIT_FSIZE", 0)
    _set("RLIMIT_NPROC", 0)  # no threads either; the kernel does not apply it to root
    _set("RLIMIT_CORE", 0)


def _mapped_bytes() -> int | None:
    """What is mapped now; None where the system does not tell, as macOS, which limits no address space either."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def _set(name: str, value: int | None) -> None:
    """Set a limit for good, where the system has it."""
    which = getattr(resource, name, None)
    if which is None or value is None:
        return
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


def _close_the_door(reads: tuple[str, ...]) -> None:
    """Let nothing be opened any more, neither file nor socket, but for one of `reads` at a time.

    The limit is on the number that a new descriptor would get, and 0 to 3 are taken.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    forbid_files(reads)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
    _set("RLIMIT_NOFILE", _ANSWER + 1 + bool(reads))


def _outcome(work: Work, arguments: Mapping[str, Any], data: bytes) -> tuple[Json, bytes]:
    """Do the work: {"result": …} and what was made, {"refused": id, "values": …}, or {"broken": type and place}."""
    try:
        result, made = work(arguments, data)
    except Refused as refused:
        return {"refused": refused.text_id, "values": refused.values}, b""
    except (MemoryError, RecursionError):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of a library in Rust is no Exception
        return {"broken": _without_words(error)}, b""
    return {"result": result}, made


def _without_words(error: BaseException) -> str:
    """Name an error by its type and where it was raised: its words may be the file's."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else f" at {place.tb_frame.f_code.co_filename}:{place.tb_lineno}"
    return f"{type(error).__qualname__}{where}"


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
