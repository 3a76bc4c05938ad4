"""The job "document": what a file says, its title and its text in chunks. What kind it is, its content tells.

Nothing is fetched and nothing carried out: of a file only the words are taken, whatever else is in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import PurePosixPath

from media import document_chunks, document_html, document_pdf, document_text
from media.worker import Json
from memory.documents import ReadDocument
from memory.errors import Refused
from memory.text import blank, clean

TITLE_CHARACTERS = 120

_PDF_MARK, _PDF_MARK_WITHIN = b"%PDF-", 1024
_MARKUP = re.compile(r"<[a-zA-Z][^<>]{0,1000}>")
# XML of another kind than XHTML is read as the text that it is.
_XML_START = re.compile(r"\s*<\?xml[^>]{0,200}\?>")
_HTML_START = re.compile(r"<(?:!doctype\s{1,9}html|html|head|body)\b", re.IGNORECASE)
_SPACE = re.compile(r"\s*")
_COMMENT, _COMMENT_END = "<!--", "-->"
_HTML_NAMES = (".html", ".htm", ".xhtml")
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_MARKDOWN_NAMES = (".md", ".markdown")
_MARKDOWN_TYPES = ("text/markdown", "text/x-markdown")
_MARKDOWN_TITLE = re.compile(r"\s*#[ \t]+(.+)")


class Form(StrEnum):
    """What a file is; the words are media types."""

    TEXT = "text/plain"
    MARKDOWN = "text/markdown"
    HTML = "text/html"
    PDF = "application/pdf"


def work(arguments: Mapping[str, object], data: bytes) -> tuple[Json, bytes]:
    """Read a file. arguments: name, media_type as claimed, most_chunks. The bytes are a JSON list of the chunks."""
    document = read(data, str(arguments["name"]), str(arguments["media_type"]), int(str(arguments["most_chunks"])))
    chunks = json.dumps(document.chunks, ensure_ascii=False).encode()
    return {"title": document.title, "media_type": document.media_type}, chunks


def read(data: bytes, name: str, claimed: str, most_chunks: int) -> ReadDocument:
    """Return what a file says. name, claimed: its name and media type, as its sender tells.

    Raises Refused: the file is of no kind that is read here, damaged, protected, without text, or makes more chunks.
    """
    if _PDF_MARK in data[:_PDF_MARK_WITHIN]:
        form = Form.PDF
        title, text = document_pdf.read(data, most_chunks)
    else:
        written = document_text.decoded(data)
        form = _form(written, name, claimed.partition(";")[0].strip().lower())
        title, text = document_html.read(written) if form is Form.HTML else ("", written)
    text = document_text.tidied(text, most_chunks)
    if blank(text):
        raise Refused("document-no-text")
    if form is Form.MARKDOWN and (heading := _MARKDOWN_TITLE.match(text)):
        title = heading[1].rstrip("# \t")
    chunks = document_chunks.cut(text, most_chunks, markdown=form in {Form.MARKDOWN, Form.HTML})
    return ReadDocument(_title(title, name), chunks, form.value)


def _form(text: str, name: str, claimed: str) -> Form:
    ending = name.lower()
    named_html = ending.endswith(_HTML_NAMES) or claimed in _HTML_TYPES
    if _begins_as_html(text) or (named_html and _MARKUP.search(text)):
        return Form.HTML
    return Form.MARKDOWN if ending.endswith(_MARKDOWN_NAMES) or claimed in _MARKDOWN_TYPES else Form.TEXT


def _begins_as_html(text: str) -> bool:
    """Whether a page begins with what HTML begins with, after comments."""
    start = _XML_START.match(text)
    at = _after_space(text, start.end() if start else 0)
    while text.startswith(_COMMENT, at) and (end := text.find(_COMMENT_END, at)) >= 0:
        at = _after_space(text, end + len(_COMMENT_END))
    return _HTML_START.match(text, at) is not None


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _title(own: str, name: str) -> str:
    """Return the document's own title, else the file's name without folder and ending; on one line; else ""."""
    stem = PurePosixPath(name.replace("\\", "/")).stem
    for each in (own, stem):
        title = clean(each)
        if not blank(title):
            return title if len(title) <= TITLE_CHARACTERS else title[: TITLE_CHARACTERS - 1].rstrip() + "…"
    return ""
