"""What commands say, in Markdown, put together from the catalogue. What people wrote is escaped before it goes in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from commands.table import ANYONE, Row, Table, lines
from memory.decay import rest_after
from memory.errors import Refused
from memory.settings import MemorySettings
from memory.text import visible
from memory.types import Memory
from texts.catalogue import Speaker

_MARKUP = re.compile(r"([\\`*_\[\]<>&~|])")
_WORDS_NAMED = 10
_WORD_LENGTH = 30
_TWICE = 2


def escape(text: str) -> str:
    """Return a person's text as Markdown that shows exactly it, on one line: no formatting, links or HTML in it."""
    return _MARKUP.sub(r"\\\1", " ".join(visible(text).split()))


def listing(say: Speaker, memories: Sequence[Memory], hidden: int, settings: MemorySettings) -> str:
    """Say what is remembered and may be shown here, and how much more there is (D18)."""
    if not memories and not hidden:
        return say("memories-none")
    head = say("memories-listed", n=len(memories)) if memories else say("memories-none-here")
    shown = "\n".join(f"- {_line(say, memory, rest_after(settings))}" for memory in memories)
    more = say("memories-private", n=hidden) if hidden else ""
    return "\n\n".join(part for part in (head, shown, more) if part)


def _line(say: Speaker, memory: Memory, rest_after_days: int | None) -> str:
    """Show one memory. `rest_after_days` None: memories do not rest (D13)."""
    values = {"id": str(memory.id), "date": str(memory.created_at.date()), "text": escape(memory.text)}
    if rest_after_days is not None and memory.resting(rest_after_days):
        return say("memory-resting", **values)
    return say("memory-active", **values)


def deleted(say: Speaker, done: Iterable[int], wrong: Sequence[str]) -> str:
    """Say which memories are gone and which words were no ids of the caller's."""
    gone = ", ".join(f"#{memory_id}" for memory_id in done)
    said = say("memories-forgotten", ids=gone) if gone else say("memories-kept")
    return f"{said} {say('memories-not-yours', words=_named(say, wrong))}" if wrong else said


def _named(say: Speaker, words: Sequence[str]) -> str:
    short = (word if len(word) <= _WORD_LENGTH else word[:_WORD_LENGTH] + "…" for word in words[:_WORDS_NAMED])
    named = ", ".join(map(escape, short))
    more = len(words) - _WORDS_NAMED
    return say("words-more", words=named, n=more) if more > 0 else named


def edited(say: Speaker, memory: Memory) -> str:
    """Say how a memory reads now."""
    return say("memory-edited", id=str(memory.id), text=escape(memory.text))


def cleared(say: Speaker, count: int, settings: MemorySettings) -> str:
    """Say how many memories are gone, and that what is no memory yet is another matter (D18, P4)."""
    said = say("memories-cleared", n=count) if count else say("memories-clear-nothing")
    return " ".join((said, *_notes(say, settings)))


def _notes(say: Speaker, settings: MemorySettings) -> Iterator[str]:
    threshold, days = settings.promotion_threshold, settings.candidate_ttl_days
    if threshold == 1:  # every fact is a memory at once
        return
    yield say("notes-once") if threshold == _TWICE else say("notes-fewer", n=threshold)
    yield say("notes-fade", n=days) if days else say("notes-stay")


def help_on_all(say: Speaker, table: Table, prefix: str) -> str:
    """Show every command with its subcommands."""
    return "\n".join(help_on(say, row, prefix) for row in table)


def help_on(say: Speaker, row: Row, prefix: str) -> str:
    """Show the forms of one command, who may use it where that is not everyone, and other spellings."""
    return "\n".join(f"- `{usage}` {_about(say, form)}" for usage, form in lines(row, prefix))


def _about(say: Speaker, row: Row) -> str:
    parts = [say(row.help)]
    if row.who is not ANYONE:
        parts.append(say("help-for", who=say(row.who.label)))
    if row.aliases:
        parts.append(say("help-also", names=", ".join(f"`{alias}`" for alias in row.aliases)))
    return " ".join(parts)


def misused(path: Sequence[Row], prefix: str) -> Refused:
    """Refuse with how a command is used."""
    usages = [usage for usage, row in lines(path[0], prefix) if len(path) == 1 or row is path[-1]]
    return Refused("command-usage", usages=", ".join(f"`{usage}`" for usage in usages))


def unknown(say: Speaker, word: str) -> Refused:
    """Refuse because there is no such command."""
    return Refused("command-unknown", word=_named(say, (word,)))


def not_allowed(say: Speaker, row: Row) -> Refused:
    """Refuse with who may use a command."""
    return Refused("command-not-allowed", who=say(row.who.label))
