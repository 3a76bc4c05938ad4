"""What `!memories` says, in Markdown, put together from the catalogue; what people wrote is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from actors.messages import Edited
from memory.decay import rest_after
from memory.settings import MemorySettings
from memory.types import Conversation, Memory, Persona, ScopeKind, Source
from texts.catalogue import Speaker
from texts.markdown import escape

_WORDS_NAMED = 10
_WORD_LENGTH = 30
_RUN = 3  # from so many ids in a row on they are named as a range
_TWICE = 2
_DEFAULT_PERSONA = Persona().name


@dataclass(frozen=True, slots=True)
class Wording:
    """The ids of the sentences about one person's memories, or about a room's list."""

    listed: str
    none: str
    none_here: str
    hidden: str
    strangers: str
    forgotten: str


MINE = Wording(
    "memories-listed",
    "memories-none",
    "memories-none-here",
    "memories-private",
    "memories-not-yours",
    "memories-forgotten-undo",
)
ROOM = Wording(
    "room-memories-listed",
    "room-memories-none",
    "room-memories-none-here",
    "room-memories-hidden",
    "room-memories-not-there",
    "room-memories-forgotten",
)


# --- lists ----------------------------------------------------------------------------------------------------------


def listing(
    say: Speaker,
    memories: Sequence[Memory],
    hidden: int,
    settings: MemorySettings,
    whose: Wording = MINE,
    *,
    persona: str = _DEFAULT_PERSONA,
) -> str:
    """Say what is remembered and may be shown here, and how much more there is (D18).

    persona: the current one; memories of others are marked, since they are not used now.
    """
    if not memories and not hidden:
        return say(whose.none)
    head = say(whose.listed, n=len(memories)) if memories else say(whose.none_here)
    shown = "\n".join(f"- {_line(say, memory, rest_after(settings), persona)}" for memory in memories)
    more = say(whose.hidden, n=hidden) if hidden else ""
    return "\n\n".join(part for part in (head, shown, more) if part)


def _line(say: Speaker, memory: Memory, rest_after_days: int | None, persona: str) -> str:
    """Show one memory. `rest_after_days` None: memories do not rest (D13)."""
    values = {"id": str(memory.id), "date": str(memory.created_at.date()), "text": escape(memory.text)}
    line = say("memory-resting" if _rests(memory, rest_after_days) else "memory-active", **values)
    if memory.scope is ScopeKind.GLOBAL or memory.persona == persona:
        return line
    return f"{line} {say('memory-other-persona', persona=escape(memory.persona))}"


def _rests(memory: Memory, rest_after_days: int | None) -> bool:
    return rest_after_days is not None and memory.resting(rest_after_days)


# --- one memory -----------------------------------------------------------------------------------------------------


def shown(say: Speaker, memory: Memory, conversation: Conversation, settings: MemorySettings) -> str:
    """Say all there is to know about one memory. Other rooms are named in private only, in a room they are counted."""
    facts = (
        _state(say, memory, rest_after(settings)),
        say("shown-mentions", n=memory.mentions, date=str(memory.first_seen.date())),
        say("shown-saved", date=str(memory.created_at.date()), by=say(_BY[memory.source])),
        _said(say, memory, conversation),
        _matched(say, memory),
        say("shown-protected" if memory.protected else "shown-unprotected"),
        *_visibility(say, memory, conversation, settings),
        _persona(say, memory),
    )
    return f"**#{memory.id}** {escape(memory.text)}\n\n" + "\n".join(f"- {fact}" for fact in facts)


_BY = {
    Source.PROMOTION: "by-promotion",
    Source.TOOL: "by-tool",
    Source.COMMAND: "by-command",
    Source.IMPORT: "by-import",
    Source.MERGE: "by-merge",
}


def _persona(say: Speaker, memory: Memory) -> str:
    if memory.scope is ScopeKind.GLOBAL:
        return say("shown-global")
    return say("shown-persona", persona=escape(memory.persona))


def _state(say: Speaker, memory: Memory, rest_after_days: int | None) -> str:
    state = "shown-resting" if _rests(memory, rest_after_days) else "shown-active"
    return say(state, n=memory.unused_days)


def _said(say: Speaker, memory: Memory, conversation: Conversation) -> str:
    origin = memory.origin
    if origin.room == conversation.room_id:
        return say("said-here-private" if origin.private else "said-here")
    if conversation.private:
        return say("said-in-private" if origin.private else "said-in", room=escape(origin.room))
    return say("said-private" if origin.private else "said-elsewhere")


def _matched(say: Speaker, memory: Memory) -> str:
    matched = memory.last_matched_at
    return say("shown-never-matched") if matched is None else say("shown-matched", date=str(matched.date()))


def _visibility(say: Speaker, memory: Memory, conversation: Conversation, settings: MemorySettings) -> Iterator[str]:
    """Say where a memory may be used (D8)."""
    if memory.origin.private and memory.scope is not ScopeKind.ROOM:
        kept = settings.private_stays_private and not memory.shared
        yield say("shown-private" if kept else "shown-shared")
    if memory.rooms:
        rooms = ", ".join(map(escape, memory.rooms))
        yield say("shown-rooms", rooms=rooms) if conversation.private else say("shown-limited", n=len(memory.rooms))
    if memory.tags:
        yield say("shown-tags", tags=_tags(memory.tags))


# --- what was done --------------------------------------------------------------------------------------------------


def deleted(say: Speaker, done: Iterable[int], wrong: Sequence[str], whose: Wording = MINE) -> str:
    """Say which memories are gone, how they come back, and which words were no ids of the caller's."""
    gone = ids_named(done)
    return _joined(say(whose.forgotten, ids=gone) if gone else say("memories-kept"), strangers(say, wrong, whose))


