"""Every metric of the page at /metrics: name, kind, what it says, labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

QUICK = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.0)  # seconds
IN_BETWEEN = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 120.0)
SLOW = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: name as scraped, kind, what it says, and labels. `buckets`: of a histogram, in seconds."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = QUICK


TABLE = (
    Metric("davenport_info", "gauge", "1, with the version of the bot.", ("version",)),
    Metric("davenport_turns_total", "counter", "Turns by kind and how they ended.", ("kind", "outcome")),
    Metric(
        "davenport_turn_stage_seconds",
        "histogram",
        "The bot's own time in a turn by stage; own: from its beginning to the model's request.",
        ("stage",),
    ),
    Metric(
        "davenport_model_calls_total",
        "counter",
        "Calls the model answered, by purpose and model; purpose: extraction, cleanup, story for the plan of one, or "
        "reply for answers of every kind, drawings and parts of stories among them.",
        ("purpose", "model"),
    ),
    Metric(
        "davenport_model_tokens_total",
        "counter",
        "Tokens as the model's server counted them; direction: input, output, cache_read, cache_write.",
        ("purpose", "model", "direction"),
    ),
    Metric(
        "davenport_model_errors_total",
        "counter",
        "Replies, plans of stories, extractions and calls for a cleanup that failed, by the kind of error.",
        ("purpose", "error"),
    ),
    Metric(
        "davenport_model_seconds",
        "histogram",
        "How long replies, tools included, plans of stories, extractions and calls for a cleanup took.",
        ("purpose",),
        SLOW,
    ),
    Metric("davenport_extractions_total", "counter", "Extraction passes by how they ended; failed: P17.", ("outcome",)),
    Metric(
        "davenport_cleanups_total",
        "counter",
        "Cleanups by how they ended: applied, nothing to do, rejected (P15), failed, dropped (P20).",
        ("outcome",),
    ),
    Metric(
        "davenport_memories_total",
        "counter",
        "Memories by what happened to them; embedded: after they were saved (D17).",
        ("change",),
    ),
    Metric(
        "davenport_memories_without_vector",
        "gauge",
        "Memories still to be embedded with the model in use (D17); -1 before the first count and without an embedder.",
    ),
    Metric("davenport_documents_total", "counter", "Documents of rooms that were added or deleted.", ("change",)),
    Metric("davenport_embedding_seconds", "histogram", "How long one call of the embedder took."),
    Metric("davenport_embedded_texts_total", "counter", "Texts that were embedded."),
    Metric("davenport_embedding_errors_total", "counter", "Calls of the embedder that failed (D7)."),
    Metric(
        "davenport_media_jobs_total",
        "counter",
        "Work on pictures and documents: svg (a drawing checked and made a picture), picture (one that came in), "
        "document, paint (by draw.provider); outcome: done, refused (the file is not as it must be) or failed.",
        ("job", "outcome"),
    ),
    Metric("davenport_media_seconds", "histogram", "How long such work took.", ("job",), IN_BETWEEN),
    Metric(
        "davenport_outbox_sends_total",
        "counter",
        "Attempts to send: sent, retried, kept for later, refused for good.",
        ("outcome",),
    ),
    Metric("davenport_outbox_rows", "gauge", "Events that wait to be sent."),
    Metric("davenport_outbox_oldest_seconds", "gauge", "How long the oldest of them has waited; 0 when there is none."),
    Metric(
        "davenport_quota_exceeded_total",
        "counter",
        "Tries over a quota, of a user or a room; logged: limits.enforce is off, and they were let through.",
        ("command", "quota", "outcome"),
    ),
    Metric("davenport_sync_batches_total", "counter", "Sync batches taken in."),
    Metric("davenport_sync_events_total", "counter", "Events in them."),
    Metric("davenport_sync_age_seconds", "gauge", "Time since the last batch was stored; -1 before the first."),
    Metric("davenport_rooms", "gauge", "Rooms the bot is in."),
    Metric("davenport_actors", "gauge", "Loaded actors by kind.", ("kind",)),
    Metric("davenport_mailbox_messages", "gauge", "Messages that wait in mailboxes, all together."),
    Metric("davenport_mailbox_fullest", "gauge", "Messages that wait in the fullest mailbox."),
)
