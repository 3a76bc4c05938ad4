"""Markers such as "by the way" change no fact: what is said again with one is known again (P8, P9)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.offline.extractor import extract
from llm.offline.facts import facts_of
from llm.offline.markers import without
from llm.offline.reading import ExtractionInput, Line

LANGUAGES = ["en", "de", "es", "fr", "it", "pt", "nl", "pl", "ru", "tr", "ar", "th", "zh", "ja", "ko"]

# A statement, and the same statement as people make it the second time.
AGAIN = {
    "Ich bin gegen Haselnüsse allergisch.": [
        "Ich bin übrigens gegen Haselnüsse allergisch.",
        "Übrigens bin ich gegen Haselnüsse allergisch.",
        "Ich bin ja gegen Haselnüsse allergisch.",
        "Wie gesagt, ich bin gegen Haselnüsse allergisch.",
        "Ich bin, wie ich schon sagte, gegen Haselnüsse allergisch.",
        "Ich bin gegen Haselnüsse allergisch, weißt du.",
        "Ich habe dir schon gesagt, dass ich gegen Haselnüsse allergisch bin.",
        "Ehrlich gesagt bin ich gegen Haselnüsse allergisch!",
        "Wie du weißt, bin ich gegen Haselnüsse allergisch.",
    ],
    "Meine Tochter heißt Frieda.": [
        "Meine Tochter heißt übrigens Frieda.",
        "Meine Tochter, wie erwähnt, heißt Frieda.",
        "Im Übrigen heißt meine Tochter Frieda.",
        "Nebenbei bemerkt: Meine Tochter heißt Frieda.",
    ],
    "Soy alérgica a las nueces.": [
        "Por cierto, soy alérgica a las nueces.",
        "Como te dije, soy alérgica a las nueces.",
        "Soy, por cierto, alérgica a las nueces.",
        "Soy alérgica a las nueces, como ya te conté.",
        "Bueno, la verdad es que soy alérgica a las nueces.",
        "Ya te dije que soy alérgica a las nueces.",
    ],
    "Vivo en Sevilla.": [
        "Como te dije, vivo en Sevilla.",
        "De hecho, vivo en Sevilla.",
        "Vivo en Sevilla, por cierto.",
    ],
    "私は札幌に住んでいます。": [
        "ちなみに、私は札幌に住んでいます。",
        "ちなみに私は札幌に住んでいます。",
        "前にも言ったけど、私は札幌に住んでいます。",
        "実は私は札幌に住んでいます。",
        "前に言ったように、私は札幌に住んでいます。",
        "私はちなみに札幌に住んでいます。",
        "私は札幌に住んでいますよ。",
        "さっき言いましたが、私は札幌に住んでいます。",
    ],
    "Я работаю врачом в Казани.": [
        "Кстати, я работаю врачом в Казани.",
        "Я, кстати, работаю врачом в Казани.",
        "Как я уже говорила, я работаю врачом в Казани.",
        "Я же работаю врачом в Казани.",
        "Я работаю врачом в Казани, между прочим.",
        "Ну, вообще-то я работаю врачом в Казани.",
        "Я работаю, как ты знаешь, врачом в Казани.",
    ],
    "I live in Leeds.": [
        "By the way, I live in Leeds.",
        "I live in Leeds, by the way.",
        "As I told you before, I live in Leeds.",
        "I actually live in Leeds.",
        "I live, as you know, in Leeds.",
        "Well, you know, I live in Leeds!",
        "I told you that I live in Leeds.",
        "I already mentioned I live in Leeds.",
        "I live in Leeds btw",
        "In fact I live in Leeds.",
    ],
    "My dog is called Rex.": [
        "My dog, by the way, is called Rex.",
        "As I said, my dog is called Rex.",
        "My dog is called Rex, you know.",
        "Like I said earlier: my dog is called Rex",
    ],
    "J'habite à Lyon.": [
        "Au fait, j'habite à Lyon.",
        "Comme je te l'ai dit, j'habite à Lyon.",
        "J'habite à Lyon, d'ailleurs.",
        "En fait, j'habite à Lyon.",
        "J'habite, tu sais, à Lyon.",
        "Comme je l'ai déjà dit, j'habite à Lyon.",
    ],
    "Ho due gatti.": [
        "Comunque, ho due gatti.",
        "Come ti dicevo, ho due gatti.",
        "Ho due gatti, tra l'altro.",
        "A proposito, ho due gatti.",
        "In realtà ho due gatti.",
        "Come già detto, ho due gatti.",
    ],
    "Moro em Recife.": [
        "Aliás, moro em Recife.",
        "Como eu disse, moro em Recife.",
        "Moro em Recife, sabe.",
        "A propósito, moro em Recife.",
        "Moro, na verdade, em Recife.",
    ],
    "Ik woon in Utrecht.": [
        "Trouwens, ik woon in Utrecht.",
        "Ik woon trouwens in Utrecht.",
        "Overigens woon ik in Utrecht.",
        "Zoals ik al zei, ik woon in Utrecht.",
        "Zoals gezegd woon ik in Utrecht.",
        "Ik woon in Utrecht, hoor.",
        "Ik woon toch in Utrecht.",
        "Ik woon eigenlijk in Utrecht.",
    ],
    "Mam dwie córki.": [
        "Nawiasem mówiąc, mam dwie córki.",
        "Jak już mówiłam, mam dwie córki.",
        "Mam przecież dwie córki.",
        "Mam dwie córki, jak wiesz.",
        "Przy okazji: mam dwie córki.",
    ],
    "İki kızım var.": [
        "Bu arada, iki kızım var.",
        "Dediğim gibi, iki kızım var.",
        "Aslında iki kızım var.",
        "İki kızım var, bu arada.",
        "Benim zaten iki kızım var.",
        "İki kızım var zaten.",
    ],
    "أعيش في حلب.": [
        "بالمناسبة، أعيش في حلب.",
        "كما قلت لك، أعيش في حلب.",
        "في الواقع أعيش في حلب.",
        "أعيش في حلب، كما تعلم.",
    ],
    "ฉันมีแมวสองตัว": [
        "อย่างที่บอก ฉันมีแมวสองตัว",
        "จริงๆ แล้วฉันมีแมวสองตัว",
        "ว่าแต่ ฉันมีแมวสองตัวนะคะ",
        "ฉันมีแมวสองตัวค่ะ",
        "อ้อ ฉันมีแมวสองตัว",
    ],
    "我住在成都。": [
        "顺便说一下，我住在成都。",
        "对了，我住在成都。",
        "就像我之前说的，我住在成都。",
        "其实我住在成都。",
        "我住在成都，你知道的。",
        "我跟你说过，我住在成都。",
        "我其实住在成都。",
        "老实说，我住在成都哦。",
    ],
    "저는 서울에 살아요.": [
        "참고로 저는 서울에 살아요.",
        "말씀드렸듯이 저는 서울에 살아요.",
        "저는 사실 서울에 살아요.",
        "그런데, 저는 서울에 살아요.",
        "전에 말한 것처럼, 저는 서울에 살아요.",
        "아시다시피 저는 서울에 살아요.",
    ],
}
CONTENT = {
    "Ich wohne in Bern, nein, in Basel.": "Wohnt in Bern, nein, in Basel",
    "I have two dogs, at least.": "Has two dogs, at least",
    "No vivo en Sevilla.": "No vivo en Sevilla",
    "No, vivo en Sevilla.": "Vivo en Sevilla",
    "Я вообще не ем мясо.": "Я вообще не ем мясо",
    "Overigens heet mijn dochter Fenna.": "Mijn dochter heet Fenna",
    "I see you know French, and I speak Polish.": "Speaks Polish",
}
SEVERAL = {
    "I live in Rome, by the way, I have a cat.": ["Lives in Rome", "Has a cat"],
    "Übrigens, ich heiße Nora und, wie gesagt, wohne in Graz.": ["Heißt Nora", "Wohnt in Graz"],
}
NO_FACTS = [
    "By the way",
    "Por cierto.",
    "Wie gesagt!",
    "Кстати, где я живу?",
    "Au fait, quelle heure est-il ?",
    "ちなみに。",
]


@pytest.mark.parametrize(("first", "again"), [(one, other) for one, others in AGAIN.items() for other in others])
def test_a_fact_said_again_with_a_marker_is_its_candidates_reinforcement_p9(first: str, again: str) -> None:
    """The wording that is stored has no marker, whichever of the two came first."""
    if "benim" not in again.lower():
        assert [fact.casefold() for fact in facts_of(again)] == [fact.casefold() for fact in facts_of(first)]
    for one, other in ((first, again), (again, first)):
        (fact,) = facts_of(one)
        found = extract(ExtractionInput((), (Line(7, fact, "@a:hs"),), other))
        assert (found.new_facts, found.reinforced) == ((), (7,))


@pytest.mark.parametrize("first", AGAIN)
def test_another_fact_with_a_marker_reinforces_nothing(first: str) -> None:
    candidates = tuple(Line(number, *facts_of(other), "@a:hs") for number, other in enumerate(AGAIN) if other != first)
    for again in AGAIN[first]:
        assert extract(ExtractionInput((), candidates, again)).reinforced == ()


@pytest.mark.parametrize(("said", "fact"), CONTENT.items())
def test_what_is_content_there_stays(said: str, fact: str) -> None:
    assert facts_of(said) == (fact,)


@pytest.mark.parametrize(("said", "facts"), SEVERAL.items())
def test_clauses_around_a_marker_are_still_told_apart(said: str, facts: list[str]) -> None:
    assert list(facts_of(said)) == facts


@pytest.mark.parametrize("said", NO_FACTS)
def test_markers_alone_and_before_questions_state_nothing_p6(said: str) -> None:
    assert facts_of(said) == ()


PIECES = [
    "by the way",
    "as I said before",
    "wie ich schon dir",
    "übrigens",
    "por cierto",
    "как я уже говорила",
    "前にも言ったけど",
    "我之前跟你说过",
    "อย่างที่บอกไปแล้ว",
    "말씀드렸듯이",
    ",",
    "(",
    "-",
    "I live",
    "ich",
    "я",
]


@given(st.sampled_from(LANGUAGES), st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES)).map(" ".join)))
def test_any_text_keeps_something_and_is_never_longer(language: str, text: str) -> None:
    sentence = " ".join(text.split())
    plain = without(language, sentence)
    assert bool(plain) == bool(sentence)
    assert len(plain.casefold()) <= len(sentence.casefold()) + 1  # a comma may stay for a clause


@pytest.mark.parametrize("piece", PIECES)
def test_20_kilobytes_of_markers_take_bounded_time(piece: str) -> None:
    start = time.process_time()
    for language in LANGUAGES:
        without(language, f"{piece} " * (400 // len(piece)))
    facts_of(f"{piece} I live in Bern, {piece}. " * 400)
    assert time.process_time() - start < 5, "typical is 0.2 s; the bound leaves room for a busy machine"
