"""Takes files and TCP away from the own process by Landlock, where the Linux kernel has it (5.13; TCP from 6.7).

The limit on descriptors lets nothing be opened, but says nothing of what needs no descriptor, such as removing a file;
and a job that reads fonts while it works has one free. Python has no binding, so the three calls are made by number:
they have the same one on every processor that Linux added them to at once, so on all in use.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38
_READ_FILE = 1 << 2
# Rights to files by version of the interface: the first 13, then linking across folders, truncating, device controls.
_FILES = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP = 0b11  # bind and connect
_TCP_SINCE = 4
_SCOPES = 0b11  # abstract Unix sockets and signals to processes outside
_SCOPES_SINCE = 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def known_version() -> int:
    """Return which version of Landlock the kernel has; below 1: none, or it is switched off."""
    return _library().syscall(_CREATE_RULESET, None, 0, _ASK_VERSION) if sys.platform == "linux" else 0


def forbid_files(readable: Iterable[str]) -> None:
    """Forbid this process, for good, every file but reading those of `readable`; does nothing without Landlock.

    Descriptors it has stay of use. Raises OSError where a readable file is not there.
    """
    version = known_version()
    if version < 1:
        return
    library = _library()
    rules = _Ruleset(
        files=(1 << _FILES[min(version, max(_FILES))]) - 1,
        network=_TCP if version >= _TCP_SINCE else 0,
        scoped=_SCOPES if version >= _SCOPES_SINCE else 0,
    )
    ruleset = _checked(library.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.sizeof(rules), 0))
    try:
        for path in readable:
            _allow(library, ruleset, path)
        _checked(library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _checked(library.syscall(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _allow(library: ctypes.CDLL, ruleset: int, path: str) -> None:
    file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = _Beneath(_READ_FILE, file)
        _checked(library.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(file)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
