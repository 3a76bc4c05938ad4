"""What `!memories` can mean: plain values, compared by what they hold.

ids are in the order given, each once; wrong: the words that are no ids, as they were typed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ListMine:
    """`!memories`."""


@dataclass(frozen=True, slots=True)
class ShowMine:
    """`!memories show ID`."""

    memory_id: int


@dataclass(frozen=True, slots=True)
class DeleteMine:
    """`!memories del ID…`."""

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
class ShareMine:
    """`!memories share ID…`."""

    ids: tuple[int, ...]
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnshareMine:
    """`!memories unshare ID…`."""

    ids: tuple[int, ...]
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LimitMine:
    """`!memories limit ID… here|off`."""

    here: bool
    ids: tuple[int, ...]
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TagMine:
    """`!memories tag ID word…`; no words: take the tags away."""

    memory_id: int
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GlobalMine:
    """`!memories global ID…`."""

    ids: tuple[int, ...]
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UndoMine:
    """`!memories undo`."""


@dataclass(frozen=True, slots=True)
class ListRoom:
    """`!memories room`."""


@dataclass(frozen=True, slots=True)
class ShowRoom:
    """`!memories room show ID`."""

    memory_id: int


@dataclass(frozen=True, slots=True)
class DeleteRoom:
    """`!memories room del ID…`."""

    ids: tuple[int, ...]
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EditRoom:
    """`!memories room edit ID TEXT`."""

    memory_id: int
    text: str


@dataclass(frozen=True, slots=True)
class UndoRoom:
    """`!memories room undo`."""


@dataclass(frozen=True, slots=True)
class CleanMine:
    """`!memories cleanup`."""


@dataclass(frozen=True, slots=True)
class CleanRoom:
    """`!memories room cleanup`."""


@dataclass(frozen=True, slots=True)
class TooManyIds:
    """Ranges of ids that are too wide to be meant."""

    limit: int


MemoryValue = (
    ListMine
    | ShowMine
    | DeleteMine
    | EditMine
    | ClearMine
    | ShareMine
    | UnshareMine
    | LimitMine
    | TagMine
    | GlobalMine
    | UndoMine
    | ListRoom
    | ShowRoom
    | DeleteRoom
    | EditRoom
    | UndoRoom
    | CleanMine
    | CleanRoom
    | TooManyIds
)
