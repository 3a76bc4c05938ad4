"""Embedders for tests: real unit vectors, whose cosines can be told in advance."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from actors.ports import Vector, Vectors
from memory.errors import EmbeddingError

TOPICS = ("cat", "dog", "tea", "piano", "norway", "bread", "boat", "chess")


class TopicEmbedder:
    """Satisfies the Embedder port: a text is about those of the topics that occur in it, or about nothing.

    Texts with one or four topics have exact components, so that equal similarities are equal. `down`: it fails.
    """

    match_threshold = 0.25
    document_threshold = 0.25
    dim = len(TOPICS) + 1

    def __init__(self, model_id: str = "topics") -> None:
        self.model_id = model_id
        self.down = False
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self.down:
            raise EmbeddingError("unreachable")
        self.asked += texts
        rows = []
        for text in texts:
            found = [topic in text.lower() for topic in TOPICS]
            rows.append([*found, not any(found)])
        vectors = np.array(rows, dtype=np.float64)
        unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        return unit

    async def embed_query(self, text: str) -> Vector:
        row: Vector = (await self.embed([text]))[0]
        return row


class StrangerEmbedder:
    """Satisfies the Embedder port: no two texts have anything in common."""

    model_id = "strangers"
    match_threshold = 0.25
    document_threshold = 0.25
    dim = 2048  # so that the cosines of random texts are near 0

    async def embed(self, texts: Sequence[str]) -> Vectors:
        rows = [np.random.default_rng(zlib.crc32(text.encode())).normal(size=self.dim) for text in texts]
        vectors = np.array(rows)
        unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        return unit

    async def embed_query(self, text: str) -> Vector:
        row: Vector = (await self.embed([text]))[0]
        return row
