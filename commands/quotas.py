"""What a command counts against: its own quota, or that of the command it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from commands.table import Row, Table, find
from memory.quota import DEFAULT, CommandQuota, Limit

Source = Callable[[str], CommandQuota | None]  # what is set for a command of that name, None where nothing is


def names(row: Row, parent: str = "") -> Iterator[str]:
    """Yield the names of a command and of everything below it, in the order of `commands.table.lines`."""
    name = f"{parent} {row.name}".lstrip()
    yield name
    for child in row.below:
        yield from names(child, name)


def name_of(path: Sequence[Row]) -> str:
    """Return the name of a command, such as "memories del"; without a path it is `help`, since help is the answer."""
    return " ".join(row.name for row in path) or "help"


def limit_of(name: str, table: Table, source: Source = lambda name: None) -> Limit:
    """Return the quota of the nearest row of the path that has one, set or by default; the last try is DEFAULT."""
    for row_name, row in reversed([*_along(name, table)]):
        quota = source(row_name) or row.quota
        if quota is not None:
            return Limit(row_name, quota)
    return Limit(name.split(maxsplit=1)[0], DEFAULT)


def _along(name: str, table: Table) -> Iterator[tuple[str, Row]]:
    words = name.split()
    for number, word in enumerate(words, start=1):
        row = find(table, word)
        if row is None:
            return
        yield " ".join(words[:number]), row
        table = row.below
