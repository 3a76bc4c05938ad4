"""The offline extraction: new facts and reinforced candidates of one exchange (P6), by rules."""

from __future__ import annotations

from dataclasses import dataclass

from llm.offline.facts import facts_of
from llm.offline.reading import ExtractionInput
from llm.offline.sameness import same_fact
from llm.offline.scenes import out_of_character


@dataclass(frozen=True, slots=True)
class Extracted:
    """What an exchange states: facts that are new, and ids of candidates that it states again."""

    new_facts: tuple[str, ...]
    reinforced: tuple[int, ...]


def extract(shown: ExtractionInput) -> Extracted:
    """Read the asker's message only, of a scene what is said out of it; what is remembered counts as nothing (P9)."""
    new: list[str] = []
    reinforced: list[int] = []
    for fact in facts_of(out_of_character(shown.said) if shown.scene else shown.said):
        if any(same_fact(fact, memory.text) for memory in shown.memories):
            continue
        again = [candidate.id for candidate in shown.candidates if same_fact(fact, candidate.text)]
        if again:
            reinforced.append(again[0])
        elif not any(same_fact(fact, earlier) for earlier in new):
            new.append(fact)
    return Extracted(tuple(new), tuple(dict.fromkeys(reinforced)))
