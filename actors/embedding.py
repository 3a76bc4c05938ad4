"""Vectors for what is saved without one (D17): what a text's failure means for its neighbours."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from actors.messages import Embedded
from actors.ports import Embedder, Vector
from memory.errors import EmbeddingError
from memory.types import Memory

log = logging.getLogger(__name__)

BATCH = 16  # texts at a time: a turn that needs the embedder waits for no more than that
PROBE_AFTER = 2  # failures in a row

PROBE = "A short text, to learn whether the model answers."


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
        await embedder.embed([PROBE])
    except EmbeddingError as error:
        log.warning("the embedding model does not answer: %s", error)
        return False
    return True


async def _embed(embedder: Embedder, memories: Sequence[Memory]) -> Embedded:
    vectors = await embedder.embed([memory.text for memory in memories])
    return Embedded(tuple((m.id, m.text, vector) for m, vector in zip(memories, vectors, strict=True)))
