"""How the journal writes down which memories an answer was given (`!why`)."""

from __future__ import annotations

import json

from memory.types import Given

NOTHING_GIVEN = Given()


def write_given(given: Given) -> str:
    """Write it as JSON."""
    return json.dumps({"memories": list(given.memories), "recalled": list(given.recalled)})


def read_given(text: str) -> Given:
    """Read what `write_given` wrote."""
    value = json.loads(text)
    return Given(tuple(value["memories"]), tuple(value["recalled"]))
