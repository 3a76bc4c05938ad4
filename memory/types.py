"""The words of RULES.md as values, and the two protocols every layer may rely on.

All datetimes are aware and in UTC; all dates are UTC dates. Ids of memories and candidates are positive and never
used again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Protocol

from memory.words import NOTHING, Heard


class Clock(Protocol):
    """The one source of time. Tests and the demo move it; no rule reads the wall clock."""

    def now(self) -> datetime:
        """Return the present moment, aware, in UTC."""
        ...

    def today(self) -> date:
        """Return the UTC date of `now()`."""
        ...


class ScopeKind(StrEnum):
    """Whom a memory is about (RULES.md, Words)."""

    ROOM = "room"
    PERSONAL = "personal"
    GLOBAL = "global"


class Source(StrEnum):
    """What wrote a memory."""

    PROMOTION = "promotion"
    TOOL = "tool"
    COMMAND = "command"
    IMPORT = "import"
    MERGE = "merge"


class Privacy(StrEnum):
    """What a person lets the bot do with what they say (`!privacy`, D8, P1).

    NO_MEMORY: nothing is learned, and their personal memories are not used. SILENT: besides, nothing they say is
    answered or part of the context; commands still are.
    """

    OPEN = "open"
    NO_MEMORY = "no-memory"
    SILENT = "silent"


class TurnKind(StrEnum):
    """Kinds of event that the bot answers with the model."""

    ASK = "ask"
    CODE = "code"
    VERSE = "verse"  # an ask turn in character
    DRAW = "draw"
    STORY = "story"

    @property
    def remembers(self) -> bool:
        """Whether turns of this kind use memories, search (D2) and teach (P1); `!draw` and `!story` do neither."""
        return self not in {TurnKind.DRAW, TurnKind.STORY}


@dataclass(frozen=True, slots=True)
class ListKey:
    """A list: one room and persona, or one user and persona with that user's global memories.

    `kind` is ROOM or PERSONAL; `owner` a room id or a Matrix user id.
    """

    kind: ScopeKind
    owner: str
    persona: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a fact was first said. `private`: in a direct room (D8)."""

    room: str
    event: str
    private: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact mentioned fewer times than the threshold; a row of `memory_candidates`."""

    id: int
    user_id: str
    text: str
    mentions: int
    first_seen: datetime
    last_seen: datetime
    origin: Origin


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory about to be saved; storage gives it an id, 0 unused days and today as counted_on (D1).

    `persona` is "" for global memories, `scope_id` a room id or a Matrix user id. shared, rooms, tags: who may see it.
    """

    scope: ScopeKind
    scope_id: str
    persona: str
    text: str
    source: Source
    origin: Origin
    first_seen: datetime
    mentions: int = 1
    protected: bool = False
    shared: bool = False
    rooms: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """A durable fact; a row of `memories`."""

    id: int
    scope: ScopeKind
    scope_id: str
    persona: str
    text: str
    source: Source
    protected: bool
    unused_days: int
    counted_on: date
    last_matched_at: datetime | None
    mentions: int
    first_seen: datetime
    created_at: datetime
    updated_at: datetime
    origin: Origin
    shared: bool = False
    rooms: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def resting(self, rest_after_days: int) -> bool:
        """Whether this memory rests (D5); the state is derived, never stored."""
        return self.unused_days >= rest_after_days


@dataclass(frozen=True, slots=True)
class Conversation:
    """What visibility (D8) needs to know of the place a memory would be used in.

    `private`: a direct room in which only the bot and one person are. `asker` is whose turn or command it is.
    """

    room_id: str
    private: bool
    asker: str
    persona: str = "default"

    @property
    def alone(self) -> str | None:
        """Who is alone with the bot; None where others hear it."""
        return self.asker if self.private else None


@dataclass(frozen=True, slots=True)
class Match:
    """A memory found by the search of D2, with its cosine similarity in [-1, 1].

    Among parts of documents, which are indexed the same way, memory_id is the id of a part.
    """

    memory_id: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Recall:
    """What the one search of a turn found, kept in the journal so that a replayed turn never counts twice (D2).

    `matches`: at most three, best first. `recalled`: ids of those that rested when they were matched (D6). `rested`:
    ids of those that came to rest by this very search, which the reply still has in its start (D14).
    """

    searched_on: date
    matches: tuple[Match, ...] = ()
    recalled: tuple[int, ...] = ()
    rested: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Settlement:
    """The counter changes of one search (D3, D4, D16), each applied to whichever of the ids still exist.

    used: unused_days 0, last_matched_at `now`, counted_on `today`. aged: one day more and counted_on `today`, but only
    where counted_on is still before `today`. healed: counted_on set back to `today`, nothing else.
    """

    now: datetime
    today: date
    used: tuple[int, ...] = ()
    aged: tuple[int, ...] = ()
    healed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Exchange:
    """One answered turn as extraction sees it (P6).

    direct: said in a direct room, so that its facts have a private origin (D8). private: nobody else heard it either.
    heard: what else stood in the conversation's window, for tags (D8); not known any more after a restart.
    scene: said in character (`!verse`): what a character says of itself is no fact about the person.
    """

    event_id: str
    room_id: str
    user_id: str
    persona: str
    direct: bool
    private: bool
    said: str
    answered: str
    heard: Heard = NOTHING
    scene: bool = False


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    """What the extraction model sees (P6)."""

    exchange: Exchange
    memories: tuple[Memory, ...]
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Extraction:
    """What the extraction model answered, unchecked: new facts and the ids of reinforced candidates."""

    new_facts: tuple[str, ...] = ()
    reinforced: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TakeUp:
    """What an extraction means for the candidates (P7-P9, P18): texts to insert, ids to reinforce."""

    insert: tuple[str, ...] = ()
    reinforce: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LoreEntry:
    """One entry of a persona's lorebook: always in the prompt (D15), or when one of its keys occurs in the window."""

    text: str
    keys: tuple[str, ...] = ()
    always_on: bool = False


@dataclass(frozen=True, slots=True)
class Persona:
    """A named character of the bot, as operators configured it; `default` always exists.

    attributes and always-on lorebook entries stand in every prompt and never rest (D15). answers_to: names that
    address the bot at the beginning of a message in rooms where this persona is current.
    """

    name: str = "default"
    prompt: str = ""
    attributes: tuple[str, ...] = ()
    lorebook: tuple[LoreEntry, ...] = ()
    answers_to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """What a reply was given (`!why`), by id: memories of the prompt's start and the tagged ones, the recalled, and
    chunks of documents. picture: it was shown one. turn: its kind. private: nobody else heard the answer.
    """

    memories: tuple[int, ...] = ()
    recalled: tuple[int, ...] = ()
    chunks: tuple[int, ...] = ()
    picture: bool = False
    turn: TurnKind = TurnKind.ASK
    private: bool = False
