from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.addressing import without_name

NAMES = ("Ann", "Ann Bonny", "Käpt'n", "Straße", "ΟΔΥΣΣΕΥΣ", "船長", "Кот", "अमित", "(o_o)", " ")


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Ann, hello", "hello"),
        ("  ann: hello", "hello"),
        ("ANN , hello", "hello"),
        ("Ann:hello", "hello"),
        ("Ann,", ""),
        ("@ann hello", "hello"),
        ("@Ann: hello", "hello"),
        ("@ann", ""),
        ("Ann Bonny, hello", "hello"),  # the longer name, not "Ann" alone
        ("@Ann Bonny hello", "hello"),
        ("Ka\u0308pt'n, hej", "hej"),
        ("KÄPT'N: hej", "hej"),
        ("Käpt\u2019n, hej", "hej"),
        ("@käpt\u02bcn hej", "hej"),
        ("STRASSE, hi", "hi"),
        ("οδυσσευς, χαίρε", "χαίρε"),
        ("船長、こんにちは", "こんにちは"),
        ("船長：你好", "你好"),
        ("кот, спишь?", "спишь?"),
        ("अमित, नमस्ते", "नमस्ते"),
        ("(O_o): hm", "hm"),
        ("Ann,\nhello\nyou", "hello\nyou"),
    ],
)
def test_a_leading_name_is_taken_off(text: str, rest: str) -> None:
    assert without_name(text, NAMES) == rest


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Ann",
            "Ann hello",
            "Anna, hello",
            "hello Ann, you",
            "@annhello",
            "Ann-Marie, hello",
            "An n, x",
            "",
            " ",
            ",",
        ),
        *("@", "Ann  , hello", "Ann\u0301, hello", "अमिता, x", "船長你好", "> Ann, hello"),
    ],
)
def test_anything_else_is_no_name(text: str) -> None:
    assert without_name(text, NAMES) is None


def test_without_names_nothing_leads() -> None:
    assert without_name("Ann, hello", ()) is None


names = st.text(st.characters(whitelist_categories=("Lu", "Ll", "Lo", "Nd")), min_size=1, max_size=6)


@given(name=names, rest=st.text(max_size=10), form=st.sampled_from(["NFC", "NFD"]))
def test_any_name_leads_in_any_case_and_composition(name: str, rest: str, form: str) -> None:
    said = unicodedata.normalize(form, name.casefold())
    assert without_name(f"{said}: {rest}", [name]) == rest.strip()


@given(text=st.text(max_size=20), names=st.lists(st.text(max_size=4), max_size=3))
def test_what_is_left_is_the_end_of_what_was_said(text: str, names: list[str]) -> None:
    rest = without_name(text, names)
    assert rest is None or text.rstrip().endswith(rest)
