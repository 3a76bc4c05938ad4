"""How memories rest and return: what one search of a turn means for the counters (D2-D7, D13, D16)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from memory.settings import MemorySettings
from memory.text import blank, visible
from memory.types import Match, Memory, ScopeKind, Settlement

MATCH_LIMIT = 3  # D3: the fourth best is not a match
_FARTHEST_AHEAD = timedelta(days=7)  # D16: a counted_on farther ahead comes from a clock that was wrong


def searches(text: str, settings: MemorySettings) -> bool:
    """Whether a turn with this message searches the memories: it has text (D2) and decay is on (D13)."""
    return settings.decay_enabled and not blank(visible(text))


def rest_after(settings: MemorySettings) -> int | None:
    """Return the counted days at which a memory rests (D5); None while decay is off and all are active (D13)."""
    return settings.rest_after_days if settings.decay_enabled else None


def merge(best_of_each_list: Iterable[Sequence[Match]], limit: int = MATCH_LIMIT) -> tuple[Match, ...]:
    """Return the best matches over all lists together, each memory once, best first, ties to the lower id (D3)."""
    best: dict[int, float] = {}
    for match in (match for matches in best_of_each_list for match in matches):
        best[match.memory_id] = max(match.similarity, best.get(match.memory_id, match.similarity))
    ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Match(memory_id, similarity) for memory_id, similarity in ranked[:limit])


def settle(
    searched: Iterable[Memory],
    matches: Iterable[Match],
    today: date,
    now: datetime,
    owners_today: Collection[str],
) -> Settlement:
    """Return the counter changes of one successful search (D3, D4, D16).

    searched: every memory that was compared, as it stood before. matches: the merged best three. owners_today: who
    wrote in this conversation's window on the UTC date `today`; personal and global memories of others gain no day.
    """
    used = tuple(dict.fromkeys(match.memory_id for match in matches))
    others = {memory.id: memory for memory in searched if memory.id not in used}.values()
    ahead = sorted(memory.id for memory in others if memory.counted_on - today > _FARTHEST_AHEAD)
    aged = sorted(
        memory.id
        for memory in others
        if memory.counted_on < today and (memory.scope is ScopeKind.ROOM or memory.scope_id in owners_today)
    )
    return Settlement(now=now, today=today, used=used, aged=tuple(aged), healed=tuple(ahead))


def recalled(searched: Iterable[Memory], matches: Iterable[Match], rest_after_days: int) -> tuple[int, ...]:
    """Return the ids of matches that rested when they were found, best first (D6); `searched` as it stood before."""
    resting = {memory.id for memory in searched if memory.resting(rest_after_days)}
    return tuple(match.memory_id for match in matches if match.memory_id in resting)


def after(memory: Memory, settlement: Settlement) -> Memory:
    """Return the memory as the settlement leaves it, exactly as the same settlement changes its row."""
    if memory.id in settlement.used:
        return replace(memory, unused_days=0, last_matched_at=settlement.now, counted_on=settlement.today)
    if memory.id in settlement.aged and memory.counted_on < settlement.today:
        return replace(memory, unused_days=memory.unused_days + 1, counted_on=settlement.today)
    if memory.id in settlement.healed and memory.counted_on > settlement.today:
        return replace(memory, counted_on=settlement.today)
    return memory
