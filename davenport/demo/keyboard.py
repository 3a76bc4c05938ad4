"""Lines typed on stdin, read on the event loop: no thread that would have to be waited for at the end."""

from __future__ import annotations

import asyncio
import os
import sys
from types import TracebackType
from typing import Self

_SIZE = 65_536


class Keyboard:
    """A context manager around stdin. `seen`: what is typed already stands on the screen, since a terminal shows it."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = sys.stdin.fileno() if descriptor is None else descriptor
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._rest = b""
        self._watching = False
        self.seen = os.isatty(self._descriptor)

    def __enter__(self) -> Self:
        try:
            asyncio.get_running_loop().add_reader(self._descriptor, self._read)
            self._watching = True
        except PermissionError:  # a file: always readable, so nothing to wait for
            while self._read():
                continue
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unwatch()

    async def line(self) -> str | None:
        """Return the next line without its end, None when there are no more."""
        return await self._lines.get()

    def _read(self) -> bool:
        try:
            data = os.read(self._descriptor, _SIZE)
        except OSError:  # the terminal is gone
            data = b""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if not data and self._rest:
            lines.append(self._rest)
        for line in lines:
            self._lines.put_nowait(line.decode("utf-8", "replace"))
        if not data:
            self._unwatch()
            self._lines.put_nowait(None)
        return bool(data)

    def _unwatch(self) -> None:
        if self._watching:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._watching = False
