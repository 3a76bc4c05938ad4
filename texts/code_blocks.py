"""The fenced code blocks of a Markdown text, as CommonMark reads them."""

from __future__ import annotations

from dataclasses import dataclass

from markdown_it import MarkdownIt


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """One fenced block. info: what stands behind the opening fence, trimmed. code: its lines, each with its end.

    closed: a fence ends it, and not merely the end of the text or of what it stands in.
    """

    info: str
    code: str
    closed: bool

    @property
    def lines(self) -> int:
        """How many lines of code there are."""
        return self.code.removesuffix("\n").count("\n") + bool(self.code)


def code_blocks(markdown: str) -> tuple[CodeBlock, ...]:
    """Return the fenced blocks of a text in order, those in lists and quotations too."""
    lines = markdown.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return tuple(
        CodeBlock(token.info.strip(), token.content, _closed(lines, token.map, token.markup))
        for token in _PARSER.parse(markdown)
        if token.type == "fence" and token.map is not None
    )


def _closed(lines: list[str], place: list[int], marker: str) -> bool:
    """Whether the last line of a block, which begins with this marker, is a fence that ends it."""
    first, end = place
    last = lines[end - 1].strip().lstrip("> ")
    return end - 1 > first and len(last) >= len(marker) and set(last) == {marker[0]}


# As answers are shown: without HTML blocks, in which there would be no fences, and without reference definitions.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table").disable("reference")
