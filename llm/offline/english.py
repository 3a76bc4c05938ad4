"""First-person English statements as short third-person facts. Rules over the tables of `english_words`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llm.offline import english_words as w
from llm.offline.english_speaker import facts_of_speaker, is_mood, of_today, third_person
from llm.offline.tables import words as _words
from llm.offline.tokens import capitalised, core, joined, starts_with, without_closers, without_openers

_CLAUSES = re.compile(
    r"(?:,\s*|\s+)(?:and|but|plus|so)\s+(?=(?:i|i'm|i've|we|we're|we've)\s"
    r"|(?:my|our)\s+\S+(?:\s+\S+)?\s+(?:is|are|was|has|have|works?|lives?|loves?|likes?|hates?|plays?)\s)",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r",\s+(?:(?:so|because|since|which|who|whose|where|although|though|while|whereas|hence|thus|therefore|as|but)\b"
    r"(?!\s+(?:only|not|never)\b)|(?:and\s+)?(?:he|she|they|it|it's|you|that|that's|this|there|things|such)\b"
    r"|the\s+\S+\s+(?:is|are|was|were)\b)|\s+[-–—]+\s|[-–—]\s+",
    re.IGNORECASE,
)
_MINE = re.compile(r"^([A-Z]\S*(?: [A-Z]\S*)?) (?:is|was|are) (?:my|our) (\S.*)$")
_SPLICE = re.compile(r",\s+(?=(?:i|i'm|i've|we|we're|we've)\s)", re.IGNORECASE)
_I_AM = re.compile(r"\bI am\b", re.IGNORECASE)
_FIRST_PERSON = {"i": [], "i'm": ["am"], "im": ["am"], "i've": ["have"], "ive": ["have"], "i'll": ["will"]}
_WE = {"we": [], "we're": ["are"], "we've": ["have"], "we'll": ["will"]}
_CONJUNCTIONS = _words("since as for before after until when with like")
_MAX_PREFIX = 7


def facts(sentence: str) -> list[str]:
    """Return what a sentence states about its speaker, as phrases; [] for anything but a lasting statement."""
    words = without_openers(sentence.split(), w.OPENERS, w.GREETINGS)
    if not words or not _may_be_english(words):
        return []
    clauses = (_SUBORDINATE.split(clause, maxsplit=1)[0] for clause in _clauses(" ".join(words)))
    return [capitalised(fact) for clause in clauses for fact in _clause(clause)]


def _clauses(text: str) -> list[str]:
    """Split where the speaker comes up again; after a mere comma only when the speaker was the subject before."""
    parts = _CLAUSES.split(_I_AM.sub("I'm", text))
    spoken = _FIRST_PERSON.keys() | _WE.keys() | {"my", "our"}
    return [
        clause
        for part in parts
        for clause in (_SPLICE.split(part) if core(part.split(" ", 1)[0]) in spoken else [part])
    ]


def is_english(words: Sequence[str]) -> bool:
    """Whether a sentence is plainly English, by words that no other language has."""
    return not w.ENGLISH_ALONE.isdisjoint(core(word) for word in words)


def _may_be_english(words: Sequence[str]) -> bool:
    lower = [core(word) for word in words]
    known = w.VERBS | w.IRREGULAR_PAST | w.LIFE_PAST | {"used"}
    return not w.FUNCTION_WORDS.isdisjoint(lower) or not known.isdisjoint(lower[1:4])


def _clause(text: str) -> list[str]:
    words = without_closers(without_openers(text.split(), w.OPENERS, w.GREETINGS), w.CLOSERS)
    lower = [core(word) for word in words]
    if not words[1:] or w.SECOND_PERSON & set(lower) or w.CONDITIONS & set(lower):
        return []
    if lower[0] in _FIRST_PERSON:
        return facts_of_speaker(_FIRST_PERSON[lower[0]] + words[1:])
    if lower[0] in _WE:
        return facts_of_speaker(_WE[lower[0]] + words[1:])
    if owned := _owned(words, lower):
        return [owned]
    if mine := _MINE.match(" ".join(words)):
        return _mine(mine.group(1), mine.group(2))
    return _after_adverbial(words, lower)


def _after_adverbial(words: list[str], lower: list[str]) -> list[str]:
    """Read "Since 2016 I've been vegan" as "Has been vegan since 2016"."""
    found = next((at for at, word in enumerate(lower[:_MAX_PREFIX]) if word in _FIRST_PERSON), 0)
    prefix = lower[:found]
    clause = found == 1 and prefix[0] in _CONJUNCTIONS
    if not found or clause or prefix[0] not in w.ADVERBIAL_STARTS or w.SUBJECTS & set(prefix):
        return []
    if "," in "".join(words[: found - 1]):
        return []
    facts = facts_of_speaker([*_FIRST_PERSON[lower[found]], *words[found + 1 :]], context=prefix)
    adverbial = joined([words[0].lower(), *words[1:found]], w.PRONOUNS).rstrip(",")
    return [f"{fact} {adverbial}" for fact in facts]


def _mine(name: str, what: str) -> list[str]:
    lower = [core(word) for word in what.split()]
    if core(name.split(maxsplit=1)[0]) in w.HERE_SUBJECTS | w.SUBJECTS or set(lower) & (w.MY_BLOCK | w.TODAY):
        return []
    return [f"{name} is their {joined(what.split(), w.PRONOUNS)}"]


# --- "My cat is named Mochi" -------------------------------------------------------------------------------------


def _owned(words: list[str], lower: list[str]) -> str:
    quantifier = next(
        (q for q in w.QUANTIFIERS if starts_with(lower, q) and lower[len(q) : len(q) + 1] in (["my"], ["our"])), ()
    )
    at = len(quantifier)
    if lower[at] not in ("my", "our"):
        return ""
    verb = _verb_position(lower, at + 1)
    if not verb or not _lasting_predicate(lower, at + 1, verb):
        return ""
    owner = ["their"] if len(quantifier) and quantifier[-1] == "of" else []
    rest = joined(words[at + 1 :], w.PRONOUNS)
    return " ".join([*words[:at], *owner, rest])


def _verb_position(lower: list[str], start: int) -> int:
    """Return where the predicate of "my ..." begins; 0 when no verb is known within six words."""
    for at in range(start + 1, min(start + 7, len(lower))):
        plural = lower[at - 1].endswith("s") or lower[at - 1] in w.PLURALS
        known = lower[at] in _PREDICATES or (plural and lower[at] in w.VERBS - w.NOT_BOTH | {"love", "like", "work"})
        if known and (at + 1 < len(lower) or lower[at] not in _COPULAS):
            return at
    contracted = next((at for at in range(start, min(start + 4, len(lower))) if lower[at].endswith("'s")), 0)
    named = contracted and lower[contracted + 1 : contracted + 2]
    return contracted + 1 if named and (named[0] in _AFTER_CONTRACTION) else 0


_COPULAS = _words("is are was were isn't aren't wasn't has have had")
_AFTER_CONTRACTION = _words("called named a an the from in not always been very allergic vegan vegetarian deaf blind")


_PREDICATES = (
    _COPULAS
    | {third_person(verb) for verb in w.VERBS}
    | w.LIFE_PAST
    | w.EVENT_PAST
    | _words("doesn't don't can't can used works died passed")
)


def _lasting_predicate(lower: list[str], start: int, verb: int) -> bool:
    noun, predicate = lower[start:verb], lower[verb:]
    favourite = {"favourite", "favorite"} & set(noun)
    if set(noun) & (w.REPORTS if favourite else w.MY_BLOCK | w.REPORTS) or set(predicate[:2]) & w.REPORTS:
        return False
    if of_today(lower) or set(predicate) & w.PREDICATE_BLOCK:
        return False
    if predicate[0] in w.EVENT_PAST - {"had"}:
        return bool(set(predicate) & w.LIFE_NOUNS) or predicate[0] in ("died", "passed")
    if predicate[0] in _COPULAS and len(predicate) > 1:
        return not is_mood(predicate[1:]) and predicate[1] not in w.DEICTIC
    return True
