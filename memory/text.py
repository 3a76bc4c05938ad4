"""Text of people as data: cleaned before it is stored (P18), compared (P9), fenced before a model sees it."""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass

from memory.errors import Refused

MAX_CHARACTERS = 500  # of one memory or candidate (P18)

# Format characters that people see or need: the joiners of scripts and emoji, and the number signs that enclose
# the digits after them. Every other one (bidi controls, tag characters, zero-width spaces) can hide text.
_JOINERS = "\u200c\u200d"
_NUMBER_SIGNS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
_KEPT_FORMATS = frozenset(_JOINERS + _NUMBER_SIGNS)
_DROPPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs"})
# Letters and symbols by category, yet nothing to see: Hangul fillers and the empty Braille cell.
_UNSEEN = frozenset("\u115f\u1160\u3164\uffa0\u2800" + _JOINERS)
# One variation selector and one joiner after a character shape it; longer runs only carry hidden bytes.
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_SHAPER_RUN = re.compile(f"([{_SELECTORS}]?[{_JOINERS}]?)[{_SELECTORS}{_JOINERS}]*")
_SHAPER = re.compile(f"[{_SELECTORS}]")  # joiners are not printable, see _plain
_TRAILING = ".!?…"
_TAG = re.compile(r"[a-z][a-z0-9_]*")
_ATTRIBUTE = re.compile(r'([a-z][a-z0-9_]*)="([^"]*)"')


def _kept(character: str) -> bool:
    return character in _KEPT_FORMATS or unicodedata.category(character) not in _DROPPED_CATEGORIES


def _plain(text: str) -> bool:
    """Whether nothing in the text can need removing, by checks that run in C: nearly every text is so.

    What Python calls printable is in none of the dropped categories.
    """
    return text.isprintable() and (text.isascii() or _SHAPER.search(text) is None)


def visible(text: str) -> str:
    """Return the text without control characters (line breaks and tabs stay) and characters that hide text."""
    if _plain(text.replace("\n", "").replace("\t", "")):
        return text
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SHAPER_RUN.sub(r"\1", "".join(c for c in lines if c in "\n\t" or _kept(c)))


def clean(text: str) -> str:
    """Return the text as it may be stored (P18): on one line, trimmed, white space collapsed, nothing hidden in it."""
    if _plain(text):  # the only printable white space is the space itself
        return " ".join(text.split())
    spaced = "".join(" " if c.isspace() else c for c in text)
    return " ".join(visible(spaced).split())


def canonical(text: str) -> str:
    """Return what two texts are compared by (P9): NFC, case folded, white space collapsed, no trailing `.!?…`.

    Folded in decomposed form, since folding of composed and decomposed letters differs; composed at the end.
    """
    folded = unicodedata.normalize("NFD", text).casefold()
    return " ".join(unicodedata.normalize("NFC", folded).split()).rstrip(_TRAILING + " ")


def blank(text: str) -> bool:
    """Whether there is nothing to read in the text: only spaces, marks, joiners or fillers."""
    return all(c in _UNSEEN or unicodedata.category(c)[0] in "ZM" or not _kept(c) for c in text)


def checked_fact(text: str) -> str | None:
    """Return an extracted fact cleaned, or None when it is blank or over 500 characters and so dropped (P18)."""
    cleaned = clean(text)
    return None if blank(cleaned) or len(cleaned) > MAX_CHARACTERS else cleaned


def checked_text(text: str) -> str:
    """Return a text from a command or the tool, cleaned (P18). Raises Refused, with the reason, when it is unfit."""
    cleaned = clean(text)
    if blank(cleaned):
        raise Refused("text-blank")
    if len(cleaned) > MAX_CHARACTERS:
        raise Refused("text-too-long", length=len(cleaned), limit=MAX_CHARACTERS)
    return cleaned


def fence(tag: str, text: str, **attributes: str) -> str:
    """Wrap untrusted text as `<tag a="…">text</tag>` so that nothing in it can close the fence or open another.

    `<`, `>` and `&` are escaped, in attributes quotes too; control and hiding characters are removed, line breaks
    stay in the text only. Attribute names that are keywords are passed as `**{"from": …}`.
    """
    for name in (tag, *attributes):
        if not _TAG.fullmatch(name):
            raise ValueError(f"not a tag or attribute name: {name!r}")
    opening = "".join(f' {name}="{html.escape(clean(value))}"' for name, value in attributes.items())
    return f"<{tag}{opening}>{html.escape(visible(text), quote=False)}</{tag}>"


@dataclass(frozen=True, slots=True)
class Fenced:
    """One fenced text read back."""

    text: str
    attributes: dict[str, str]


def unfence(tag: str, text: str) -> tuple[Fenced, ...]:
    """Return every text that `fence` wrapped in this tag, in order, unescaped; other text around it is skipped."""
    pattern = re.compile(rf"<{re.escape(tag)}((?: [a-z0-9_]+=\"[^\"]*\")*)>([^<>]*)</{re.escape(tag)}>")
    return tuple(
        Fenced(html.unescape(body), {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(head)})
        for head, body in pattern.findall(text)
    )
