"""What English says of "I": which predicates last, and how they read in the third person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llm.offline import english_words as w
from llm.offline.tables import words as _words
from llm.offline.tokens import core, joined, starts_with

_BIRTHS = _words("born married divorced")
_WAS = _words("born raised diagnosed adopted homeschooled married vegan vegetarian")
_PERCEIVED = _words("said thought saw heard knew told understood asked")
_PASTIMES = _words("playing smoking riding")
_DIDNT = _words("grow finish attend go")
_A = ("a", "an")


@dataclass(frozen=True, slots=True)
class _Predicate:
    """A predicate from its verb on: as written, in lower case, and with all that was said around it (also lower)."""

    words: list[str]
    low: list[str]
    said: Sequence[str]

    @property
    def today(self) -> bool:
        return of_today(self.said)

    @property
    def habit(self) -> bool:
        return not w.HABITS.isdisjoint(self.said)

    def in_third(self, at: int = 0) -> list[str]:
        """Return the words from a position on, the first in the third person."""
        return [third_person(self.low[at]), *self.words[at + 1 :]]


def facts_of_speaker(words: list[str], context: Sequence[str] = ()) -> list[str]:
    """Return the facts of a predicate said of "I". `context`: words before the subject, for habits and dates."""
    lower = [core(word) for word in words]
    at = 0
    while at < len(lower) and (lower[at] in w.ADVERBS or (lower[at].endswith("ly") and lower[at] not in w.LY_VERBS)):
        if lower[at] in w.HEDGES:
            return []
        at += 1
    if at == len(lower) or words[at][:1].isupper():
        return []
    predicate = _Predicate(words[at:], lower[at:], [*context, *lower])
    stated = _stated(predicate)
    parts = _second_verbs(stated, predicate.low) if stated else []
    adverbs = [word.lower() for word in words[:at]]
    phrases = (joined([*adverbs, *part] if not number else part, w.PRONOUNS) for number, part in enumerate(parts))
    return [phrase.replace("they was ", "they were ") for phrase in phrases]


def third_person(verb: str) -> str:
    """Return the third person singular of a verb in its base form."""
    if verb in w.IRREGULAR_THIRD:
        return w.IRREGULAR_THIRD[verb]
    if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou"):
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


def is_mood(predicate: Sequence[str]) -> bool:
    """Whether a predicate after "be" tells how or where somebody is for a while."""
    rest = [word for word in predicate if word not in w.DEGREES]
    if not rest or rest[0] not in w.MOODS:
        return False
    return w.LASTING_AFTER_MOOD.get(rest[0], frozenset()).isdisjoint(rest[1:4])


def of_today(said: Sequence[str]) -> bool:
    """Whether something is said to be so today, or for now."""
    text = " ".join(said)
    return not w.TODAY.isdisjoint(said) or any(" ".join(phrase) in text for phrase in w.TODAY_PHRASES)


def _stated(p: _Predicate) -> list[str]:
    """Return the predicate in the third person, or [] when it is nothing lasting."""
    verb = p.low[0]
    rule = next((rule for verbs, rule in _RULES if verb in verbs), None)
    if rule is not None:
        return rule(p)
    past = verb in w.IRREGULAR_PAST or (verb.endswith("ed") and verb not in w.ED_BASES)
    return _past(p) if past else _present(p)


def _nothing(_p: _Predicate) -> list[str]:
    return []


def _be(p: _Predicate) -> list[str]:
    return p.in_third() if _lasting_state(p) else []


def _have(p: _Predicate) -> list[str]:
    return p.in_third() if _lasting_have(p) else []


def _can(p: _Predicate) -> list[str]:
    able = w.ABILITIES if p.low[0] == "can" else w.INABILITIES
    known = len(p.low) > 1 and p.low[1] in able
    return p.words if known and not _deictic(p.low[2:]) and not p.today else []


def _used(p: _Predicate) -> list[str]:
    return p.words if p.low[1:2] == ["to"] else []


def _do(p: _Predicate) -> list[str]:
    """Read "don't eat meat", "do eat meat", "didn't finish school"."""
    at = 1
    while at < len(p.low) and (p.low[at] in w.ADVERBS or p.low[at].endswith("ly")):
        at += 1
    verb = p.low[at] if at < len(p.low) else ""
    if p.low[0] == "do" and verb not in w.VERBS | w.OPINIONS:
        return _present(p)
    if not verb or _deictic(p.low[at + 1 :]) or p.today:
        return []
    if p.low[0] == "didn't":
        return p.words if verb in _DIDNT and not w.LIFE_NOUNS.isdisjoint(p.low) else []
    inner = _Predicate(p.words[at:], p.low[at:], p.said)
    if (verb == "have" and not _lasting_have(inner)) or (_opinion(verb) and not _lasting_object(inner)):
        return []
    return p.in_third(at) if p.low[0] == "do" else p.in_third()


def _obliged(p: _Predicate) -> list[str]:
    return p.words if p.habit else []


def _past(p: _Predicate) -> list[str]:
    verb, rest = p.low[0], p.low[1:]
    if verb in w.LIFE_PAST:
        lasting = not _deictic(rest)
    elif verb in w.EVENT_PAST:
        lasting = not w.LIFE_NOUNS.isdisjoint(rest)
    else:
        lasting = "never" in p.said and bool(rest) and verb not in _PERCEIVED
    return p.words if lasting else []


def _present(p: _Predicate) -> list[str]:
    verb = p.low[0]
    bare = len(p.low) == 1 and verb not in w.VERBS
    passing = not w.PASSING_OBJECTS.get(verb, frozenset()).isdisjoint(p.low[1:2])
    if not verb.isalpha() or bare or passing or p.today or _deictic(p.low[1:]):
        return []
    habitual = p.habit and verb in w.VERBS
    return [] if _opinion(verb) and not _lasting_object(p) and not habitual else p.in_third()


_RULES: tuple[tuple[frozenset[str], Callable[[_Predicate], list[str]]], ...] = (
    (w.MODALS | w.HEDGES | {"will", "won't"}, _nothing),
    (_words("am are was were"), _be),
    (_words("have haven't"), _have),
    (_words("do don't didn't"), _do),
    (_words("can can't cannot"), _can),
    (_words("used"), _used),
    (w.OBLIGATIONS, _obliged),
)


def _opinion(verb: str) -> bool:
    return verb in w.OPINIONS or verb == "want"


def _lasting_object(p: _Predicate) -> bool:
    return any(starts_with(p.low[1:], phrase) for phrase in w.LASTING_OBJECTS.get(p.low[0], ()))


def _lasting_state(p: _Predicate) -> bool:
    rest = [word for word in p.low[1:] if word not in w.DEGREES]
    if not rest or p.today:
        return bool(rest) and rest[0] in _BIRTHS
    head, article = rest[0], p.low[1] in _A
    if any(starts_with(rest, pair) for pair in w.ING_PAIRS):
        return True
    if head.endswith("ing") and head not in w.ING_WORDS:
        return head in w.LASTING_ING and p.low[0] in ("am", "are")
    if p.low[0] in ("was", "were"):
        return head in _WAS or article
    passing = is_mood(p.low[1:]) or head in w.DEICTIC
    return not passing and (w.NOW.isdisjoint(p.said) or head in w.STATES or article)


def _lasting_have(p: _Predicate) -> bool:
    rest = [word for word in p.low[1:] if word not in w.ADVERBS]
    rest = rest[1:] if rest[:1] == ["got"] and rest[1:] else rest
    if not rest or p.today or rest[0] in w.DEICTIC:
        return False
    if rest[0] == "to":
        return p.habit and bool(rest[2:])
    if rest[0] in w.PARTICIPLES or (rest[0].endswith("ed") and rest[1:] and rest[0] not in w.ED_BASES):
        return _lasting_perfect(rest, p.said)
    return w.HAVE_BLOCK.isdisjoint(rest[:4])


def _lasting_perfect(rest: Sequence[str], said: Sequence[str]) -> bool:
    if rest[0] == "been" and rest[1:]:
        passing = rest[1].endswith("ing") and rest[1] not in w.LASTING_ING | _PASTIMES
        if passing or is_mood(rest[1:]):
            return False
    return not w.PERFECT_SIGNS.isdisjoint(said) or rest[0] in w.LIFE_PARTICIPLES


def _second_verbs(words: list[str], low: Sequence[str]) -> list[list[str]]:
    """Split "lives in Bern and still works as a cook" where another verb of the speaker begins, and make that agree.

    After a verb that is no present one, a base form after "and" begins a clause only where an adverb shows it.
    """
    present = low[0] in w.VERBS | {"am", "are", "have"}
    starts = [at for at, word in enumerate(words) if word in ("and", "but") and at]
    parts, start = [], 0
    for at in starts:
        verb = next((k for k in range(at + 1, min(at + 4, len(words))) if core(words[k]) not in w.ADVERBS), 0)
        plain = core(words[verb]) if verb else ""
        finite = plain in w.IRREGULAR_THIRD or plain in w.VERBS - w.NOT_BOTH
        if finite and words[verb] == words[verb].lower() and (present or verb > at + 1):
            words[verb] = words[verb].replace(plain, third_person(plain))
            parts.append(words[start:at])
            start = at + 1
    return [*parts, words[start:]]


def _deictic(rest: Sequence[str]) -> bool:
    """Whether what follows a verb only points at something: "it", "that one", "this song"."""
    return bool(rest) and rest[0] in w.DEICTIC
