"""Tags (D8) and lorebook keys (D15) are found in any script and case, bounded by words."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.words import NOTHING, Heard

FOUND = [
    ("cat", "My cat sleeps."),
    ("Cat", "MY CAT!"),
    ("cat", "the cat's tail"),
    ("cat", "(cat)"),
    ("cat", "dog/cat"),
    ("cat", "concatenate the cat"),  # a later place counts
    ("New York", "in new   york\ntoday"),
    ("Straße", "STRASSE 5"),
    ("strasse", "die Straße"),
    ("İstanbul", "istanbul"),
    ("istanbul", "İSTANBUL'da"),
    ("ΟΔΟΣ", "η οδός".replace("ό", "ο")),  # the sigma at the end of a word
    ("кот", "Мой КОТ спит"),
    ("café", "cafe\u0301 noir"),
    ("cafe\u0301", "CAFÉ"),
    ("猫", "うちの猫がねている"),
    ("ラーメン", "昨日ラーメン屋に行った"),
    ("ﾗｰﾒﾝ", "ラーメン"),
    ("咖啡", "我喜欢喝咖啡和茶"),
    ("แมว", "ฉันมีแมวสองตัว"),
    ("고양이", "우리 고양이가 아파요"),
    ("고양이", "고양이들은 귀엽다"),
    ("학교", "학교에서만 놀아요"),
    ("काम", "मेरा काम अच्छा है"),
    ("قطة", "عندي قطة."),
    ("کتاب", "کتاب\u200cها"),
    ("חתול", "יש לי חתול, והוא ישן"),
    ("c++", "I write C++, mostly"),
    ("❤", "I ❤\ufe0f you"),
    ("🐈", "my🐈here"),
    ("cat", "my c\u00adat"),  # a soft hyphen hides nothing
    ("42", "gate 42."),
]
NOT_FOUND = [
    ("cat", "concatenate"),
    ("cat", "cats"),
    ("cat", "my_cat_name"),
    ("cat", "cat9"),
    ("кот", "который час"),
    ("öl", "Kohl und Völker"),
    ("cafe", "cafe\u0301"),  # another letter
    ("काम", "कामना"),
    ("कम", "कमी"),  # the vowel sign changes the last letter
    ("차", "차이가 있다"),
    ("고양이", "고양이과"[:3] + "상"),
    ("ab", "a\nb"),
    ("42", "1428"),
    ("", "anything"),
    (" \t", "any thing"),
    ("cat", ""),
]


@pytest.mark.parametrize(("key", "text"), FOUND)
def test_d15_a_key_is_found(key: str, text: str) -> None:
    assert Heard([text]).has(key)


@pytest.mark.parametrize(("key", "text"), NOT_FOUND)
def test_d15_part_of_a_word_is_no_key(key: str, text: str) -> None:
    assert not Heard([text]).has(key)


def test_d8_one_of_several_tags_in_one_of_several_texts_is_enough() -> None:
    heard = Heard(["about work", "and the cat"])
    assert heard.has_any(["dog", "cat"])
    assert not heard.has_any(["dog", "work and"])
    assert not NOTHING.has_any(["dog"])


def test_a_key_does_not_reach_from_one_text_into_the_next() -> None:
    assert not Heard(["new", "york"]).has("new york")


def test_what_was_heard_is_compared_by_its_texts() -> None:
    assert Heard(["a"]) == Heard(("a",)) != Heard(["b"])
    assert hash(Heard(["a"])) == hash(Heard(["a"]))


# Word characters are told from others by Unicode; around the key stand characters that are none.
outside = st.text(st.characters(whitelist_categories=("Zs", "Po", "Sm", "Cc")), max_size=5)
words = st.text(st.characters(whitelist_categories=("Lu", "Ll", "Nd")), min_size=1, max_size=8)


@given(before=outside, word=words, after=outside)
def test_d15_a_word_alone_is_found_in_any_case_and_composition(before: str, word: str, after: str) -> None:
    for form in ("NFC", "NFD"):
        text = unicodedata.normalize(form, f"{before} {word} {after}")
        assert Heard([text]).has(word)
        assert Heard([text.casefold()]).has(word)


@given(word=st.text("abcäöя", min_size=1, max_size=5), more=st.text("abcäöя", min_size=1, max_size=3))
def test_d15_a_longer_word_is_another_word(word: str, more: str) -> None:
    assert not Heard([f"x{word}", f"{word}x", more + word + more]).has(word)
