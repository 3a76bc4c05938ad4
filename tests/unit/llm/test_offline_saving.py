"""What the offline rules save when they are asked to remember something (P16)."""

from __future__ import annotations

import pytest

from llm.offline.replies import facts_to_save


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("remember that I like tea", ("Likes tea",)),
        ("remember I like tea", ("Likes tea",)),
        ("please remember: that I own a boat", ("Owns a boat",)),
        ("Merk dir bitte, dass ich gerne Tee trinke", ("Trinkt gerne Tee",)),
        ("merk dir dass ich eine Katze habe", ("Hat eine Katze",)),
        ("Merk dir: Ich habe eine Katze.", ("Hat eine Katze",)),
        ("vergiss nicht, dass mein Hund Rex heißt", ("Hund heißt Rex",)),
        ("remember for this room that tea is at four", ("Tea is at four",)),
        ("Merk dir für diesen Raum, dass freitags Filmabend ist", ("Freitags Filmabend ist",)),
    ],
)
def test_a_request_is_saved_as_the_fact_it_states(said: str, facts: tuple[str, ...]) -> None:
    assert facts_to_save(said) == facts


@pytest.mark.parametrize(
    "said", ["remember when we met", "do you remember that?", "remember that", "merk dir das!", "remember that what"]
)
def test_what_states_nothing_is_not_saved(said: str) -> None:
    assert facts_to_save(said) == ()
