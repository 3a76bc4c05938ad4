"""Explicit saves into a list, the same for a user's and a room's (P16, P18, D9-D11)."""

from __future__ import annotations

from actors.lists import Lists, MemoryList
from actors.messages import SaveMemory
from actors.parts import Parts
from llm.tools import was_saved, was_there
from memory.capacity import refuse_if_full
from memory.text import canonical
from memory.types import Draft, Memory, Settlement


async def save(owned: MemoryList, lists: Lists, request: SaveMemory, parts: Parts) -> str:
    """Save a draft once for its effect key and return what to tell the model.

    Equal text in the same list and visibility is a match instead (P16). Raises Refused when the list is full (D10).
    """
    now = request.now
    effect = request.effect
    saved: list[Memory] = []
    found: Settlement | None = None
    async with parts.store.transaction() as tables:
        recorded = await tables.effects.recorded(effect.event_id, effect.call)
        if recorded is not None:
            return recorded
        existing = _equal(owned, request.draft)
        if existing is not None:
            if request.settings.decay_enabled:  # else all counters are frozen (D13)
                found = Settlement(now, now.date(), used=(existing.id,))
                await tables.memories.settle(found)
            told = was_there(existing.id)
        else:
            count = await tables.memories.count_of_list(owned.key)
            refuse_if_full(request.draft.scope, count, request.settings)
            saved.append(await tables.memories.insert(request.draft, now))
            told = was_saved(saved[0].id)
        await tables.effects.record(effect.event_id, effect.call, told)
    if found is not None:
        owned.follow(found)
    await lists.add(owned.key, saved)
    parts.metrics.memories("saved", len(saved))
    return told


def _equal(owned: MemoryList, draft: Draft) -> Memory | None:
    """Return the memory of the same list, scope and visibility whose text is equal (P9), lowest id first."""
    wanted = canonical(draft.text)
    for _, memory in sorted(owned.memories.items()):
        alike = memory.scope is draft.scope and memory.origin.private == draft.origin.private
        if alike and not (memory.shared or memory.rooms or memory.tags) and canonical(memory.text) == wanted:
            return memory
    return None
