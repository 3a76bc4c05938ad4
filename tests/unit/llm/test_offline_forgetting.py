"""What the offline rules take for a wish to forget, by table, and which memories they find for it."""

from __future__ import annotations

import pytest

from llm.offline.forgetting import asked_to_forget, ids_to_forget
from llm.offline.reading import Line

OWN = tuple(
    Line(number, text, "@anna:hs")
    for number, text in enumerate(
        ("Has a canoe", "Cat is named Mochi", "Has a cat", "Lives in Bern", "Hat ein Kanu", "Arbeitet nachts"), 1
    )
)


@pytest.mark.parametrize(
    ("said", "ids"),
    [
        ("forget that I have a canoe", (1,)),
        ("Please forget my canoe!", (1,)),
        ("Hey, can you forget that my cat is called Mochi, please?", (2,)),
        ("forget about Bern", (4,)),
        ("Vergiss bitte, dass ich ein Kanu habe.", (5,)),
        ("Kannst du bitte vergessen, dass ich nachts arbeite?", (6,)),
        ("vergiss mein Kanu wieder", (5,)),
        ("Vergiss, dass ich ein Kanu habe", (5,)),
        ("forget that I have a dog", ()),
        ("forget that", ()),
    ],
)
def test_what_is_to_be_forgotten_is_found_among_the_askers_memories(said: str, ids: tuple[int, ...]) -> None:
    what = asked_to_forget(said)
    assert what is not None
    assert ids_to_forget(what, OWN) == ids


@pytest.mark.parametrize(
    "said",
    [
        "don't forget my canoe",
        "Vergiss nicht, dass ich ein Kanu habe",
        "never forget that",
        "I forget my keys a lot",
        "Ich vergesse oft meine Schlüssel",
        "what did you forget?",
        "hello",
        "",
    ],
)
def test_no_wish_to_forget(said: str) -> None:
    assert asked_to_forget(said) is None
