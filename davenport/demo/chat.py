"""A chat with the bot in a real room: what is typed goes out over Matrix, what anybody says there is shown."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from datetime import timedelta

from davenport.demo.keyboard import Keyboard
from davenport.demo.show import Screen
from davenport.demo.stage import ANSWER_SECONDS, BOT, Stage, localpart
from matrix.person import Heard
from memory.errors import MatrixError

YOU, GUEST = "you", "guest"
BETWEEN_MESSAGES = timedelta(minutes=1)
MOST_DAYS = 365
HELP = """\
/day     go to the next day; /day 7 goes seven days on
/table   show what is remembered, read from the database
/help    show this
/quit    end, and remove everything; Ctrl-D and Ctrl-C do the same
Anything else is said to the bot, !memories and its other commands too (!help). Tell it something about yourself, say
it again on another day, and look at the table."""


class Chat:
    """One person at the keyboard, until they leave."""

    def __init__(self, stage: Stage, screen: Screen, keyboard: Keyboard) -> None:
        self._stage = stage
        self._screen = screen
        self._keyboard = keyboard
        self._you = stage.people[YOU]
        self._day = 1
        self._typed: set[str] = set()
        self._saying = asyncio.Lock()
        self._answer: tuple[str, asyncio.Event] | None = None

    async def run(self) -> None:
        """Talk until the person leaves."""
        self._welcome()
        hearing = asyncio.create_task(self._hear(), name="hearing")
        try:
            await self._talk()
        finally:
            hearing.cancel()
            with suppress(asyncio.CancelledError):
                await hearing

    def _welcome(self) -> None:
        stage, (_, _, host) = self._stage, self._stage.bot_id.partition(":")
        self._screen.note(
            "You are in a Matrix room with the bot. Type, and it answers; /help shows what else there is."
        )
        self._screen.note("To join with any Matrix client on this machine, log in there:")
        for name, value in (
            ("homeserver", stage.homeserver),
            ("accounts", f"@{YOU}:{host}, @{GUEST}:{host} (invited to the room)"),
            ("password", f"{stage.password} (of both)"),
            ("room", f"{stage.room_id}, not encrypted"),
            ("bot", f"{stage.bot_id}; mention it, or write to it directly"),
        ):
            self._screen.note(f"  {name:<10}  {value}")
        self._screen.day(self._day, stage.clock.today())

    async def _talk(self) -> None:
        while True:
            if self._keyboard.seen:
                self._screen.prompt(f"{YOU:>10}> ")
            typed = await self._keyboard.line()
            if typed is None:
                self._screen.end_prompt()
                return
            self._screen.typed()
            if not (text := typed.strip()):
                continue
            if not self._keyboard.seen:
                self._screen.said(YOU, text)
            if text.startswith("/"):
                command, *arguments = text[1:].split()
                if command == "quit" and not arguments:
                    return
                await self._obey(command, arguments)
            else:
                await self._say(text)

    async def _obey(self, command: str, arguments: list[str]) -> None:
        match command, arguments:
            case "day", []:
                await self._next_day(1)
            case "day", [number] if re.fullmatch(r"[0-9]{1,3}", number) and 1 <= int(number) <= MOST_DAYS:
                await self._next_day(int(number))
            case "day", _:
                self._screen.note(f"/day takes a number of days from 1 to {MOST_DAYS}, or nothing.")
            case "table", []:
                await self._stage.bot.at_rest(ANSWER_SECONDS)  # what was just said may still be learned
                self._screen.table(await self._stage.rows())
            case "help", _:
                for line in HELP.splitlines():
                    self._screen.note(line)
            case _:
                self._screen.note(f"/{command} is not known here; /help shows what is.")

    async def _next_day(self, days: int) -> None:
        await self._stage.bot.at_rest(ANSWER_SECONDS)
        await self._stage.move_to(days)
        self._day += days
        self._screen.day(self._day, self._stage.clock.today())

    async def _say(self, text: str) -> None:
        """Say one thing and wait for the answer to be shown."""
        stage, answered = self._stage, asyncio.Event()
        addressed = text if text.startswith("!") or text.casefold().startswith(BOT) else f"{BOT}: {text}"
        async with self._saying:
            try:
                event_id = await self._you.say(stage.room_id, addressed, mention=stage.bot_id)
            except MatrixError as error:
                self._screen.note(f"That could not be sent: {error}")
                return
            self._typed.add(event_id)
            self._answer = (event_id, answered)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await answered.wait()
        except TimeoutError:
            self._screen.note("No answer yet; it will be shown when it comes.")
        for memory in await stage.recalled(event_id):
            self._screen.recalled(memory)
        stage.clock.advance(BETWEEN_MESSAGES)

    async def _hear(self) -> None:
        async for event in self._you.hearing():
            if (event.room_id, event.type) == (self._stage.room_id, "m.room.message") and event.body:
                async with self._saying:  # the echo of what is being sent may come before its event id
                    self._show(event)

    def _show(self, event: Heard) -> None:
        if event.event_id in self._typed:
            return
        self._screen.between(localpart(event.sender), event.body, bot=event.sender == self._stage.bot_id)
        if self._answer is not None and event.replies_to == self._answer[0]:
            self._answer[1].set()
