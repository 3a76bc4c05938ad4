"""From a mention to a durable memory: what one extraction pass means (P3, P4, P7-P12, P18)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from memory.settings import MemorySettings
from memory.text import canonical, checked_fact
from memory.types import Candidate, Draft, Extraction, Memory, ScopeKind, Source, TakeUp

MAX_NEW_FACTS = 10  # of one pass, counted after P9 (P18)


def may_extract(count: int, settings: MemorySettings) -> bool:
    """Whether a user with so many personal and global memories over all personas is extracted at all (P3)."""
    return count < settings.max_per_user


def prune_before(settings: MemorySettings, now: datetime) -> datetime | None:
    """Return the moment before which a candidate's last_seen is too old (P4); None: nothing is pruned.

    A candidate last seen exactly then is kept.
    """
    if settings.candidate_ttl_days == 0:
        return None
    try:
        return now - timedelta(days=settings.candidate_ttl_days)
    except OverflowError:  # a time to live longer than the calendar: nothing can be older
        return None


def take_up(extraction: Extraction, candidates: Iterable[Candidate], shown_memories: Iterable[Memory]) -> TakeUp:
    """Sort out what the model answered (P7-P9, P18).

    candidates: all of the user's that exist now. shown_memories: those the model saw (P6). Returns the cleaned texts to
    insert, at most 10 and no two equal, and the ids to reinforce, each once; ids of no candidate are ignored (P12).
    """
    by_id = sorted(candidates, key=lambda candidate: candidate.id)
    known = {candidate.id for candidate in by_id}
    candidate_of: dict[str, int] = {}
    for candidate in by_id:
        candidate_of.setdefault(canonical(candidate.text), candidate.id)
    remembered = {canonical(memory.text) for memory in shown_memories}

    facts = [fact for fact in map(checked_fact, extraction.new_facts) if fact is not None]
    texts = {canonical(fact): fact for fact in reversed(facts)}  # of equal ones the first wording stays
    said_again = [candidate_of[key] for key in map(canonical, facts) if key in candidate_of]
    reinforced = [number for number in extraction.reinforced if number in known]
    new = [
        texts[key] for key in dict.fromkeys(map(canonical, facts)) if key not in candidate_of and key not in remembered
    ]
    return TakeUp(insert=tuple(new[:MAX_NEW_FACTS]), reinforce=tuple(dict.fromkeys(reinforced + said_again)))


def promotions(
    touched: Sequence[Candidate], settings: MemorySettings, user_count: int, list_count: int
) -> tuple[Candidate, ...]:
    """Return the candidates to promote, in ascending id, as far as the caps allow (P10, P11).

    touched: those this pass inserted or reinforced, with their new counts. user_count: the user's memories over all
    personas (P3). list_count: what the list's capacity is held against (D9). The rest stay candidates.
    """
    room = min(settings.max_per_user - user_count, settings.capacity_personal - list_count)
    ripe = sorted(
        (candidate for candidate in touched if candidate.mentions >= settings.promotion_threshold),
        key=lambda candidate: candidate.id,
    )
    return tuple(ripe[: max(0, room)])


def draft_of(candidate: Candidate, persona: str) -> Draft:
    """Return the memory that a candidate becomes, on the personal list of this persona (P11, P12)."""
    return Draft(
        scope=ScopeKind.PERSONAL,
        scope_id=candidate.user_id,
        persona=persona,
        text=candidate.text,
        source=Source.PROMOTION,
        origin=candidate.origin,
        first_seen=candidate.first_seen,
        mentions=candidate.mentions,
    )
