"""The names that settings have in the sources of their rules: one table for config.toml, `!config` and the pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ALIASES = {
    "memoryEnabled": "memory.enabled",
    "memoryPromotionThreshold": "memory.promotion_threshold",
    "memoryCandidateTTLDays": "memory.candidate_ttl_days",
    "memoryMaxPerUser": "memory.max_per_user",
    "memoryCleanupInterval": "memory.cleanup_interval",
    "memoryModel": "llm.memory_model",
    "assistantModel": "llm.assistant_model",
    "verseEnabled": "verse.enabled",
    "verse_enabled": "verse.enabled",
}
OUTER, INNER = "plugins", "LLM"
PREFIX = f"{OUTER}.{INNER}."

_BY_FOLDED = {name.casefold(): dotted for name, dotted in ALIASES.items()}


def dotted(name: str) -> str:
    """Return the key that a name stands for, `memory.max_per_user` for `plugins.LLM.memoryMaxPerUser`, in any case.

    Any other name is returned in lower case, as keys are written.
    """
    folded = name.casefold()
    return _BY_FOLDED.get(folded.removeprefix(PREFIX.casefold()), folded)


def take_out(table: dict[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Put what stands under a name of the source where its key belongs, in a table read from a settings file.

    Returns how each such key was written, by dotted key, and the faults: a key that is given twice, in whatever
    spellings, or a name that the source does not have.
    """
    written: dict[str, str] = {}
    faults: list[str] = []
    for name, value in _named(table, faults):
        key = dotted(name)
        section, _, own = key.partition(".")
        place = table.setdefault(section, {})
        if not isinstance(place, dict):
            continue  # refused for itself
        if own in place:
            faults.append(f"{written.get(key, key)} and {name} are both set; keep one of them")
            continue
        table[section] = {**place, own: value}
        written[key] = name
    return written, faults


def _named(table: dict[str, Any], faults: list[str]) -> list[tuple[str, Any]]:
    """Take the names of the source out of a table and return them as written, with their values."""
    found = [(name, table.pop(name)) for name in list(table) if name.casefold() in _BY_FOLDED]
    for outer in [name for name in table if name.casefold() == OUTER]:
        below = table.pop(outer)
        inner = next((name for name in below if name.casefold() == INNER.casefold()), "") if _is_table(below) else ""
        if not inner or len(below) > 1 or not _is_table(below[inner]):
            faults.append(f"{outer} holds nothing but {PREFIX}NAME, with one of {_names()}")
            continue
        for name, value in below[inner].items():
            written = f"{outer}.{inner}.{name}"
            if name.casefold() in _BY_FOLDED:
                found.append((written, value))
            else:
                faults.append(f"{written} is not a setting; {PREFIX} has {_names()}")
    return found


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _names() -> str:
    return ", ".join(ALIASES)
