"""Jobs that do what a job must not be able to do; each runs in the process of media.worker, named by its argument."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread
from typing import Any, NoReturn

from memory.errors import Refused

TOP = 1_000_000


class PanicException(BaseException):  # as libraries in Rust raise it
    pass


def work(arguments: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Do what `act` names; what is returned is what came of it."""
    result, made = ACTS[arguments["act"]](data)
    return {"result": result}, made


def trial(attempt: Callable[[], object]) -> str:
    """What came of an attempt: "done", or the name of its error."""
    try:
        attempt()
    except OSError as error:
        return f"{type(error).__name__} {error.errno}"
    except (ImportError, RuntimeError) as error:
        return type(error).__name__
    return "done"


def reach_out(_: bytes) -> tuple[Any, bytes]:
    """Try every way to files, network and other programs."""
    return {
        "read": trial(lambda: Path("/etc/passwd").read_bytes()),
        "write": trial(lambda: Path("/tmp/davenport-was-here").write_bytes(b"x")),
        "socket": trial(socket.socket),
        "pair": trial(socket.socketpair),
        "pipe": trial(os.pipe),
        "duplicate": trial(lambda: os.dup(1)),
        "program": trial(lambda: subprocess.run(["/bin/true"], check=True)),
        "import": trial(lambda: __import__("sqlite3")),
    }, b""


def tamper(data: bytes) -> tuple[Any, bytes]:
    """Do to a file what needs no descriptor; its path is the data."""
    path = Path(data.decode())
    return {
        "rename": trial(lambda: path.rename(path.with_suffix(".gone"))),
        "truncate": trial(lambda: os.truncate(path, 0)),
        "remove": trial(path.unlink),
    }, b""


def limits(_: bytes) -> tuple[Any, bytes]:
    names = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NPROC", "RLIMIT_CORE", "RLIMIT_NOFILE")
    return {name: resource.getrlimit(getattr(resource, name)) for name in names}, b""


def surroundings(_: bytes) -> tuple[Any, bytes]:
    return {
        "environment": sorted(os.environ),
        "folder": str(Path.cwd()),
        "path": sys.path,
        "nice": os.nice(0),
        "session": os.getsid(0) == os.getpid(),
    }, b""


def hoard(_: bytes) -> NoReturn:
    held = []
    while True:
        held.append(b"x" * TOP)


def hoard_outside_python(_: bytes) -> NoReturn:
    """What a library in C does that does not look whether it was given memory."""
    allocate = ctypes.CDLL(None).malloc
    allocate.restype = ctypes.c_void_p
    while True:
        ctypes.memset(allocate(10 * TOP), 1, 10 * TOP)


def compute(_: bytes) -> NoReturn:
    while True:
        pass


def dawdle(_: bytes) -> NoReturn:
    while True:
        time.sleep(60)


def recurse(data: bytes) -> NoReturn:
    recurse(data)
    raise AssertionError


def flood(_: bytes) -> tuple[Any, bytes]:
    return None, bytes(40 * TOP)


def chatter(_: bytes) -> tuple[Any, bytes]:
    """Print to both outputs, as libraries do."""
    os.write(1, b"said on the way\n" * 10_000)
    os.write(2, b"moaned on the way\n" * 10_000)
    return "done", b""


def crash(_: bytes) -> NoReturn:
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError


def filtered(_: bytes) -> NoReturn:
    """End as by a filter of system calls."""
    os.kill(os.getpid(), signal.SIGSYS)
    raise AssertionError


def leave(_: bytes) -> NoReturn:
    os._exit(3)


def refuse(_: bytes) -> NoReturn:
    raise Refused("picture-damaged", name="ü", n=3)


def fail(data: bytes) -> NoReturn:
    raise ValueError(f"found {data.decode()}")


def panic(data: bytes) -> NoReturn:
    raise PanicException(data.decode())


def give_back(data: bytes) -> tuple[Any, bytes]:
    return len(data), data[::-1]


def speak(data: bytes) -> NoReturn:
    """Answer by itself, as what a file has taken over may."""
    os.write(3, data)
    os._exit(0)


def leave_another(_: bytes) -> NoReturn:
    """Start another process, which root's can, and go; that one holds the pipes and waits."""
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)


def thread(_: bytes) -> tuple[Any, bytes]:
    return trial(lambda: Thread(target=int).start()), b""


ACTS: dict[str, Callable[[bytes], tuple[Any, bytes]]] = {
    act.__name__: act
    for act in (
        *(
            reach_out,
            tamper,
            limits,
            surroundings,
            hoard,
            hoard_outside_python,
            compute,
            dawdle,
            recurse,
            flood,
            chatter,
        ),
        *(crash, filtered, leave, refuse, fail, panic, give_back, thread, speak, leave_another),
    )
}
