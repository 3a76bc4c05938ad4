"""What a message asks to forget, for English and German: "forget that I have a canoe", "vergiss bitte mein Kanu"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llm.offline.facts import facts_of
from llm.offline.reading import Line
from llm.offline.sameness import related_words, same_fact
from memory.text import clean

MAX_FORGOTTEN = 50  # ids that the tool takes at once

_ASKED = re.compile(
    r"(?:^|[.!?,\n]\s*)(?:(?:hi|hey|hello|hallo|bitte|please|can you|could you|would you|will you|kannst du|könntest du"
    r"|ok|okay|and|und|also|so|\w+,|@\S+)\s+){0,4}"
    r"(?:(?:forget|vergiss|vergesse)[\s,]+(?!nicht\b|nie\b|not\b)|vergessen\s*[:,]\s*)"
    r"(?:(?:bitte|please|about|wieder)\s+)*,?\s*(?:(?:that|dass)\s+)?(?P<what>[^\n]+)",
    re.IGNORECASE,
)
_POLITE = re.compile(r"[\s,]+(?:please|bitte|again|wieder)\W*$", re.IGNORECASE)


def asked_to_forget(said: str) -> str | None:
    """Return what a message asks to forget, in its words; None when it does not ask so."""
    asked = _ASKED.search(said.replace("’", "'"))
    return None if asked is None else _POLITE.sub("", clean(asked["what"])).strip(" .!?")


def ids_to_forget(what: str, own: Sequence[Line]) -> tuple[int, ...]:
    """Return the ids of the memories that say what is to be forgotten; else of those with all of its words."""
    facts = facts_of(what) or facts_of(f"dass {what}")
    same = [line.id for line in own if any(same_fact(fact, line.text) for fact in facts)]
    words = related_words(what)
    with_all = [line.id for line in own if words and words <= related_words(line.text)]
    return tuple(dict.fromkeys(same or with_all))[:MAX_FORGOTTEN]
