"""PDF files: their text, page by page, as PDFium finds it."""

from __future__ import annotations

import re

import pypdfium2 as pdfium
import pypdfium2.raw

from media.document_text import SIZE, too_long
from memory.errors import Refused
from memory.text import blank, clean

MOST_PAGES = 2_000

_PROTECTED = (pypdfium2.raw.FPDF_ERR_PASSWORD, pypdfium2.raw.FPDF_ERR_SECURITY)
# PDFium's mark for a hyphen at the end of a line. Before "and" it belongs to the word, as in "pre- and postwar".
_HYPHEN = "\x02\ufffe"
_BEFORE_AND = re.compile(f"[{_HYPHEN}](?=(?:and|or|und|oder|bzw|sowie)\\b)")
_WITHIN_WORD = re.compile(f"(?<=\\w)[{_HYPHEN}](?=[^\\W\\d_])")
_OTHER_HYPHEN = re.compile(f"[{_HYPHEN}]")
_BREAKS_OFF = re.compile(f"[\\w,;{_HYPHEN}-]$")
_WORD_BREAKS_OFF = re.compile(f"[^\\W\\d_][{_HYPHEN}-]$")
# Titles that a program made up: the name of a file, or of a program and a file.
_PROGRAM = re.compile(r"^microsoft (?:office )?(?:word|powerpoint|excel) - ", re.IGNORECASE)
_NO_TITLE = re.compile(
    r".*\.(?:docx?|pptx?|xlsx?|od[tps]|rtf|txt|pdf|tex|dvi|ps|indd|qxd|pages|html?)|(?:untitled|unbenannt|ohne\s+titel).*"
    r"|(?:document|dokument)\W?\d*",
    re.IGNORECASE,
)


def read(data: bytes, most: int) -> tuple[str, str]:
    """Return title, "" where there is no sensible one, and text of a PDF; reading ends far beyond `most` parts.

    Raises Refused: protected, damaged, with too many pages, too long, or without text.
    """
    document = _opened(data)
    pages = len(document)
    if pages > MOST_PAGES:
        raise Refused("document-too-many-pages", pages=pages, limit=MOST_PAGES)
    parts: list[str] = []
    characters = 0
    try:
        for number in range(pages):
            page = _page(document, number)
            characters += len(page)
            if characters > 2 * most * SIZE:
                raise too_long(characters * pages // (number + 1) // SIZE, most)
            _append(parts, page)
        title = _sensible(document.get_metadata_value("Title"))
    except pdfium.PdfiumError:
        raise Refused("document-damaged") from None
    text = "".join(parts)
    if pages and blank(text):
        raise Refused("document-only-pictures")
    return title, _OTHER_HYPHEN.sub("-", text)


def _opened(data: bytes) -> pdfium.PdfDocument:
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        raise Refused("document-protected" if error.err_code in _PROTECTED else "document-damaged") from None


def _page(document: pdfium.PdfDocument, number: int) -> str:
    """Return the text that lies on a page, hyphens at line ends resolved."""
    page = document[number]
    try:
        textpage = page.get_textpage()
        try:
            text: str = textpage.get_text_bounded()
        finally:
            textpage.close()
    finally:
        page.close()
    return _unhyphenated(text.replace("\r\n", "\n")).strip()


def _unhyphenated(text: str) -> str:
    def resolved(found: re.Match[str]) -> str:
        return "" if found.string[found.end()].islower() else "-"

    return _WITHIN_WORD.sub(resolved, _BEFORE_AND.sub("- ", text))


def _append(parts: list[str], page: str) -> None:
    """Put a page after the text so far: a sentence or word that goes on there goes on, else a paragraph ends."""
    if not page:
        return
    before = parts[-1] if parts else ""
    if before and not (page[0].islower() and _BREAKS_OFF.search(before)):
        parts.append("\n\n")
    elif _WORD_BREAKS_OFF.search(before):
        parts[-1] = before[:-1]
    elif before:
        parts.append("\n")
    parts.append(page)


def _sensible(title: str) -> str:
    title = _PROGRAM.sub("", clean(title))
    return "" if _NO_TITLE.fullmatch(title) else title
