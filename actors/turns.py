"""What a turn is to whoever runs it: fixed when it begins, and what is left of it when it has succeeded."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from memory.events import Incoming, JournalEntry
from memory.types import Conversation, Persona, TurnKind
from memory.window import Window, WindowEntry
from memory.words import Heard

BOT_AND_ONE = 2  # joined members of a room in which a private word can be said


@dataclass(frozen=True, slots=True)
class Turn:
    """What is fixed when a turn begins. `members`: who is joined to the room; `window`: without this message;
    `typing`: shows the typing notice while it is entered.
    """

    entry: JournalEntry
    kind: TurnKind
    said: str
    persona: Persona
    window: Window
    members: frozenset[str]
    typing: AbstractAsyncContextManager[None]

    @property
    def message(self) -> WindowEntry:
        """The message as the window and the prompt hold it."""
        event = self.entry.incoming
        return WindowEntry(event.event_id, event.sender, self.said, self.entry.received_at, media=event.media)

    @property
    def heard(self) -> Heard:
        """What stands in the window, this message included: tags and lorebook keys are looked for in it."""
        return Heard((*(entry.text for entry in self.window.entries), self.said))

    @property
    def conversation(self) -> Conversation:
        """The place, as visibility sees it (D8)."""
        event = self.entry.incoming
        return conversation(event, self.members, self.persona.name)


@dataclass(frozen=True, slots=True)
class Answered:
    """A turn that succeeded, as the journal holds it now. heard: what stood in its window."""

    entry: JournalEntry
    members: frozenset[str]
    heard: Heard


class Runner(Protocol):
    """Runs turns of one kind or several, as tasks of their room's actor."""

    async def run(self, turn: Turn) -> Answered | None:
        """Answer a turn. None: it could not be answered; a sentence said so and nothing is learned."""
        ...


def conversation(event: Incoming, members: frozenset[str], persona: str) -> Conversation:
    """Return the place of a turn or command (D8). Who has joined since the event was read hears nothing private."""
    private = event.private and event.sender in members and len(members) <= BOT_AND_ONE
    return Conversation(event.room_id, private, event.sender, persona)
