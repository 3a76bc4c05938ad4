"""What the demo prints: the conversation as it went over Matrix, and a table read back from the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from rich import box
from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.table import Table
from rich.text import Text

from memory.text import visible
from memory.types import Candidate, Memory

BOT_STYLE, PERSON_STYLE = "cyan", "green"
UNBOUNDED = 10_000  # columns of a file or a pipe: every line stays whole


@dataclass(frozen=True, slots=True)
class Row:
    """One fact about one person, as the database holds it. unused_days and state are a memory's alone."""

    who: str
    text: str
    stage: str
    mentions: int
    unused_days: int | None = None
    state: str | None = None


def rows_of(who: str, candidates: Iterable[Candidate], memories: Iterable[Memory], rest_after_days: int) -> list[Row]:
    """Return a person's facts, memories first, as the table shows them."""
    durable = [
        Row(who, m.text, "memory", m.mentions, m.unused_days, "resting" if m.resting(rest_after_days) else "active")
        for m in memories
    ]
    return durable + [Row(who, candidate.text, "candidate", candidate.mentions) for candidate in candidates]


class Screen:
    """Prints to a terminal or a file. No text is ever cut: a terminal breaks long lines, elsewhere they stay whole.

    What people and the model wrote is freed of control characters first: a terminal would obey them.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        if not self._console.is_terminal:
            self._console.width = UNBOUNDED
        self._prompt = ""

    def note(self, text: str) -> None:
        """Print a remark of the demo's own."""
        self._line(Text(text, style="dim"))

    def day(self, number: int, today: date, note: str = "") -> None:
        """Print the head of a day, the first being number 1."""
        self._line(Text())
        self._line(Text(f"Day {number}, {today.isoformat()}", style="bold underline"))
        if note:
            self.note(note)

    def said(self, who: str, text: str, *, bot: bool = False) -> None:
        """Print one message as it was read from the room."""
        head = Text(f"{visible(who):>10}  ", style=BOT_STYLE if bot else PERSON_STYLE)
        first, *more = visible(text).splitlines() or [""]
        self._line(head + Text(first))
        for line in more:
            self._line(Text((" " * 12 + line).rstrip()))

    def recalled(self, memory: Memory) -> None:
        """Print that the last message brought a resting memory back."""
        self.note(f"{'':>12}(memory {memory.id} rested and was recalled: {visible(memory.text)})")

    def table(self, rows: Iterable[Row]) -> None:
        """Print what the database holds."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("person", overflow="fold")
        table.add_column("text", overflow="fold")
        table.add_column("stage", no_wrap=True)
        for name in ("mentions", "unused days"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("state", no_wrap=True)
        for row in rows:
            unused = "" if row.unused_days is None else str(row.unused_days)
            cells = (row.who, row.text, row.stage, str(row.mentions), unused, row.state or "")
            table.add_row(*(Text(visible(cell)) for cell in cells))
        self._take_prompt_back()
        self._console.print(table if table.row_count else Text("Nothing is remembered yet.", style="dim"))

    def fault(self, text: str) -> None:
        """Print what was not as the script expects."""
        self._line(Text(visible(text), style="bold red"))

    # --- a person typing ---------------------------------------------------------------------------------------------

    def prompt(self, text: str) -> None:
        """Ask for a line. Only a terminal shows it; whatever is printed before `typed()` takes its place."""
        self._prompt = text
        if self._console.is_terminal:
            self._console.print(Text(text, style=PERSON_STYLE), end="")

    def typed(self) -> None:
        """Note that the line asked for has come; the terminal itself has ended it."""
        self._prompt = ""

    def end_prompt(self) -> None:
        """Leave the prompt's line when no line came."""
        if self._prompt and self._console.is_terminal:
            self._console.print()
        self._prompt = ""

    def between(self, who: str, text: str, *, bot: bool = False) -> None:
        """Print a message that may come while somebody is typing, and ask again if so."""
        prompt = self._prompt
        self.said(who, text, bot=bot)
        if prompt:
            self.prompt(prompt)

    def _line(self, text: Text) -> None:
        self._take_prompt_back()
        self._console.print(text, soft_wrap=True)

    def _take_prompt_back(self) -> None:
        if self._prompt and self._console.is_terminal:
            self._console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))
        self._prompt = ""
