"""One FAISS flat index per list, kept in memory for as long as a budget of bytes allows."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import faiss
import numpy as np
from numpy.typing import NDArray

from memory.errors import EmbeddingError
from memory.types import ListKey, Match

log = logging.getLogger(__name__)

Vector = NDArray[np.float32]
Vectors = NDArray[np.float32]

DEFAULT_BUDGET = 64 * 1024 * 1024  # about 15,000 vectors of 1,024 numbers, 150 full lists
_BYTES_PER_LIST = 4096  # what an index takes beside its vectors and ids, roughly
_BYTES_PER_ID = 160  # the id in FAISS, in its reverse map and in the set of ids, roughly
# Similarities are float32 sums: the same text embedded in another batch differs in the seventh decimal. Rounded, equal
# texts tie (D3) and a similarity that is the threshold passes it.
_DECIMALS = 6


@dataclass(slots=True)
class _List:
    """One list's index. `ids`: those in it, the same object until they change."""

    index: faiss.IndexIDMap2
    ids: frozenset[int]
    size: int = 0


class FaissIndexes:
    """The loaded lists (`ScopeIndexes`), the one used longest ago unloaded first when the budget is passed.

    The list just used is never the one unloaded, so the caller of `load` can always search. Not for use by several
    threads.
    """

    def __init__(self, budget_bytes: int = DEFAULT_BUDGET) -> None:
        faiss.omp_set_num_threads(1)  # a flat search takes microseconds; waking other threads takes longer
        self._budget = budget_bytes
        self._lists: OrderedDict[ListKey, _List] = OrderedDict()
        self._total = 0

    @property
    def size(self) -> int:
        """Bytes taken by all loaded lists, roughly."""
        return self._total

    def has(self, key: ListKey) -> bool:
        """Whether this list is loaded."""
        return key in self._lists

    def load(self, key: ListKey, ids: Sequence[int], vectors: Vectors) -> None:
        """Replace whatever is loaded for this list; `vectors`: float32[n, dim], rows of unit length, one for each id.

        A row that is not finite counts as no vector: logged by id and left out, so that one damaged row does not take
        the whole list's search away. Raises EmbeddingError when ids and rows do not fit together.
        """
        if vectors.shape[:-1] != (len(ids),):
            raise EmbeddingError(f"{len(ids)} ids do not fit vectors of shape {vectors.shape}")
        sound = np.isfinite(vectors).all(axis=1)
        numbers = np.asarray(ids, dtype=np.int64)
        if not sound.all():
            log.warning("vectors that are not finite were left out, of memories %s", numbers[~sound].tolist())
        index = faiss.IndexIDMap2(faiss.IndexFlatIP(vectors.shape[1]))
        index.add_with_ids(np.ascontiguousarray(vectors[sound], dtype=np.float32), numbers[sound])
        self.unload(key)
        self._lists[key] = _List(index, frozenset(numbers[sound].tolist()))
        self._resized(key)

    def put(self, key: ListKey, memory_id: int, vector: Vector) -> None:
        """Add or replace one memory's vector; does nothing when the list is not loaded. Raises EmbeddingError."""
        loaded = self._lists.get(key)
        if loaded is None:
            return
        row = _row(vector, loaded.index.d)
        loaded.index.remove_ids(_selector([memory_id]))
        loaded.index.add_with_ids(row, np.array([memory_id], dtype=np.int64))
        loaded.ids |= {memory_id}
        self._resized(key)

    def drop(self, key: ListKey, ids: Iterable[int]) -> None:
        """Remove memories from a loaded list; unknown ids are ignored."""
        loaded = self._lists.get(key)
        if loaded is not None:
            gone = loaded.ids.intersection(ids)
            loaded.index.remove_ids(_selector(gone))
            loaded.ids -= gone
            self._resized(key)

    def ids(self, key: ListKey) -> frozenset[int]:
        """Return the ids that have a vector in a loaded list. Raises LookupError when it is not loaded."""
        return self._loaded(key).ids

    def search(
        self, key: ListKey, vector: Vector, allowed: frozenset[int], limit: int, threshold: float
    ) -> tuple[Match, ...]:
        """Return up to `limit` best of `allowed` with similarity >= threshold, best first, ties to the lower id (D3).

        vector: float32[dim], unit length. Raises EmbeddingError when it does not fit the list (D7) and LookupError when
        the list is not loaded.
        """
        loaded = self._loaded(key)
        query = _row(vector, loaded.index.d)
        self._lists.move_to_end(key)
        candidates = loaded.ids if allowed is loaded.ids else allowed & loaded.ids
        if limit < 1 or not candidates:
            return ()
        ranked = _best(loaded, query, candidates, limit)
        return tuple(match for match in ranked if match.similarity >= threshold)

    def unload(self, key: ListKey) -> None:
        """Forget a list that is no longer in use."""
        gone = self._lists.pop(key, None)
        if gone is not None:
            self._total -= gone.size

    def _loaded(self, key: ListKey) -> _List:
        loaded = self._lists.get(key)
        if loaded is None:
            raise LookupError(f"list {key} is not loaded")
        return loaded

    def _resized(self, key: ListKey) -> None:
        """Move a list to the end of the queue and unload from its front until the budget holds."""
        self._lists.move_to_end(key)
        loaded = self._lists[key]
        self._total -= loaded.size
        loaded.size = _size(loaded.index)
        self._total += loaded.size
        while self._total > self._budget and len(self._lists) > 1:
            self.unload(next(iter(self._lists)))


def _best(loaded: _List, query: Vectors, candidates: frozenset[int], limit: int) -> list[Match]:
    """Return the best `limit` among the candidates.

    FAISS keeps no order among equals, so the search is widened while the worst found ties with the last wanted: a lower
    id may stand just behind the border.
    """
    params = None
    if len(candidates) < len(loaded.ids):  # a selector costs as much as the search; usually it would select everything
        params = faiss.SearchParameters()
        selector = _selector(candidates)  # a name of its own: FAISS keeps only a pointer to it
        params.sel = selector
    wanted = limit
    while True:
        wanted = min(2 * wanted + 1, len(candidates))
        similarities, ids = loaded.index.search(query, wanted, params=params)
        found = [
            Match(int(number), float(np.clip(np.round(similarity, _DECIMALS), -1.0, 1.0)))
            for number, similarity in zip(ids[0], similarities[0].astype(np.float64), strict=True)
            if number >= 0
        ]
        found.sort(key=lambda match: (-match.similarity, match.memory_id))
        exhausted = wanted == len(candidates)
        if exhausted or found[-1].similarity < found[limit - 1].similarity:
            return found[:limit]


def _row(vector: Vector, dim: int) -> Vectors:
    """Return a vector as the float32[1, dim] FAISS wants. Raises EmbeddingError when it is not one."""
    if vector.shape != (dim,) or not np.isfinite(vector).all():
        raise EmbeddingError(f"not a finite vector of {dim} numbers: shape {vector.shape}")
    return np.ascontiguousarray(vector, dtype=np.float32)[np.newaxis, :]


def _selector(ids: Iterable[int]) -> faiss.IDSelectorBatch:
    return faiss.IDSelectorBatch(np.fromiter(ids, dtype=np.int64))


def _size(index: faiss.IndexIDMap2) -> int:
    return _BYTES_PER_LIST + int(index.ntotal) * (4 * int(index.d) + _BYTES_PER_ID)
