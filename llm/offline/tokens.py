"""Words of a sentence as the rules of every language handle them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

_PUNCTUATION = ".,:;!?…()[]\"'-–—*_~"
_MOST_OPENERS = 5
_LONGEST_OPENER = 8


def core(word: str) -> str:
    """Return a word in lower case without the punctuation around it."""
    return word.strip(_PUNCTUATION).lower()


def starts_with(words: Sequence[str], phrase: Sequence[str]) -> bool:
    """Whether a list of words begins with a phrase."""
    return len(words) >= len(phrase) and all(a == b for a, b in zip(words, phrase, strict=False))


def without_openers(words: list[str], openers: Collection[tuple[str, ...]], greetings: Collection[str]) -> list[str]:
    """Drop what is said before a statement without changing it; after a greeting also the name that was greeted."""
    for _ in range(_MOST_OPENERS):
        lower = [core(word) for word in words[:_LONGEST_OPENER]]
        length = next((n for n in range(len(lower), 0, -1) if tuple(lower[:n]) in openers), 0)
        if not length or length == len(words):
            return words
        named = lower[0] in greetings and words[length][:1].isupper() and words[length][-1:] in (",", "!", ":")
        words = words[length + 1 :] if named else words[length:]
    return words


def without_closers(words: list[str], closers: Collection[tuple[str, ...]]) -> list[str]:
    """Drop what is said after a statement without changing it, when a comma sets it off."""
    lower = [core(word) for word in words]
    for length in range(min(_LONGEST_OPENER, len(words) - 1), 0, -1):
        if tuple(lower[-length:]) in closers and words[-length - 1].endswith(","):
            return [*words[: -length - 1], words[-length - 1].rstrip(",")]
    return words


def joined(words: Sequence[str], replacements: Mapping[str, str]) -> str:
    """Join words with some replaced; the punctuation around a replaced word stays."""
    out = []
    for word in words:
        plain = core(word)
        out.append(word.lower().replace(plain, replacements[plain]) if plain and plain in replacements else word)
    return " ".join(out)


def capitalised(text: str) -> str:
    """Return a phrase with its first letter in upper case and no punctuation at its ends."""
    text = text.strip(" .,;:!-–—")
    return text[:1].upper() + text[1:]
