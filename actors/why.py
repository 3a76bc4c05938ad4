"""What `!why` finds out: which memories and parts of documents an answer was given, and of what kind it was."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from actors.messages import Request
from actors.parts import Parts
from memory import documents
from memory.documents import Chunk
from memory.types import Conversation, Given, Memory, Privacy, ScopeKind, TurnKind
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
    """What the last answer was given: memories by id, and how many are others' personal ones, and gone meanwhile.

    turn: its kind. chunks: parts of the room's documents, best first; chunks_gone: how many were deleted meanwhile.
    picture: it was shown one.
    """

    memories: tuple[GivenMemory, ...]
    others: int
    gone: int
    today: date
    turn: TurnKind = TurnKind.ASK
    chunks: tuple[Chunk, ...] = ()
    chunks_gone: int = 0
    picture: bool = False

    @property
    def no_memories(self) -> bool:
        """Whether the answer was given no memory at all."""
        return not self.memories and not self.others and not self.gone


@dataclass(frozen=True, slots=True)
class WhyLast(Request[Why | None]):
    """Say what the last answer to this user in a room, or in one of its threads, was given; None: there is none."""

    conversation: Conversation
    heard: Heard
    thread_root: str | None


async def explain(parts: Parts, user_id: str, privacy: Privacy, request: WhyLast) -> Why | None:
    """Answer `WhyLast` for the user of this level. Other people's memories are counted, never shown.

    Parts of documents are those of the room that is asked in: no other room's are ever given to an answer there. Those
    of a private one are neither named nor counted where others are (D8); which they were is not known once they are
    gone.
    """
    room_id = request.conversation.room_id
    async with parts.store.transaction() as tables:
        given = await tables.journal.last_given(room_id, request.thread_root, user_id)
        if given is None:
            return None
        found = await tables.memories.get(_ids(given))
        chunks = await tables.documents.chunks(given.chunks) if given.chunks else ()
    settings = parts.settings.memory(room_id)
    mine = View(request.conversation, settings, privacy, request.heard)
    ours = View(request.conversation, settings, heard=request.heard)
    shown = tuple(
        GivenMemory(memory, usable(memory, ours if _is_room(memory) else mine, Place.WHY), memory.id in given.recalled)
        for memory in found
        if memory.scope_id == (room_id if _is_room(memory) else user_id)
    )
    gone = len(_ids(given)) - len(found)
    chunks_gone = len(given.chunks) - len(chunks)
    if given.private and not request.conversation.private:
        chunks_gone = 0
    return Why(
        memories=shown,
        others=len(found) - len(shown),
        gone=gone,
        today=parts.clock.today(),
        turn=given.turn,
        chunks=documents.usable(chunks, request.conversation.alone),
        chunks_gone=chunks_gone,
        picture=given.picture,
    )


def _ids(given: Given) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*given.memories, *given.recalled)))


def _is_room(memory: Memory) -> bool:
    return memory.scope is ScopeKind.ROOM
