"""What the adapter counts, and that every metric is documented."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from actors.ports import Embedder, Metrics, Model, ToolRunner, Vector, Vectors
from actors.sweep import Progress
from davenport.metric_table import TABLE, Metric
from davenport.metrics import MeasuredEmbedder, MeasuredModel, PrometheusMetrics
from davenport.panel import Panel
from memory.cleanup import CleanupAnswer, CleanupGroup
from memory.errors import EmbeddingError, ModelAnswerInvalid, ModelError
from memory.model import Prompt, Reply, ToolSpec, Usage
from memory.story import StoryPlan, StoryRequest
from memory.types import Extraction, ExtractionRequest, TurnKind

CHECKOUT = Path(__file__).parents[3]


async def samples(metrics: PrometheusMetrics, panel: Panel) -> dict[tuple[str, ...], float]:
    """Return every sample of the page, by name and label values in the alphabet's order of the labels' names."""
    text = (await metrics.page(panel)).decode()
    families = list(text_string_to_metric_families(text))
    return {
        (each.name, *(value for _, value in sorted(each.labels.items()))): each.value
        for family in families
        for each in family.samples
    }


async def test_the_actors_port_is_counted(panel: Panel) -> None:
    metrics = PrometheusMetrics()
    port: Metrics = metrics
    port.turn(TurnKind.ASK, "answered")
    port.stage("own", 0.002)
    port.extraction("failed")
    port.memories("promoted", 2)
    port.memories("recalled", 0)
    port.documents("added", 1)
    port.documents("deleted", 3)
    port.send("retried")
    metrics.batch(5)
    found = await samples(metrics, panel)
    assert found["davenport_turns_total", "ask", "answered"] == 1
    assert found["davenport_turn_stage_seconds_sum", "own"] == pytest.approx(0.002)
    assert found["davenport_extractions_total", "failed"] == 1
    assert found["davenport_memories_total", "promoted"] == 2
    assert found["davenport_memories_total", "recalled"] == 0
    assert (found["davenport_documents_total", "added"], found["davenport_documents_total", "deleted"]) == (1, 3)
    assert found["davenport_outbox_sends_total", "retried"] == 1
    assert (found["davenport_sync_batches_total",], found["davenport_sync_events_total",]) == (1, 5)
    assert found["davenport_sync_age_seconds",] == -1
    assert found["davenport_memories_without_vector",] == -1
    panel.sweep = Progress(done=2, left=3)
    assert (await samples(metrics, panel))["davenport_memories_without_vector",] == 3


Outcome = Reply | tuple[Extraction, Usage] | tuple[CleanupAnswer, Usage] | tuple[StoryPlan, Usage] | ModelError


class ScriptedModel:
    """Answers with what it is given, or raises it."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    async def reply(self, prompt: Prompt, tools: Sequence[ToolSpec], run_tool: ToolRunner) -> Reply:
        if isinstance(self.outcome, Reply):
            return self.outcome
        raise self.outcome  # type: ignore[misc]

    async def extract(self, request: ExtractionRequest) -> tuple[Extraction, Usage]:
        if isinstance(self.outcome, tuple):
            return self.outcome  # type: ignore[return-value]
        raise self.outcome  # type: ignore[misc]

    async def tidy(self, group: CleanupGroup) -> tuple[CleanupAnswer, Usage]:
        if isinstance(self.outcome, tuple):
            return self.outcome  # type: ignore[return-value]
        raise self.outcome  # type: ignore[misc]

    async def plan_story(self, request: StoryRequest) -> tuple[StoryPlan, Usage]:
        if isinstance(self.outcome, tuple):
            return self.outcome  # type: ignore[return-value]
        raise self.outcome  # type: ignore[misc]


