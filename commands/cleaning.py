"""`!memories cleanup` and `!memories room cleanup`: asked of whoever owns the lists, and waited for (P14, P15)."""

from __future__ import annotations

from collections.abc import Iterator

from actors.actor import Address
from actors.cleanup_messages import CleanUp, CleanupSummary
from commands.memory_values import CleanMine, CleanRoom
from commands.order import Handlers, Order
from texts.catalogue import Speaker
from texts.markdown import escape

handlers = Handlers()


@handlers.on(CleanMine)
async def mine(command: CleanMine, order: Order) -> str:
    """Tidy everything the bot remembers about the caller. Raises Refused where nothing was changed."""
    summary = await _tidied(order.me, order)
    return "\n\n".join((tidied(order.say, summary), *([order.say("cleanup-undo")] if _changed(summary) else [])))


@handlers.on(CleanRoom)
async def of_room(command: CleanRoom, order: Order) -> str:
    """Tidy this room's list for its current persona. Raises Refused where nothing was changed."""
    summary = await _tidied(order.here, order)
    return "\n\n".join((tidied(order.say, summary), *([order.say("room-cleanup-undo")] if _changed(summary) else [])))


async def _tidied(owner: Address, order: Order) -> CleanupSummary:
    """Ask for a cleanup and wait until it has ended; the owner's mailbox goes on meanwhile."""
    running = await order.system.ask(owner, CleanUp(order.view, order.effect))
    return await running


def tidied(say: Speaker, summary: CleanupSummary) -> str:
    """Say how many memories were looked at, what was dropped and what was merged; texts only where they may be seen."""
    if not _changed(summary):
        return say("cleanup-nothing", n=summary.looked_at)
    changes = "\n".join(f"- {change}" for change in _changes(say, summary))
    return f"{say('cleanup-done', n=summary.looked_at)}\n\n{changes}"


def _changed(summary: CleanupSummary) -> bool:
    return bool(summary.drops or summary.merges)


def _changes(say: Speaker, summary: CleanupSummary) -> Iterator[str]:
    for sources, new in summary.merges:
        ids = ", ".join(f"#{source}" for source in sources)
        if new in summary.texts:
            yield say("cleanup-merged-into", ids=ids, id=str(new), text=escape(summary.texts[new]))
        else:
            yield say("cleanup-merged", ids=ids, id=str(new))
    for drop in summary.drops:
        values = {"id": str(drop.memory_id), "survivor": str(drop.survivor)}
        if drop.survivor in summary.texts:
            yield say("cleanup-dropped-for", **values, text=escape(summary.texts[drop.survivor]))
        else:
            yield say("cleanup-dropped", **values)
