"""The daily budget: what calls cost is noted with their rows, and no call begins once the day's budget is spent.

Calls that run then are not cut, so a day may cost a little more than its budget.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime

from actors.store import Store, Tables
from memory.errors import BudgetSpent
from memory.events import Incoming
from memory.model import Usage
from memory.spending import BudgetSettings, next_reset, spent
from memory.types import Exchange

log = logging.getLogger(__name__)

_UNITS = {"tokens": "tokens", "currency": "by llm.prices"}


class Spending:
    """The sums of one UTC day by model, in memory; read from `usage` on first use, so a restart forgets nothing."""

    def __init__(self, settings: BudgetSettings) -> None:
        self._settings = settings
        self._day: date | None = None
        self._sums: dict[str, Usage] = {}
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
            async with store.transaction() as tables:
                totals = await tables.usage.totals(today, today, ["model"])
                # Within the transaction, so that a call noted meanwhile is counted once.
                self._day = today
                self._sums = {
                    model: Usage(
                        model,
                        total.input_tokens,
                        total.output_tokens,
                        total.cache_read_tokens,
                        total.cache_write_tokens,
                    )
                    for total in totals
                    for model in total.group
                }
        return spent(self._sums.values(), self._settings)

    async def of_reply(self, tables: Tables, event: Incoming, usages: Iterable[Usage], at: datetime) -> None:
        """Record what a reply cost, answered or failed, in the transaction that ends its turn."""
        await self._record(tables, (event.event_id, event.sender, event.room_id, "reply"), usages, at)

    async def of_extraction(self, tables: Tables, exchange: Exchange, usages: Iterable[Usage], at: datetime) -> None:
        """Record what a pass cost, in the transaction that ends it."""
        await self._record(tables, (exchange.event_id, exchange.user_id, exchange.room_id, "extraction"), usages, at)

    async def _record(
        self, tables: Tables, call: tuple[str, str, str, str], usages: Iterable[Usage], at: datetime
    ) -> None:
        for usage in usages:
            await tables.usage.add(*call, usage, at)
            if at.astimezone(UTC).date() == self._day:
                self._sums[usage.model] = _sum(self._sums.get(usage.model, Usage(usage.model)), usage)


def _sum(one: Usage, other: Usage) -> Usage:
    return replace(
        one,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cache_read_tokens=one.cache_read_tokens + other.cache_read_tokens,
        cache_write_tokens=one.cache_write_tokens + other.cache_write_tokens,
    )
