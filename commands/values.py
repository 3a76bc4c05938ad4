"""What a text can mean as a command: plain values, compared by what they hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ask:
    """`!ask TEXT`: a turn with this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Help:
    """`!help` on everything, or on one command as it was typed."""

    topic: str | None = None


@dataclass(frozen=True, slots=True)
class ListMine:
    """`!memories`."""


@dataclass(frozen=True, slots=True)
class DeleteMine:
    """`!memories del ID…`: ids in the order given, and words that are no ids."""

    ids: tuple[int, ...]
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EditMine:
    """`!memories edit ID TEXT`."""

    memory_id: int
    text: str


@dataclass(frozen=True, slots=True)
class ClearMine:
    """`!memories clear`."""


@dataclass(frozen=True, slots=True)
class Misused:
    """A command of ours with arguments it cannot read."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A word that is no command of ours."""

    word: str


Value = Ask | Help | ListMine | DeleteMine | EditMine | ClearMine | Misused | Unknown
