"""A job that may read a file of its own while it works, as a renderer does its fonts; it tries what else it can."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.unit.media.misbehaving import trial

OWN = Path(__file__)
READS = (__file__,)


def work(_: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Read the own file, and the one whose path is the data."""
    found: dict[str, Any] = {"own": trial(OWN.read_bytes), "other": trial(Path(data.decode()).read_bytes)}
    found["again"] = trial(OWN.read_bytes)
    with OWN.open("rb"):
        found["both"] = trial(OWN.read_bytes)
    found["write"] = trial(lambda: OWN.open("ab"))
    return found, b""
