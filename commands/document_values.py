"""What `!documents …` can mean: plain values, compared by what they hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ListRoomDocuments:
    """`!documents`."""


@dataclass(frozen=True, slots=True)
class AddRoomDocument:
    """`!documents add`, as a reply to a file."""


@dataclass(frozen=True, slots=True)
class DeleteRoomDocuments:
    """`!documents del ID…`; `wrong`: words that are no ids."""

    ids: tuple[int, ...]
    wrong: tuple[str, ...] = ()


DocumentValue = ListRoomDocuments | AddRoomDocument | DeleteRoomDocuments
