"""`!usage`: what the calls of the language model cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from actors.costs import UsageOf, WholeBot
from commands.order import Handlers, Order
from commands.values import ShowUsage
from memory.events import Told
from memory.model import Usage, UsageTotal
from memory.spending import BudgetSettings, tokens
from texts.catalogue import Speaker
from texts.markdown import escape

handlers = Handlers()


@handlers.on(ShowUsage)
async def show(command: ShowUsage, order: Order) -> Told:
    """Say what the caller's calls cost; admins are told of the whole bot's too, where nobody else reads it."""
    say = order.say
    costs = await order.system.ask(order.me, UsageOf(whole=order.caller.admin))
    spans = (("usage-today", costs.today), ("usage-week", costs.week), ("usage-month", costs.month))
    lines = [say("usage-yours"), "\n".join(f"- {say(span)}: {_sum(say, total)}" for span, total in spans)]
    whole = "" if costs.whole is None else "\n\n".join(_whole(say, costs.whole))
    return Told("\n\n".join(lines), private=whole)


def _whole(say: Speaker, whole: WholeBot) -> Iterator[str]:
    yield say("usage-whole")
    for span, totals in (("usage-today", whole.today), ("usage-month", whole.month)):
        yield f"**{say(span)}**"
        yield "\n".join(f"- {line}" for line in _by_model(say, totals, whole.budget)) or say("usage-none")
    yield _left(say, whole)


def _by_model(say: Speaker, totals: Sequence[UsageTotal], budget: BudgetSettings) -> Iterator[str]:
    for total in totals:
        model, purpose = total.group
        price = budget.prices.get(model)
        cost = "" if price is None else f" {say('usage-cost', cost=_money(price.of(_usage(total, model))))}"
        yield f"{escape(model)}, `{purpose}`: {_sum(say, total)}{cost}"


def _sum(say: Speaker, total: UsageTotal) -> str:
    """Say how many tokens and calls there were, and how much of what was sent the provider had in its cache."""
    if not total.calls:
        return say("usage-none")
    sent = total.input_tokens + total.cache_read_tokens + total.cache_write_tokens
    share = round(100 * total.cache_read_tokens / sent) if sent else 0
    return say("usage-sum", n=total.calls, tokens=str(tokens(_usage(total, ""))), percent=str(share))


def _left(say: Speaker, whole: WholeBot) -> str:
    budget = whole.budget
    if not budget.daily:
        return say("usage-no-budget")
    left = max(0.0, budget.daily - whole.spent)
    if budget.unit == "tokens":
        return say("usage-left-tokens", left=f"{left:.0f}", daily=f"{budget.daily:.0f}")
    return say("usage-left-money", left=_money(left), daily=_money(budget.daily))


def _money(amount: float) -> str:
    return f"{amount:.2f}" if amount >= 1 or not amount else f"{amount:.4f}"


def _usage(total: UsageTotal, model: str) -> Usage:
    return Usage(model, total.input_tokens, total.output_tokens, total.cache_read_tokens, total.cache_write_tokens)
