"""Words as numbers: rare ones count, common ones do not, in any script (D3: one scale for all lists)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.lexical import Lexicon

# Pieces as the vocabulary has them: a space is written as U+2581, scores are logs of probabilities.
COMMON = {"\u2581the": -5.0, "\u2581The": -6.5, "\u2581is": -6.0, "\u2581cat": -9.0, "\u2581cello": -14.0, "ing": -5.0}


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return Lexicon(list(COMMON), list(COMMON.values()), 510)


def alike(lexicon: Lexicon, one: str, other: str) -> float:
    return float(lexicon.read(one)[0] @ lexicon.read(other)[0])


def test_words_that_are_common_in_every_text_say_nothing(lexicon: Lexicon) -> None:
    vector, told = lexicon.read("The is the")
    assert not vector.any()
    assert told == 0.5


def test_a_rarer_word_counts_more(lexicon: Lexicon) -> None:
    assert alike(lexicon, "the cat cello", "cello") > alike(lexicon, "the cat cello", "cat") > 0.2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("MOCHI", "mochi"),
        ("Mochi's", "mochi"),
        ("Katzen", "Katze"),
        ("ﬁreﬂies", "fireflies"),
        ("кошкой", "кошка"),
        ("日本語を勉強している", "日本語の本"),
        ("고양이가", "고양이는"),
        ("แมวชื่อโมจิ", "โมจิ"),
    ],
)
def test_forms_of_one_word_meet_in_any_script(lexicon: Lexicon, one: str, other: str) -> None:
    assert alike(lexicon, one, other) > 0.25
    assert abs(alike(lexicon, one, "Volvo")) < 0.2


def test_information_grows_like_the_root_of_the_number_of_rare_words(lexicon: Lexicon) -> None:
    texts = ("Mochi", "Mochi Volvo Debian Arsenal", "Mochi Mochi Mochi the is")
    assert [lexicon.read(text)[1] for text in texts] == pytest.approx([1.0, 2.0, 1.0])


@given(st.text(max_size=60))
def test_every_text_gives_a_unit_vector_or_nothing_and_the_same_each_time(text: str) -> None:
    lexicon = Lexicon(list(COMMON), list(COMMON.values()), 64)
    vector, told = lexicon.read(text)
    assert (vector.shape, vector.dtype) == ((64,), np.float32)
    length = float(np.linalg.norm(vector))
    assert length == pytest.approx(1.0, abs=1e-5) or (length == 0.0 and not vector.any())
    assert told > 0
    assert np.array_equal(lexicon.read(text)[0], vector)
