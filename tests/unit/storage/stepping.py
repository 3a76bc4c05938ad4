"""Cancel a coroutine at a chosen one of its awaits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any


class CancelledAt:
    """Runs a coroutine and cancels the running task while it is suspended at the awaits whose numbers are given.

    `awaits` is how often it was suspended in all, so that a test can go through every one of them.
    """

    def __init__(self, work: Coroutine[Any, Any, Any], *steps: int) -> None:
        self._work = work
        self._steps = steps
        self.awaits = 0

    def __await__(self) -> Generator[Any, Any, Any]:
        send, value = self._work.send, None
        while True:
            try:
                waited_for = send(value)
            except StopIteration as stop:
                return stop.value
            task = asyncio.current_task()
            assert task is not None
            if self.awaits in self._steps:
                asyncio.get_running_loop().call_soon(task.cancel)
            self.awaits += 1
            try:
                value = yield waited_for
                send = self._work.send
            except BaseException as error:  # noqa: BLE001 - passed on into the coroutine, as `await` would
                send, value = self._work.throw, error


async def outcome(stepped: CancelledAt) -> str:
    """Run in a task of its own and say how it ended: "done" or "cancelled"."""

    async def run() -> None:
        await stepped

    task = asyncio.create_task(run())
    await asyncio.wait({task})
    if task.cancelled():
        return "cancelled"
    task.result()
    return "done"
