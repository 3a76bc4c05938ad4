"""What actors are told and asked. A `Request[R]` is answered with an R; everything else is told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from actors.ports import Vector
from memory.capacity import Saved
from memory.events import JournalEntry
from memory.model import Usage
from memory.settings import MemorySettings
from memory.types import Conversation, Exchange, Extraction, Match, Memory, Origin, Settlement, Source
from memory.window import Window
from memory.words import NOTHING, Heard

R = TypeVar("R")


class Request(Generic[R]):
    """Base of messages that expect an answer of type R."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class EffectKey:
    """Which effect of which event this is, so that a replay finds the recorded result."""

    event_id: str
    call: int = 0


# --- lists: both actors answer these -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListScore:
    """One list's part of a search (D2): what was usable, what was comparable, and its best matches.

    `usable`: every memory visible in the conversation, by id, as it stood before the search. `searched`: those of them
    that have a vector. `best`: at most three matches over the threshold. `failed`: the list could not be read or
    searched, and so the whole search failed (D7).
    """

    usable: tuple[Memory, ...] = ()
    searched: tuple[Memory, ...] = ()
    best: tuple[Match, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Score(Request[ListScore]):
    """Compare a list with the turn's vector; None: no search (D7, D13), only return what is usable."""

    conversation: Conversation
    settings: MemorySettings
    vector: Vector | None
    heard: Heard = NOTHING


@dataclass(frozen=True, slots=True)
class Settled:
    """The counters changed in the database; follow in what is loaded."""

    settlement: Settlement


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors for memories of this actor, by memory id with the text that was embedded.

    None at all: what was asked for could not be embedded. `stored`: the sweep asked, and has saved them already.
    `refused`: the ids of those that alone failed, while the model answers.
    """

    vectors: tuple[tuple[int, str, Vector], ...]
    stored: bool = False
    refused: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class UnloadIdle:
    """Let go of the lists that were last used before a moment; they are read again when they are needed."""

    before: datetime


# --- saving and the commands on memories --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SaveMemory(Request[Saved]):
    """Save a text into this actor's list of the conversation's persona at once (P16, D9-D11). Raises Refused.

    source: TOOL, or COMMAND, which protects. vector: of the text; None: it could not be embedded, or decay is off.
    searched: False when this turn's search failed. now: of the turn; None: the actor reads the clock.
    """

    text: str
    source: Source
    origin: Origin
    conversation: Conversation
    settings: MemorySettings
    effect: EffectKey
    vector: Vector | None
    searched: bool = True
    heard: Heard = NOTHING
    now: datetime | None = None


class OfMemories(Request[R]):
    """Base of requests about single memories of a user or a room; actors/memories.py answers them."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class MemoryListing:
    """What `!memories` shows (D18): the memories usable here, by id, and how many more there are elsewhere."""

    shown: tuple[Memory, ...]
    hidden: int


@dataclass(frozen=True, slots=True)
class ListMemories(OfMemories[MemoryListing]):
    """List a user's durable memories over all personas (D18), or those of a room's list for the current persona."""

    conversation: Conversation
    heard: Heard = NOTHING


@dataclass(frozen=True, slots=True)
class Deleted:
    """Ids that were deleted and ids that are not the caller's (or do not exist: no difference is told)."""

    done: tuple[int, ...]
    unknown: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DeleteMemories(OfMemories[Deleted]):
    """Delete some of the user's own memories, or of a room's list of a persona; kept for `undo`."""

    ids: tuple[int, ...]
    effect: EffectKey
    persona: str | None = None


@dataclass(frozen=True, slots=True)
class Edited:
    """How a memory reads now."""

    memory_id: int
    text: str


@dataclass(frozen=True, slots=True)
class EditMemory(OfMemories[Edited]):
    """Rewrite one of the user's own memories, or one of a room's list of a persona; protects it (D11), and what it
    said is kept for `undo`. Raises Refused.
    """

    memory_id: int
    text: str
    effect: EffectKey
    persona: str | None = None


@dataclass(frozen=True, slots=True)
class ClearMemories(Request[int]):
    """Delete every durable memory of the user (D18) and drop a pass in flight (P20); answers how many.

    The memories are kept for `undo`, the passes are not.
    """

    effect: EffectKey


# --- extraction ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TurnBegan:
    """A turn of this user began; its pass keeps its place in turn order (P20)."""

    seq: int
    event_id: str


@dataclass(frozen=True, slots=True)
class TurnOver:
    """A turn ended: with an exchange to learn from, or without one (failed, stopped, not teaching)."""

    seq: int
    event_id: str
    exchange: Exchange | None


@dataclass(frozen=True, slots=True)
class PassAnswered:
    """The extraction model answered. None: it could not run, or not usably (P17). `usage`: what its calls cost."""

    event_id: str
    extraction: Extraction | None
    usage: tuple[Usage, ...] = ()


@dataclass(frozen=True, slots=True)
class TakenBack(Request[None]):
    """An event was redacted or edited: what was learned only from it goes, a pass in flight for it is dropped."""

    event_id: str


# --- rooms and the outbox -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OpenWindow(Request[Window]):
    """Return the conversation window that a turn begins with; `members` are joined to the room."""

    thread_root: str | None
    members: frozenset[str]


@dataclass(frozen=True, slots=True)
class Wake:
    """There is unfinished work in the journal; loading takes it up."""


@dataclass(frozen=True, slots=True)
class Deliver:
    """A journalled event for a room."""

    entry: JournalEntry


@dataclass(frozen=True, slots=True)
class Flush:
    """There may be outbox rows to send for this room."""
