"""What the offline extractor takes for a fact, by table; and that no text at all breaks it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llm.offline.facts import MAX_FACTS, facts_of
from memory.text import MAX_CHARACTERS, checked_fact

UNSEEN = json.loads(Path(__file__).with_name("unseen_sentences.json").read_text(encoding="utf-8"))

ENGLISH = {
    "My cat is named Mochi": ["Cat is named Mochi"],
    "I live in Toronto.": ["Lives in Toronto"],
    "I'm learning Japanese!": ["Is learning Japanese"],
    "I’ve been a nurse for ten years": ["Has been a nurse for ten years"],
    "I don't eat meat.": ["Doesn't eat meat"],
    "i always drink black tea": ["Always drinks black tea"],
    "By the way, I work nights and I hate coffee.": ["Works nights", "Hates coffee"],
    "I have two dogs and live in Bern.": ["Has two dogs", "Lives in Bern"],
    "I live with my sister.": ["Lives with their sister"],
    "Since last year I've been learning the violin.": ["Has been learning the violin since last year"],
    "Remember that my name is Lena": ["Name is Lena"],
    "I study law. My brother is a vegan.": ["Studies law", "Brother is a vegan"],
    "Mochi is my cat.": ["Mochi is their cat"],
    'My dog is called "Rex".': ["Dog is called Rex"],
}
GERMAN = {
    "Meine Katze heißt Mochi.": ["Katze heißt Mochi"],
    "Ich arbeite nachts im Krankenhaus": ["Arbeitet nachts im Krankenhaus"],
    "Ich habe zwei Töchter": ["Hat zwei Töchter"],
    "Ich esse kein Fleisch": ["Isst kein Fleisch"],
    "Übrigens wohne ich in Bern und arbeite als Koch.": ["Wohnt in Bern", "Arbeitet als Koch"],
    "Seit 2010 lebe ich in Wien.": ["Lebt seit 2010 in Wien"],
    "Ich bin am 14. März geboren. Ich bin Lehrerin.": ["Ist am 14. März geboren", "Ist Lehrerin"],
    "Merk dir, dass ich nachts arbeite": ["Arbeitet nachts"],
    "Ich sammle Briefmarken": ["Sammelt Briefmarken"],
    "Ich öffne Läden": ["Öffnet Läden"],
    "Ich lese gern und fahre Rad": ["Liest gern", "Fährt Rad"],
}
OTHERS = [
    "Tengo dos perros",
    "J'habite à Lyon",
    "Mio figlio si chiama Luca",
    "Não como carne",
    "Ik woon in Utrecht",
    "Mam dwie córki",
    "Я люблю кошек",
    "İki kızım var",
    "عندي قطتان",
    "ฉันมีแมวสองตัว",
    "我有两只猫",
    "私は看護師です",
    "저는 서울에 살아요",
]
NO_FACTS = [
    "Can you help me?",
    "do you know where i live?",
    "What is my name",
    "Please remind me of my appointment",
    "Tell me a joke",
    "Hello there!",
    "If I had a dog I'd call it Rex",
    "I wish I lived in Rome",
    "I would love a cat",
    "I'd like some tea",
    "I am tired today",
    "I'm hungry now",
    "I love it!",
    "I think that is wrong",
    "I'm looking for a recipe",
    "I have to go now",
    "I won the match yesterday",
    "It's raining",
    "I have fifty cats lol",
    "I live on the moon. Just kidding!",
    "Anna said: “I live in Rome and I have two children.”",
    "> I live in Rome\n> and I have a dog",
    "```\nI live in Rome\n```",
    "My sister says I live like a king",
    "Kannst du mir helfen?",
    "Habe ich dir das erzählt",
    "Bitte schreib mir ein Gedicht",
    "Wenn ich Geld hätte, würde ich reisen",
    "Ich bin müde",
    "Ich glaube, das stimmt",
    "Ich habe gestern Pizza gegessen",
    "Ich habe eine Frage",
    "Sie meinte: „Ich wohne jetzt in Rom.“",
    "Heute ist es kalt",
    "¿Dónde vivo?",
    "Creo que sí",
    "Je pense que oui",
    "i mam kota i psa",
    "我觉得不对",
    "私はどうすればいいですか",
    "the cat sat on the mat",
    "",
    "   \n\t ",
]


@pytest.mark.parametrize(("said", "facts"), [*ENGLISH.items(), *GERMAN.items()])
def test_first_person_statements_become_third_person_facts(said: str, facts: list[str]) -> None:
    assert list(facts_of(said)) == facts


@pytest.mark.parametrize("said", OTHERS)
def test_statements_in_other_languages_are_kept_word_for_word(said: str) -> None:
    assert facts_of(f"{said}.") == (said,)


@pytest.mark.parametrize("said", NO_FACTS)
def test_questions_requests_moods_quotes_and_jokes_are_no_facts_p6(said: str) -> None:
    assert facts_of(said) == ()


def sentences(kind: str) -> list[str]:
    groups = [group for name, group in UNSEEN.items() if name != "note"]
    return [sentence for group in groups for language in group.values() for sentence in language[kind]]


@pytest.mark.parametrize("said", [s for s in sentences("not_facts") if s.endswith(("?", "？"))])
def test_no_unseen_question_is_extracted(said: str) -> None:
    assert facts_of(said) == ()


@pytest.mark.parametrize("said", sentences("facts"))
def test_a_sentence_made_a_question_is_no_fact(said: str) -> None:
    assert facts_of(said.rstrip(".。!") + "?") == ()


PIECES = """
I I'm I've i My my We and but , . ! ? ' " “ ” „ not don't have am is are do can never since the a to in dog lives
Ich ich mein Meine wir und aber bin habe dass heißt wohne nicht 14. é 我 私は я mi je ik ``` > - —
"""
WORDS = st.sampled_from([*PIECES.split(), "\n"])


@given(st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=40).map(" ".join)))
@example("I")
@example("my")
@example("alle")
@example("ich ich ich")
@example("'" * 200)
def test_any_text_gives_storable_facts_and_no_crash(text: str) -> None:
    found = facts_of(text)
    assert len(found) <= MAX_FACTS
    assert all(checked_fact(fact) == fact and 0 < len(fact) <= MAX_CHARACTERS for fact in found)


@pytest.mark.parametrize(
    "piece",
    [
        "I have a cat, and my sister lives in Rome. ",
        "a",
        "'a",
        '"',
        "„“",
        ", I and ",
        "Ich und ",
        "我",
        " ",
        "\n",
        "I.",
        "``",
    ],
)
def test_60_kilobytes_take_bounded_time(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    start = time.process_time()
    facts_of(text)
    assert time.process_time() - start < 5, "typical is 0.3 s; the bound leaves room for a busy machine"
