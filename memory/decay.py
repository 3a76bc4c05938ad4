"""How memories rest and return: what one search of a turn means for the counters (D2-D7, D13, D16)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
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
    # Nearly always nothing is left of a long list but what no search has settled today.
    others = [memory for memory in searched if memory.counted_on != today and memory.id not in used]
    ahead = {memory.id for memory in others if memory.counted_on - today > _FARTHEST_AHEAD}
    aged = {
        memory.id
        for memory in others
        if memory.counted_on < today and (memory.scope is ScopeKind.ROOM or memory.scope_id in owners_today)
    }
    return Settlement(now=now, today=today, used=used, aged=tuple(sorted(aged)), healed=tuple(sorted(ahead)))


def recalled(searched: Iterable[Memory], matches: Iterable[Match], rest_after_days: int) -> tuple[int, ...]:
    """Return the ids of matches that rested when they were found, best first (D6); `searched` as it stood before."""
    wanted = {match.memory_id for match in matches}
    resting = {memory.id for memory in searched if memory.id in wanted and memory.resting(rest_after_days)}
    return tuple(match.memory_id for match in matches if match.memory_id in resting)


def rested(searched: Iterable[Memory], settlement: Settlement, rest_after_days: int) -> tuple[int, ...]:
    """Return the ids of memories that come to rest by a settlement (D5), ascending; `searched` as it stood before."""
    aged = frozenset(settlement.aged)
    last_day = rest_after_days - 1
    return tuple(sorted(memory.id for memory in searched if memory.unused_days == last_day and memory.id in aged))


def active(memories: Iterable[Memory], rest_after_days: int | None) -> list[Memory]:
    """Return the memories that do not rest (D5), in their order; all of them while nothing decays (None, D13)."""
    if rest_after_days is None:
        return list(memories)
    return [memory for memory in memories if not memory.unused_days >= rest_after_days]  # as Memory.resting, at once


def changed(memories: Mapping[int, Memory], settlement: Settlement) -> dict[int, Memory]:
    """Return those of the memories that a settlement changes, by id, exactly as it changes their rows."""
    today = settlement.today
    after = {}
    for memory in _found(memories, settlement.healed):
        if memory.counted_on > today:
            after[memory.id] = replace(memory, counted_on=today)
    for memory in _found(memories, settlement.aged):
        if memory.counted_on < today:
            after[memory.id] = replace(memory, unused_days=memory.unused_days + 1, counted_on=today)
    for memory in _found(memories, settlement.used):
        after[memory.id] = replace(memory, unused_days=0, last_matched_at=settlement.now, counted_on=today)
    return after


def _found(memories: Mapping[int, Memory], ids: Iterable[int]) -> Iterable[Memory]:
    return (memories[memory_id] for memory_id in ids if memory_id in memories)
