"""The daily budget: what calls cost is noted with their rows, and no call begins once the day's budget is spent.

Calls that run then are not cut, so a day may cost a little more than its budget.

A call counts from its end (`ended`), before anything is stored of it, so that the next in line sees it. Its row is
written in the transaction that ends the turn or pass, and `committed` is told after that, since it may be rolled back.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from actors.store import Store, Tables
from memory.errors import BudgetSpent
from memory.events import Incoming
from memory.model import Usage
from memory.spending import BudgetSettings, next_reset, spent
from memory.types import Exchange

log = logging.getLogger(__name__)

_UNITS = {"tokens": "tokens", "currency": "by llm.prices"}


@dataclass(frozen=True, slots=True)
class Recorded:
    """Rows of calls written in a transaction. sums: those of their day as loaded then, which lack them, if any were."""

    usages: tuple[Usage, ...]
    sums: dict[str, Usage] | None


class Spending:
    """The sums of one UTC day by model, in memory; read from `usage` on first use, so a restart forgets nothing."""

    def __init__(self, settings: BudgetSettings) -> None:
        self._settings = settings
        self._day: date | None = None
        self._sums: dict[str, Usage] = {}
        self._ended: Counter[Usage] = Counter()  # calls whose rows are not committed; equal ones are all the same
        self._told: date | None = None

    @property
    def settings(self) -> BudgetSettings:
        """The budget in force."""
        return self._settings

    def use(self, settings: BudgetSettings) -> None:
        """Put another budget in force, for the running day too."""
        self._settings = settings

    async def check(self, store: Store, today: date) -> None:
        """Raise BudgetSpent where what was spent on this UTC date has reached the budget; logged once a day."""
        budget = self._settings
        if not budget.daily:
            return
        so_far = await self.spent(store, today)
        if so_far < budget.daily:
            return
        if self._told != today:
            self._told = today
            log.error(
                "the budget of %s is spent: %.10g of %.10g %s (llm.daily_budget); the model is not asked until %s",
                *(today, so_far, budget.daily, _UNITS[budget.unit], next_reset(today).isoformat()),
            )
        raise BudgetSpent(f"not asked: the budget of {today} is spent")

    async def spent(self, store: Store, today: date) -> float:
        """Return what this UTC date has cost, in the unit of the budget."""
        if self._day != today:
            # Within the transaction, so that a call recorded meanwhile is counted once.
            async with store.transaction() as tables:
                if self._day != today:  # not read while this waited
                    await self._load(tables, today)
        return spent([*self._sums.values(), *self._ended.elements()], self._settings)

    async def _load(self, tables: Tables, today: date) -> None:
        totals = await tables.usage.totals(today, today, ["model"])
        if self._day is not None:
            self._ended.clear()  # of another day; what is recorded from now on counts for its own
        self._day = today
        self._sums = {
            model: Usage(
                model, total.input_tokens, total.output_tokens, total.cache_read_tokens, total.cache_write_tokens
            )
            for total in totals
            for model in total.group
        }

    def ended(self, usage: Usage) -> None:
        """Count a call that has just ended; its row follows. What never gets a row counts until the day is over."""
        self._ended[usage] += 1

    def committed(self, recorded: Recorded) -> None:
        """Count what was recorded, now that its transaction is committed, each call once."""
        self._ended -= Counter(recorded.usages)
        if recorded.sums is self._sums:
            for usage in recorded.usages:
                self._sums[usage.model] = _sum(self._sums.get(usage.model, Usage(usage.model)), usage)

    async def of_reply(
        self, tables: Tables, event: Incoming, usages: Iterable[Usage], at: datetime, purpose: str = "reply"
    ) -> Recorded:
        """Record what a reply cost, answered or failed, in the transaction that ends its turn.

        purpose: another than "reply" for what is asked apart from a conversation: "draw", "story".
        """
        return await self._record(tables, (event.event_id, event.sender, event.room_id, purpose), usages, at)

    async def of_extraction(
        self, tables: Tables, exchange: Exchange, usages: Iterable[Usage], at: datetime
    ) -> Recorded:
        """Record what a pass cost, in the transaction that ends it."""
        call = (exchange.event_id, exchange.user_id, exchange.room_id, "extraction")
        return await self._record(tables, call, usages, at)

    async def of_cleanup(
        self, tables: Tables, asker: tuple[str, str, str], usages: Iterable[Usage], at: datetime
    ) -> Recorded:
        """Record what a cleanup cost, in the transaction that ends it. `asker`: event, user and room it was for."""
        return await self._record(tables, (*asker, "cleanup"), usages, at)

    async def _record(
        self, tables: Tables, call: tuple[str, str, str, str], usages: Iterable[Usage], at: datetime
    ) -> Recorded:
        recorded = Recorded(tuple(usages), self._sums if at.astimezone(UTC).date() == self._day else None)
        for usage in recorded.usages:
            await tables.usage.add(*call, usage, at)
        return recorded


def _sum(one: Usage, other: Usage) -> Usage:
    return replace(
        one,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cache_read_tokens=one.cache_read_tokens + other.cache_read_tokens,
        cache_write_tokens=one.cache_write_tokens + other.cache_write_tokens,
    )
