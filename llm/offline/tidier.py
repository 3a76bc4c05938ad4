"""The offline cleanup: which memories of a group say the same as another (P14), by rules. It merges nothing."""

from __future__ import annotations

from llm.offline.reading import CleanupInput, Line
from llm.offline.sameness import same_fact


def tidy(shown: CleanupInput) -> tuple[tuple[int, int], ...]:
    """Return what is redundant as (id, id of the survivor): protected memories stay, then whoever was there first."""
    staying: list[Line] = list(shown.protected)
    drops: list[tuple[int, int]] = []
    for memory in sorted(shown.memories, key=lambda line: line.id):
        same = next((line.id for line in staying if same_fact(memory.text, line.text)), None)
        if same is None:
            staying.append(memory)
        else:
            drops.append((memory.id, same))
    return tuple(drops)
