"""The job for drawings: check an SVG that a language model wrote, and make a PNG of it.

What is drawn is what was checked: the tree is written out anew for the renderer, so comments, processing instructions,
encodings and whatever two parsers could read in two ways are gone. The renderer has no network in it; it would follow
an image to the disk, and is given none (media/svg_rules.py, media/landlock.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from io import BytesIO
from math import isfinite
from typing import Any
from xml.etree.ElementTree import Element, ParseError, register_namespace, tostring

import resvg_py
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring
from PIL import Image

from media.picture import preview
from media.svg_cost import check_cost
from media.svg_rules import check
from memory.errors import Refused

MOST_BYTES = 200_000
LONGER_SIDE = 1_024
MOST_UNITS = 10_000  # of width, height and what the viewBox says
MOST_TIMES_LONGER = 16  # than wide, or the other way round
FAMILY = "Noto Sans"
READS = tuple(str(file) for file in files("fontpkg_noto_sans").joinpath("files").iterdir() if file.name[-4:] == ".ttf")
_PIXELS = {"": 1.0, "px": 1.0, "pt": 4 / 3, "pc": 16.0, "em": 16.0, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0}
_LENGTH = re.compile(r"\s*((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([a-z]*)\s*", re.ASCII)

register_namespace("", "http://www.w3.org/2000/svg")
register_namespace("xlink", "http://www.w3.org/1999/xlink")


def work(_: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return {"width", "height", "blurhash"} and a PNG whose longer side is LONGER_SIDE, on white.

    Raises Refused: drawing-too-large (bytes), drawing-damaged, drawing-not-svg, drawing-forbidden (what stands in it),
    drawing-outside (where it refers to), drawing-too-complex, drawing-bad-size.
    """
    root = _parsed(data)
    check(root)
    check_cost(root)
    size = _fitted(root)
    png = rendered(tostring(root, encoding="unicode"))
    shown = preview(Image.open(BytesIO(png), formats=("PNG",)))
    if (shown["width"], shown["height"]) != size:
        raise Refused("drawing-bad-size", limit=MOST_UNITS)
    return shown, png


def _parsed(data: bytes) -> Element:
    if len(data) > MOST_BYTES:
        raise Refused("drawing-too-large", limit=MOST_BYTES // 1000)
    try:
        root: Element = fromstring(data.decode(), forbid_dtd=True)
    except DefusedXmlException:
        raise Refused("drawing-forbidden", name="DOCTYPE") from None
    except (UnicodeDecodeError, ParseError):
        raise Refused("drawing-damaged") from None
    return root


def _fitted(root: Element) -> tuple[int, int]:
    """Set the size of the drawing to that of the picture, and return it; what its viewBox shows stays the same."""
    wrong = Refused("drawing-bad-size", limit=MOST_UNITS)
    box = _numbers(root.get("viewBox"))
    width, height = _length(root.get("width")), _length(root.get("height"))
    if width is None or height is None:
        if box is None:
            raise wrong
        width, height = box[2:]
    if box is None:
        box = [0.0, 0.0, width, height]
        root.set("viewBox", f"0 0 {width} {height}")
    if not all(isfinite(number) and abs(number) <= MOST_UNITS for number in (width, height, *box)):
        raise wrong
    if min(width, height, *box[2:]) <= 0 or max(width, height) > MOST_TIMES_LONGER * min(width, height):
        raise wrong
    scale = LONGER_SIDE / max(width, height)
    size = round(width * scale), round(height * scale)
    root.set("width", str(size[0]))
    root.set("height", str(size[1]))
    return size


def _numbers(box: str | None) -> list[float] | None:
    """Return the four numbers of a viewBox, None where there is none."""
    if box is None:
        return None
    try:
        left, top, width, height = (float(number) for number in box.replace(",", " ").split())
    except ValueError:
        raise Refused("drawing-bad-size", limit=MOST_UNITS) from None
    return [left, top, width, height]


def _length(text: str | None) -> float | None:
    """Return a length in pixels; None where there is none, or one that depends on the page (100 %)."""
    if text is None or text.strip() == "auto" or text.strip().endswith("%"):
        return None
    found = _LENGTH.fullmatch(text)
    if found is None or found[2] not in _PIXELS:
        raise Refused("drawing-bad-size", limit=MOST_UNITS)
    return float(found[1]) * _PIXELS[found[2]]


def rendered(svg: str) -> bytes:
    """Render a checked drawing, on white, as large as it says. Raises Refused: drawing-damaged."""
    try:
        return resvg_py.svg_to_bytes(
            svg_string=svg,
            background="white",
            skip_system_fonts=True,
            font_files=list(READS),
            font_family=FAMILY,
            serif_family=FAMILY,
            sans_serif_family=FAMILY,
            cursive_family=FAMILY,
            fantasy_family=FAMILY,
            monospace_family=FAMILY,
        )
    except ValueError:
        raise Refused("drawing-damaged") from None
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # of Rust, and no Exception
            raise Refused("drawing-damaged") from None
        raise
