"""Which memories a conversation may use (D8), and which of them `!memories` lists there (D18)."""

from __future__ import annotations

from collections.abc import Iterable

from memory.settings import MemorySettings
from memory.types import Conversation, Memory, ScopeKind


def usable(memory: Memory, conversation: Conversation, settings: MemorySettings) -> bool:
    """Whether a memory of a list in use may be searched, shown and sent in this conversation (D8).

    What was first said in private stays between its owner and the bot (or in the direct room whose list it is on)
    unless the owner shared it or `memory.private_stays_private` is off. Somebody else's private conversation is no
    place for it either.
    """
    if not memory.origin.private or memory.shared or not settings.private_stays_private:
        return True
    owner = conversation.room_id if memory.scope is ScopeKind.ROOM else conversation.asker
    return conversation.private and memory.scope_id == owner


def listed(
    memories: Iterable[Memory], conversation: Conversation, settings: MemorySettings
) -> tuple[tuple[Memory, ...], int]:
    """Split one person's durable memories for `!memories` (D18): those usable here, by id, and how many more there are.

    In a direct room all of them are usable by their owner, so nothing is left over.
    """
    everything = sorted(memories, key=lambda memory: memory.id)
    shown = tuple(memory for memory in everything if usable(memory, conversation, settings))
    return shown, len(everything) - len(shown)
