"""An embedder of words alone: texts are as similar as the share of their words that are the same. Needs no model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray


class WordEmbedder:
    """Satisfies the Embedder port. `asked`: the texts of every call; models of other names are different models."""

    match_threshold = 0.5
    document_threshold = 0.5

    def __init__(self, model_id: str = "words", dim: int = 256) -> None:
        self.model_id = model_id
        self.dim = dim
        self.asked: list[tuple[str, ...]] = []

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dim], rows of unit length."""
        self.asked.append(tuple(texts))
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.casefold()) or [""]:
                row[crc32(f"{self.model_id} {word}".encode()) % self.dim] += 1
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return float32[dim]: what is said is embedded as what is remembered."""
        row: NDArray[np.float32] = (await self.embed([text]))[0]
        return row

    async def aclose(self) -> None:
        """Has nothing to close."""
