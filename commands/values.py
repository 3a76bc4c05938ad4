"""What a text can mean as a command: plain values, compared by what they hold."""

from __future__ import annotations

from dataclasses import dataclass

from commands.config_arguments import ConfigValue
from commands.context_arguments import ContextValue
from commands.document_values import DocumentValue
from commands.memory_values import MemoryValue
from commands.scene_values import SceneValue
from memory.types import TurnKind


@dataclass(frozen=True, slots=True)
class StartTurn:
    """`!ask TEXT`, `!code TEXT` and the like: a turn with this text."""

    text: str
    kind: TurnKind = TurnKind.ASK


@dataclass(frozen=True, slots=True)
class Help:
    """`!help` on everything, or on one command as it was typed."""

    topic: str | None = None


@dataclass(frozen=True, slots=True)
class AddMine:
    """`!memories add TEXT`."""

    text: str


@dataclass(frozen=True, slots=True)
class AddToRoom:
    """`!memories room add TEXT`."""

    text: str


@dataclass(frozen=True, slots=True)
class ShowWhy:
    """`!why`."""


@dataclass(frozen=True, slots=True)
class ShowUsage:
    """`!usage`."""


@dataclass(frozen=True, slots=True)
class ExportMine:
    """`!memories export`."""


@dataclass(frozen=True, slots=True)
class ImportMine:
    """`!memories import`, as a reply to a file."""


@dataclass(frozen=True, slots=True)
class Misused:
    """A command of ours with arguments it cannot read."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A word that is no command of ours."""

    word: str


Value = (
    StartTurn
    | Help
    | ConfigValue
    | AddMine
    | AddToRoom
    | MemoryValue
    | ShowWhy
    | ShowUsage
    | ExportMine
    | ImportMine
    | ContextValue
    | DocumentValue
    | SceneValue
    | Misused
    | Unknown
)
