"""The bot's own arrivals in a room: it finds out what it was not told while it was out, then it greets."""

from __future__ import annotations

from dataclasses import dataclass

from actors.documents import DocumentDesk
from actors.parts import Parts
from actors.runtime import Context
from actors.welcome import welcome
from memory.events import JournalEntry


@dataclass(frozen=True, slots=True)
class FilesSeen:
    """On an arrival it was looked for what was deleted while the bot was out: `gone` are events of files."""

    entry: JournalEntry
    gone: tuple[str, ...]


class Arrivals:
    """The bot's arrivals in one room since the room's actor was loaded."""

    def __init__(self, parts: Parts, context: Context, documents: DocumentDesk) -> None:
        self._parts = parts
        self._context = context
        self._documents = documents
        self._seen: set[str] = set()

    async def take(self, entry: JournalEntry) -> None:
        """Take in an arrival; it is not done with before `FilesSeen` came back and it was taken in once more."""
        if entry.incoming.event_id in self._seen:
            await welcome(entry, self._parts, self._context.system)
        else:
            self._context.spawn(self._see_files(entry))

    async def follow(self, message: FilesSeen) -> None:
        """Delete the documents whose files are gone."""
        await self._documents.drop_files(message.gone)
        self._seen.add(message.entry.incoming.event_id)

    async def _see_files(self, entry: JournalEntry) -> FilesSeen:
        return FilesSeen(entry, await self._documents.files_gone())
