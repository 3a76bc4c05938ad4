"""D3 with the built-in embedder: the right memory is found, and seldom one by chance. On public data, where it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from bench.curves import curves, share
from bench.recall import DATA, DIALOGUE, LANGUAGES, LOCOMO, added, language_scores, locomo_scores, read
from bench.variants import Variant, parts, whole
from index.builtin import BuiltinEmbedder, Parts

NAMES = [field.name for field in fields(Parts)]
FILES = (LOCOMO, LANGUAGES, DIALOGUE)
pytestmark = pytest.mark.skipif(
    not all((DATA / name).exists() for name in FILES), reason=f"the data to measure with is not in {DATA}"
)


class Remembering(BuiltinEmbedder):
    """Reads each text once: five variants are made of the same parts."""

    def __init__(self) -> None:
        super().__init__()
        self._read: dict[str, Parts] = {}

    def parts(self, texts: Sequence[str]) -> Parts:
        unread = list(dict.fromkeys(text for text in texts if text not in self._read))
        if unread:
            fresh = super().parts(unread)
            for number, text in enumerate(unread):
                self._read[text] = Parts(*(getattr(fresh, name)[number : number + 1] for name in NAMES))
        each = [self._read[text] for text in texts]
        return Parts(*(np.concatenate([getattr(one, name) for one in each]) for name in NAMES))


@pytest.fixture(scope="module")
def embedder() -> BuiltinEmbedder:
    return Remembering()


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return read(FILES)


async def found(variant: Variant, data: dict[str, Any]) -> tuple[float, float]:
    """Return the shares found among LoCoMo's questions and the messages of all languages."""
    locomo = added((await locomo_scores(variant, data[LOCOMO], 0)).values())
    languages = added((await language_scores(variant, data[LANGUAGES], 0)).values())
    return locomo.ranked / locomo.asked, languages.ranked / languages.asked


async def test_d3_the_whole_goes_past_each_part(embedder: BuiltinEmbedder, data: dict[str, Any]) -> None:
    locomo, languages = await found(whole(embedder), data)
    assert locomo >= 0.68
    assert languages >= 0.96
    for part in parts(embedder):
        alone, _ = await found(part, data)
        assert alone < locomo - 0.04, part.name


async def test_d3_the_threshold_keeps_true_matches_and_few_by_chance(
    embedder: BuiltinEmbedder, data: dict[str, Any]
) -> None:
    measured = await curves(whole(embedder), data)
    threshold = embedder.match_threshold
    assert share(measured.locomo, threshold) >= 0.95
    assert share(measured.languages, threshold) >= 0.65
    assert share(np.concatenate([measured.locomo, measured.languages]), threshold) >= 0.9
    assert share(measured.strangers, threshold) <= 0.25
    assert share(measured.small_talk, threshold) <= 0.15
