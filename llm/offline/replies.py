"""Plain answers of the offline server: what it remembers, that it saved something, and that it is no language model.

A statement is thanked for; whether it is kept is not known here, since what is learned is decided after the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from llm.offline.api import Answered, text_block, tool_use_block
from llm.offline.english import is_english
from llm.offline.facts import facts_of
from llm.offline.forgetting import asked_to_forget, ids_to_forget
from llm.offline.german import is_german
from llm.offline.kinds import code_answer, document_answer, picture_answer, scene_answer, withheld_answer
from llm.offline.reading import Line, ReplyInput
from llm.offline.sameness import related_words
from memory.text import MAX_CHARACTERS, blank, clean
from memory.types import TurnKind

SAVE_TOOL = "save_memory"
FORGET_TOOL = "forget_memory"
MAX_SHOWN = 5
MAX_SAVED = 3  # facts saved for one request
_READ = 4_000  # characters of a message that are looked at

_ASKED_TO_REMEMBER = re.compile(
    r"(?:^|[.!?,\n]\s*)(?:(?:hi|hey|hello|hallo|bitte|please|can you|could you|would you|will you|kannst du(?: dir)?"
    r"|könntest du(?: dir)?|ok|okay|and|und|also|so|\w+,|@\S+)\s+){0,4}"
    r"(?:(?:remember|memori[sz]e|don'?t forget|make a note|note down|save|keep in mind|merke? dir"
    r"|vergiss(?: bitte)? nicht|speichere?|notiere?|behalte?)(?:\s+(?:bitte|please|this|it|das|für mich|for me))?\s*"
    r"(?::|,\s*|\s+)|(?:bitte\s+)?merken\s*[:,]\s*)(?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
_NOT_A_FACT = re.compile(
    r"(?:when|how|what|who|where|why|if|whether|me|us|to|wann|wie|was|wer|wo|warum|ob|mich|als)\b"
    r"|(?:that|this|it|das|dies|es)$",
    re.IGNORECASE,
)
_THAT = re.compile(r"[,\s]*(?P<that>that|dass|daß)\s+", re.IGNORECASE)
_FOR_THE_ROOM = re.compile(
    r",?\s*\b(?:(?:for|in) (?:this|the|our) (?:room|group|channel)|für (?:diesen|den) raum|für (?:diese|die) gruppe)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Phrases:
    about_this: str
    about_you: str
    more: str
    nothing: str
    thanks: str
    nature: str
    saved: str
    not_saved: str
    forgotten: str
    not_forgotten: str
    none_to_forget: str


_TEXTS = {
    "en": _Phrases(
        about_this="I remember about this {}:",
        about_you="I remember about you {}:",
        more="and {} more.",
        nothing="I remember nothing about you yet {}.",
        thanks="Thanks for telling me",
        nature="(offline rules, not a language model)",
        saved="I have saved: {}",
        not_saved="I could not save that: {}",
        forgotten="I have forgotten: {}",
        not_forgotten="I could not forget that: {}",
        none_to_forget="I see nothing here about you that says so {}.",
    ),
    "de": _Phrases(
        about_this="Dazu weiß ich noch {}:",
        about_you="Von dir weiß ich {}:",
        more="und {} mehr.",
        nothing="Von dir weiß ich noch nichts {}.",
        thanks="Danke, dass du mir das sagst",
        nature="(feste Regeln, kein Sprachmodell)",
        saved="Gespeichert: {}",
        not_saved="Das konnte ich nicht speichern: {}",
        forgotten="Vergessen: {}",
        not_forgotten="Das konnte ich nicht vergessen: {}",
        none_to_forget="Ich sehe hier nichts über dich, das so lautet {}.",
    ),
}


def reply(request: ReplyInput) -> Answered:
    """Answer a message: call a tool where that was asked for, else tell what is remembered."""
    language = language_of(request.said)
    texts = _TEXTS[language]
    if request.kind is TurnKind.VERSE:  # what characters say is neither saved nor forgotten
        return _say(scene_answer(request.said, language, texts.nature))
    if request.results:
        return _say("\n\n".join(_outcome(texts, request, *result) for result in request.results))
    if SAVE_TOOL in request.tools and (facts := facts_to_save(request.said)):
        scope = "room" if _FOR_THE_ROOM.search(request.said[:_READ]) else "me"
        calls = (
            tool_use_block(number, SAVE_TOOL, {"text": fact, "scope": scope})
            for number, fact in enumerate(facts, start=request.calls)
        )
        return Answered(tuple(calls), "tool_use")
    if FORGET_TOOL in request.tools and (what := asked_to_forget(request.said[:_READ])):
        return _forget(texts, request, what)
    if request.kind is TurnKind.CODE:
        return _say(code_answer(request.said, language, texts.nature))
    return _say("\n\n".join(_paragraphs(texts, request, language)))


def language_of(text: str) -> str:
    """Return "de" for a message that is more German than English, else "en"."""
    words = text[:_READ].split()
    german = sum(is_german([word]) for word in words)
    return "de" if german > sum(is_english([word]) for word in words) else "en"


def facts_to_save(said: str) -> tuple[str, ...]:
    """Return what a message asks to remember, as facts where it states some, else in its own words."""
    asked = _ASKED_TO_REMEMBER.search(said[:_READ].replace("’", "'"))
    if asked is None:
        return ()
    what = clean(_FOR_THE_ROOM.sub("", asked["what"])).strip(" ,.!?")
    that = _THAT.match(what)
    what = what[that.end() :] if that else what
    if _NOT_A_FACT.match(what):
        return ()
    forms = (what, f"dass {what}")  # after "dass" the verb stands at the end
    if that and that["that"].casefold() != "that":
        forms = forms[::-1]
    facts = facts_of(forms[0]) or facts_of(forms[1])
    if facts:
        return facts[:MAX_SAVED]
    return () if blank(what) or len(what) > MAX_CHARACTERS else (what[:1].upper() + what[1:],)


def _forget(texts: _Phrases, request: ReplyInput, what: str) -> Answered:
    ids = ids_to_forget(what, _own(request))
    if not ids:
        return _say(texts.none_to_forget.format(texts.nature))
    return Answered((tool_use_block(request.calls, FORGET_TOOL, {"ids": list(ids)}),), "tool_use")


def _own(request: ReplyInput) -> list[Line]:
    """Return what is remembered about the person who asks."""
    return [line for line in (*request.memories, *request.recalled) if line.about == request.sender]


def _outcome(texts: _Phrases, request: ReplyInput, arguments: dict[str, object], result: str, is_error: bool) -> str:
    ids = arguments.get("ids")
    if isinstance(ids, list):
        if is_error:
            return texts.not_forgotten.format(result)
        return texts.forgotten.format("; ".join(line.text for line in _own(request) if line.id in ids))
    return texts.not_saved.format(result) if is_error else texts.saved.format(arguments.get("text", result))


def _say(text: str) -> Answered:
    return Answered((text_block(text),))


def _paragraphs(texts: _Phrases, request: ReplyInput, language: str) -> Iterator[str]:
    """Yield what there is to say of files, from documents and from memory; of the last where there is no other."""
    if request.pictures:
        yield picture_answer(language, texts.nature)
    elif request.withheld:
        yield withheld_answer(language, texts.nature)
    if request.documents:
        yield document_answer(request.documents[0], request.said, language, texts.nature)
    other = request.pictures or request.withheld or request.documents
    if not other or request.recalled or facts_of(request.said[:_READ]):
        yield _plain(texts, request)


def _plain(texts: _Phrases, request: ReplyInput) -> str:
    """Return one sentence, or one and a list; each says in passing that no language model wrote it."""
    told = bool(facts_of(request.said[:_READ]))
    heading, shown = _remembered(texts, request)
    if not shown:
        return f"{texts.thanks} {texts.nature}." if told else texts.nothing.format(texts.nature)
    heading = heading.format(texts.nature)
    return "\n".join([f"{texts.thanks}. {heading}" if told else heading, *shown])


def _remembered(texts: _Phrases, request: ReplyInput) -> tuple[str, list[str]]:
    """Return heading and lines: what was recalled and what shares words with the message; else the first memories."""
    own = [line for line in request.memories if line.about in (request.sender, "") or not line.about.startswith("@")]
    asked = related_words(request.said[:_READ])
    related = [line for line in own if asked & related_words(line.text)]
    best = sorted(related, key=lambda line: (-len(asked & related_words(line.text)), line.id))
    fitting = _unique([*request.recalled, *best])[:MAX_SHOWN]
    if fitting:
        return texts.about_this, [f"- {text}" for text in fitting]
    known = _unique(own)
    more = [texts.more.format(len(known) - MAX_SHOWN)] if len(known) > MAX_SHOWN else []
    return texts.about_you, [*(f"- {text}" for text in known[:MAX_SHOWN]), *more]


def _unique(lines: Iterable[Line]) -> list[str]:
    return list(dict.fromkeys(line.text for line in lines))