def edited(say: Speaker, memory: Edited) -> str:
    """Say how a memory reads now."""
    return say("memory-edited", id=str(memory.memory_id), text=escape(memory.text))


def cleared(say: Speaker, count: int, settings: MemorySettings) -> str:
    """Say how many memories are gone, and that what is no memory yet is another matter (D18, P4)."""
    if not count:
        return " ".join((say("memories-clear-nothing"), *_notes(say, settings)))
    return " ".join((say("memories-cleared", n=count), say("memories-undo"), *_notes(say, settings)))


def _notes(say: Speaker, settings: MemorySettings) -> Iterator[str]:
    threshold, days = settings.promotion_threshold, settings.candidate_ttl_days
    if threshold == 1:  # every fact is a memory at once
        return
    yield say("notes-once") if threshold == _TWICE else say("notes-fewer", n=threshold)
    yield say("notes-fade", n=days) if days else say("notes-stay")


def undone(say: Speaker, ids: Iterable[int]) -> str:
    """Say which memories are as before."""
    return say("memories-undone", ids=ids_named(ids))


def changed(say: Speaker, text_id: str, done: Iterable[int], *others: str) -> str:
    """Say which memories were changed, by the sentence of this id, and what else there is to say."""
    ids = ids_named(done)
    return _joined(say(text_id, ids=ids) if ids else say("memories-unchanged"), *others)


def tagged(say: Speaker, memory_id: int, tags: Sequence[str]) -> str:
    """Say when a memory is used from now on."""
    if not tags:
        return say("memory-untagged", id=str(memory_id))
    return say("memory-tagged", id=str(memory_id), tags=_tags(tags))


def needless(say: Speaker, ids: Iterable[int]) -> str:
    """Say for which memories sharing means nothing; "" where there are none."""
    named = ids_named(ids)
    return say("memories-not-private", ids=named) if named else ""


def equal(say: Speaker, pairs: Iterable[tuple[int, int]]) -> str:
    """Say which memories were left as they are, since a global one says the same."""
    return " ".join(say("memory-global-equal", id=str(one), other=str(other)) for one, other in pairs)


def strangers(say: Speaker, wrong: Sequence[str], whose: Wording = MINE) -> str:
    """Say which words were no ids of the caller's, or of the room's list; "" where there are none."""
    return say(whose.strangers, words=named(say, wrong)) if wrong else ""


def _joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _tags(tags: Iterable[str]) -> str:
    return ", ".join(map(escape, tags))


# --- naming ---------------------------------------------------------------------------------------------------------


def ids_named(ids: Iterable[int]) -> str:
    """Name ids: `#3, #5`, and `#3–#7` where many stand in a row."""
    return ", ".join(runs(ids))


def runs(ids: Iterable[int]) -> list[str]:
    """Name ids in the order given, each run of ascending ones in a row as one."""
    return [name for run in _in_a_row(ids) for name in _run_named(run)]


def _in_a_row(ids: Iterable[int]) -> Iterator[list[int]]:
    for _, run in groupby(enumerate(ids), lambda each: each[1] - each[0]):
        yield [memory_id for _, memory_id in run]


def _run_named(run: Sequence[int]) -> list[str]:
    if len(run) < _RUN:
        return [f"#{memory_id}" for memory_id in run]
    return [f"#{run[0]}–#{run[-1]}"]


def named(say: Speaker, words: Sequence[str]) -> str:
    """Name words that were typed, shortened, escaped, and not all of very many."""
    short = (word if len(word) <= _WORD_LENGTH else word[:_WORD_LENGTH] + "…" for word in words[:_WORDS_NAMED])
    said = ", ".join(map(escape, short))
    more = len(words) - _WORDS_NAMED
    return say("words-more", words=said, n=more) if more > 0 else said
