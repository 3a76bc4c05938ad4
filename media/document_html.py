"""HTML files: what a reader would see of one, as Markdown, since that keeps headings, lists and tables apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

from memory.errors import Refused

# What shows no words of its own, or words for machines. A head's end tag may be left out, so what is in it goes singly.
_UNSEEN = frozenset(
    {
        *("script", "style", "template", "noscript", "title", "meta", "link", "base", "svg", "iframe", "frameset"),
        *("object", "embed", "canvas", "audio", "video", "select", "datalist"),
    }
)
_EMPTY = frozenset(
    {
        *("area", "base", "basefont", "bgsound", "br", "col", "command", "embed", "frame", "hr", "image", "img"),
        *("input", "isindex", "keygen", "link", "menuitem", "meta", "nextid", "param", "source", "spacer", "track"),
        "wbr",
    }
)  # no end tag follows
_HIDDEN_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?:\.0*)?\s*(?:;|!|$)"
    r"|font-size\s*:\s*0(?:\.0*)?[a-z%]*\s*(?:;|!|$))",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_CELLS = frozenset({"td", "th"})
_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div"),
        *("dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "legend", "main"),
        *("nav", "p", "section", "summary", "table", "tbody", "tfoot", "thead"),
    }
)


MOST_TAGS = 400_000  # ten for each line of the longest document that is taken
_UNFINISHED = re.compile("<[a-zA-Z/!?]")

Attributes = Mapping[str, str | None]


def read(text: str) -> tuple[str, str]:
    """Return a page's title, "" where it has none, and what is to be seen of it as Markdown.

    Raises Refused where it cannot be read as HTML, or has so many tags that reading them would take long.
    """
    if text.count("<") > MOST_TAGS:
        raise Refused("file-too-costly")
    page = _Page()
    try:
        page.feed(text)
        page.end()
    except (
        AssertionError,
        ValueError,
    ):  # of a declaration that is none, and a character of more digits than Python reads
        raise Refused("document-damaged") from None
    return page.title(), page.writer.written()


class _Page(HTMLParser):
    """Hands on what is shown of a page, in one pass: no tree of it is built, which takes long of pages made for that.

    open: the names of the tags whose end is to come; counted: how many of each name these are. hidden: how many were
    open when the one came that is not shown, with all in it. titles: what is said in the first title, and in the first
    h1; in_title: which of these is being said, and how many were open before it.
    """

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.writer = _Writer()
        self._open: list[str] = []
        self._counted: Counter[str] = Counter()
        self._hidden: int | None = None
        self._titles: dict[str, list[str]] = {}
        self._in_title: tuple[str, int] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin what a tag begins."""
        attributes = dict(attrs)
        shown = self._hidden is None and _shown(tag, attributes)
        if shown:
            self.writer.enter(tag, attributes)
        if tag in _EMPTY:
            if shown:
                self.writer.leave(tag)
            return
        if self._hidden is None and tag in {"title", "h1"} and tag not in self._titles and self._in_title is None:
            self._titles[tag] = []
            self._in_title = tag, len(self._open)
        if self._hidden is None and not shown:
            self._hidden = len(self._open)
        self._open.append(tag)
        self._counted[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        """End the innermost element of that name and all that is open in it; an end without a beginning is none."""
        if self._counted[tag]:
            while self._close() != tag:
                pass

    def handle_data(self, data: str) -> None:
        """Take words that may be seen, and those of a title."""
        if self._in_title is not None and self._hidden in {None, self._in_title[1]}:
            self._titles[self._in_title[0]].append(data)
        if self._hidden is None:
            self.writer.write(data)

    def end(self) -> None:
        """End the page. A tag or comment that the file breaks off in is not seen, as browsers have it.

        HTMLParser.close would look for the end of each that begins after it in all the rest of the file.
        """
        if self.cdata_elem is None and not _UNFINISHED.match(self.rawdata):
            self.handle_data(unescape(self.rawdata))
        while self._open:
            self._close()

    def title(self) -> str:
        """Return what is said in the title, else in the first heading, else ""."""
        found = self._titles.get("title", self._titles.get("h1", []))
        return " ".join(found)

    def _close(self) -> str:
        tag = self._open.pop()
        self._counted[tag] -= 1
        if self._in_title is not None and self._in_title[1] == len(self._open):
            self._in_title = None
        if self._hidden is None:
            self.writer.leave(tag)
        elif self._hidden == len(self._open):
            self._hidden = None
        return tag


def _shown(tag: str, attributes: Attributes) -> bool:
    hidden = "hidden" in attributes or _HIDDEN_STYLE.search(attributes.get("style") or "")
    return tag not in _UNSEEN and not hidden


@dataclass(slots=True)
class _Writer:
    """Writes down a page of which it is told piece by piece.

    line: what is said of the paragraph in the making; between: what comes before the next word of it. mark: what comes
    before the next paragraph, such as the sign of a list's item. lists: of each open one the number of its last item,
    None where items have no numbers. tight: the last paragraph was an item or a row.
    """

    out: list[str] = field(default_factory=list)
    line: list[str] = field(default_factory=list)
    between: str = ""
    mark: str = ""
    lists: list[int | None] = field(default_factory=list)
    cells: int = 0
    verbatim: int = 0
    tight: bool = False

    def written(self) -> str:
        """Return everything that was to be seen."""
        self._end()
        return "".join(self.out)

    def enter(self, name: str, attributes: Attributes) -> None:
        """Begin what a tag begins."""
        if name == "br":
            self._break("\n")
        elif name == "img":
            self.write(attributes.get("alt") or "")
        elif name in _CELLS:
            self.cells += 1
            self._break(" | ")
        elif name == "tr":
            self._end()
        elif name in _HEADINGS:
            self._end()
            self.mark = self.mark or _HEADINGS[name]
        elif name in _LISTS:
            self._end()
            self.tight = self.tight and bool(self.lists)
            self.lists.append(0 if name == "ol" else None)
        elif name == "li":
            self._end()
            self.mark = self._item()
        elif name == "pre":
            self._end()
            self.verbatim += 1
        elif name in _BLOCKS:
            self._part()
            self.tight = self.tight and name != "table"

    def leave(self, name: str) -> None:
        """End what it began."""
        if name in _CELLS:
            self.cells -= 1
        elif name in _LISTS:
            self._end()
            self.lists.pop()
        elif name == "pre":
            self._end(fenced=self.verbatim == 1)
            self.verbatim -= 1
        elif name in {"tr", "li"}:
            self._end(tight=True)
            self.mark = ""
        elif name in _HEADINGS:
            self._end()
            self.mark = ""
        elif name in _BLOCKS:
            self._part()

    def _item(self) -> str:
        """Return the sign of the next item of the innermost list."""
        indent = "  " * (len(self.lists) - 1)
        if self.lists and (number := self.lists[-1]) is not None:
            self.lists[-1] = number + 1
            return f"{indent}{number + 1}. "
        return f"{indent}- "

    def write(self, text: str) -> None:
        """Go on with the paragraph."""
        if self.verbatim:
            self.line.append(text)
        elif text.strip():
            if self.between and self.line:
                self.line.append(self.between)
            self.between = ""
            self.line.append(_SPACE.sub(" ", text))
        elif self.line:
            self.line.append(" ")

    def _break(self, between: str) -> None:
        """Let the next word of this paragraph come after a line's or a cell's end."""
        if self.verbatim:
            self.line.append(between)
        elif self.between != " | ":
            self.between = between

    def _part(self) -> None:
        """End a paragraph; within a cell only a line, so that a row stays one paragraph."""
        if self.cells:
            self._break("\n")
        else:
            self._end()

    def _end(self, *, tight: bool = False, fenced: bool = False) -> None:
        """Write the paragraph in the making down, if anything is said in it."""
        text = "".join(self.line)
        self.line.clear()
        self.between = ""
        if not self.verbatim:
            text = "\n".join(" ".join(line.split()) for line in text.split("\n"))
        if not text.strip():
            return
        tight = tight or bool(self.lists)
        if self.out:
            self.out.append("\n" if tight and self.tight else "\n\n")
        self.out.append(_fenced(text) if fenced else self.mark + text.strip("\n"))
        self.tight = tight
        self.mark = ""


def _fenced(text: str) -> str:
    """Write a text as it is, between marks that do not occur in it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text.strip(chr(10))}\n{fence}"
