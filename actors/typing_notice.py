"""The typing notice of one room: shown while any turn waits for the model, always cleared, never in its way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType

from actors.actor import Work
from actors.ports import Matrix

REFRESH_SECONDS = 20.0
CLEARING_SECONDS = 2.0  # a homeserver that hangs must not hold up a stop; its own notice runs out by itself


class TypingNotice:
    """A context manager that overlapping turns of one room share."""

    def __init__(self, room_id: str, matrix: Matrix, spawn: Callable[[Work], asyncio.Task[None]]) -> None:
        self._room_id = room_id
        self._matrix = matrix
        self._spawn = spawn
        self._turns = 0
        self._keeper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        self._turns += 1
        if self._keeper is None:
            self._keeper = self._spawn(self._keep())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._turns -= 1
        if not self._turns and self._keeper is not None:
            if not self._keeper.cancelling():  # a second time would cut off the clearing
                self._keeper.cancel()  # a task of the actor: drain waits until it has cleared the notice
            self._keeper = None

    async def _keep(self) -> None:
        try:
            while True:
                await self._matrix.typing(self._room_id, on=True)
                await asyncio.sleep(REFRESH_SECONDS)
        finally:
            async with asyncio.timeout(CLEARING_SECONDS):
                await self._matrix.typing(self._room_id, on=False)
