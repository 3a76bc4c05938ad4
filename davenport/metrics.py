"""Metrics for Prometheus (`davenport/metric_table.py`): the adapter of the actors' port, and the page at /metrics."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Awaitable, Sequence
from importlib.metadata import version
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from actors.ports import (
    Change,
    CleanupOutcome,
    DocumentChange,
    Embedder,
    Model,
    PassOutcome,
    QuotaKind,
    SendOutcome,
    Stage,
    ToolRunner,
    TurnOutcome,
    Vectors,
)
from davenport.metric_table import TABLE, Metric
from davenport.panel import Panel
from memory.cleanup import CleanupAnswer, CleanupGroup
from memory.errors import EmbeddingError, ModelError
from memory.model import Prompt, Reply, ToolSpec, Usage
from memory.story import StoryPlan, StoryRequest
from memory.types import Extraction, ExtractionRequest, TurnKind

ACTOR_KINDS = ("room", "user", "outbox")


class PrometheusMetrics:
    """Satisfies the actors' Metrics port; `page` is what Prometheus reads. One registry for each bot."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        made = {metric.name: _collector(metric, self.registry) for metric in TABLE}
        self._counters = {name: each for name, each in made.items() if isinstance(each, Counter)}
        self._gauges = {name: each for name, each in made.items() if isinstance(each, Gauge)}
        self._histograms = {name: each for name, each in made.items() if isinstance(each, Histogram)}
        self._gauges["davenport_info"].labels(version("davenport")).set(1)

    def turn(self, kind: TurnKind, outcome: TurnOutcome) -> None:
        """Count a turn that ended."""
        self._count("davenport_turns_total", 1, kind.value, outcome)

    def stage(self, stage: Stage, seconds: float) -> None:
        """Note how long a stage took."""
        self._observe("davenport_turn_stage_seconds", seconds, stage)

    def extraction(self, outcome: PassOutcome) -> None:
        """Count a pass that ended (P17)."""
        self._count("davenport_extractions_total", 1, outcome)

    def cleanup(self, outcome: CleanupOutcome) -> None:
        """Count a cleanup that ended (P13, P15)."""
        self._count("davenport_cleanups_total", 1, outcome)

    def memories(self, change: Change, count: int) -> None:
        """Count memories that changed."""
        self._count("davenport_memories_total", count, change)

    def send(self, outcome: SendOutcome) -> None:
        """Count an attempt to send."""
        self._count("davenport_outbox_sends_total", 1, outcome)

    def documents(self, change: DocumentChange, count: int) -> None:
        """Count documents that came or went."""
        self._count("davenport_documents_total", count, change)

    def quota(self, command: str, kind: QuotaKind, *, enforced: bool) -> None:
        """Count a try over a quota."""
        self._count("davenport_quota_exceeded_total", 1, command, kind, "refused" if enforced else "logged")

    def batch(self, events: int) -> None:
        """Count a sync batch with its events."""
        self._count("davenport_sync_batches_total", 1)
        self._count("davenport_sync_events_total", events)

    def asked(self, purpose: str, seconds: float, usages: Sequence[Usage]) -> None:
        """Note an answer of the model and what it cost."""
        self._observe("davenport_model_seconds", seconds, purpose)
        for usage in usages:
            self._count("davenport_model_calls_total", 1, purpose, usage.model)
            for direction in ("input", "output", "cache_read", "cache_write"):
                tokens = getattr(usage, f"{direction}_tokens")
                self._count("davenport_model_tokens_total", tokens, purpose, usage.model, direction)

    def model_failed(self, purpose: str, error: ModelError) -> None:
        """Count a call that failed."""
        self._count("davenport_model_errors_total", 1, purpose, type(error).__name__)

    def embedded(self, seconds: float, texts: int) -> None:
        """Note a call of the embedder."""
        self._observe("davenport_embedding_seconds", seconds)
        self._count("davenport_embedded_texts_total", texts)

    def embedding_failed(self) -> None:
        """Count a call of the embedder that failed."""
        self._count("davenport_embedding_errors_total", 1)

    def media_job(self, job: str, outcome: str, seconds: float) -> None:
        """Count a job on a picture or document, and note how long it took."""
        self._count("davenport_media_jobs_total", 1, job, outcome)
        self._observe("davenport_media_seconds", seconds, job)

    async def page(self, panel: Panel) -> bytes:
        """Return the page for Prometheus, gauges as they stand now. Raises StorageError."""
        rows, oldest = await panel.outbox()
        depths = () if panel.system is None else panel.system.depths
        left = None if panel.sweep is None else panel.sweep.left
        kinds = Tally(address.kind for address in (() if panel.system is None else panel.system.cells))
        now = {
            "davenport_outbox_rows": rows,
            "davenport_outbox_oldest_seconds": oldest or 0,
            "davenport_sync_age_seconds": -1 if panel.sync_age is None else panel.sync_age,
            "davenport_rooms": 0 if panel.gateway is None else panel.gateway.rooms,
            "davenport_mailbox_messages": sum(depths),
            "davenport_mailbox_fullest": max(depths, default=0),
            "davenport_memories_without_vector": -1 if left is None else left,
        }
        for name, value in now.items():
            self._gauges[name].set(value)
        for kind in ACTOR_KINDS:
            self._gauges["davenport_actors"].labels(kind).set(kinds[kind])
        return generate_latest(self.registry)

    def _count(self, name: str, by: int, *labels: str) -> None:
        counter = self._counters[name]
        (counter.labels(*labels) if labels else counter).inc(by)

    def _observe(self, name: str, seconds: float, *labels: str) -> None:
        histogram = self._histograms[name]
        (histogram.labels(*labels) if labels else histogram).observe(seconds)


