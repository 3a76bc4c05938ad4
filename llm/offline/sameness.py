"""Whether two phrases state the same fact, by their words.

Rather no match than a wrong one: the content words must be the same on both sides, after stop words are dropped and
inflections and a few stated synonyms levelled. Anything else that differs (a number, a negation, a name, a tense, an
order that matters) makes two facts of it. Scripts without spaces are compared by pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from llm.offline import sameness_words as w
from memory.text import canonical

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_CHARACTER_DICE = 0.8  # of the pairs that two phrases without spaces share


def same_fact(one: str, other: str) -> bool:
    """Whether two phrases state the same fact in whatever wording, as far as their words tell."""
    a, b = canonical(_undotted(one)), canonical(_undotted(other))
    if a == b:
        return True
    if bool(_UNSPACED.search(a)) != bool(_UNSPACED.search(b)):
        return False
    if _UNSPACED.search(a):
        return _same_characters(a, b)
    return bool(meaning(one).words) and meaning(one).same_as(meaning(other))


def related_words(text: str) -> frozenset[str]:
    """Return the stems of a text's content words, or its pairs of characters in scripts without spaces."""
    plain = canonical(text)
    if _UNSPACED.search(plain):
        return _pairs(_content_characters(plain))
    return frozenset(meaning(text).words) - w.HAVING


@dataclass(frozen=True, slots=True)
class Meaning:
    """A phrase as it is compared: stems in order, negations, and whether it tells of the past."""

    words: tuple[str, ...]
    negations: int
    past: bool
    ordered: bool

    def same_as(self, other: Meaning) -> bool:
        """Whether nothing that matters differs."""
        if (self.negations > 0, self.past) != (other.negations > 0, other.past):
            return False
        if self.ordered or other.ordered:
            return self.words == other.words
        return sorted(set(self.words)) == sorted(set(other.words))


def meaning(text: str) -> Meaning:
    """Return what a phrase is compared by. A word with a capital within it may be a name and keeps its ending."""
    plain = unicodedata.normalize("NFC", _undotted(text).replace("’", "'"))
    for phrase, stands_for in w.PHRASES:
        plain = phrase.sub(stands_for, plain)
    written = [token.removesuffix("'s") for token in _WORD.findall(plain)]
    tokens = [token.casefold() for token in written]
    named = bool(w.NAMING & set(tokens))
    stop = w.STOP | w.NEGATIONS | (w.HAVING if named else frozenset())
    stems = [
        _levelled(token) if at and as_written[:1].isupper() else _stem(token)
        for at, (token, as_written) in enumerate(zip(tokens, written, strict=True))
        if token not in stop
    ]
    return Meaning(
        words=tuple(word for word in stems if not (named and word == _NAMED)),
        negations=sum(token in w.NEGATIONS for token in tokens),
        past=bool(w.PAST & set(tokens)) or _past_verb(tokens),
        ordered=bool(w.ORDER & set(tokens)),
    )


def _undotted(text: str) -> str:
    """Return a text with the Turkish capital of i as i, which case folding makes two characters of."""
    return text.replace("İ", "i")


def _past_verb(tokens: list[str]) -> bool:
    """Whether the first word that is no adverb is a simple past."""
    first = next((token for token in tokens if token not in w.STOP), "")
    return len(first) > len("need") and first.endswith("ed") and first not in w.STATES_ED


def _levelled(token: str) -> str:
    return w.LEVELLED.get(token, token)


def _stem(token: str) -> str:
    """Return a word without its inflection, levelled with its synonyms."""
    if token in w.LEVELLED:
        return w.LEVELLED[token]
    for ending, shortest in w.ENDINGS:
        if token.endswith(ending) and len(token) - len(ending) >= shortest:
            return _levelled(token[: -len(ending)])
    return token


_NAMED = w.LEVELLED["named"]


def _content_characters(text: str) -> str:
    kept = "".join(character for character in text if character.isalnum() or unicodedata.category(character)[0] == "M")
    for filler in w.FILLERS:
        kept = kept.replace(filler, "")
    return kept


def _pairs(text: str) -> frozenset[str]:
    return frozenset(text[at : at + 2] for at in range(max(1, len(text) - 1)))


def _same_characters(a: str, b: str) -> bool:
    one, other = _content_characters(a), _content_characters(b)
    if not one or not other:
        return False
    differing = set(one) ^ set(other)
    if any(not ("\u3040" <= character <= "\u309f") for character in differing):
        return False  # only Japanese inflection is written in letters that may differ
    pairs, others = _pairs(one), _pairs(other)
    return 2 * len(pairs & others) / (len(pairs) + len(others)) >= _CHARACTER_DICE
