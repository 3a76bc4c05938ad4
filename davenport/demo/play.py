"""Plays a script: people say their lines, days pass, and what the database then holds is compared with what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from davenport.demo.script import Day, Expectation, Line, Script
from davenport.demo.show import Row, Screen
from davenport.demo.stage import ANSWER_SECONDS, BOT, Stage

BETWEEN_MESSAGES = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Played:
    """A day as it went. number: 1 for the first day, days without talk counted. recalled: texts of memories."""

    number: int
    said: tuple[Line, ...]
    recalled: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """What was not as expected. about: faults about the same fact follow from the first one."""

    day: int
    about: tuple[str, str]
    text: str


@dataclass(slots=True)
class Performance:
    """Plays the days of a script in order and notes how they went."""

    stage: Stage
    screen: Screen
    days: list[Played] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    async def play(self, script: Script) -> None:
        """Play every day."""
        number = 1
        for day in script.day:
            if self.days:
                number += day.after_days
                await self.stage.move_to(day.after_days)
            await self._play_day(number, day)

    async def _play_day(self, number: int, day: Day) -> None:
        self.screen.day(number, self.stage.clock.today(), day.note)
        recalled = [text for line in day.say for text in await self._say(number, line)]
        rows = await self.stage.rows()
        self.screen.table(rows)
        self.days.append(Played(number, day.say, tuple(recalled), tuple(rows)))
        for expected in day.expect:
            if (text := _missing(expected, rows)) is not None:
                self.faults.append(Fault(number, (expected.who, expected.contains), text))

    async def _say(self, number: int, line: Line) -> list[str]:
        """Let one person say a line, print both messages as their client shows them; return what was recalled."""
        stage, person = self.stage, self.stage.people[line.who]
        event_id = await person.say(stage.room_id, f"{BOT}: {line.text}", mention=stage.bot_id)
        sent = await person.wait_for(lambda heard: heard.event_id == event_id)
        self.screen.said(line.who, sent.body)
        answer = await person.wait_for_answer(event_id, seconds=ANSWER_SECONDS)
        self.screen.said(BOT, answer.body, bot=True)
        await stage.bot.at_rest(ANSWER_SECONDS)
        stage.clock.advance(BETWEEN_MESSAGES)
        memories = await stage.recalled(event_id)
        for memory in memories:
            self.screen.recalled(memory)
        recalled = [memory.text for memory in memories]
        if line.recalls is not None and not any(line.recalls in text for text in recalled):
            found = ", ".join(f"“{text}”" for text in recalled) or "nothing"
            fault = f"“{line.text}” should have recalled a resting memory about “{line.recalls}”; it recalled {found}"
            self.faults.append(Fault(number, (line.who, line.text), fault))
        return recalled


def summary(faults: Sequence[Fault]) -> list[str]:
    """Return one line for each fact with faults: the first of them, and how many days it stayed wrong after that."""
    lines: list[str] = []
    for about in dict.fromkeys(fault.about for fault in faults):
        first, *later = [fault for fault in faults if fault.about == about]
        days = len({fault.day for fault in later} - {first.day})
        also = "" if not days else f" (not as expected on {_count(days, 'later day')} either)"
        lines.append(f"day {first.day}: {first.text}{also}")
    return lines


def _missing(expected: Expectation, rows: Sequence[Row]) -> str | None:
    """Return what is wrong in words when no row is as expected."""
    about = [row for row in rows if row.who == expected.who and expected.contains in row.text]
    wanted = expected.model_dump(exclude={"who", "contains"}, exclude_none=True)
    if any(all(getattr(row, name) == value for name, value in wanted.items()) for row in about):
        return None
    should = _described(wanted) if wanted else "remembered"
    found = ", or ".join(_described({name: getattr(row, name) for name in _WORDS}) for row in about)
    is_so = f"it is {found}" if about else "nothing like it is remembered"
    return f"what {expected.who} said about “{expected.contains}” should be {should}; {is_so}"


_WORDS = {
    "stage": "a {}",
    "mentions": "mentioned {}",
    "unused_days": "unused for {}",
    "state": "{}",
}


def _described(values: dict[str, object]) -> str:
    """Return a row, or what is wanted of one, in words: `a memory, mentioned 2 times, unused for 1 day, active`."""
    units = {"mentions": "time", "unused_days": "day"}
    known = [(name, value) for name in _WORDS if (value := values.get(name)) is not None]
    said = [(name, _count(value, units[name]) if isinstance(value, int) else value) for name, value in known]
    return ", ".join(_WORDS[name].format(value) for name, value in said)


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"
