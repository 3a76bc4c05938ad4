"""What the actors need from outside, in terms of memory/ only. Adapters satisfy these by shape; wiring joins them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from memory.cleanup import CleanupAnswer, CleanupGroup
from memory.events import Answer, OutboxRow
from memory.media import Attachment, MediaKind
from memory.model import Prompt, Reply, ToolCall, ToolResult, ToolSpec, Usage
from memory.quota import CommandQuota
from memory.settings import ContextSettings, KindSettings, MemorySettings
from memory.story import StoryPlan, StoryRequest
from memory.types import (
    Extraction,
    ExtractionRequest,
    ListKey,
    Match,
    Persona,
    TurnKind,
)

ONLY_FILES = frozenset({MediaKind.FILE})
Vector = NDArray[np.float32]  # shape [dim], unit length
Vectors = NDArray[np.float32]  # shape [n, dim], rows of unit length


class SettingsSource(Protocol):
    """Settings in force now. Read once per turn, pass or command (P5)."""

    def memory(self, room_id: str) -> MemorySettings:
        """Return the memory settings for one room's traffic."""
        ...

    def context(self, room_id: str) -> ContextSettings:
        """Return the window settings for one room."""
        ...

    def kinds(self, room_id: str) -> KindSettings:
        """Return what holds for the kinds of turn, pictures and documents in one room."""
        ...

    def language(self, room_id: str) -> str:
        """Return the language of the bot's own sentences in one room, one of texts.catalogue.languages()."""
        ...

    def welcome(self, room_id: str) -> bool:
        """Whether the bot says, on coming into this room, that it remembers, and how to see, stop and delete that."""
        ...

    def persona(self, name: str) -> Persona:
        """Return the persona of that name, or `default` where it no longer exists."""
        ...

    def personas(self) -> tuple[str, ...]:
        """Return the names of the configured personas, `default` first."""
        ...

    def admin(self, user_id: str) -> bool:
        """Whether `matrix.admins` names this user."""
        ...

    def quota(self, command: str) -> CommandQuota | None:
        """Return how often a command may be given by `limits.quotas`; None: nothing is set, its default holds."""
        ...

    def enforces_limits(self) -> bool:
        """Whether a quota that is used up refuses; otherwise it is only logged."""
        ...


TurnOutcome = Literal["answered", "failed", "error"]
Stage = Literal["embed", "score", "documents", "settle", "prompt", "own", "store"]
PassOutcome = Literal["applied", "failed", "dropped", "skipped"]
CleanupOutcome = Literal["applied", "nothing", "rejected", "failed", "dropped"]
Change = Literal["promoted", "saved", "recalled", "deleted", "forgotten", "embedded"]
SendOutcome = Literal["sent", "retried", "kept", "refused"]
QuotaKind = Literal["user", "room"]
DocumentChange = Literal["added", "deleted"]


class Metrics(Protocol):
    """What operators count. Never waits and never raises; is told no ids and no texts."""

    def turn(self, kind: TurnKind, outcome: TurnOutcome) -> None:
        """Count a turn that ended; "failed": by the model, "error": by a fault of the bot's own."""
        ...

    def stage(self, stage: Stage, seconds: float) -> None:
        """Note how long one stage of a turn took; "own" is everything from its beginning to the model's request."""
        ...

    def extraction(self, outcome: PassOutcome) -> None:
        """Count a pass that ended; "failed": P17, "dropped": P20, "skipped": P2, P3."""
        ...

    def cleanup(self, outcome: CleanupOutcome) -> None:
        """Count a cleanup that ended (P13); "nothing": there was none to do, "rejected": P15, "dropped": P20."""
        ...

    def memories(self, change: Change, count: int) -> None:
        """Count memories that were promoted, saved on request, recalled (D6), deleted by a person, forgotten (D9), or
        embedded after they were saved (D17).
        """
        ...

    def send(self, outcome: SendOutcome) -> None:
        """Count an attempt to send: taken, to be tried again, kept for later or refused for good."""
        ...

    def documents(self, change: DocumentChange, count: int) -> None:
        """Count documents of rooms that were added, or deleted by a person or with their file."""
        ...

    def quota(self, command: str, kind: QuotaKind, *, enforced: bool) -> None:
        """Count a try over a quota; not `enforced`: it was let through. `command`: a name of the table."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors of one model."""

    @property
    def model_id(self) -> str:
        """Names the model whose vectors these are; changes whenever old vectors cannot be compared with new ones.

        Only to be relied on once `dim` is known.
        """
        ...

    @property
    def dim(self) -> int | None:
        """Numbers in a vector; None for a model elsewhere that has not answered yet. Known once a text was embedded."""
        ...

    @property
    def match_threshold(self) -> float:
        """The similarity from which a memory counts as used (D3) unless `memory.match_threshold` is set."""
        ...

    @property
    def document_threshold(self) -> float:
        """The similarity from which a part of a document is given, unless `documents.match_threshold` is set."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32[n, dim], rows of unit length, of what is to be found. Raises EmbeddingError."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """Return float32[dim], of unit length, of what is said: a search compares it with rows of `embed` (D2).

        Raises EmbeddingError.
        """
        ...


class ScopeIndexes(Protocol):
    """One flat index per list, in memory only; whoever owns a list keeps its index in step with the database.

    The parts of a room's documents have an index of the same form, under ids of their own.
    """

    def has(self, key: ListKey) -> bool:
        """Whether this list is loaded. False after it was evicted: load it again before searching."""
        ...

    def load(self, key: ListKey, ids: Sequence[int], vectors: Vectors) -> None:
        """Replace whatever is loaded for this list."""
        ...

    def put(self, key: ListKey, memory_id: int, vector: Vector) -> None:
        """Add or replace one memory's vector in a loaded list; does nothing when the list is not loaded."""
        ...

    def drop(self, key: ListKey, ids: Iterable[int]) -> None:
        """Remove memories from a loaded list; unknown ids are ignored."""
        ...

    def ids(self, key: ListKey) -> frozenset[int]:
        """Return the ids that have a vector in a loaded list."""
        ...

    def search(
        self, key: ListKey, vector: Vector, allowed: frozenset[int], limit: int, threshold: float
    ) -> tuple[Match, ...]:
        """Return up to `limit` best of `allowed` with similarity >= threshold, best first, ties to the lower id."""
        ...

    def unload(self, key: ListKey) -> None:
        """Forget a list that is no longer in use."""
        ...


