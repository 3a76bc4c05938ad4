"""Settings values the rules are given; where they come from is no concern of this package (P5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """The `memory.*` keys, with the defaults of RULES.md. `decay_enabled` is False too where no embedder is (D13).

    blacklist: globs of the ids of people and rooms whose memories are neither made by learning nor used (D8, P1).
    notices: where it is said what was saved and forgotten (D12). room_power_level: who may change a room's list; None:
    whoever may change the room's state.
    """

    enabled: bool = True
    promotion_threshold: int = 2
    candidate_ttl_days: int = 14
    max_per_user: int = 50
    cleanup_interval: int = 3
    decay_enabled: bool = True
    rest_after_days: int = 7
    match_threshold: float = 0.25
    capacity_room: int = 100
    capacity_personal: int = 100
    private_stays_private: bool = True
    blacklist: tuple[str, ...] = ()
    notices: Literal["room", "private", "off"] = "room"
    room_power_level: int | None = None


@dataclass(frozen=True, slots=True)
class KindSettings:
    """What holds for the kinds of turn in a room: the sections `code`, `verse`, `draw`, `story`, `pictures` and
    `documents`.

    code_attach_lines: a code block of more lines goes out as a file too. documents_threshold: None: what was measured
    for the embedder. Sizes in bytes.
    """

    code_attach_lines: int = 30
    verse_enabled: bool = False
    verse_minutes: int = 15
    draw_enabled: bool = True
    story_enabled: bool = True
    story_parts: int = 5
    story_illustrations: int = 3
    pictures_enabled: bool = True
    pictures_most_bytes: int = 10_000_000
    documents_enabled: bool = True
    documents_most_bytes: int = 10_000_000
    documents_most: int = 50  # of a room
    documents_chunks: int = 500  # of one document
    documents_in_prompt: int = 3  # chunks
    documents_threshold: float | None = None


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """The `context.*` keys: what of a conversation is kept in the window."""

    max_messages: int = 20
    timeout_minutes: int = 60
