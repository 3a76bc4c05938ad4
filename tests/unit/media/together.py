"""Many files for one job in one process with all its limits: what becomes of each. To start one for each takes long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from media import document, picture, svg
from media.worker import Work
from memory.errors import Refused

JOBS: dict[str, Work] = {job.__name__: job.work for job in (document, picture, svg)}
READS = svg.READS


def work(arguments: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Do the job named for each file. arguments: job; files, of each its arguments and how many of the bytes are its.

    Returns {"outcomes"}: of each the id of its refusal and the values of that, or two None.
    """
    outcomes: list[tuple[str | None, Any]] = []
    at = 0
    for own, size in arguments["files"]:
        try:
            JOBS[arguments["job"]](own, data[at : at + size])
            outcomes.append((None, None))
        except Refused as refused:
            outcomes.append((refused.text_id, refused.values))
        at += size
    return {"outcomes": outcomes}, b""
