"""Stories of the offline server: one tale from a table, with the words of the request in it; it says so itself."""

from __future__ import annotations

from llm.offline.api import JsonObject
from llm.offline.drawing import known_thing
from llm.offline.reading import PartInput
from llm.offline.tables import Tables
from memory.text import clean

_TOPIC = 80  # characters of a request that are said again

_TABLES = Tables("story")
_TEXTS = {language: _TABLES.mapping(language) for language in ("en", "de")}
_PARTS = {language: _TABLES.raw_rows(f"part_{language}") for language in _TEXTS}


def plan(request: str, parts: int, pictures: int, language: str) -> JsonObject:
    """Return the plan of a story: as many parts and pictures as it may have, as far as the tale goes."""
    told = _chosen(language, parts)
    return {
        "title": _filled(_TEXTS[language]["title"], request, language),
        "parts": [
            {
                "heading": row["heading"],
                "summary": _filled(row["summary"], request, language),
                "picture": _filled(row["picture"], request, language) if number < pictures else "",
            }
            for number, row in enumerate(told)
        ],
    }


def part(shown: PartInput, language: str) -> str:
    """Tell one part. The first and the last say that no language model wrote it."""
    told = _chosen(language, shown.of)
    row = told[min(max(shown.number, 1), len(told)) - 1]
    text = _filled(row["text"], shown.request, language)
    return f"{text}\n\n{_TEXTS[language]['nature']}" if shown.number in (1, shown.of) else text


def _chosen(language: str, parts: int) -> list[dict[str, str]]:
    """Return the rows of a story of so many parts: the first of them, and the last one, which ends it."""
    rows = _PARTS[language]
    kept = min(max(parts, 1), len(rows))
    return [*rows[: kept - 1], rows[-1]]


def _filled(text: str, request: str, language: str) -> str:
    topic = clean(request).strip(" .!?…")
    topic = topic if len(topic) <= _TOPIC else f"{topic[: _TOPIC - 1]}…"
    name = known_thing(request, language) or _TEXTS[language]["nobody"]
    return text.replace("{name}", name[:1].upper() + name[1:]).replace("{topic}", topic)
