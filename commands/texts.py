"""Every sentence that commands say, in Markdown. What people wrote is escaped before it goes into one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from commands.table import Row, Table, lines
from memory.text import visible
from memory.types import Memory

_MARKUP = re.compile(r"([\\`*_\[\]<>&~|])")
_WORDS_NAMED = 10
_WORD_LENGTH = 30


def escape(text: str) -> str:
    """Return a person's text as Markdown that shows exactly it, on one line: no formatting, links or HTML in it."""
    return _MARKUP.sub(r"\\\1", " ".join(visible(text).split()))


def listing(memories: Sequence[Memory], hidden: int, rest_after_days: int | None) -> str:
    """Say what is remembered (D18). `rest_after_days` None: memories do not rest (D13)."""
    shown = [_line(memory, rest_after_days) for memory in memories]
    head = f"I remember {_count(len(memories), 'memory', 'memories')} about you:" if shown else ""
    if not shown and not hidden:
        return "I remember nothing about you."
    if not shown:
        head = "I remember nothing about you that may be shown here."
    return "\n\n".join(part for part in (head, "\n".join(shown), _more(hidden)) if part)


def _line(memory: Memory, rest_after_days: int | None) -> str:
    resting = rest_after_days is not None and memory.resting(rest_after_days)
    state = "resting" if resting else "active"
    return f"- **#{memory.id}** ({state}, saved {memory.created_at.date()}) {escape(memory.text)}"


def _more(hidden: int) -> str:
    if not hidden:
        return ""
    return f"{hidden} more {'is' if hidden == 1 else 'are'} private: ask in a direct room with me to see all."


def deleted(done: Iterable[int], wrong: Iterable[str]) -> str:
    """Say which memories are gone and which words were no ids of the caller's."""
    gone = ", ".join(f"#{memory_id}" for memory_id in done)
    said = f"Forgotten: {gone}." if gone else "I have forgotten nothing."
    named = _named(tuple(wrong))
    return f"{said} Not among your memories: {named}." if named else said


def _named(words: Sequence[str]) -> str:
    short = (word if len(word) <= _WORD_LENGTH else word[:_WORD_LENGTH] + "…" for word in words[:_WORDS_NAMED])
    more = len(words) - _WORDS_NAMED
    return ", ".join(map(escape, short)) + (f" and {more} more" if more > 0 else "")


def edited(memory: Memory) -> str:
    """Say how a memory reads now."""
    return f"**#{memory.id}** now reads: {escape(memory.text)}"


def cleared(count: int) -> str:
    """Say how many memories are gone."""
    return f"Forgotten: {_count(count, 'memory', 'memories')} of you." if count else "There was nothing to forget."


def help_on_all(table: Table, prefix: str) -> str:
    """Show every command with its subcommands."""
    return "\n".join(help_on(row, prefix) for row in table)


def help_on(row: Row, prefix: str) -> str:
    """Show the forms of one command, who may use it where that is not everyone, and other spellings."""
    return "\n".join(f"- `{usage}` {_about(form)}" for usage, form in lines(row, prefix))


def _about(row: Row) -> str:
    who = "" if row.who.label == "everyone" else f" For {row.who.label} only."
    also = f" Also: `{'`, `'.join(row.aliases)}`." if row.aliases else ""
    return f"{row.help}{who}{also}"


def misused(path: Sequence[Row], prefix: str) -> str:
    """Say how a command is used."""
    usages = [usage for usage, row in lines(path[0], prefix) if len(path) == 1 or row is path[-1]]
    return "This is how to use it: " + ", ".join(f"`{usage}`" for usage in usages) + "."


def unknown(word: str, prefix: str) -> str:
    """Say that there is no such command."""
    return f"I have no command {_named((word,))}. `{prefix}help` lists them."


def not_allowed(row: Row) -> str:
    """Say who may use a command."""
    return f"Only {row.who.label} may do that."


def _count(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
