"""What is said over the control socket of a running bot.

Each request is one line of JSON, `{"version": 1, "operation": "status", "arguments": {}}`, and so is each answer:
`{"version": 1, "ok": true, "result": {…}}` or `{"version": 1, "ok": false, "error": "…"}`. A connection may carry any
number of them, one after the other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VERSION = 1
SOCKET = "control.sock"
_LONGEST_ADDRESS = 100  # bytes; the system's limit is 108 with the closing zero


@contextmanager
def address_of(path: Path) -> Iterator[str]:
    """Yield a name of a socket that is short enough for the system, whatever its folder's length."""
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
