"""What the tests of cleanups share: memories put straight into storage, and answers of the model by text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from memory.cleanup import CleanupAnswer, CleanupGroup, Drop, Merge
from memory.types import Draft, Memory, Origin, ScopeKind, Source
from tests.actors.conftest import JUNO, ROOM, Bot

PUBLIC, PRIVATE = Origin(ROOM, "$said", private=False), Origin("!dm:hs", "$dm", private=True)
HERE: dict[str, Any] = {"scope": ScopeKind.ROOM, "scope_id": ROOM}
EVERYWHERE: dict[str, Any] = {"scope": ScopeKind.GLOBAL, "persona": ""}


async def remember(bot: Bot, *texts: str, **other: Any) -> tuple[Memory, ...]:
    """Save memories of Juno's, or as `other` says, past the actors: before they load the list."""
    values: dict[str, Any] = {
        "scope": ScopeKind.PERSONAL,
        "scope_id": JUNO,
        "persona": "default",
        "source": Source.TOOL,
        "origin": PUBLIC,
        "first_seen": bot.clock.now(),
    }
    async with bot.store.transaction() as tables:
        return tuple(
            [await tables.memories.insert(Draft(text=text, **(values | other)), bot.clock.now()) for text in texts]
        )


async def learned(bot: Bot, text: str, *events: str) -> Memory:
    """Save a memory of Juno's as promotion makes it, mentioned by these events."""
    async with bot.store.transaction() as tables:
        candidate = await tables.candidates.insert(JUNO, text, replace(PUBLIC, event=events[0]), bot.clock.now())
        for event in events[1:]:
            await tables.candidates.reinforce(candidate.id, event, bot.clock.now())
        draft = Draft(
            ScopeKind.PERSONAL, JUNO, "default", text, Source.PROMOTION, candidate.origin, bot.clock.now(), len(events)
        )
        memory = await tables.memories.insert(draft, bot.clock.now())
        await tables.candidates.promoted(candidate.id, memory.id)
    return memory


async def counter(bot: Bot, user: str = JUNO) -> int:
    async with bot.store.transaction() as tables:
        return await tables.users.promoting_passes(user)


def dropping(gone: str, survivor: str) -> Callable[[CleanupGroup], CleanupAnswer]:
    """Drop every memory of a text for the first of another, wherever a group has both."""

    def answer(group: CleanupGroup) -> CleanupAnswer:
        stays = [memory.id for memory in group.memories if memory.text == survivor]
        goes = [memory.id for memory in group.memories if memory.text == gone]
        return CleanupAnswer(tuple(Drop(each, stays[0]) for each in goes) if stays else ())

    return answer


def merging(text: str, *sources: str) -> Callable[[CleanupGroup], CleanupAnswer]:
    """Merge the memories of these texts, wherever a group has two of them."""

    def answer(group: CleanupGroup) -> CleanupAnswer:
        ids = tuple(memory.id for memory in group.memories if memory.text in sources)
        return CleanupAnswer(merges=(Merge(ids, text),) if len(ids) > 1 else ())

    return answer
