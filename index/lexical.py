"""Which words a text has, as numbers: what sentence embeddings miss is names, numbers and rare words.

A text becomes the character n-grams of its words, hashed into a fixed number of places, so that inflected forms and
misspellings still meet. A word counts by how rare it is: the vocabulary of the embedding model is ordered by how often
its pieces occur in sixteen languages, which is a frequency table for nothing. It is the same for every list, so one
scale of similarity holds for all of them (D3), and nothing has to be counted anew when a memory comes or goes.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from memory.words import fold

_GRAM = 5  # characters of a word that meet, its borders included; a shorter word meets as a whole
_COMMON, _RARE = 7.0, 11.0  # -log of a probability: below the first a word says nothing, from the second on all it can
_WORD_START = "\u2581"  # how the vocabulary writes the space before a word
_NOTHING_TO_TELL = 0.5  # the information of a text without words, or of common ones only

# Scripts that put no space between words, or write whole phrases in one: neighbouring characters meet instead.
_PAIRED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0002fa1f"
_TRIPLED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_WORD = re.compile(rf"[{_PAIRED}]+|[{_TRIPLED}]+|[^\W{_PAIRED}{_TRIPLED}]+")
_PAIRED_RUN = re.compile(f"[{_PAIRED}]")
_TRIPLED_RUN = re.compile(f"[{_TRIPLED}]")
_GRAMMAR = re.compile("[\u3040-\u309f]+")  # hiragana alone: endings and particles
_OF_RUN, _OF_GRAMMAR = 0.5, 0.15  # what one n-gram of such a run counts, against 1 for a rare word

Units = tuple[tuple[tuple[str, ...], float], ...]


class Lexicon:
    """Lexical vectors of `dim` numbers. `pieces` and `scores`: the vocabulary with the log of each probability."""

    def __init__(self, pieces: Sequence[str], scores: Sequence[float], dim: int) -> None:
        self._dim = dim
        self._weights = _weights(pieces, scores)
        self._units = lru_cache(maxsize=20_000)(self._units_of)

    def read(self, text: str) -> tuple[NDArray[np.float32], float]:
        """Return a text's vector, float32[dim], and its information.

        The vector is of unit length, all 0 where there are no words that say anything. The information grows like the
        root of the number of rare words: 1 for one of them, 2 for four.
        """
        vector = np.zeros(self._dim, dtype=np.float32)
        told = 0.0
        places: dict[int, float] = {}
        grams: dict[str, float] = {}
        for word in dict.fromkeys(_WORD.findall(fold(text))):
            for parts, weight in self._units(word):
                told += weight * weight
                each = weight / math.sqrt(len(parts))
                for part in parts:
                    grams[part] = max(grams.get(part, 0.0), each)
        for gram, weight in grams.items():
            place, sign = _place(gram, self._dim)
            places[place] = places.get(place, 0.0) + sign * weight
        if places:
            vector[list(places)] = list(places.values())
        length = float(np.linalg.norm(vector))
        return (vector / length if length > 0 else vector), math.sqrt(told) or _NOTHING_TO_TELL

    def _units_of(self, word: str) -> Units:
        """Return what of a word or run counts as one, each as its n-grams with its weight."""
        if _PAIRED_RUN.match(word):
            return tuple(((gram,), _run_weight(gram)) for gram in _grams(word, 2))
        if _TRIPLED_RUN.match(word):
            return tuple(((gram,), _run_weight(gram)) for gram in _grams(word, 3))
        weight = self._weights.get(word, 1.0)
        return ((_grams(f"<{word}>", _GRAM), weight),) if weight > 0 else ()


def _weights(pieces: Sequence[str], scores: Sequence[float]) -> dict[str, float]:
    """Return the weight of every word that is common enough to have one below 1; the commonest spelling decides."""
    weights: dict[str, float] = {}
    for piece, score in zip(pieces, scores, strict=True):
        if score > -_RARE and piece.startswith(_WORD_START):
            weight = max(0.0, (-score - _COMMON) / (_RARE - _COMMON))
            word = fold(piece.removeprefix(_WORD_START))
            weights[word] = min(weight, weights.get(word, 1.0))
    return weights


def _grams(word: str, size: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word[start : start + size] for start in range(max(1, len(word) - size + 1))))


def _run_weight(gram: str) -> float:
    return _OF_GRAMMAR if _GRAMMAR.fullmatch(gram) else _OF_RUN


@lru_cache(maxsize=100_000)
def _place(gram: str, dim: int) -> tuple[int, int]:
    mixed = zlib.crc32(gram.encode()) * 2_654_435_761 & 0xFFFFFFFF  # the factor spreads grams that differ in one letter
    return mixed % dim, 1 if mixed >> 31 else -1
