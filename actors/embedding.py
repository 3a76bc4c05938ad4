"""Vectors for what is saved without one (D17): what a text's failure means for its neighbours, and the slow sweep."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from actors.actor import Address
from actors.messages import Embedded
from actors.parts import Parts
from actors.ports import Embedder, Vector
from actors.runtime import ActorSystem
from memory.errors import DavenportError, EmbeddingError
from memory.types import Memory, ScopeKind

log = logging.getLogger(__name__)

BATCH = 16  # texts at a time: a turn that needs the embedder waits for no more than that
SPAN = 1000  # memories looked at in one transaction
PROBE_AFTER = 2  # failures in a row
PAUSE_SECONDS = 0.02
ROUND_SECONDS = 900.0

_PROBE = "A short text, to learn whether the model answers."


async def embed_memories(embedder: Embedder, memories: Sequence[Memory]) -> Embedded:
    """Embed one batch; what fails is logged and left out, to be tried again later.

    Where the batch fails it is tried text by text, so that those that the model refuses keep none of the others away.
    After two failures in a row it is asked for a harmless text: where that fails too, the model itself is what fails.
    """
    if not memories:
        return Embedded(())
    try:
        return await _embed(embedder, memories)
    except EmbeddingError as error:
        log.warning("%d memories stay without a vector for now: %s", len(memories), error)
    return await _one_by_one(embedder, memories) if len(memories) > 1 else Embedded(())


async def _one_by_one(embedder: Embedder, memories: Sequence[Memory]) -> Embedded:
    vectors: list[tuple[int, str, Vector]] = []
    refused: list[int] = []  # while the model was known to answer
    failed: list[int] = []  # in a row, since then
    for memory in memories:
        try:
            vectors += (await _embed(embedder, [memory])).vectors
        except EmbeddingError:
            failed.append(memory.id)
            if len(failed) < PROBE_AFTER:
                continue
            if not await _answers(embedder):
                break
        refused += failed
        failed.clear()
    return Embedded(tuple(vectors), refused=frozenset(refused))


async def _answers(embedder: Embedder) -> bool:
    try:
        await embedder.embed([_PROBE])
    except EmbeddingError as error:
        log.warning("the embedding model does not answer: %s", error)
        return False
    return True


async def _embed(embedder: Embedder, memories: Sequence[Memory]) -> Embedded:
    vectors = await embedder.embed([memory.text for memory in memories])
    return Embedded(tuple((m.id, m.text, vector) for m, vector in zip(memories, vectors, strict=True)))


class Sweep:
    """Goes through all memories now and then and embeds what has no vector of the current model (D17).

    Lists in use come first without it: they embed what they lack when they are loaded and when they are searched.
    """

    def __init__(self, parts: Parts, system: ActorSystem, *, pause_seconds: float = PAUSE_SECONDS) -> None:
        """`pause_seconds`: between two batches, and as long again as the batch took."""
        self._parts = parts
        self._system = system
        self._pause = pause_seconds

    async def run(self, embedder: Embedder) -> None:
        """Go round until cancelled, beginning at once; a model elsewhere is first asked how long its vectors are."""
        while True:
            try:
                await self.round(embedder)
            except DavenportError as error:
                log.warning("memories without a vector are looked for again in %.0f s: %s", ROUND_SECONDS, error)
            except Exception:  # supervision: nobody waits for this task
                log.exception("looking for memories without a vector failed")
            await asyncio.sleep(ROUND_SECONDS)

    async def round(self, embedder: Embedder) -> int:
        """Go through all memories once and return how many were embedded.

        Raises EmbeddingError when the model does not answer, which ends the round.
        """
        if embedder.dim is None:
            await embedder.embed([_PROBE])
        done = 0
        after: int | None = 0
        while after is not None:
            async with self._parts.store.transaction() as tables:
                missing, after = await tables.memories.without_vector(embedder.model_id, after, SPAN)
            for start in range(0, len(missing), BATCH):
                done += await self._batch(embedder, missing[start : start + BATCH])
            await asyncio.sleep(self._pause)
        if done:
            log.info("%d memories were embedded that had no vector of %s", done, embedder.model_id)
        return done

    async def _batch(self, embedder: Embedder, memories: Sequence[Memory]) -> int:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        embedded = await embed_memories(embedder, memories)
        if not embedded.vectors:
            await embedder.embed([_PROBE])  # raises where it is the model that does not answer
            return 0
        async with self._parts.store.transaction() as tables:
            await tables.memories.put_vectors(embedder.model_id, embedded.vectors)
        for owner in {_owner(memory) for memory in memories} & self._system.cells.keys():
            await self._system.tell(owner, Embedded(embedded.vectors, stored=True))  # the others will read them
        await asyncio.sleep(self._pause + loop.time() - begun)
        return len(embedded.vectors)


def _owner(memory: Memory) -> Address:
    return Address("room" if memory.scope is ScopeKind.ROOM else "user", memory.scope_id)


@asynccontextmanager
async def sweeping(parts: Parts, system: ActorSystem) -> AsyncIterator[None]:
    """Sweep in the background while the block runs; does nothing without an embedder (D13)."""
    if parts.embedder is None:
        yield
        return
    task = asyncio.create_task(Sweep(parts, system).run(parts.embedder), name="sweep")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
