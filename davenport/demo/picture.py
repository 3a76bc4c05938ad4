"""Draws the life of each fact of a played script as SVG: days from left to right, unused days as bars, stage and state
as colours, and below what was said on each day.

Everything drawn comes from the rows that were read back from the database. Days without talk between two days are drawn
as one narrow column. Lengths are in pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from rich.cells import cell_len

from davenport.demo.play import Played
from davenport.demo.show import Row

COLOURS = {"candidate": "#98a2ad", "active": "#2f855a", "resting": "#c27803"}
INK, PALE, PAPER = "#1f2933", "#7b8794", "#ffffff"
CHARACTER = 6.4  # mean width of one cell at the size of the words
SLANT = 0.7071  # sine and cosine of the 45 degrees at which the words stand
COLUMN, GAP, UNIT = 62, 66, 11
MARGIN, HEAD, STRIP, LINE = 24, 46, 20, 20


@dataclass(frozen=True, slots=True)
class _Column:
    """One day of talk, or (`day` None) the days without any between two of them."""

    left: float
    width: float
    day: Played | None
    quiet: int = 0

    @property
    def middle(self) -> float:
        return self.left + self.width / 2


def draw(title: str, days: Sequence[Played], rest_after_days: int) -> str:
    """Return the SVG text for the days of a script, in order."""
    width = max(COLUMN, LINE / SLANT * max(len(day.said) for day in days))
    words = SLANT * CHARACTER * max(cell_len(_words(line.who, line.text)) for day in days for line in day.said)
    columns = _columns(days, max(MARGIN + 90, MARGIN + words - width / 2), width)
    facts = list(dict.fromkeys((row.who, row.text) for day in days for row in day.rows))
    tallest = max([rest_after_days, *(row.unused_days or 0 for day in days for row in day.rows)])
    lane = HEAD + (tallest + 1) * UNIT + STRIP + MARGIN
    bottom = MARGIN + lane * len(facts)
    right = columns[-1].left + columns[-1].width + MARGIN
    svg = _canvas(title, right, bottom + 2 * LINE + words + MARGIN)
    for number, fact in enumerate(facts):
        _lane(svg, columns, fact, MARGIN + lane * number, tallest, rest_after_days)
    _axis(svg, columns, bottom)
    ET.indent(svg, " ")
    return ET.tostring(svg, encoding="unicode") + "\n"


def _columns(days: Sequence[Played], left: float, width: float) -> list[_Column]:
    columns: list[_Column] = []
    for before, day in zip([None, *days], days, strict=False):
        if before is not None and (quiet := day.number - before.number - 1):
            columns.append(_Column(left, GAP, None, quiet))
            left += GAP
        columns.append(_Column(left, width, day))
        left += width
    return columns


def _lane(
    svg: ET.Element, columns: Sequence[_Column], fact: tuple[str, str], top: float, tallest: int, rest_after_days: int
) -> None:
    """Draw one fact: its words, the line from which it rests, and a column a day."""
    who, text = fact
    base = top + HEAD + (tallest + 1) * UNIT
    left, right = columns[0].left, columns[-1].left + columns[-1].width
    _text(svg, left, top + 14, f"{who}: {text}", size=15, weight="bold")
    _text(svg, left - 8, base - 3, "unused days", anchor="end", fill=PALE)
    rest = base - rest_after_days * UNIT
    _shape(svg, "line", x1=left, x2=right, y1=rest, y2=rest, stroke=PALE, **{"stroke-dasharray": "4 4"})
    _text(svg, left - 8, rest + 4, f"rests from {rest_after_days}", anchor="end", fill=PALE)
    for column in columns:
        day = column.day
        row = next((row for row in day.rows if (row.who, row.text) == fact), None) if day is not None else None
        if day is not None and row is not None:
            _state(svg, column, row, base, recalled=text in day.recalled)
    _shape(svg, "line", x1=left, x2=right, y1=base, y2=base, stroke=INK)


def _state(svg: ET.Element, column: _Column, row: Row, base: float, *, recalled: bool) -> None:
    """Draw a fact on one day: the bar of its unused days, and a strip with its stage or state."""
    name = row.state or row.stage
    left, width = column.left + 1, column.width - 2
    _shape(svg, "rect", x=left, y=base + 2, width=width, height=STRIP, fill=COLOURS[name])
    _text(svg, column.middle, base + 16, name, anchor="middle", size=11, fill=PAPER)
    if row.unused_days is None:
        return
    height = row.unused_days * UNIT
    _shape(svg, "rect", x=left + 10, y=base - height, width=width - 20, height=height, fill=COLOURS[name])
    _text(svg, column.middle, base - height - 4, str(row.unused_days), anchor="middle")
    if recalled:
        _text(svg, column.middle, base - height - 20, "recalled", anchor="middle", weight="bold")


def _axis(svg: ET.Element, columns: Sequence[_Column], top: float) -> None:
    """Draw the number of each day and what was said on it."""
    for column in columns:
        if column.day is None:
            lines = (f"{column.quiet} day{'s' if column.quiet > 1 else ''}", "no talk")
            for number, text in enumerate(lines):
                _text(svg, column.middle, top + 4 + 14 * number, text, anchor="middle", fill=PALE, style="italic")
            continue
        _text(svg, column.middle, top + 4, f"day {column.day.number}", anchor="middle", weight="bold")
        first = column.middle - (len(column.day.said) - 1) / 2 * LINE / SLANT
        for number, line in enumerate(column.day.said):
            x, y = first + number * LINE / SLANT, top + LINE + 6
            turn = f"rotate(-45 {_number(x)} {_number(y)})"
            _text(svg, x, y, _words(line.who, line.text), anchor="end", transform=turn)


def _words(who: str, text: str) -> str:
    return f"{who}: {text}"


def _canvas(title: str, width: float, height: float) -> ET.Element:
    sides = {"width": _number(width), "height": _number(height), "viewBox": f"0 0 {_number(width)} {_number(height)}"}
    font = {"font-family": "system-ui, 'Noto Sans', sans-serif", "font-size": "12"}
    svg = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", **sides, **font})
    ET.SubElement(svg, "title").text = title
    _shape(svg, "rect", width="100%", height="100%", fill=PAPER)
    return svg


def _shape(svg: ET.Element, kind: str, **attributes: float | str) -> None:
    ET.SubElement(svg, kind, {name: _number(value) for name, value in attributes.items()})


def _text(
    svg: ET.Element,
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    size: int | None = None,
    weight: str | None = None,
    style: str | None = None,
    fill: str = INK,
    transform: str | None = None,
) -> None:
    optional = {"font-size": size and str(size), "font-weight": weight, "font-style": style, "transform": transform}
    given = {name: value for name, value in optional.items() if value}
    at = {"x": _number(x), "y": _number(y), "text-anchor": anchor, "fill": fill}
    ET.SubElement(svg, "text", {**at, **given}).text = text


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
