"""Chooses what the demo does, and does it: a chat for somebody at a terminal, else a script."""

from __future__ import annotations

import errno
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from davenport.demo import interrupt
from davenport.demo.chat import GUEST, YOU, Chat
from davenport.demo.keyboard import Keyboard
from davenport.demo.picture import draw
from davenport.demo.play import Performance, summary
from davenport.demo.script import Script, read
from davenport.demo.show import Screen
from davenport.demo.stage import Plan, staged
from llm.settings import OFFLINE
from memory.errors import DavenportError, SettingsError


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for. script: None for the built-in one. picture: where to draw what a script did."""

    script: Path | None = None
    picture: Path | None = None
    chat: bool = False
    provider: str = OFFLINE

    @property
    def chats(self) -> bool:
        """Whether somebody is to type: on demand, or at a terminal when nothing else was asked for."""
        scripted = self.script is not None or self.picture is not None
        if self.chat and scripted:
            raise SettingsError("--chat goes with neither --script nor --picture: those play a script")
        return self.chat or (not scripted and os.isatty(0))


def demo(options: Options) -> int:
    """Run the demo and return the exit code: 1 when a script did not go as it says or something cannot be used.

    A terminal that was closed, or a pipe whose reader has gone, ends it like SIGHUP.
    """
    screen = Screen()
    try:
        chats = options.chats
        work = _chat(screen, options.provider) if chats else _play(read(options.script), screen, options)
        code = interrupt.run(work)
        if code in (128 + signal.SIGINT, 128 + signal.SIGTERM):
            screen.end_prompt()
            screen.note("Stopped; the homeserver and its folder are gone.")
        return 0 if chats and code == 128 + signal.SIGINT else code  # Ctrl-C is a usual way to leave a chat
    except DavenportError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except OSError as error:
        if error.errno not in (errno.EIO, errno.EPIPE):
            raise
        with Path(os.devnull).open("w") as nowhere:  # what still waits to be written has no reader any more
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return 128 + signal.SIGHUP


async def _chat(screen: Screen, provider: str) -> int:
    screen.note("Starting a homeserver on this machine and the bot. Both are removed at the end.")
    plan = Plan("Davenport", [YOU], encrypted=False, provider=provider, guests=[GUEST])
    async with staged(plan) as stage:
        with Keyboard() as keyboard:
            await Chat(stage, screen, keyboard).run()
        screen.note("Stopping.")
    screen.note("Done; the homeserver and its folder are gone.")
    return 0


async def _play(script: Script, screen: Screen, options: Options) -> int:
    _can_be_written(options.picture)
    screen.note(f"{script.title}: starting a homeserver on this machine and the bot. Both are removed at the end.")
    async with staged(Plan(script.title, script.people, script.encrypted, options.provider)) as stage:
        performance = Performance(stage, screen)
        await performance.play(script)
        rest_after_days = stage.rest_after_days
    screen.note("Done; the homeserver and its folder are gone.")
    if options.picture is not None:
        options.picture.write_text(draw(script.title, performance.days, rest_after_days), "utf-8")
        screen.note(f"{options.picture}: the picture of it.")
    if faults := summary(performance.faults):
        screen.note("Not everything went as the script expects:")
    for fault in faults:
        screen.fault(fault)
    return 1 if faults else 0


def _can_be_written(picture: Path | None) -> None:
    """Raise SettingsError now rather than after the whole script."""
    if picture is None:
        return
    place = picture if picture.exists() else picture.parent
    if picture.is_dir() or not os.access(place, os.W_OK):
        raise SettingsError(f"{picture}: no picture can be written there; give --picture a file in a folder of yours")
