"""The slow way through all memories, and then all documents, that embeds what has no vector of the current model (D17).

After a change of the model that is every memory. What is done stands in the database, so that a bot that was killed
goes on where it stood; what is searched meanwhile is embedded by its own list (actors/lists.py) at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from actors.actor import Address
from actors.embedding import BATCH, PROBE, embed_saved
from actors.messages import Embedded
from actors.parts import Parts
from actors.ports import Embedder
from actors.runtime import ActorSystem
from actors.sweep_documents import DocumentSweep
from memory.errors import DavenportError
from memory.types import Memory, ScopeKind

log = logging.getLogger(__name__)

SPAN = 1000  # memories looked at in one transaction
LATELY = 10_000  # events, by whose answers the lists in use are known
OWNERS = 20  # of lists in use, read in one transaction
PAUSE_SECONDS = 0.02  # after each transaction that only looks
ROUND_SECONDS = 900.0
RETRY_SECONDS = 60.0  # after a failure, and twice as long after each further one, up to ROUND_SECONDS

_LOGGED = 10  # times in a round

Sleep = Callable[[float], Awaitable[None]]
T = TypeVar("T")


@dataclass(slots=True)
class Progress:
    """How far it is. done: memories embedded since the start. left: those without a vector still; None: not counted
    yet. What lists in use embed themselves is taken off when it is counted again.
    """

    done: int = 0
    left: int | None = None


class Sweep:
    """Goes through all memories now and then: lists in use first, then the rest by id, never faster than allowed."""

    def __init__(self, parts: Parts, system: ActorSystem, *, per_minute: float, sleep: Sleep = asyncio.sleep) -> None:
        """`per_minute`: texts embedded in a minute at most; it never takes more than half of the embedder's time."""
        self.progress = Progress()
        self._parts = parts
        self._system = system
        self._seconds = 60 / per_minute
        self._sleep = sleep
        self._documents = DocumentSweep(parts, system, seconds=self._seconds, sleep=sleep)
        self._log_at = self._log_every = 0

    async def run(self, embedder: Embedder) -> None:
        """Go round until cancelled, beginning at once."""
        retry = RETRY_SECONDS
        while True:
            wait = ROUND_SECONDS
            try:
                await self.round(embedder)
                retry = RETRY_SECONDS
            except DavenportError as error:
                wait, retry = retry, min(2 * retry, ROUND_SECONDS)
                log.warning("memories without a vector are looked for again in %.0f s: %s", wait, error)
            except Exception:  # supervision: nobody waits for this task
                log.exception("looking for memories without a vector failed")
            await self._sleep(wait)

    async def round(self, embedder: Embedder) -> int:
        """Go through all memories once, and then through the rooms' documents; return how many memories were embedded.

        A model elsewhere is first asked how long its vectors are. Raises EmbeddingError when it does not answer, which
        ends the round.
        """
        if embedder.dim is None:
            await embedder.embed([PROBE])
        before = self.progress.done
        if await self._count(embedder):
            self._begin(embedder)
            await self._lists_in_use(embedder)
            await self._count(embedder)
            self.progress.left = await self._all(embedder)
            done = self.progress.done - before
            if done:
                log.info("%d memories were embedded that had no vector of %s", done, embedder.model_id)
        await self._documents.round(embedder, await self._lately())
        return self.progress.done - before

    async def _lately(self) -> tuple[str, ...]:
        """Return the rooms and users answered last, those used last first."""
        async with self._parts.store.transaction() as tables:
            return await tables.journal.lately(LATELY)

    async def _count(self, embedder: Embedder) -> int:
        """Count what is missing."""
        missing, after = 0, 0
        while True:
            async with self._parts.store.transaction() as tables:
                count, end = await tables.memories.count_without_vector(embedder.model_id, after, SPAN, embedder.dim)
            missing += count
            if end is None:
                self.progress.left = missing
                return missing
            after = end
            await self._sleep(PAUSE_SECONDS)

    async def _lists_in_use(self, embedder: Embedder) -> None:
        """Embed what the lists lack whose owners are loaded or were answered lately, those used last first."""
        lately = await self._lately()
        loaded = [address.name for address in reversed(self._system.cells) if address.kind in ("room", "user")]
        for owners in _chunks(list(dict.fromkeys((*loaded, *lately))), OWNERS):
            async with self._parts.store.transaction() as tables:
                missing = await tables.memories.without_vector_of(owners, embedder.model_id, embedder.dim)
            await self._embed(embedder, missing)
            await self._sleep(PAUSE_SECONDS)

    async def _all(self, embedder: Embedder) -> int:
        """Embed what is missing by id; return how many the model refused."""
        refused, after = 0, 0
        while True:
            async with self._parts.store.transaction() as tables:
                missing, end = await tables.memories.without_vector(embedder.model_id, after, SPAN, embedder.dim)
            refused += len(missing) - await self._embed(embedder, missing)
            if end is None:
                return refused
            after = end
            await self._sleep(PAUSE_SECONDS)

    async def _embed(self, embedder: Embedder, memories: Sequence[Memory]) -> int:
        return sum([await self._batch(embedder, batch) for batch in _chunks(memories, BATCH)])

    async def _batch(self, embedder: Embedder, memories: Sequence[Memory]) -> int:
        """Embed and store one batch, and rest; return how many it were."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        embedded = await embed_saved(embedder, memories)
        if embedded.vectors:
            await self._store(embedder, memories, embedded)
        else:
            await embedder.embed([PROBE])  # raises where it is the model that does not answer
        took = loop.time() - begun
        await self._sleep(max(took, len(memories) * self._seconds - took))
        return len(embedded.vectors)

    async def _store(self, embedder: Embedder, memories: Sequence[Memory], embedded: Embedded) -> None:
        async with self._parts.store.transaction() as tables:
            await tables.memories.put_vectors(embedder.model_id, embedded.vectors)
        for owner in {_owner(memory) for memory in memories} & self._system.cells.keys():
            await self._system.tell(owner, Embedded(embedded.vectors, stored=True))  # the others will read them
        self._count_done(len(embedded.vectors))

    def _begin(self, embedder: Embedder) -> None:
        left = self.progress.left or 0
        if left > BATCH:
            log.info("%d memories have no vector of %s: embedding them, lists in use first", left, embedder.model_id)
        self._log_every = max(BATCH, left // _LOGGED)
        self._log_at = self.progress.done + self._log_every

    def _count_done(self, count: int) -> None:
        progress = self.progress
        progress.done += count
        progress.left = max(0, (progress.left or 0) - count)
        self._parts.metrics.memories("embedded", count)
        if progress.done >= self._log_at and progress.left:
            log.info("%d memories embedded, %d left", progress.done, progress.left)
            self._log_at = progress.done + self._log_every


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _owner(memory: Memory) -> Address:
    return Address("room" if memory.scope is ScopeKind.ROOM else "user", memory.scope_id)


@asynccontextmanager
async def sweeping(parts: Parts, system: ActorSystem, *, per_minute: float) -> AsyncIterator[Progress | None]:
    """Sweep in the background while the block runs, which is given its progress; None without an embedder (D13)."""
    if parts.embedder is None:
        yield None
        return
    sweep = Sweep(parts, system, per_minute=per_minute)
    task = asyncio.create_task(sweep.run(parts.embedder), name="sweep")
    try:
        yield sweep.progress
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
