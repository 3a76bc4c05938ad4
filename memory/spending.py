"""What the language model may cost a day: a cap in tokens, or in money by a table of prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

from memory.model import Usage

Unit = Literal["tokens", "currency"]
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens of one model cost, in whatever currency the cap is in. A cache's default is `input`."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None

    def of(self, usage: Usage) -> float:
        """Return what some tokens cost."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        total = (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * write
        )
        return total / _MILLION


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """The cap of one UTC day; `daily` 0: none. `prices` by the name of the model, needed for "currency" alone."""

    daily: float = 0.0
    unit: Unit = "tokens"
    prices: Mapping[str, Price] = field(default_factory=dict)


def spent(usages: Iterable[Usage], settings: BudgetSettings) -> float:
    """Return what some calls cost in the unit of the cap.

    A model without a price, which an earlier setting asked, costs what the dearest of the table would: rather too
    early a stop than too late a one.
    """
    if settings.unit == "tokens":
        return float(sum(tokens(usage) for usage in usages))
    return sum(_cost(usage, settings.prices) for usage in usages)


def tokens(usage: Usage) -> int:
    """Return all tokens of a call, the cached ones too."""
    return usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens


def next_reset(today: date) -> datetime:
    """Return the moment from which a new day's budget holds: the next midnight in UTC."""
    return datetime.combine(today + timedelta(days=1), time(), UTC)


def _cost(usage: Usage, prices: Mapping[str, Price]) -> float:
    known = prices.get(usage.model)
    if known is not None:
        return known.of(usage)
    return max((price.of(usage) for price in prices.values()), default=0.0)
