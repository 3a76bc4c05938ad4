"""Cutting Markdown into pieces that each fit into one event. Pure.

Cuts lie at blank lines, line ends or spaces where there are any; a code fence that is cut is closed and opened again
with its language. The pieces' own texts, joined, are the text that was cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_OPENING = re.compile(r"^ {0,3}(?P<marker>`{3,}(?=[^`]*$)|~{3,})[ \t]*(?P<info>.*)$")
_LONGEST_INFO = 60


@dataclass(frozen=True, slots=True)
class Fence:
    """An open code fence: its marker as written and its info string."""

    marker: str
    info: str

    def closed_by(self, line: str) -> bool:
        """Whether this line ends the fence."""
        bare = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        return indent <= 3 and len(bare) >= len(self.marker) and set(bare) == {self.marker[0]}  # noqa: PLR2004 - CommonMark

    @property
    def opening(self) -> str:
        """The line that opens the fence again."""
        info = self.info.strip()
        return f"{self.marker}{info if len(info) <= _LONGEST_INFO else ''}\n"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: `text` is as it was, `opening` and `closing` complete a fence that was cut."""

    text: str
    opening: str = ""
    closing: str = ""

    @property
    def markdown(self) -> str:
        """The part as a Markdown text of its own."""
        return f"{self.opening}{self.text}{self.closing}"


def split(text: str, size: Callable[[str], int], budget: int) -> Iterator[Piece]:
    """Yield the pieces of a text. `size` gives the encoded bytes of a Markdown text, at least one per character.

    `budget` in the same unit has to hold a single character with the fence around it.
    """
    rest, fence = text, None
    while rest:
        taken = _fitting(rest, fence, size, budget)
        piece, fence = _piece(rest[:taken], fence, last=taken == len(rest))
        yield piece
        rest = rest[taken:]


def _fitting(rest: str, fence: Fence | None, size: Callable[[str], int], budget: int) -> int:
    """Return how many characters the next piece takes."""
    taken = min(len(rest), budget)
    if taken < len(rest):
        taken = _boundary(rest[:taken], fence)
    while taken > 1:
        needed = size(_piece(rest[:taken], fence, last=taken == len(rest))[0].markdown)
        if needed <= budget:
            break
        room = max(1, min(taken - 1, taken * budget // needed))
        taken = _boundary(rest[:room], fence)
    return taken


def _piece(text: str, fence: Fence | None, *, last: bool) -> tuple[Piece, Fence | None]:
    after = fence
    for line in text.split("\n"):
        after = _next(after, line)
    closing = ""
    if after is not None and not last:
        closing = after.marker if text.endswith("\n") else f"\n{after.marker}"
    return Piece(text, fence.opening if fence else "", closing), after


def _boundary(text: str, fence: Fence | None) -> int:
    """Return the best place to cut in the second half of a text: its end where there is none."""
    half, position = len(text) // 2, 0
    paragraph = line_end = 0
    for line in text.split("\n")[:-1]:
        position += len(line) + 1
        fence = _next(fence, line)
        line_end = position
        if fence is None and not line.strip():
            paragraph = position
    space = text.rfind(" ") + 1
    return next((place for place in (paragraph, line_end, space) if place > half), len(text))


def _next(fence: Fence | None, line: str) -> Fence | None:
    if fence is not None:
        return None if fence.closed_by(line) else fence
    found = _OPENING.match(line)
    return Fence(found["marker"], found["info"]) if found else None