class MeasuredModel:
    """The Model port with each answer and failure counted."""

    def __init__(self, model: Model, metrics: PrometheusMetrics) -> None:
        self._model = model
        self._metrics = metrics

    async def reply(self, prompt: Prompt, tools: Sequence[ToolSpec], run_tool: ToolRunner) -> Reply:
        """Pass on, and count. Raises ModelError."""
        began = perf_counter()
        try:
            reply = await self._model.reply(prompt, tools, run_tool)
        except ModelError as error:
            self._metrics.model_failed("reply", error)
            raise
        self._metrics.asked("reply", perf_counter() - began, reply.usage)
        return reply

    async def extract(self, request: ExtractionRequest) -> tuple[Extraction, Usage]:
        """Pass on, and count. Raises ModelError."""
        began = perf_counter()
        try:
            extraction, usage = await self._model.extract(request)
        except ModelError as error:
            self._metrics.model_failed("extraction", error)
            raise
        self._metrics.asked("extraction", perf_counter() - began, (usage,))
        return extraction, usage

    async def tidy(self, group: CleanupGroup) -> tuple[CleanupAnswer, Usage]:
        """Pass on, and count. Raises ModelError."""
        began = perf_counter()
        try:
            answer, usage = await self._model.tidy(group)
        except ModelError as error:
            self._metrics.model_failed("cleanup", error)
            raise
        self._metrics.asked("cleanup", perf_counter() - began, (usage,))
        return answer, usage

    async def plan_story(self, request: StoryRequest) -> tuple[StoryPlan, Usage]:
        """Pass on, and count. Raises ModelError."""
        began = perf_counter()
        try:
            plan, usage = await self._model.plan_story(request)
        except ModelError as error:
            self._metrics.model_failed("story", error)
            raise
        self._metrics.asked("story", perf_counter() - began, (usage,))
        return plan, usage


class MeasuredEmbedder:
    """The Embedder port with each call timed."""

    def __init__(self, embedder: Embedder, metrics: PrometheusMetrics) -> None:
        self._embedder = embedder
        self._metrics = metrics
        self.match_threshold = embedder.match_threshold
        self.document_threshold = embedder.document_threshold

    @property
    def model_id(self) -> str:
        """The model whose vectors these are; it may become known with the first of them."""
        return self._embedder.model_id

    @property
    def dim(self) -> int | None:
        """Numbers in a vector, None while that is not known."""
        return self._embedder.dim

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Pass on, and time. Raises EmbeddingError."""
        return await self._timed(self._embedder.embed(texts), len(texts))

    async def embed_query(self, text: str) -> Vectors:
        """Pass on, and time. Raises EmbeddingError."""
        return await self._timed(self._embedder.embed_query(text), 1)

    async def _timed(self, call: Awaitable[Vectors], texts: int) -> Vectors:
        began = perf_counter()
        try:
            vectors = await call
        except EmbeddingError:
            self._metrics.embedding_failed()
            raise
        self._metrics.embedded(perf_counter() - began, texts)
        return vectors


def _collector(metric: Metric, registry: CollectorRegistry) -> Counter | Gauge | Histogram:
    match metric.kind:
        case "counter":
            return Counter(metric.name, metric.help, metric.labels, registry=registry)
        case "gauge":
            return Gauge(metric.name, metric.help, metric.labels, registry=registry)
        case "histogram":
            return Histogram(metric.name, metric.help, metric.labels, registry=registry, buckets=metric.buckets)
