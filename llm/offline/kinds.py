"""Answers of the offline server to requests for code, in scenes, from documents and to pictures: rules, and said so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from zlib import crc32

from llm.offline.reading import Part
from llm.offline.sameness import related_words
from llm.offline.tables import Tables, phrases, words
from memory.text import clean

_READ = 4_000  # characters of a message that are looked at
_ECHOED = 120  # characters of a message that are said again
_QUOTED = 300  # characters of a document's sentence

_TABLES = Tables("code")
_LANGUAGES = _TABLES.raw_rows("language")
_PROGRAMS = _TABLES.raw_rows("program")
_PYTHON = _LANGUAGES[0]
_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?…]+(?=\s|$)|$)", re.MULTILINE)
_MARKUP = re.compile(r"[*_`~<>\[\]]")


@dataclass(frozen=True, slots=True)
class _Phrases:
    known: str
    only_python: str
    unknown: str
    asked: str
    scenes: tuple[str, ...]
    document: str
    of: str
    picture: str
    withheld: str


_TEXTS: Mapping[str, _Phrases] = {
    "en": _Phrases(
        known="This is one of the few programs I know by heart {}.",
        only_python="I know it in Python alone.",
        unknown="I know no program for that {}, only these: {}. This is where it would go:",
        asked="asked for: {}",
        scenes=(
            "*leans forward* “{}”, you say. And then? {}",
            "*waits for a moment* I heard you: “{}”. What do you do next? {}",
            "*nods slowly* “{}” … the scene is yours, go on. {}",
        ),
        document="In “{title}”, part {part}, it says: “{sentence}” {nature}",
        of="of",
        picture="You showed me a picture. I cannot look at pictures {}.",
        withheld="There is something with that message that I cannot see, hear or open {}.",
    ),
    "de": _Phrases(
        known="Das ist eins der wenigen Programme, die ich auswendig kenne {}.",
        only_python="Ich kenne es nur in Python.",
        unknown="Dafür kenne ich kein Programm {}, nur diese: {}. Hier würde es stehen:",
        asked="gefragt war: {}",
        scenes=(
            "*beugt sich vor* „{}“, sagst du. Und dann? {}",
            "*wartet einen Moment* Ich habe dich gehört: „{}“. Was tust du als Nächstes? {}",
            "*nickt langsam* „{}“ … die Szene gehört dir, mach weiter. {}",
        ),
        document="In „{title}“, Teil {part}, steht: „{sentence}“ {nature}",
        of="von",
        picture="Du hast mir ein Bild gezeigt. Ich kann keine Bilder ansehen {}.",
        withheld="Zu dieser Nachricht gehört etwas, das ich nicht sehen, hören oder öffnen kann {}.",
    ),
}


def code_answer(said: str, language: str, nature: str) -> str:
    """Answer a request for code with a program known by heart, else with the place where it would be."""
    texts, asked = _TEXTS[language], _words(said)
    wanted = next((each for each in _LANGUAGES if asked & words(each["words"])), _PYTHON)
    program = next((each for each in _PROGRAMS if any(asked >= set(way) for way in phrases(each["words"]))), None)
    if program is not None:
        known = texts.known.format(nature)
        told = known if wanted is _PYTHON else f"{known} {texts.only_python}"
        return f"{told}\n\n{_fenced(_PYTHON['name'], program['code'])}"
    names = ", ".join(each["name"] for each in _PROGRAMS)
    comment = wanted["comment"].format(texts.asked.format(_echo(said)))
    return f"{texts.unknown.format(nature, names)}\n\n{_fenced(wanted['name'], comment, wanted['hello'])}"


def scene_answer(said: str, language: str, nature: str) -> str:
    """Answer within a scene: the same words to the same message."""
    scenes = _TEXTS[language].scenes
    echo = _echo(said)
    return scenes[crc32(echo.encode()) % len(scenes)].format(echo, nature)


def document_answer(part: Part, said: str, language: str, nature: str) -> str:
    """Quote the sentence of a document's part that has most words in common with the message, and name the title."""
    asked = related_words(said[:_READ])
    sentences = [clean(found) for found in _SENTENCE.findall(part.text)] or [clean(part.text)]
    best = max(sentences, key=lambda sentence: len(asked & related_words(sentence)))
    shown = best if len(best) <= _QUOTED else f"{best[: _QUOTED - 1]}…"
    texts = _TEXTS[language]
    return texts.document.format(
        title=part.title, part=part.part.replace("of", texts.of), sentence=shown, nature=nature
    )


def picture_answer(language: str, nature: str) -> str:
    """Say that a picture came, and that rules cannot look at it."""
    return _TEXTS[language].picture.format(nature)


def withheld_answer(language: str, nature: str) -> str:
    """Say that a message holds, or replies to, what is not shown."""
    return _TEXTS[language].withheld.format(nature)


def _words(said: str) -> frozenset[str]:
    return frozenset(_WORD.findall(said[:_READ].casefold()))


def _echo(said: str) -> str:
    """Return a message on one line and without markup, as it may stand in a comment or in quotation marks."""
    plain = clean(_MARKUP.sub(" ", said[:_READ])).replace("--", "–")
    return plain if len(plain) <= _ECHOED else f"{plain[: _ECHOED - 1]}…"


def _fenced(language: str, *parts: str) -> str:
    return f"```{language}\n" + "\n".join(parts) + "\n```"
