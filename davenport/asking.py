"""Questions at the terminal, which Ctrl-C ends at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import typer

LOOK_SECONDS = 0.2  # how late a Ctrl-C may be seen


def asked(question: str, *, default: str | None = None, hidden: bool = False) -> str:
    """Return what is typed, stripped; `hidden`: without showing it. Main thread only. Raises typer.Abort on Ctrl-C.

    A question is repeated while the answer is empty; with an empty default that is an answer too.
    """
    with _ctrl_c_at_once():
        answer: str = typer.prompt(question, default=default, hide_input=hidden, show_default=bool(default))
    return answer.strip()


@contextmanager
def _ctrl_c_at_once() -> Iterator[None]:
    """Let the first Ctrl-C end the reading of an answer.

    An event loop that runs waits for the answer, so its own way of taking Ctrl-C would come only after it. And one
    that comes between the prompt and the read that blocks is noted by the interpreter, but not looked at before that
    read ends: a timer interrupts the read now and then, which goes on where nothing was noted.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, LOOK_SECONDS, LOOK_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in zip((signal.SIGINT, signal.SIGALRM), before, strict=True):
            signal.signal(number, handler)
