"""What of a scene the offline rules take for said out of character."""

from __future__ import annotations

import time

import pytest

from llm.offline.scenes import out_of_character


@pytest.mark.parametrize(
    ("said", "remarks"),
    [
        ("I have two dogs.", ""),
        ("I have two dogs. ((I have a cat)) I am king.", "I have a cat"),
        ("((I have a cat)) and ((I live in Bern))", "I have a cat\nI live in Bern"),
        ("OOC: I live in Bern\nI am king", "I live in Bern"),
        ("I am king\nooc - I live in Bern", "I live in Bern"),
        ("(OOC: I live in Bern) I am king", "I live in Bern"),
        ("[out of character, I live in Bern]", "I live in Bern"),
        ("(smiles, being old)", ""),
        ("((my character has a horse))", ""),
        ("((meine Figur hat ein Pferd))", ""),
        ("((I have a cat", ""),
        ("I live ooc: in Bern", ""),
        ("OOCS: I live in Bern", ""),
    ],
)
def test_only_what_is_plainly_marked(said: str, remarks: str) -> None:
    assert out_of_character(said) == remarks


@pytest.mark.parametrize("said", ["(" * 20_000, "((" * 10_000 + "a", "[OOC " * 4_000, "OOC:\n" * 4_000, "OOC " * 5_000])
def test_hostile_texts_are_read_in_no_time(said: str) -> None:
    start = time.process_time()
    out_of_character(said)
    assert time.process_time() - start < 5, "typical is 0.01 s; the bound leaves room for a busy machine"
