"""The renderer of drawings without the check before it, to see what the process alone keeps from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from media.svg import READS, rendered

__all__ = ["READS", "work"]


def work(_: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Render whatever it is."""
    return {}, rendered(data.decode())
