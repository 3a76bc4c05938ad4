"""What `!documents` says, in Markdown; titles and ids of people are escaped."""

from __future__ import annotations

from collections.abc import Sequence

from actors.document_messages import AddedDocument, DeletedDocuments, ListedDocuments
from commands.memory_texts import ids_named, named, runs
from memory.documents import Document
from texts.catalogue import Speaker
from texts.markdown import escape

_KINDS = {"application/pdf": "PDF", "text/html": "HTML", "text/markdown": "Markdown"}


def listing(say: Speaker, found: ListedDocuments, *, searched: bool) -> str:
    """Say which documents a room has. searched: answers are given parts of them now."""
    parts = []
    if found.documents:
        lines = "\n".join(f"- {_line(say, document)}" for document in found.documents)
        parts += [say("documents-listed", n=len(found.documents)), lines]
        parts += [] if searched else [say("documents-not-searched")]
    if found.kept:
        parts.append(say("documents-kept-private", n=found.kept))
    return "\n\n".join(parts or [say("documents-none")])


def _line(say: Speaker, document: Document) -> str:
    line = say(
        "document-line",
        id=str(document.id),
        title=escape(document.title),
        kind=_KINDS.get(document.media_type) or say("document-kind-text"),
        size=str(max(1, -(-document.size // 1000))),
        n=document.chunks,
        user=escape(document.added_by),
        date=str(document.added_at.date()),
    )
    return line if document.private_to is None else say("document-private", line=line)


def added(say: Speaker, done: AddedDocument, *, searchable: bool) -> str:
    """Say what became of a document. searchable: there is something to search it with."""
    document = done.document
    values = {"id": str(document.id), "title": escape(document.title)}
    if done.there:
        return say("documents-there", **values)
    if not searchable:
        return say("documents-added-unsearched", **values)
    private = document.private_to is not None
    told = say("documents-added-private" if private else "documents-added", n=document.chunks, **values)
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
