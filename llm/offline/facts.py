"""The facts a message states about whoever wrote it, by rules for English and German and markers for the rest."""

from __future__ import annotations

from llm.offline import english, german, other_languages
from llm.offline.markers import without
from llm.offline.sentences import statements
from memory.text import canonical, checked_fact

MAX_FACTS = 20  # of one message


def facts_of(text: str) -> tuple[str, ...]:
    """Return the lasting first-person facts of a message, in its language, each once and as a short phrase."""
    found: dict[str, str] = {}
    for sentence in statements(text):
        for fact in _read(sentence):
            if checked := checked_fact(fact):
                found.setdefault(canonical(checked), checked)
        if len(found) >= MAX_FACTS:
            break
    return tuple(found.values())[:MAX_FACTS]


def _read(sentence: str) -> list[str]:
    in_english, in_german = without("en", sentence), without("de", sentence)
    if facts := english.facts(in_english) or german.facts(in_german):
        return facts
    if english.is_english(in_english.split()) or german.is_german(in_german.split()):
        return []
    return other_languages.facts(sentence)
