"""Who may see what: one pure function for every place that uses or shows memories (D8, D18)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from memory.settings import MemorySettings
from memory.types import Conversation, Memory, Privacy, ScopeKind
from memory.words import NOTHING, Heard


class Place(StrEnum):
    """What a memory is wanted for.

    SEARCH, PROMPT, EXTRACTION: a model may read it. LIST, NOTICE, EXPORT, WHY: people may.
    """

    SEARCH = "search"
    PROMPT = "prompt"
    EXTRACTION = "extraction"
    LIST = "list"
    NOTICE = "notice"
    EXPORT = "export"
    WHY = "why"


class Hiding(StrEnum):
    """Why a memory is hidden from a conversation (D8)."""

    PRIVACY = "privacy"
    BLACKLIST = "blacklist"
    ROOMS = "rooms"
    TAGS = "tags"
    ORIGIN = "origin"


_READ_BY_PEOPLE = frozenset({Place.LIST, Place.NOTICE, Place.EXPORT, Place.WHY})


@dataclass(frozen=True, slots=True)
class View:
    """From where memories of one owner are looked at.

    privacy: the level of the memories' owner; a room has none. heard: what stands in the conversation's window.
    """

    conversation: Conversation
    settings: MemorySettings
    privacy: Privacy = Privacy.OPEN
    heard: Heard = NOTHING


def hidden_by(memory: Memory, view: View, place: Place) -> Hiding | None:
    """Return what hides a memory from this conversation (D8), the first in the order of `Hiding`; None: it is usable.

    Its owner alone with the bot is shown everything they own (D18), whatever keeps it out of replies. What was first
    said in private stays between its owner and the bot (or in the direct room whose list it is on) unless the owner
    shared it or `memory.private_stays_private` is off; somebody else's private conversation is no place for it either.
    """
    conversation, settings = view.conversation, view.settings
    owner = conversation.room_id if memory.scope is ScopeKind.ROOM else conversation.asker
    at_home = conversation.private and memory.scope_id == owner
    if at_home and place in _READ_BY_PEOPLE:
        return None
    if view.privacy is not Privacy.OPEN and memory.scope is not ScopeKind.ROOM:
        return Hiding.PRIVACY
    if settings.blacklist and blacklisted(memory.scope_id, settings):
        return Hiding.BLACKLIST
    if memory.rooms and conversation.room_id not in memory.rooms:
        return Hiding.ROOMS
    if memory.tags and not view.heard.has_any(memory.tags):
        return Hiding.TAGS
    private = memory.origin.private and not memory.shared and settings.private_stays_private
    return Hiding.ORIGIN if private and not at_home else None


def usable(memory: Memory, view: View, place: Place) -> bool:
    """Whether a memory of a list in use may be used or shown in this place (D8)."""
    return hidden_by(memory, view, place) is None


def blacklisted(owner: str, settings: MemorySettings) -> bool:
    """Whether the blacklist names this person or room (D8, P1)."""
    return any(fnmatchcase(owner, pattern) for pattern in settings.blacklist)


def may_learn(user_id: str, privacy: Privacy, settings: MemorySettings) -> bool:
    """Whether anything may be learned of this person: neither their privacy level nor the blacklist forbids it (P1)."""
    return privacy is Privacy.OPEN and not blacklisted(user_id, settings)


def listed(memories: Iterable[Memory], view: View) -> tuple[tuple[Memory, ...], int]:
    """Split one person's durable memories for `!memories` (D18): those usable here, by id, and how many more there are.

    In a direct room all of them are shown to their owner, so nothing is left over.
    """
    everything = sorted(memories, key=lambda memory: memory.id)
    shown = tuple(memory for memory in everything if usable(memory, view, Place.LIST))
    return shown, len(everything) - len(shown)
