"""Vectors for what is saved without one (D17): what a text's failure means for its neighbours."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from actors.messages import Embedded
from actors.ports import Embedder, Vector
from memory.errors import EmbeddingError

log = logging.getLogger(__name__)

BATCH = 16  # texts at a time: a turn that needs the embedder waits for no more than that
PROBE_AFTER = 2  # failures in a row

PROBE = "A short text, to learn whether the model answers."


class Embeddable(Protocol):
    """What is saved with a text to be found by: a memory, or a chunk of a document."""

    @property
    def id(self) -> int:
        """Its number among its kind."""
        ...

    @property
    def text(self) -> str:
        """What is embedded."""
        ...


async def embed_saved(embedder: Embedder, saved: Sequence[Embeddable]) -> Embedded:
    """Embed one batch; what fails is logged and left out, to be tried again later.

    Where the batch fails it is tried text by text, so that those that the model refuses keep none of the others away.
    After two failures in a row it is asked for a harmless text: where that fails too, the model itself is what fails.
    """
    if not saved:
        return Embedded(())
    try:
        return await _embed(embedder, saved)
    except EmbeddingError as error:
        log.warning("%d texts stay without a vector for now: %s", len(saved), error)
    return await _one_by_one(embedder, saved) if len(saved) > 1 else Embedded(())


async def _one_by_one(embedder: Embedder, saved: Sequence[Embeddable]) -> Embedded:
    vectors: list[tuple[int, str, Vector]] = []
    refused: list[int] = []  # while the model was known to answer
    failed: list[int] = []  # in a row, since then
    for each in saved:
        try:
            vectors += (await _embed(embedder, [each])).vectors
        except EmbeddingError:
            failed.append(each.id)
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


async def _embed(embedder: Embedder, saved: Sequence[Embeddable]) -> Embedded:
    vectors = await embedder.embed([each.text for each in saved])
    return Embedded(tuple((each.id, each.text, vector) for each, vector in zip(saved, vectors, strict=True)))
