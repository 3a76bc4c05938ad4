"""What `!usage` finds out: what a person's calls of the language model cost, and for admins what all did."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce

from actors.messages import Request
from actors.parts import Parts
from memory.model import UsageTotal
from memory.spending import BudgetSettings

WEEK, MONTH = 7, 30  # days, today among them
NO_CALLS = UsageTotal((), 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class WholeBot:
    """What all calls cost, by model and purpose, today and in 30 days; budget: as set now, spent: of it, today."""

    today: tuple[UsageTotal, ...]
    month: tuple[UsageTotal, ...]
    budget: BudgetSettings
    spent: float


@dataclass(frozen=True, slots=True)
class Costs:
    """What one person's calls cost: today, and in the last 7 and 30 UTC dates. whole: for admins alone."""

    today: UsageTotal
    week: UsageTotal
    month: UsageTotal
    whole: WholeBot | None


@dataclass(frozen=True, slots=True)
class UsageOf(Request[Costs]):
    """Sum what this user's calls cost. whole: also what all calls did; only for who may know."""

    whole: bool


async def costs_of(parts: Parts, user_id: str, request: UsageOf) -> Costs:
    """Answer `UsageOf`. Calls count on the UTC date on which they were recorded by our clock."""
    today = parts.clock.today()
    first = today - timedelta(days=MONTH - 1)
    async with parts.store.transaction() as tables:
        days = await tables.usage.totals(first, today, ["day"], user_id=user_id)
    whole = await _whole(parts, first, today) if request.whole else None

    def last(span: int) -> UsageTotal:
        since = (today - timedelta(days=span - 1)).isoformat()
        return _sum(day for day in days if day.group[0] >= since)

    return Costs(last(1), last(WEEK), last(MONTH), whole)


async def _whole(parts: Parts, first: date, today: date) -> WholeBot:
    async with parts.store.transaction() as tables:
        of_today = await tables.usage.totals(today, today, ["model", "purpose"])
        of_month = await tables.usage.totals(first, today, ["model", "purpose"])
    return WholeBot(of_today, of_month, parts.spending.settings, await parts.spending.spent(parts.store, today))


def _sum(totals: Iterable[UsageTotal]) -> UsageTotal:
    return reduce(_plus, totals, NO_CALLS)


def _plus(one: UsageTotal, other: UsageTotal) -> UsageTotal:
    return UsageTotal(
        (),
        one.calls + other.calls,
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.cache_read_tokens + other.cache_read_tokens,
        one.cache_write_tokens + other.cache_write_tokens,
    )
