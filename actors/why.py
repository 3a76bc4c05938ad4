"""What `!why` finds out: which memories an answer was given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from actors.messages import Request
from actors.parts import Parts
from memory.types import Conversation, Given, Memory, Privacy, ScopeKind
from memory.visibility import Place, View, usable
from memory.words import Heard


@dataclass(frozen=True, slots=True)
class GivenMemory:
    """A memory of the caller's or the room's that an answer was given. text_shown: the place may see its text (D8).

    recalled: it rested and was fetched for that answer (D6).
    """

    memory: Memory
    text_shown: bool
    recalled: bool


@dataclass(frozen=True, slots=True)
class Why:
    """What the last answer was given: memories by id, and how many are others' personal ones, and gone meanwhile."""

    memories: tuple[GivenMemory, ...]
    others: int
    gone: int
    today: date

    @property
    def nothing(self) -> bool:
        """Whether the answer was given no memory at all."""
        return not self.memories and not self.others and not self.gone


@dataclass(frozen=True, slots=True)
class WhyLast(Request[Why | None]):
    """Say what the last answer to this user in a room, or in one of its threads, was given; None: there is none."""

    conversation: Conversation
    heard: Heard
    thread_root: str | None


async def explain(parts: Parts, user_id: str, privacy: Privacy, request: WhyLast) -> Why | None:
    """Answer `WhyLast` for the user of this level. Other people's memories are counted, never shown."""
    room_id = request.conversation.room_id
    async with parts.store.transaction() as tables:
        given = await tables.journal.last_given(room_id, request.thread_root, user_id)
        if given is None:
            return None
        found = await tables.memories.get(_ids(given))
    settings = parts.settings.memory(room_id)
    mine = View(request.conversation, settings, privacy, request.heard)
    ours = View(request.conversation, settings, heard=request.heard)
    shown = tuple(
        GivenMemory(memory, usable(memory, ours if _is_room(memory) else mine, Place.WHY), memory.id in given.recalled)
        for memory in found
        if memory.scope_id == (room_id if _is_room(memory) else user_id)
    )
    gone = len(_ids(given)) - len(found)
    return Why(shown, len(found) - len(shown), gone, parts.clock.today())


def _ids(given: Given) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*given.memories, *given.recalled)))


def _is_room(memory: Memory) -> bool:
    return memory.scope is ScopeKind.ROOM
