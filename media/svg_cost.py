"""What a small drawing can grow to: each `use`, pattern, mask, marker and filter draws what it refers to once more.

Counted is roughly how many things would be drawn, before anything is. The count need not be exact: what it misses meets
the limits of the process (media/worker.py). It is there so that a bomb is told from a drawing that is only slow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from media.svg_rules import GRADIENTS, HREFS, PRIMITIVES, SHAPES, URL_WITHIN, local, walk
from memory.errors import Refused

MOST_DRAWN = 20_000
MOST_LINKS = 20  # from one reference to the next
PER_LAYER = 20  # a mask or clip is a picture of its own
PER_PRIMITIVE = 50  # and each step of a filter too
PER_SPAN = 20  # words of a style of their own, each of which is looked for in the whole text
_CHARACTERS_PER_SHAPE = 200  # of a path; a letter is a shape, and costs more in a long text

_NOT_IN_PLACE = GRADIENTS | {
    *("defs", "symbol", "pattern", "clipPath", "mask", "marker", "filter"),
    *("title", "desc", "style"),
}
_MARKERS = ("marker", "marker-start", "marker-mid", "marker-end")
_COMMAND = re.compile(r"[A-DF-Za-df-z]")  # e is for numbers
_NUMBER = re.compile(r"[\d.]+")
_FUNCTION = re.compile(r"[a-z]\(")


@dataclass(frozen=True, slots=True)
class _Measure:
    """What an element draws, all that it refers to included. links: the longest way of references from it."""

    drawn: int = 0
    shapes: int = 0
    vertices: int = 0
    links: int = 0


class _Measuring:
    """Measures each element once; `begun` tells a reference that comes back to itself."""

    def __init__(self, root: Element) -> None:
        self._targets: dict[str, list[Element]] = {}
        for element, _ in walk(root):
            self._targets.setdefault(element.get("id", ""), []).append(element)
        self._known: dict[Element, _Measure] = {}
        self._begun: set[Element] = set()

    def measure(self, element: Element, links: int = 0) -> _Measure:
        """Measure an element that was reached over so many references. Raises Refused: drawing-too-complex."""
        if element in self._known:
            return self._known[element]
        if element in self._begun or links > MOST_LINKS:
            raise Refused("drawing-too-complex")
        self._begun.add(element)
        found = self._whole(element, links)
        if found.links > MOST_LINKS or found.drawn > MOST_DRAWN:
            raise Refused("drawing-too-complex")
        self._known[element] = found
        return found

    def _whole(self, element: Element, links: int) -> _Measure:
        own = _own(element)
        parts = [self.measure(child, links) for child in element if local(child) not in _NOT_IN_PLACE]
        referred = [self._target(name, links) for name in _hrefs(element)]
        inner = [own, *parts, *referred]
        shapes, vertices = sum(part.shapes for part in inner), sum(part.vertices for part in inner)
        drawn = sum(part.drawn for part in inner)
        longest = max((part.links for part in parts), default=0)
        longest = max(longest, *(target.links + 1 for target in referred), 0)
        for name, value in _properties(element).items():
            for _, target in URL_WITHIN.findall(value):
                met = self._target(target, links)
                longest = max(longest, met.links + 1)
                drawn += met.drawn * _times(name, shapes, vertices)
            if name == "filter":
                drawn += PER_PRIMITIVE * len(_FUNCTION.findall(value))
        return _Measure(drawn, shapes, vertices, longest)

    def _target(self, name: str, links: int) -> _Measure:
        """Measure what has this id; of several the costliest, none costs nothing."""
        met = [self.measure(element, links + 1) for element in self._targets.get(name, ())]
        return max(met, key=lambda measure: (measure.drawn, measure.vertices), default=_Measure())


def check_cost(root: Element) -> None:
    """Raise Refused, drawing-too-complex, where more would be drawn than MOST_DRAWN or references go round."""
    _Measuring(root).measure(root)


def _own(element: Element) -> _Measure:
    name = local(element)
    if name in SHAPES:
        line = element.get("d", "") + element.get("points", "")
        words = sum(map(len, element.itertext())) if name == "text" else 0
        drawn = 1 + len(line) // _CHARACTERS_PER_SHAPE + words
        return _Measure(drawn, 1, max(len(_COMMAND.findall(line)), len(_NUMBER.findall(line)) // 2, 2))
    if name in PRIMITIVES:
        return _Measure(PER_PRIMITIVE)
    if name == "tspan":
        return _Measure(PER_SPAN)
    return _Measure(PER_LAYER if name in {"mask", "clipPath"} else 0)


def _hrefs(element: Element) -> list[str]:
    return [element.attrib[name].strip().removeprefix("#") for name in HREFS if name in element.attrib]


def _properties(element: Element) -> dict[str, str]:
    """Return the attributes, and what the style attribute says, which goes before them."""
    found = {name: value for name, value in element.attrib.items() if name != "style"}
    for declaration in element.get("style", "").split(";"):
        name, _, value = declaration.partition(":")
        key = name.strip().lower()
        found[key] = found.get(key, "") + value  # both count: which of them holds is not for here
    return found


def _times(name: str, shapes: int, vertices: int) -> int:
    """How often what a property refers to is drawn: markers at each vertex, patterns in each shape, others once."""
    if name in _MARKERS:
        return vertices
    return max(shapes, 1) if name in {"fill", "stroke"} else 1