ToolRunner = Callable[[ToolCall], Awaitable[ToolResult]]


class Model(Protocol):
    """The language model. Every failure is a ModelError; nothing partial is ever returned."""

    async def reply(self, prompt: Prompt, tools: Sequence[ToolSpec], run_tool: ToolRunner) -> Reply:
        """Stream one whole answer, running tools as the model asks. Raises ModelError (a cut stream is one)."""
        ...

    async def extract(self, request: ExtractionRequest) -> tuple[Extraction, Usage]:
        """Ask for new facts and reinforced candidates (P6). Raises ModelError, ModelAnswerInvalid (P17)."""
        ...

    async def tidy(self, group: CleanupGroup) -> tuple[CleanupAnswer, Usage]:
        """Ask what of a group is redundant or overlaps (P14). Raises ModelError, ModelAnswerInvalid."""
        ...

    async def plan_story(self, request: StoryRequest) -> tuple[StoryPlan, Usage]:
        """Ask for the plan of a story, within the request's limits. Raises ModelError, ModelAnswerInvalid."""
        ...


class Matrix(Protocol):
    """The homeserver, for sending and for who is in a room."""

    @property
    def device_id(self) -> str:
        """The device whose transaction ids the homeserver recognises."""
        ...

    async def send(self, row: OutboxRow) -> str:
        """Send one row under its transaction id and return the event id. Raises MatrixError."""
        ...

    async def find_sent(self, row: OutboxRow) -> str | None:
        """Look in the room's recent history for an own event that is this row; None when there is none."""
        ...

    async def upload(self, row: OutboxRow) -> str:
        """Upload a row's attachment, encrypted for an encrypted room, and return the content with url or file.

        Raises MatrixError.
        """
        ...

    async def attachment(
        self, room_id: str, event_id: str, most_bytes: int, kinds: frozenset[MediaKind] = ONLY_FILES
    ) -> Attachment | None:
        """Return what an event holds, decrypted; None: nothing of these kinds, or the bot cannot see it.

        Raises Refused: file-too-large, as counted while it is read, or file-unreadable; MatrixError.
        """
        ...

    async def is_redacted(self, room_id: str, event_id: str) -> bool:
        """Whether what an event held was deleted; what cannot be seen is not. Raises MatrixError."""
        ...

    async def direct_room(self, user_id: str) -> str:
        """Return the direct room of the bot with a user, made (encrypted) and the user invited where there is none.

        Only a room in which nobody but the two is joined or invited will do. Raises MatrixError.
        """
        ...

    async def typing(self, room_id: str, *, on: bool) -> None:
        """Show or clear the typing notice. Never raises: a notice is not worth an answer."""
        ...

    async def members(self, room_id: str) -> frozenset[str]:
        """Return the user ids joined to a room, as last synced; asked for at first. Raises MatrixError."""
        ...

    def can_write_state(self, room_id: str, user_id: str) -> bool:
        """Whether this user's power level allows changing room state."""
        ...

    def power_level(self, room_id: str, user_id: str) -> int:
        """Return this user's power level in a room, as last synced; room version 12 puts creators above all."""
        ...

    def render(self, answer: Answer) -> tuple[str, ...]:
        """Turn Markdown into event contents (JSON texts), split by encoded bytes, relation and m.mentions set."""
        ...
