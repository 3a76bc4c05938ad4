"""Runs the demo so that whatever ends it leaves nothing behind."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(work: Coroutine[Any, Any, int]) -> int:
    """Run to the end, or to the first Ctrl-C, SIGTERM or SIGHUP (a closed terminal), which unwinds it.

    Returns what `work` returns, or 128 and the signal's number. Later signals change nothing: clean-up has begun, and
    each of its steps ends by itself.
    """
    return asyncio.run(_interruptible(work))


async def _interruptible(work: Coroutine[Any, Any, int]) -> int:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    received: list[signal.Signals] = []

    def end(number: signal.Signals) -> None:
        if not received:
            received.append(number)
            task.cancel()

    heeded = [number for number in ENDINGS if signal.getsignal(number) is not signal.SIG_IGN]  # nohup ignores SIGHUP
    for number in heeded:
        loop.add_signal_handler(number, end, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not received:
            raise
        return 128 + received[0]
    finally:
        if received:
            for number in heeded:
                loop.remove_signal_handler(number)
                signal.signal(number, signal.SIG_IGN)  # the process is about to end by itself
