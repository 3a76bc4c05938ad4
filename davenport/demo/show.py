"""What the demo prints: the conversation as it went over Matrix, and a table read back from the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from memory.types import Candidate, Memory


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
    """Prints to a terminal or a file; wide enough that lines stay whole where the width is unknown."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)

    def note(self, text: str) -> None:
        """Print a remark of the demo's own."""
        self._console.print(Text(text, style="dim"))

    def day(self, number: int, today: date, note: str) -> None:
        """Print the head of a day."""
        self._console.print()
        self._console.rule(Text(f"Day {number}, {today.isoformat()}", style="bold"), align="left")
        if note:
            self.note(note)

    def said(self, who: str, text: str) -> None:
        """Print one message as it was read from the room."""
        head = Text(f"{who:>10}  ", style="cyan" if who == "davenport" else "green")
        first, *more = text.splitlines() or [""]
        self._console.print(head + Text(first), soft_wrap=True)
        for line in more:
            self._console.print(Text(" " * 12 + line), soft_wrap=True)

    def table(self, rows: Iterable[Row]) -> None:
        """Print what the database holds."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in ("person", "text", "stage"):
            table.add_column(name)
        for name in ("mentions", "unused days"):
            table.add_column(name, justify="right")
        table.add_column("state")
        for row in rows:
            unused = "" if row.unused_days is None else str(row.unused_days)
            cells = (row.who, row.text, row.stage, str(row.mentions), unused, row.state or "")
            table.add_row(*map(Text, cells))
        self._console.print(table)

    def fault(self, text: str) -> None:
        """Print what was not as the script expects."""
        self._console.print(Text(text, style="bold red"))