async def test_calls_tokens_and_errors_of_the_model_are_counted(panel: Panel) -> None:
    metrics = PrometheusMetrics()

    def measured(outcome: Outcome) -> Model:
        return MeasuredModel(ScriptedModel(outcome), metrics)

    usage = Usage("big", input_tokens=10, output_tokens=2, cache_read_tokens=7, cache_write_tokens=1)
    await measured(Reply("hello", (usage, usage))).reply(None, (), None)  # type: ignore[arg-type]
    await measured((Extraction(), Usage("small", 5, 1))).extract(None)  # type: ignore[arg-type]
    await measured((CleanupAnswer(), Usage("small", 7, 1))).tidy(None)  # type: ignore[arg-type]
    await measured((StoryPlan("A title", ()), Usage("big", 8, 1))).plan_story(None)  # type: ignore[arg-type]
    with pytest.raises(ModelAnswerInvalid):
        await measured(ModelAnswerInvalid("odd")).plan_story(None)  # type: ignore[arg-type]
    with pytest.raises(ModelAnswerInvalid):
        await measured(ModelAnswerInvalid("odd")).tidy(None)  # type: ignore[arg-type]
    metrics.cleanup("rejected")
    with pytest.raises(ModelError):
        await measured(ModelError("down")).reply(None, (), None)  # type: ignore[arg-type]
    with pytest.raises(ModelAnswerInvalid):
        await measured(ModelAnswerInvalid("odd")).extract(None)  # type: ignore[arg-type]
    found = await samples(metrics, panel)
    assert found["davenport_model_calls_total", "big", "reply"] == 2
    assert found["davenport_model_calls_total", "small", "extraction"] == 1
    assert found["davenport_model_calls_total", "big", "story"] == 1
    assert found["davenport_model_errors_total", "ModelAnswerInvalid", "story"] == 1
    assert found["davenport_model_tokens_total", "input", "big", "reply"] == 20
    assert found["davenport_model_tokens_total", "cache_read", "big", "reply"] == 14
    assert found["davenport_model_errors_total", "ModelError", "reply"] == 1
    assert found["davenport_model_errors_total", "ModelAnswerInvalid", "extraction"] == 1
    assert found["davenport_model_seconds_count", "reply"] == 1
    assert found["davenport_model_calls_total", "small", "cleanup"] == 1
    assert found["davenport_model_errors_total", "ModelAnswerInvalid", "cleanup"] == 1
    assert found["davenport_cleanups_total", "rejected"] == 1


class LengthEmbedder:
    """An embedder whose vectors do not matter."""

    model_id = "length"
    dim = 1
    match_threshold = 0.5
    document_threshold = 0.5

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if "" in texts:
            raise EmbeddingError("empty")
        return np.ones((len(texts), 1), dtype=np.float32)

    async def embed_query(self, text: str) -> Vector:
        row: Vector = (await self.embed([text]))[0]
        return row


async def test_embedding_is_timed_and_its_failures_counted(panel: Panel) -> None:
    metrics = PrometheusMetrics()
    embedder: Embedder = MeasuredEmbedder(LengthEmbedder(), metrics)
    assert (embedder.model_id, embedder.dim, embedder.match_threshold) == ("length", 1, 0.5)
    assert (await embedder.embed(["a", "b"])).shape == (2, 1)
    with pytest.raises(EmbeddingError):
        await embedder.embed([""])
    found = await samples(metrics, panel)
    assert found["davenport_embedding_seconds_count",] == 1
    assert found["davenport_embedded_texts_total",] == 2
    assert found["davenport_embedding_errors_total",] == 1


async def test_two_bots_in_one_process_count_for_themselves(panel: Panel) -> None:
    first, second = PrometheusMetrics(), PrometheusMetrics()
    first.send("sent")
    assert ("davenport_outbox_sends_total", "sent") in await samples(first, panel)
    assert ("davenport_outbox_sends_total", "sent") not in await samples(second, panel)


@pytest.mark.parametrize("metric", TABLE, ids=lambda metric: metric.name)
def test_every_metric_is_documented(metric: Metric) -> None:
    page = (CHECKOUT / "docs" / "metrics.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{metric.name}` |"))
    assert metric.help.split(".")[0] in row
    assert all(f"`{label}`" in row for label in metric.labels)
