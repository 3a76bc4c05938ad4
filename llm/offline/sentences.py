"""From a message to the plain statements in it: no code, no quotations, no questions, no jokes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

MAX_TEXT = 20_000  # characters of a message that are read
MAX_STATEMENT = 400  # characters; what is longer is no plain statement about oneself
_LONGEST_NAME = 3  # words in quotation marks that still are a name or a title, not somebody's words

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_MARKS = (
    ("“", "”"),
    ("„", "“"),
    ("„", "”"),
    ("«", "»"),
    ("»", "«"),
    ("‹", "›"),
    ("「", "」"),
    ("『", "』"),
    ('"', '"'),
)
_QUOTED = re.compile("|".join(f"{re.escape(a)}[^{re.escape(a + b)}]*{re.escape(b)}" for a, b in _MARKS))
_SINGLE_QUOTED = re.compile(r"(?<!\w)'(?=\S)[^'\n]*(?:(?<=\w)'(?=\w)[^'\n]*)*(?<=\S)'(?!\w)")
_APOSTROPHES = str.maketrans("’ʼ`´", "''''")
_QUOTATION = "\ufffc"  # stands for somebody's words; no such character comes from a person's keyboard

_END = re.compile(r"[.!?…؟]+(?=[\s)\]]|\Z)|[。！？｡]+|;\s|\n")
_QUESTION_MARKS = frozenset("?？؟")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:dr|mr|mrs|ms|st|prof|e\.g|i\.e|etc|vs|approx|z\.\s?b|bzw|ca|nr|usw|evtl|inkl|str|tel|[^\W\d])\Z",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(?:^|\s)\d{1,2}\Z")
_AFTER_ORDINAL = re.compile(
    r"\s+(?:[a-zäöüß]|Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Klasse|Semester|Geburtstag|Stock|Jahrhundert)"
)
_JOKES = re.compile(
    r"\b(?:just kidding|only joking|just joking|(?:i'm|i was|was) (?:only |just )?(?:joking|kidding)|not serious|jk|"
    r"j/k|nur spaß|kleiner scherz|war (?:nur )?(?:ein )?(?:witz|scherz|spaß)|nicht ernst gemeint)\b",
    re.IGNORECASE,
)
_LAUGHS = re.compile(
    r"\b(?:lol|lmao|rofl|(?:ha){2,}h?|(?:he){2,}|(?:hi){2,}|xd|(?:ja){3,}|k{3,}|hdl)\b|ㅋㅋ|ㅎㅎ|www\b|哈哈|555+|ههه|"
    r"[\U0001F602\U0001F923\U0001F606\U0001F609\U0001F61C]|\s/s\b|;-?\)",
    re.IGNORECASE,
)
_DECORATION = re.compile(r"[\s*_~#]+|:-?[)D(P]|[\u2600-\u27bf\U0001F000-\U0001FAFF\ufe0f]")


def statements(text: str) -> Iterator[str]:
    """Yield the sentences of a message that state something, without their final punctuation."""
    plain = _QUOTED_LINE.sub("\n", _CODE.sub("\n", unicodedata.normalize("NFC", text[:MAX_TEXT])))
    plain = plain.translate(_APOSTROPHES)
    if _JOKES.search(plain):
        return
    plain = _SINGLE_QUOTED.sub(_unquoted, _QUOTED.sub(_unquoted, plain))
    for sentence, end in _split(plain):
        if _QUESTION_MARKS & set(end) or _QUOTATION in sentence or _LAUGHS.search(sentence):
            continue
        tidy = " ".join(_DECORATION.sub(" ", sentence).split()).strip(" .!…,:;-–—")
        if tidy and len(tidy) <= MAX_STATEMENT and "¿" not in tidy:
            yield tidy


def _unquoted(match: re.Match[str]) -> str:
    """Return a name in quotation marks bare, and the mark for a quotation for anything longer."""
    inside = match.group()[1:-1].strip()
    short = len(inside.split()) <= _LONGEST_NAME and len(inside) <= MAX_STATEMENT // 8
    return inside if short else _QUOTATION


def _split(text: str) -> Iterator[tuple[str, str]]:
    """Yield sentences with what ended them."""
    start = 0
    for match in _END.finditer(text):
        if match.group() != "." or not _goes_on(text, max(start, match.start() - 12), match):
            yield text[start : match.start()], match.group()
            start = match.end()
    yield text[start:], ""


def _goes_on(text: str, start: int, stop: re.Match[str]) -> bool:
    """Whether a full stop ends no sentence: after an abbreviation, or in "am 14. März"."""
    if _ABBREVIATION.search(text, start, stop.start()):
        return True
    return bool(_ORDINAL.search(text, start, stop.start()) and _AFTER_ORDINAL.match(text, stop.end()))
