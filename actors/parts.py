"""What every actor is built from; wiring makes one and hands it to all."""

from __future__ import annotations

from dataclasses import dataclass, field

from actors.media_ports import Media, Painter
from actors.metrics import NoMetrics
from actors.ports import Embedder, Matrix, Metrics, Model, ScopeIndexes, SettingsSource
from actors.quotas import Quotas
from actors.spending import Spending
from actors.store import Store
from memory.events import Dispatcher
from memory.spending import BudgetSettings
from memory.types import Clock
from texts.catalogue import Speaker


@dataclass(frozen=True, slots=True)
class Parts:
    """The ports as wired. embedder: None when none is configured (D13).

    chunk_indexes: of the rooms' documents, apart from those of memories. painter: None where the language model draws.
    """

    store: Store
    indexes: ScopeIndexes
    embedder: Embedder | None
    model: Model
    matrix: Matrix
    settings: SettingsSource
    dispatcher: Dispatcher
    clock: Clock
    media: Media
    chunk_indexes: ScopeIndexes
    metrics: Metrics = field(default_factory=NoMetrics)
    spending: Spending = field(default_factory=lambda: Spending(BudgetSettings()))
    quotas: Quotas = field(default_factory=Quotas)
    painter: Painter | None = None

    def speaker(self, room_id: str) -> Speaker:
        """Return who speaks the language of a room, as set now."""
        return Speaker(self.settings.language(room_id), prefix=self.dispatcher.prefix)
