"""What `!documents` says, in Markdown; titles and ids of people are escaped."""

from __future__ import annotations

from collections.abc import Sequence

from actors.document_messages import AddedDocument, DeletedDocuments
from commands.memory_texts import ids_named, named, runs
from memory.documents import Document
from texts.catalogue import Speaker
from texts.markdown import escape

_KINDS = {"application/pdf": "PDF", "text/html": "HTML", "text/markdown": "Markdown"}


def listing(say: Speaker, documents: Sequence[Document], *, searched: bool) -> str:
    """Say which documents a room has. searched: answers are given parts of them now."""
    if not documents:
        return say("documents-none")
    lines = "\n".join(f"- {_line(say, document)}" for document in documents)
    head = say("documents-listed", n=len(documents))
    return f"{head}\n\n{lines}" if searched else f"{head}\n\n{lines}\n\n{say('documents-not-searched')}"


def _line(say: Speaker, document: Document) -> str:
    return say(
        "document-line",
        id=str(document.id),
        title=escape(document.title),
        kind=_KINDS.get(document.media_type) or say("document-kind-text"),
        size=str(max(1, -(-document.size // 1000))),
        n=document.chunks,
        user=escape(document.added_by),
        date=str(document.added_at.date()),
    )


def added(say: Speaker, done: AddedDocument, *, searchable: bool) -> str:
    """Say what became of a document. searchable: there is something to search it with."""
    document = done.document
    values = {"id": str(document.id), "title": escape(document.title)}
    if done.there:
        return say("documents-there", **values)
    if not searchable:
        return say("documents-added-unsearched", **values)
    told = say("documents-added", n=document.chunks, **values)
    return f"{told} {say('documents-added-later')}" if done.later else told


def deleted(say: Speaker, done: DeletedDocuments, wrong: Sequence[str]) -> str:
    """Say which documents are gone, and what of it could not be done."""
    strangers = [*runs(done.unknown), *wrong]
    parts = [say("documents-forgotten", ids=ids_named(done.done)) if done.done else say("documents-kept")]
    if done.others:
        parts.append(say("documents-of-others", ids=ids_named(done.others)))
    if strangers:
        parts.append(say("documents-unknown", words=named(say, strangers)))
    return " ".join(parts)
