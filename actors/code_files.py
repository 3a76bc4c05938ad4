"""The files of a `!code` answer: code that is long, or would be cut, goes out as files too."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from functools import cache

from pygments.lexers import get_all_lexers

from actors.parts import Parts
from actors.turns import Turn
from memory.events import Answer
from memory.media import Attachment
from memory.model import Reply
from memory.types import TurnKind
from texts.code_blocks import CodeBlock, code_blocks

MOST_FILES = 5
MEDIA_TYPE = "text/plain; charset=utf-8"  # whatever it is, so that no client runs or renders it

_STEM, _NO_LANGUAGE = "code", "*.txt"
_LONGEST_LINE = 200  # characters of a first line, or of what stands behind a fence, that are looked at
_NAME = re.compile(r"(?=.{1,64}\Z)[A-Za-z0-9_][A-Za-z0-9_+-]*(?:\.[A-Za-z0-9_+-]+)*\.[A-Za-z][A-Za-z0-9+]{0,9}")
_BARE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_EXTENSION = re.compile(r"\*(?P<extension>\.[A-Za-z0-9][A-Za-z0-9.+]{0,15})")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$)(?:\..*)?", re.IGNORECASE)  # of Windows
_COMMENT = re.compile(
    r"\s*(?:#+|//+|--|;+|%+|'|/\*+|<!--|\(\*|\{-|\"+|REM\b)\s*(?:(?:file ?name|file|datei)\s*:\s*)?"
    r"(?P<name>[^\s]+?)\s*(?:\*+/|-->|\*\)|-\}|\"+)?\s*",
    re.IGNORECASE,
)
_AFTER_LANGUAGE = re.compile(r"(?:(?:file ?name|file|title|name)\s*[=:]\s*)?[\"'`]?(?P<name>[^\s\"'`]+)[\"'`]?", re.I)


async def code_files(parts: Parts, turn: Turn, reply: Reply) -> tuple[Attachment, ...]:
    """Return the files that follow the answer to a code turn, at most MOST_FILES; other turns have none.

    A block of more than `code.attach_lines` lines is one, and any block that one event cannot hold; the content is
    exactly the code, in UTF-8. Where the model did not come to an end, a block that is not closed makes no file.
    """
    if turn.kind is not TurnKind.CODE:
        return ()
    event = turn.entry.incoming
    answer = Answer(event.room_id, event.event_id, event.sender, reply.text, event.thread_root)
    most_lines = parts.settings.kinds(event.room_id).code_attach_lines
    return await asyncio.to_thread(_files, parts, answer, most_lines, reply.cut)  # hostile Markdown takes seconds


def file_name(block: CodeBlock) -> str:
    """Return what to call the file of a block: as the model says, if that is a plain name, else by its language."""
    language, *rest = block.info[:_LONGEST_LINE].split(maxsplit=1) or [""]
    language, _, behind = language.partition(":")
    first_line = block.code[:_LONGEST_LINE].partition("\n")[0]
    comment = _COMMENT.fullmatch(first_line)
    named = (_AFTER_LANGUAGE.fullmatch("".join(rest)), comment)
    for name in (language, behind, *(found["name"] for found in named if found is not None)):
        if _plain(name):
            return name
    return _by_language(language.strip("{}.").casefold())


def _files(parts: Parts, answer: Answer, most_lines: int, cut: bool) -> tuple[Attachment, ...]:
    blocks = [block for block in code_blocks(answer.markdown) if block.code.strip() and (block.closed or not cut)]
    if not blocks:
        return ()
    events = [str(json.loads(content)["body"]) for content in parts.matrix.render(answer)]
    chosen = [block for block in blocks if block.lines > most_lines or not _whole(block, events)][:MOST_FILES]
    names = _apart([file_name(block) for block in chosen])
    return tuple(
        Attachment(name, MEDIA_TYPE, block.code.encode("utf-8", "replace"))
        for name, block in zip(names, chosen, strict=True)
    )


def _whole(block: CodeBlock, events: Sequence[str]) -> bool:
    """Whether one of the events holds all of a block; one event holds all there is."""
    return len(events) <= 1 or any(block.code.strip("\n") in body for body in events)


def _plain(name: str) -> bool:
    """Whether a name can be that of a file anywhere: no path, nothing hidden, no name that a system keeps for itself.

    It needs an extension, or to be a name that tools know, such as Makefile: else it is a word like any other.
    """
    if _DEVICES.fullmatch(name):
        return False
    return _NAME.fullmatch(name) is not None or (_BARE_NAME.fullmatch(name) is not None and name in _patterns()[1])


def _by_language(language: str) -> str:
    for pattern in _patterns()[0].get(language, ()):
        found = _EXTENSION.fullmatch(pattern)
        if found is not None:
            return f"{_STEM}{found['extension']}"
        if _plain(pattern):
            return pattern
    return f"{_STEM}{_NO_LANGUAGE[1:]}"


def _apart(names: Sequence[str]) -> Iterator[str]:
    """Yield the names, a number in those that were there before, in whatever case."""
    taken: set[str] = set()
    for name in names:
        stem, dot, extension = name.partition(".")
        tries = (f"{stem}-{number}{dot}{extension}" for number in range(2, MOST_FILES + 2))
        chosen = next(each for each in (name, *tries) if each.casefold() not in taken)
        taken.add(chosen.casefold())
        yield chosen


@cache
def _patterns() -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
    """Return the patterns of file names by language, and all of them; read from Pygments once, none of it imported."""
    languages: dict[str, tuple[str, ...]] = {}
    for _, aliases, patterns, _ in get_all_lexers(plugins=False):
        for alias in aliases:
            languages.setdefault(alias.casefold(), tuple(patterns))
    return languages, frozenset(pattern for patterns in languages.values() for pattern in patterns)
