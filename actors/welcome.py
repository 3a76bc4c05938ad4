"""The one message on coming into a room: that the bot remembers, and how to see, stop and delete that.

It answers the bot's own join, so journal and outbox see to it that it is said once a join, also across a crash.
"""

from __future__ import annotations

from datetime import timedelta

from actors.answers import Said, answering
from actors.parts import Parts
from actors.runtime import ActorSystem
from memory.events import Incoming, JournalEntry, JournalState
from texts.catalogue import Speaker

AGAIN_AFTER = timedelta(days=1)  # who puts the bot out and invites it again does not make it talk each time


async def welcome(entry: JournalEntry, parts: Parts, system: ActorSystem) -> None:
    """Greet a room the bot came into, unless `bot.welcome` is off or it greeted the room less than a day ago."""
    event = entry.incoming
    async with parts.store.transaction() as tables:
        greeted = await tables.journal.welcomed(event.room_id, entry.received_at - AGAIN_AFTER, event.event_id)
        if greeted or not parts.settings.welcome(event.room_id):
            await tables.journal.finish(event.event_id, JournalState.IGNORED)
            return
    learning = parts.settings.memory(event.room_id).enabled
    told = greeting(parts.speaker(event.room_id), event, learning=learning)
    async with answering(parts, system, event, Said(told, notice=True)) as tables:
        await tables.journal.finish(event.event_id, JournalState.LEARNED)


def greeting(say: Speaker, event: Incoming, *, learning: bool) -> str:
    """Return the welcome for a direct or a group room. `learning`: whether what is said there teaches the bot (P2)."""
    hello = say("welcome-direct" if event.direct else "welcome-room")
    remembered = say("welcome-learning" if learning else "welcome-on-request")
    theirs = (say("welcome-yours"), say("welcome-stopping")) if learning else (say("welcome-yours"),)
    return f"{hello}\n\n{remembered} {' '.join(theirs)}"
