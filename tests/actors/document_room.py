"""A room with documents, for the tests of them: files in it, a reader of files without a process, what is stored."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from index.builtin import BuiltinEmbedder
from index.faiss_index import Vector, Vectors
from memory.documents import Chunk, ReadDocument
from memory.errors import DavenportError, EmbeddingError
from memory.events import Incoming, IncomingKind
from memory.media import Attachment, Picture
from memory.text import unfence
from tests.actors.conftest import JUNO, ROOM, Bot

HANDBOOK = (
    "The printer on the second floor is called Gutenberg and needs blue toner.\n\n"
    "Holidays are requested from Mrs Kowalski three weeks before they begin.\n\n"
    "The kitchen is cleaned by everyone in turn on Friday afternoon."
)
CHUNKS = tuple(HANDBOOK.split("\n\n"))
ABOUT_THE_PRINTER = "Which toner does the printer Gutenberg need?"
TABLES = ("documents", "chunks", "chunk_embeddings")


class Paragraphs:
    """Satisfies the Media port for documents: each paragraph is a chunk. gate: while set, reading waits for it."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self.gate: asyncio.Event | None = None
        self.fails: DavenportError | None = None
        self.title = ""

    async def document(self, file: Attachment, most_chunks: int) -> ReadDocument:
        self.read.append(file.name)
        if self.gate is not None:
            await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        return ReadDocument(self.title, tuple(file.data.decode().split("\n\n")), file.media_type)

    async def rasterise(self, svg: str) -> Picture:
        raise AssertionError("no test of documents draws")

    async def picture(self, data: bytes) -> Picture:
        raise AssertionError("no test of documents shows a picture")


class Counted:
    """The built-in embedder with every call noted; `down`: it fails. refused: texts with this word alone fail."""

    model_id = BuiltinEmbedder.model_id
    dim = BuiltinEmbedder.dim
    match_threshold = BuiltinEmbedder.match_threshold
    document_threshold = BuiltinEmbedder.document_threshold

    def __init__(self, inner: BuiltinEmbedder) -> None:
        self._inner = inner
        self.queries: list[str] = []
        self.texts: list[str] = []
        self.down = False
        self.refused: str | None = None

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self.down or any(self.refused is not None and self.refused in text for text in texts):
            raise EmbeddingError("down")
        self.texts += texts
        return await self._inner.embed(texts)

    async def embed_query(self, text: str) -> Vector:
        self.queries.append(text)
        if self.down:
            raise EmbeddingError("down")
        return await self._inner.embed_query(text)


@asynccontextmanager
async def living(folder: Path, embedder: BuiltinEmbedder) -> AsyncIterator[Bot]:
    """Yield a bot of such a room, in which Juno may change its memories."""
    bot = Bot(folder, Counted(embedder))
    bot.media = Paragraphs()
    bot.matrix.admins = {JUNO}
    await bot.start()
    yield bot
    await bot.crash()


def media(bot: Bot) -> Paragraphs:
    assert isinstance(bot.media, Paragraphs)
    return bot.media


def counted(bot: Bot) -> Counted:
    assert isinstance(bot.embedder, Counted)
    return bot.embedder


def send_file(
    bot: Bot,
    text: str = HANDBOOK,
    name: str = "handbook.txt",
    room: str = ROOM,
    media_type: str = "text/plain",
    sender: str = JUNO,
) -> str:
    """Put a file into a room; return its event's id."""
    event_id = f"$file{len(bot.matrix.files)}"
    bot.matrix.files[room, event_id] = Attachment(name, media_type, text.encode(), sender=sender)
    return event_id


async def add(bot: Bot, event_id: str, sender: str = JUNO, room: str = ROOM, **details: Any) -> str:
    """Reply to a file with `!documents add`; return what the bot says."""
    event = await bot.say("!documents add", sender, room, reply_to=event_id, **details)
    return answer_to(bot, event)


async def command(bot: Bot, text: str, sender: str = JUNO, room: str = ROOM, **details: Any) -> str:
    return answer_to(bot, await bot.say(text, sender, room, **details))


