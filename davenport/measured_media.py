"""The ports of pictures and documents with each job counted and timed."""

from __future__ import annotations

from collections.abc import Awaitable
from time import perf_counter
from typing import TypeVar

from actors.media_ports import Media, Painter
from davenport.metrics import PrometheusMetrics
from memory.documents import ReadDocument
from memory.errors import DavenportError, Refused
from memory.media import Attachment, Picture

Made = TypeVar("Made")


class MeasuredMedia:
    """The Media port, measured. Files that are refused are counted apart from jobs that failed."""

    def __init__(self, media: Media, metrics: PrometheusMetrics) -> None:
        self._media = media
        self._metrics = metrics

    async def rasterise(self, svg: str) -> Picture:
        """Pass on, and measure. Raises Refused, MediaFailed."""
        return await _measured(self._metrics, "svg", self._media.rasterise(svg))

    async def picture(self, data: bytes) -> Picture:
        """Pass on, and measure. Raises Refused, MediaFailed."""
        return await _measured(self._metrics, "picture", self._media.picture(data))

    async def document(self, file: Attachment, most_chunks: int) -> ReadDocument:
        """Pass on, and measure. Raises Refused, MediaFailed."""
        return await _measured(self._metrics, "document", self._media.document(file, most_chunks))


class MeasuredPainter:
    """The Painter port, measured."""

    def __init__(self, painter: Painter, metrics: PrometheusMetrics) -> None:
        self._painter = painter
        self._metrics = metrics

    async def paint(self, description: str) -> bytes:
        """Pass on, and measure. Raises ModelError."""
        return await _measured(self._metrics, "paint", self._painter.paint(description))


async def _measured(metrics: PrometheusMetrics, job: str, work: Awaitable[Made]) -> Made:
    """Wait for a job. One that is called off, as by a redaction, is not counted."""
    began = perf_counter()
    try:
        made = await work
    except Refused:
        metrics.media_job(job, "refused", perf_counter() - began)
        raise
    except DavenportError:
        metrics.media_job(job, "failed", perf_counter() - began)
        raise
    metrics.media_job(job, "done", perf_counter() - began)
    return made
