"""First-person German statements as short third-person facts. Rules over the tables of `german_words`.

German main clauses have their verb second, so the speaker is found as "ich" before the verb or right behind it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from llm.offline import german_words as w
from llm.offline.tables import words as _words
from llm.offline.tokens import capitalised, core, joined, without_closers, without_openers

_CLAUSES = re.compile(
    r",?\s+(?:und|aber|sondern|also)\s+(?=(?:ich|wir)\s|mein(?:e|en)?\s+\S+\s+(?:ist|sind|hat|heißt|wohnt|lebt|arbeitet)\s)",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r",\s*(?:(?:weil|da|denn|obwohl|sodass|während|seitdem|damit|wobei|was|wo|der|die|das|dem|den|deren|dessen|welche[rsmn]?"
    r"|aber|sondern|deshalb|deswegen|daher|also)\b|und\s+(?:er|sie|es|du|das|dann|die|der)\b)",
    re.IGNORECASE,
)
_THAT_CLAUSE = re.compile(r"^(?:dass?)\s+", re.IGNORECASE)
_PARTICIPLE = re.compile(w.PARTICIPLE)
_MINE = re.compile(r"^([A-ZÄÖÜ]\S*) ist mein(?:e)? ([A-ZÄÖÜ]\S*)$")
_STEM_NEEDS_E = re.compile(r"(?:[td]|(?:[^aeiouäöürlhmn]|ch)[mn])$")
_SAME_IN_THIRD = _words("mag will weiß")
_INFINITIVES = {"will": "wollen", "weiß": "wissen", "mag": "mögen"}
_NEVER_HABITS = _words("wollen glauben denken wissen hoffen")
_WHOLE = _words("rauchen stottern schnarchen studieren meditieren schielen lispeln")  # facts without anything else
_NOT = _words("nicht kein keine keinen nie niemals")
_MAX_PREFIX = 8
_SHORTEST_VERB = len("tute")


def facts(sentence: str) -> list[str]:
    """Return what a sentence states about its speaker, as phrases; [] for anything but a lasting statement."""
    clauses = _CLAUSES.split(" ".join(main_clause(_opened(sentence.split()))))
    plain = (_SUBORDINATE.split(clause, maxsplit=1)[0] for clause in clauses)
    return [capitalised(fact) for clause in plain for fact in _clause(clause)]


def _opened(spoken: list[str]) -> list[str]:
    """Return the words without openers, the subject first where one had put the verb first ("Übrigens bin ich")."""
    words = without_openers(spoken, w.OPENERS, w.GREETINGS)
    inverted = len(words) < len(spoken) and not spoken[-len(words) - 1].endswith((",", ":", "!"))
    if inverted and words[2:] and words[1].lower() in ("ich", "wir"):
        return [words[1], words[0], *words[2:]]
    return words


def is_german(words: Sequence[str]) -> bool:
    """Whether a sentence is plausibly German, by its function words."""
    return not w.FUNCTION_WORDS.isdisjoint(core(word) for word in words)


def main_clause(words: list[str]) -> list[str]:
    """Turn "dass ich nachts arbeite" into "ich arbeite nachts"; other words come back as they are."""
    if not words[2:] or not _THAT_CLAUSE.match(words[0] + " "):
        return words
    subject, verb = words[1:2], words[-1]
    if core(words[1]) in ("ich", "wir"):
        return [*subject, verb, *words[2:-1]]
    noun = next((at for at, word in enumerate(words[2:], start=2) if word[:1].isupper()), 0)
    return [*words[1 : noun + 1], verb, *words[noun + 1 : -1]] if noun and noun + 1 < len(words) else words[1:]


def _clause(text: str) -> list[str]:
    words = without_closers(without_openers(text.split(), w.OPENERS, w.GREETINGS), w.CLOSERS)
    lower = [core(word) for word in words]
    if not words[1:] or _speaks_to_somebody(words, lower) or "dass" in lower:
        return []
    if lower[0] in ("ich", "wir"):
        return _of_speaker(lower[1], words[2:], [])
    quantified = lower[0] in ("alle", "beide") and lower[1] in ("meine", "unsere")
    if quantified or re.fullmatch(r"(?:mein|unser)e?", lower[0]):
        owned = _owned(words[quantified:], lower[quantified:])
        return [f"{words[0]} {owned}" if quantified else owned] if owned else []
    if mine := _MINE.match(" ".join(words)):
        return [f"{mine.group(2)} heißt {mine.group(1)}"] if core(mine.group(2)) not in w.MY_BLOCK else []
    return _inverted(words, lower)


def _inverted(words: list[str], lower: list[str]) -> list[str]:
    """Read "Am liebsten esse ich Suppe" as "isst am liebsten Suppe"; a verb in front of all is a question."""
    found = next((at for at, word in enumerate(lower[: _MAX_PREFIX + 2]) if word in ("ich", "wir")), 0)
    if not lower[: max(0, found - 1)] or lower[0] in w.QUESTION_WORDS or set(lower[: found - 1]) & {"er", "sie", "es"}:
        return []
    prefix = words[: found - 1]
    if lower[0] in w.SMALL:
        prefix = [words[0].lower(), *prefix[1:]]
    return _of_speaker(lower[found - 1], words[found + 1 :], prefix)


def _speaks_to_somebody(words: Sequence[str], lower: Sequence[str]) -> bool:
    return bool((w.SECOND_PERSON | w.CONDITIONS) & set(lower)) or bool(
        w.POLITE & {word.strip(".,") for word in words[1:]}
    )


# --- "Meine Katze heißt Mochi" ------------------------------------------------------------------------------------


def _owned(words: list[str], lower: list[str]) -> str:
    verb = next((at for at in range(2, min(8, len(lower))) if lower[at] in w.PREDICATES), 0)
    if not verb or verb + 1 >= len(lower) or set(lower[1:verb]) & (w.MY_BLOCK | w.REPORTS):
        return ""
    rest = [word for word in lower[verb + 1 :] if word not in w.DEGREES]
    if not rest or rest[0] in w.DEICTIC | w.PREDICATE_BLOCK or _of_today(lower):
        return ""
    if rest[-1] in w.PREDICATE_BLOCK or _event(lower[verb], lower[verb + 1 :]):
        return ""
    return joined(words[1:], w.FIRST_PERSON)


# --- "Ich ..." ----------------------------------------------------------------------------------------------------


def _of_speaker(verb: str, rest: list[str], prefix: list[str]) -> list[str]:
    """Return the facts of a verb in the first person and what goes with it; `prefix` stood before the verb."""
    verb = singular(verb)
    low = [core(word) for word in rest]
    said = [*(core(word) for word in prefix), *low]
    third = third_person(verb)
    if not third or verb in w.MODALS or not _lasting(verb, third, low, said):
        return []
    first, *others = _second_verbs(rest)
    return [joined(part, w.FIRST_PERSON) for part in ([third, *prefix, *first], *others)]


def singular(verb: str) -> str:
    """Return the first person singular of a form that "wir" takes: "wohnen" gives "wohne"."""
    if verb in ("sind", "haben"):
        return {"sind": "bin", "haben": "habe"}[verb]
    return verb[:-1] if verb.endswith("en") else verb


def third_person(verb: str) -> str:
    """Return the third person singular of a verb in the first; "" for what is no such verb. Preterites stay."""
    if verb in w.IRREGULAR_THIRD:
        return w.IRREGULAR_THIRD[verb]
    if not verb.endswith("e") or len(verb) < _SHORTEST_VERB or not verb.isalpha():
        return verb if verb in w.LIFE_PAST else ""
    if verb.endswith("te") and verb not in w.PRESENT_TE:
        return verb
    stem = verb[:-1]
    if re.search(r"[^aeiouäöü]l$", stem) and not stem.endswith("ll"):
        return stem[:-1] + "elt"
    if re.search(r"[sßzx]$", stem):
        return stem + "t"
    return stem + ("et" if _STEM_NEEDS_E.search(stem) else "t")


def _lasting(verb: str, third: str, low: Sequence[str], said: Sequence[str]) -> bool:
    if verb in ("bin", "war"):
        return _lasting_state(verb, low, said)
    if _of_today(said) or (low and w.DEICTIC.issuperset(low)):
        return False
    if verb in ("habe", "hab", "hatte"):
        return _lasting_have(low, said)
    if verb in ("kann", "muss", "darf"):
        return _lasting_modal(verb, said)
    if third == verb and verb not in _SAME_IN_THIRD:
        return verb in w.LIFE_PAST
    return _lasting_present(_INFINITIVES.get(verb, verb + "n"), said)


def _lasting_modal(verb: str, said: Sequence[str]) -> bool:
    negated = not _NOT.isdisjoint(said)
    if verb == "kann":
        able = w.INABILITIES if negated else w.ABILITIES
        return not able.isdisjoint(said) or any(word.endswith("isch") for word in said[-1:])
    return bool(said[1:]) and (negated if verb == "darf" else not w.HABITS.isdisjoint(said))


def _lasting_present(infinitive: str, said: Sequence[str]) -> bool:
    if infinitive in w.OPINIONS:
        lasting = not w.LASTING_WITH.get(infinitive, frozenset()).isdisjoint(said)
        habit = not w.HABITS.isdisjoint(said) and infinitive not in _NEVER_HABITS
        return lasting or habit
    return bool(said) or infinitive in _WHOLE


def _lasting_state(verb: str, low: Sequence[str], said: Sequence[str]) -> bool:
    rest = [word for word in low if word not in w.DEGREES]
    if not rest:
        return False
    if rest[-1] in w.LIFE_PARTICIPLES:
        return True
    if verb == "war" or _of_today(said):
        return verb == "war" and {"früher", "jahre", "jahrelang", "lange"} & set(said) != set()
    if _PARTICIPLE.fullmatch(rest[-1]) and rest[-1] not in w.STATE_PARTICIPLES:
        return False
    if rest[0] in w.MOODS:
        return bool(w.LASTING_AFTER_MOOD.get(rest[0], frozenset()) & set(rest[1:5]))
    return "gerade" not in low and rest[0] not in w.DEICTIC


def _lasting_have(low: Sequence[str], said: Sequence[str]) -> bool:
    if not low:
        return False
    blocked = w.HAVE_BLOCK & set(low[:6])
    if any(not (w.HAVE_LASTING.get(word, frozenset()) & set(low)) for word in blocked):
        return False
    return not _event("habe", low) and "zu" not in low[-2:-1] and bool(said)


def _event(verb: str, low: Sequence[str]) -> bool:
    """Whether a verb with a participle tells of something that happened, unless it belongs to a life."""
    last = low[-1] if low else ""
    perfect = verb in ("habe", "hat", "haben", "ist", "sind", "bin") and _PARTICIPLE.fullmatch(last)
    return bool(perfect) and last not in w.LIFE_PARTICIPLES | w.STATE_PARTICIPLES


def _second_verbs(rest: Sequence[str]) -> list[list[str]]:
    """Split "in Bern und arbeite als Koch" where another verb of the speaker begins, and make that agree."""
    parts: list[list[str]] = [[]]
    for word in rest:
        plain = core(word)
        joint = parts[-1] and (core(parts[-1][-1]) in ("und", "aber") or parts[-1][-1].endswith(","))
        if joint and plain in w.SECOND_VERBS and word == word.lower():
            if core(parts[-1][-1]) in ("und", "aber"):
                parts[-1].pop()
            parts.append([word.replace(plain, third_person(plain))])
        else:
            parts[-1].append(word)
    return parts


def _of_today(said: Sequence[str]) -> bool:
    text = " ".join(said)
    return bool(w.TODAY & set(said)) or any(" ".join(phrase) in text for phrase in w.TODAY_PHRASES)
