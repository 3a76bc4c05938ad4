"""Counting without anybody who listens, and the stop-watch of the stages (the port is actors.ports.Metrics)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from actors.ports import (
    Change,
    CleanupOutcome,
    DocumentChange,
    Metrics,
    PassOutcome,
    QuotaKind,
    SendOutcome,
    Stage,
    TurnOutcome,
)
from memory.types import TurnKind


class NoMetrics:
    """Forgets what it is told; the default where nobody measures."""

    def turn(self, kind: TurnKind, outcome: TurnOutcome) -> None:
        """Do nothing."""

    def stage(self, stage: Stage, seconds: float) -> None:
        """Do nothing."""

    def extraction(self, outcome: PassOutcome) -> None:
        """Do nothing."""

    def cleanup(self, outcome: CleanupOutcome) -> None:
        """Do nothing."""

    def memories(self, change: Change, count: int) -> None:
        """Do nothing."""

    def send(self, outcome: SendOutcome) -> None:
        """Do nothing."""

    def documents(self, change: DocumentChange, count: int) -> None:
        """Do nothing."""

    def quota(self, command: str, kind: QuotaKind, *, enforced: bool) -> None:
        """Do nothing."""


@contextmanager
def timed(metrics: Metrics, stage: Stage) -> Iterator[None]:
    """Measure a block as one stage of a turn, also when it fails."""
    began = perf_counter()
    try:
        yield
    finally:
        metrics.stage(stage, perf_counter() - began)
