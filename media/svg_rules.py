"""What a drawing may contain. A language model wrote it, and what it was told to draw came from anybody.

Elements are allowed by name, all others are refused: what draws, what is drawn with, and words. So there is no script,
nothing of other namespaces (foreignObject), nothing that loads (image, feImage, and links), nothing that moves, for a
picture does not, and neither of the two filters that take the square of a radius (feMorphology, feConvolveMatrix).

Attributes are refused by name or by what they say: with these elements only `href` and `url(…)` lead anywhere, and both
may only lead to an id of the drawing itself. Handlers of events do nothing here and are refused because nothing good
brings them. CSS is read as little as possible: at-rules and escapes are refused, and in a `<style>` all that could
multiply work (filters, masks, patterns, markers) too, since media/svg_cost.py reads those off the elements.

Whatever is not allowed is refused, not taken out: the model can be told, and nobody gets half a picture.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from memory.errors import Refused

SVG = "{http://www.w3.org/2000/svg}"
XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
HREFS = ("href", XLINK_HREF)
_QUALIFIED = {XLINK_HREF, *(f"{{http://www.w3.org/XML/1998/namespace}}{name}" for name in ("space", "lang"))}

GRADIENTS = frozenset({"linearGradient", "radialGradient"})
SHAPES = frozenset({"path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text"})
PRIMITIVES = frozenset(
    f"fe{name}"
    for name in (
        *("Blend", "ColorMatrix", "ComponentTransfer", "Composite", "DiffuseLighting", "DisplacementMap", "DropShadow"),
        *("Flood", "GaussianBlur", "Merge", "Offset", "SpecularLighting", "Tile", "Turbulence"),
    )
)
_PARTS_OF_PRIMITIVES = frozenset(
    f"fe{name}" for name in ("DistantLight", "FuncA", "FuncB", "FuncG", "FuncR", "MergeNode", "PointLight", "SpotLight")
)
_STRUCTURE = frozenset({"svg", "g", "defs", "symbol", "use", "title", "desc", "style", "tspan", "textPath", "stop"})
_PAINT = GRADIENTS | {"pattern", "clipPath", "mask", "marker", "filter"}
_ELEMENTS = SHAPES | PRIMITIVES | _PARTS_OF_PRIMITIVES | _STRUCTURE | _PAINT

MOST_ELEMENTS = 5_000
MOST_DEPTH = 40
MOST_ATTRIBUTES = 50
MOST_CHARACTERS = 2_000  # of one value
MOST_OF_SHEETS = 20_000  # characters of all style sheets, whose every rule is tried on every element
_LONG = {"d": 100_000, "points": 100_000}

_WITHIN = re.compile(r"#[^\s\"'()<>\\]+")
_URL = re.compile(r"url\s*\(", re.IGNORECASE)
URL_WITHIN = re.compile(r"url\(\s*([\"']?)#([^\s\"'()<>\\]+)\1\s*\)")
_NAME = re.compile(r"[A-Za-z][\w.-]{0,39}", re.ASCII)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_MULTIPLYING = re.compile(r"(?<![\w-])(filter|mask|clip-path|marker(?:-start|-mid|-end)?)\s*:", re.IGNORECASE)


def local(element: Element) -> str:
    """Return an element's name without the namespace of SVG."""
    return element.tag.removeprefix(SVG)


def walk(root: Element) -> Iterator[tuple[Element, int]]:
    """Yield every element with its depth, from 1; as deep as it may be, without recursion."""
    waiting = [(root, 1)]
    while waiting:
        element, depth = waiting.pop()
        yield element, depth
        waiting += [(child, depth + 1) for child in element]


def check(root: Element) -> None:
    """Raise Refused where a drawing contains what it must not: drawing-not-svg, -forbidden, -outside, -too-complex."""
    if root.tag != f"{SVG}svg":
        raise Refused("drawing-not-svg")
    for number, (element, depth) in enumerate(walk(root), start=1):
        if number > MOST_ELEMENTS or depth > MOST_DEPTH or len(element.attrib) > MOST_ATTRIBUTES:
            raise Refused("drawing-too-complex")
        name = local(element)
        if name not in _ELEMENTS:
            raise _forbidden(name)
        for attribute, value in element.attrib.items():
            _check_attribute(attribute, value)
    gradients = {element.get("id") for element, _ in walk(root) if local(element) in GRADIENTS}
    sheets = ["".join(element.itertext()) for element, _ in walk(root) if local(element) == "style"]
    if sum(map(len, sheets)) > MOST_OF_SHEETS:
        raise Refused("drawing-too-complex")
    for sheet in sheets:
        _check_sheet(sheet, gradients)


def _check_attribute(name: str, value: str) -> None:
    if name.lower().startswith("on") or (name.startswith("{") and name not in _QUALIFIED):
        raise _forbidden(name)
    if len(value) > _LONG.get(name, MOST_CHARACTERS):
        raise Refused("drawing-too-complex")
    if name in HREFS:
        if not _WITHIN.fullmatch(value.strip()):
            raise Refused("drawing-outside")
        return
    _check_urls(value)
    if "\\" in value:
        raise Refused("drawing-forbidden", name="\\")
    if name == "style" and any(sign in value for sign in ("{", "}", "@", "/*")):
        raise _forbidden("style")


def _check_urls(value: str) -> None:
    if len(_URL.findall(value)) != len(URL_WITHIN.findall(value)):
        raise Refused("drawing-outside")


def _check_sheet(sheet: str, gradients: set[str | None]) -> None:
    """Check CSS. Its `url(…)` may paint with gradients, which cost next to nothing."""
    plain = _COMMENT.sub(" ", sheet)
    for sign in ("@", "\\", "/*"):
        if sign in plain:
            raise Refused("drawing-forbidden", name=f"{sign} in <style>")
    _check_urls(plain)
    if found := _MULTIPLYING.search(plain):
        raise Refused("drawing-forbidden", name=f"{found[1].lower()} in <style>")
    if any(target not in gradients for _, target in URL_WITHIN.findall(plain)):
        raise Refused("drawing-forbidden", name="url() in <style>")


def _forbidden(name: str) -> Refused:
    """Name what is not allowed by its name in the file; where that is none that could be allowed, by none."""
    bare = name.rpartition("}")[2]
    return Refused("drawing-forbidden", name=bare if _NAME.fullmatch(bare) else "?")
