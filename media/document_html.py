"""HTML files: what a reader would see of one, as Markdown, since that keeps headings, lists and tables apart."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from bs4 import BeautifulSoup
from bs4.element import NavigableString, PageElement, PreformattedString, Tag
from bs4.exceptions import ParserRejectedMarkup

from memory.errors import Refused

# What shows no words of its own, or words for machines. A head's end tag may be left out, so what is in it goes singly.
_UNSEEN = frozenset(
    {
        *("script", "style", "template", "noscript", "title", "meta", "link", "base", "svg", "iframe", "frameset"),
        *("object", "embed", "canvas", "audio", "video", "select", "datalist"),
    }
)
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


def read(text: str) -> tuple[str, str]:
    """Return a page's title, "" where it has none, and what is to be seen of it as Markdown.

    Raises Refused where it cannot be read as HTML.
    """
    page = _parsed(text)
    title = page.find("title") or page.find("h1")
    return ("" if title is None else title.get_text(" ")), _Writer().written(page)


def _parsed(text: str) -> BeautifulSoup:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # guesses of what else the file could be
        try:
            return BeautifulSoup(text, "html.parser")
        except (ParserRejectedMarkup, AssertionError):
            raise Refused("document-damaged") from None


def _shown(tag: Tag) -> bool:
    style = tag.get("style")
    hidden = tag.has_attr("hidden") or (isinstance(style, str) and _HIDDEN_STYLE.search(style))
    return tag.name not in _UNSEEN and not hidden


@dataclass(slots=True)
class _Writer:
    """Goes through a page and writes it down. Without recursion: pages nest as deep as their makers like.

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

    def written(self, page: Tag) -> str:
        """Return everything of the page that is to be seen."""
        ways: list[tuple[Tag, Iterator[PageElement]]] = [(page, iter(page.children))]
        while ways:
            tag, children = ways[-1]
            child = next(children, None)
            if child is None:
                ways.pop()
                self._leave(tag)
            elif isinstance(child, Tag):
                if _shown(child):
                    self._enter(child)
                    ways.append((child, iter(child.children)))
            elif isinstance(child, NavigableString) and not isinstance(child, PreformattedString):
                self._say(str(child))
        self._end()
        return "".join(self.out)

    def _enter(self, tag: Tag) -> None:
        name = tag.name
        if name == "br":
            self._break("\n")
        elif name == "img":
            self._say(str(tag.get("alt") or ""))
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

    def _leave(self, tag: Tag) -> None:
        name = tag.name
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

    def _say(self, text: str) -> None:
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