def answer_to(bot: Bot, event: Incoming) -> str:
    [said] = [
        str(content["body"])
        for room, _, content in bot.matrix.sent
        if room == event.room_id and content["answers"] == event.event_id
    ]
    return said


async def redact(bot: Bot, target: str, room: str = ROOM, sender: str = JUNO) -> None:
    await bot.deliver(redaction(bot, target, room, sender))
    await bot.settle()


def redaction(bot: Bot, target: str, room: str = ROOM, sender: str = JUNO) -> Incoming:
    bot.events += 1
    return Incoming(f"$r{bot.events}", room, sender, IncomingKind.REDACTION, bot.clock.now(), target=target)


def given(bot: Bot) -> list[tuple[str, str, str]]:
    """Title, part and text of each document block of the last prompt, in order."""
    blocks = bot.model.prompts[-1].messages[-1].blocks
    found = [fenced for block in blocks for fenced in unfence("document", block.text)]
    return [(each.attributes["title"], each.attributes["part"], each.text.strip()) for each in found]


def texts_given(bot: Bot) -> list[str]:
    return [text for _, _, text in given(bot)]


async def stored_chunks(bot: Bot) -> list[Chunk]:
    """Every chunk of every room, by id."""
    rows = stored(bot)["chunks"]
    async with bot.store.transaction() as tables:
        return list(await tables.documents.chunks([row[0] for row in rows]))


def stored(bot: Bot) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of the three tables of documents, vectors left out."""
    with closing(sqlite3.connect(bot.folder / "davenport.db")) as connection:
        return {
            "documents": connection.execute("SELECT * FROM documents ORDER BY id").fetchall(),
            "chunks": connection.execute("SELECT * FROM chunks ORDER BY id").fetchall(),
            "chunk_embeddings": connection.execute(
                "SELECT chunk_id, model_id FROM chunk_embeddings ORDER BY 1"
            ).fetchall(),
        }


def counts(bot: Bot) -> tuple[int, int, int]:
    """How many documents, chunks and vectors there are."""
    rows = stored(bot)
    return len(rows["documents"]), len(rows["chunks"]), len(rows["chunk_embeddings"])


class Kills:
    """What a kill at any moment would leave of a bot: its folder as of each commit, with how much was stored."""

    def __init__(self, bot: Bot, below: Path) -> None:
        self._bot = bot
        self._below = below
        self.folders: list[Path] = []
        self.counted: dict[Path, tuple[int, int, int]] = {}
        self._sent: dict[Path, int] = {}

    def keep(self) -> None:
        """Copy the folder as it is; to be called after each commit."""
        folder = self._below / f"killed-{len(self.folders)}"
        shutil.copytree(self._bot.folder, folder)
        self.folders.append(folder)
        self.counted[folder] = counts(self._bot)
        self._sent[folder] = len(self._bot.matrix.sent)

    @asynccontextmanager
    async def revived(self, folder: Path, prepare: Callable[[Bot], object] = lambda bot: None) -> AsyncIterator[Bot]:
        """Start a bot on such a folder, in the same rooms, and let it do what was left undone.

        prepare: done before it starts, such as telling its model what to answer.
        """
        bot = Bot(folder, self._bot.embedder)
        prepare(bot)
        bot.clock.set(self._bot.clock.now())
        bot.media, bot.settings = self._bot.media, self._bot.settings
        bot.matrix.files, bot.matrix.joined = self._bot.matrix.files, self._bot.matrix.joined
        bot.matrix.admins, bot.batches = self._bot.matrix.admins, self._bot.batches
        bot.events = self._bot.events
        bot.matrix.sent = self._bot.matrix.sent[: self._sent[folder]]
        there = {event_id for _, event_id, _ in bot.matrix.sent}
        bot.matrix.by_txn = {txn: event for txn, event in self._bot.matrix.by_txn.items() if event in there}
        await bot.start()
        try:
            await bot.deliver()
            await bot.intake.resume()
            await bot.settle()
            yield bot
        finally:
            await bot.crash()
