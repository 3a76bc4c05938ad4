"""`davenport status`: one look at a running bot, as values and as lines to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from importlib.metadata import version
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from davenport.panel import Panel  # loads every library the bot runs on; whoever asks for a status needs none

Json = dict[str, Any]


async def status(panel: Panel) -> Json:
    """Return what a running bot is doing; what is not open yet is null. Raises StorageError."""
    matrix = panel.settings.matrix
    rows, oldest = await panel.outbox()
    async with panel.look() as tables:
        totals = await tables.overview.totals()
    last_day = None if panel.day is None else panel.day.last
    return {
        "version": version("davenport"),
        "state": "connecting" if panel.gateway is None else "running",
        "uptime_seconds": round(monotonic() - panel.began, 1),
        "account": {
            "homeserver": matrix.homeserver,
            "user_id": matrix.user_id,
            "device_id": None if panel.client is None else panel.client.device_id,
        },
        "sync": {
            "age_seconds": None if panel.sync_age is None else round(panel.sync_age, 1),
            "rooms": None if panel.gateway is None else panel.gateway.rooms,
        },
        "actors": _actors(panel),
        "outbox": {"rows": rows, "oldest_seconds": None if oldest is None else round(oldest, 1)},
        "day_turn": {"last": None if last_day is None else last_day.isoformat()},
        "model": None if panel.model is None else panel.model.describe(),
        "embedder": _embedder(panel),
        "counts": {"memories": totals.memories, "candidates": totals.candidates, "users": totals.users},
    }


def _actors(panel: Panel) -> Json | None:
    if panel.system is None:
        return None
    depths = panel.system.depths
    return {
        "loaded": len(depths),
        "by_kind": dict(Counter(address.kind for address in panel.system.cells)),
        "mailbox_messages": sum(depths),
        "mailbox_fullest": max(depths, default=0),
    }


def _embedder(panel: Panel) -> Json:
    embedder = panel.embedder
    provider = panel.settings.embeddings.provider
    if embedder is None:
        return {"provider": provider, "model_id": None, "dim": None, "embedded": None, "left": None}
    sweep = panel.sweep
    return {
        "provider": provider,
        "model_id": embedder.model_id,
        "dim": embedder.dim,
        "embedded": None if sweep is None else sweep.done,
        "left": None if sweep is None else sweep.left,
    }


def as_text(found: Mapping[str, Any]) -> str:
    """Return a status as lines for people."""
    account, actors, counts = found["account"], found["actors"], found["counts"]
    rows = {
        "account": f"{account['user_id']} at {account['homeserver']}, device {account['device_id'] or 'not known yet'}",
        "sync": f"{_ago(found['sync']['age_seconds'])}, {_or_unknown(found['sync']['rooms'])} rooms",
        "actors": "not started" if actors is None else _actors_line(actors),
        "outbox": _outbox_line(found["outbox"]),
        "day turn": found["day_turn"]["last"] or "none yet",
        "model": _model_line(found["model"]),
        "embedder": _embedder_line(found["embedder"]),
        "memory": f"{counts['memories']} memories, {counts['candidates']} candidates, {counts['users']} users",
    }
    head = f"davenport {found['version']}, {found['state']} for {_span(found['uptime_seconds'])}"
    return "\n".join([head, *(f"{name + ':':10} {text}" for name, text in rows.items())])


def _actors_line(actors: Mapping[str, Any]) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(actors["by_kind"].items()))
    loaded = f"{actors['loaded']} loaded" + (f" ({kinds})" if kinds else "")
    return (
        f"{loaded}, {actors['mailbox_messages']} messages waiting, {actors['mailbox_fullest']} in the fullest mailbox"
    )


def _outbox_line(outbox: Mapping[str, Any]) -> str:
    if not outbox["rows"]:
        return "empty"
    return f"{outbox['rows']} to send, the oldest for {_span(outbox['oldest_seconds'])}"


def _model_line(model: Mapping[str, Any] | None) -> str:
    if model is None:
        return "not open yet"
    if model["provider"] == "offline":
        return "offline: simple rules, no language model"
    if not model["key"]:
        return "no key"
    asked = f"{model['assistant_model']} and {model['memory_model']} at {model['base_url']} ({model['provider']})"
    return f"{asked}, breaker {model['breaker']['state']}"


def _embedder_line(embedder: Mapping[str, Any]) -> str:
    if embedder["model_id"] is None:
        return f"none ({embedder['provider']})"
    if not embedder["left"]:
        return str(embedder["model_id"])
    return f"{embedder['model_id']}, {embedder['embedded']} memories embedded anew, {embedder['left']} left"


def _ago(seconds: float | None) -> str:
    return "none yet" if seconds is None else f"{_span(seconds)} ago"


def _span(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _or_unknown(value: object) -> str:
    return "unknown" if value is None else str(value)
