"""What of messages and tasks is still to be done, counted so that a stop can wait for its end."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Outstanding:
    """Counts messages that are queued and handlers or tasks that run."""

    def __init__(self) -> None:
        self._count = 0
        self._none = asyncio.Event()
        self._none.set()

    def expect(self) -> None:
        """Count one more."""
        self._count += 1
        self._none.clear()

    def settle(self) -> None:
        """Count one as done."""
        self._count -= 1
        if self._count == 0:
            self._none.set()

    async def wait(self, seconds: float) -> bool:
        """Wait until nothing is; False when that took longer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._none.wait()
        return self._none.is_set()
