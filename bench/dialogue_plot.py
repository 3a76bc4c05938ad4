"""Draws what bench.dialogue measured as SVG: a column for each conversation, chat days from left to right.

Three rows: prompt tokens a reply, and the share of them read from the cache, both with and without decay; and the
memories of the two people with decay, active ones below and resting ones above. Lengths are in pixels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from bench.dialogue_page import Measured, Run, Sums
from davenport.demo.picture import COLOURS, INK, PALE, PAPER

ON, OFF = "#2b6cb0", "#98a2ad"
WIDTH, HEIGHT = 290, 150  # of one panel
LEFT, TOP, GAP, BETWEEN = 64, 78, 26, 44
TICKS = 4


@dataclass(frozen=True)
class _Panel:
    """Where one panel lies, and what its sides stand for: days from 1, values from 0."""

    left: float
    top: float
    days: int
    most: float

    def x(self, day: float) -> float:
        return self.left + (day - 0.5) / self.days * WIDTH

    def y(self, value: float) -> float:
        return self.top + HEIGHT - value / self.most * HEIGHT


def draw(on: Run, off: Run) -> str:
    """Return the SVG text for the same days with decay and without."""
    names = on.conversations
    width = LEFT + len(names) * (WIDTH + GAP)
    height = TOP + 3 * (HEIGHT + BETWEEN)
    svg = _canvas(width, height)
    rows = (
        ("prompt tokens a reply", _tokens, _nice(max(_tokens(each) for each in (*on.days, *off.days))), "{:,.0f}"),
        ("share read from cache", _share, 1.0, "{:.0%}"),
        ("memories", _memories, _nice(max(_memories(each) for each in on.days)), "{:,.0f}"),
    )
    for number, (title, value, most, form) in enumerate(rows):
        top = TOP + number * (HEIGHT + BETWEEN)
        _text(svg, LEFT, top - 8, title, weight="bold")
        for column, name in enumerate(names):
            panel = _Panel(LEFT + column * (WIDTH + GAP), top, len(on.of(name)), most)
            _frame(svg, panel, form if column == 0 else None)
            if value is _memories:
                _bars(svg, panel, on.of(name))
                continue
            for run, colour in ((off, OFF), (on, ON)):
                _line(svg, panel, [value(each) for each in run.of(name)], colour)
    for column, name in enumerate(names):
        _text(svg, LEFT + column * (WIDTH + GAP) + WIDTH / 2, TOP - 30, name, anchor="middle", weight="bold")
    _legend(svg)
    ET.indent(svg, " ")
    return ET.tostring(svg, encoding="unicode") + "\n"


def _tokens(day: Measured) -> float:
    return Sums.of(day.usage).each


def _share(day: Measured) -> float:
    return Sums.of(day.usage).share_read


def _memories(day: Measured) -> float:
    return day.active + day.resting


def _nice(most: float) -> float:
    """Return the top of a scale that holds this number and whose ticks stand at round numbers."""
    unit = 10.0 ** (len(str(int(most / TICKS))) - 1)
    return next(step * unit * TICKS for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * unit * TICKS >= most)


def _frame(svg: ET.Element, panel: _Panel, form: str | None) -> None:
    """Draw the scale (with numbers if there is a form for them) and the numbers of the days."""
    for tick in range(TICKS + 1):
        value = panel.most * tick / TICKS
        y = panel.y(value)
        _shape(svg, "line", x1=panel.left, x2=panel.left + WIDTH, y1=y, y2=y, stroke=PALE if tick == 0 else "#e4e7eb")
        if form is not None:
            _text(svg, panel.left - 8, y + 4, form.format(value), anchor="end", fill=PALE)
    for day in sorted({1, *range(5, panel.days + 1, 5)}):
        _text(svg, panel.x(day), panel.top + HEIGHT + 16, f"day {day}" if day == 1 else str(day), "middle", fill=PALE)


def _line(svg: ET.Element, panel: _Panel, values: Sequence[float], colour: str) -> None:
    points = " ".join(f"{panel.x(at + 1):.1f},{panel.y(value):.1f}" for at, value in enumerate(values))
    _shape(svg, "polyline", points=points, fill="none", stroke=colour, **{"stroke-width": 2})


def _bars(svg: ET.Element, panel: _Panel, days: Iterable[Measured]) -> None:
    width = WIDTH / panel.days - 1.5
    for each in days:
        left = panel.x(each.day.number) - width / 2
        middle, top = panel.y(each.active), panel.y(each.active + each.resting)
        _shape(svg, "rect", x=left, y=middle, width=width, height=panel.y(0) - middle, fill=COLOURS["active"])
        _shape(svg, "rect", x=left, y=top, width=width, height=middle - top, fill=COLOURS["resting"])


def _legend(svg: ET.Element) -> None:
    entries = (("with decay", ON), ("without decay", OFF), *((name, COLOURS[name]) for name in ("active", "resting")))
    left = float(LEFT)
    for name, colour in entries:
        _shape(svg, "rect", x=left, y=14, width=12, height=12, fill=colour)
        _text(svg, left + 18, 24, name)
        left += 42 + 7 * len(name)


def _canvas(width: float, height: float) -> ET.Element:
    sides = {"width": f"{width:g}", "height": f"{height:g}", "viewBox": f"0 0 {width:g} {height:g}"}
    font = {"font-family": "system-ui, 'Noto Sans', sans-serif", "font-size": "12"}
    svg = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", **sides, **font})
    ET.SubElement(svg, "title").text = "Prompt tokens, cache and memories by chat day, with decay and without"
    _shape(svg, "rect", width="100%", height="100%", fill=PAPER)
    return svg


def _shape(svg: ET.Element, kind: str, **attributes: float | str) -> None:
    ET.SubElement(svg, kind, {name: _number(value) for name, value in attributes.items()})


def _text(
    svg: ET.Element, x: float, y: float, text: str, anchor: str = "start", *, weight: str = "normal", fill: str = INK
) -> None:
    at = {"x": _number(x), "y": _number(y), "text-anchor": anchor, "font-weight": weight, "fill": fill}
    ET.SubElement(svg, "text", at).text = text


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
