"""What the room actor and the user actor do alike: own lists, score them, save into them."""

from __future__ import annotations

import logging

from actors.actor import Actor
from actors.cleaning import Cleaning
from actors.cleanup_messages import CleanUp, CleanupAnswered
from actors.lists import Lists, MemoryList
from actors.memories import MemoryDesk
from actors.messages import Embedded, ListScore, OfMemories, SaveMemory, Score, Settled, UnloadIdle
from actors.parts import Parts
from actors.runtime import Context
from actors.saving import Saving
from memory.errors import EmbeddingError, StorageError
from memory.types import ListKey, Privacy, ScopeKind

log = logging.getLogger(__name__)


class ListOwner(Actor):
    """Owner of the lists of one room or one user, named by its address."""

    kind: ScopeKind

    def __init__(self, context: Context, parts: Parts) -> None:
        super().__init__(context)
        self.parts = parts
        self.lists = Lists(parts, context.spawn)
        self.privacy = Privacy.OPEN  # a room's memories are nobody's
        self.desk = MemoryDesk(self.kind, context.address.name, parts, self.lists, lambda: self.privacy)
        self.cleaning = Cleaning(
            self.kind, context.address.name, parts, self.lists, context.spawn, lambda: self.privacy
        )

    def unload(self) -> None:
        """Let go of the indexes, and of a cleanup in flight."""
        self.lists.unload()
        self.cleaning.unload(stopping=self.context.system.closed)

    async def handle(self, message: object) -> object | None:
        """Do what every owner of lists does."""
        match message:
            case Score():
                return await self._score(message)
            case Settled(settlement):
                self.lists.follow(settlement)
            case Embedded():
                await self.lists.take_vectors(message)
            case UnloadIdle(before):
                self.lists.unload_idle(before)
            case OfMemories():
                return await self.desk.answer(message)
            case CleanUp():
                return await self.cleaning.asked(message)
            case CleanupAnswered():
                await self.cleaning.answered(message)
            case SaveMemory():
                owned = await self._list(message.conversation.persona)
                return await Saving(owned, self.lists, self.parts, self.privacy).save(message)
            case _:
                return await super().handle(message)
        return None

    async def _list(self, persona: str) -> MemoryList:
        return await self.lists.get(self.key(persona))

    def key(self, persona: str) -> ListKey:
        """Return the key of this owner's list for a persona."""
        return ListKey(self.kind, self.context.address.name, persona)

    async def _score(self, request: Score) -> ListScore:
        """Score a list; one that cannot be read fails the search (D7) and nothing else."""
        try:
            return await self.lists.score(self.key(request.conversation.persona), request, self.privacy)
        except (StorageError, EmbeddingError) as error:
            log.error("the list of %s cannot be read: %s", self.context.address, error)
            return ListScore(failed=True)
