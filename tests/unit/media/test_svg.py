"""Drawings as they come out: what is to be seen, how large, and what a model may use."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from defusedxml.ElementTree import fromstring
from PIL import Image

from media.jobs import MediaJobs
from media.landlock import known_version
from media.sandbox import Sandbox
from media.svg import rendered, work
from media.svg_cost import MOST_DRAWN, MOST_LINKS, check_cost
from media.worker import Job
from memory.errors import Refused
from memory.media import Picture
from tests.unit.media.hostile_drawings import NAMESPACE, svg

WHITE, RED, BLUE, BLACK = (255, 255, 255), (255, 0, 0), (0, 0, 255), (0, 0, 0)


def drawn(inner: str, attributes: str = 'viewBox="0 0 100 100"') -> Image.Image:
    _, png = work({}, svg(inner, attributes))
    return Image.open(BytesIO(png)).convert("RGB")


def refusal(inner: str, attributes: str = 'viewBox="0 0 100 100"') -> dict[str, Any]:
    with pytest.raises(Refused) as caught:
        work({}, svg(inner, attributes))
    return {"id": caught.value.text_id, **caught.value.values}


def dark(image: Image.Image) -> int:
    """How many pixels are darker than grey."""
    return sum(image.convert("L").histogram()[:128])


async def test_a_drawing_becomes_a_picture_with_its_colours_and_words() -> None:
    picture = await MediaJobs().rasterise(
        svg(
            '<title>A flag</title><rect width="100" height="50" fill="red"/>'
            '<rect y="50" width="50" height="50" fill="blue"/>'
            '<text x="110" y="60" font-size="40" font-family="Comic Sans MS, cursive">Yes</text>',
            'viewBox="0 0 200 100"',
        ).decode()
    )
    assert isinstance(picture, Picture)
    assert picture.media_type == "image/png"
    assert (picture.info.width, picture.info.height) == (1_024, 512)
    assert len(picture.info.blurhash) == 28  # of 4 by 3 components
    image = Image.open(BytesIO(picture.data)).convert("RGB")
    assert image.size == (1_024, 512)
    seen = [image.getpixel(point) for point in ((250, 100), (100, 400), (400, 400), (900, 450))]
    assert seen == [RED, BLUE, WHITE, WHITE]
    assert dark(image.crop((540, 100, 1_000, 330))) > 2_000, "the word is drawn"


@pytest.mark.parametrize("words", ["Grüße", "Привет", "Γειά", "Çok güzel"])
def test_text_is_drawn_in_the_packaged_font(words: str) -> None:
    assert dark(drawn(f'<text x="5" y="50" font-size="20">{words}</text>')) > 1_000


def test_every_family_has_the_same_font() -> None:
    texts = [f'<text x="5" y="50" font-family="{family}">Word</text>' for family in ("serif", "Papyrus", "monospace")]
    first, *others = [drawn(text).tobytes() for text in texts]
    assert all(other == first for other in others)


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ('width="200" height="100"', (1_024, 512)),
        ('width="10cm" height="200mm"', (512, 1_024)),
        ('width="100%" height="100%" viewBox="0 0 300 100"', (1_024, 341)),
        ('viewBox="-50,-50,100,100"', (1_024, 1_024)),
        ('width="0.5in" height="48" viewBox="0 0 9 1"', (1_024, 1_024)),
        ('viewBox="0 0 1600 100"', (1_024, 64)),
    ],
)
def test_the_longer_side_is_as_long_as_it_shall_be(attributes: str, size: tuple[int, int]) -> None:
    assert drawn("<circle r='5'/>", attributes).size == size


def test_the_whole_of_a_drawing_without_viewbox_is_seen() -> None:
    image = drawn('<rect x="100" width="100" height="100" fill="red"/>', 'width="200" height="100"')
    assert [image.getpixel((x, 256)) for x in (100, 900)] == [WHITE, RED]


@pytest.mark.parametrize(
    "attributes",
    ["", 'width="9"', 'viewBox="0 0 9"', 'viewBox="0 0 9 x"', 'width="1e" height="9"', 'viewBox="0 0 9 0"'],
)
def test_without_a_size_nothing_is_drawn(attributes: str) -> None:
    assert refusal("", attributes) == {"id": "drawing-bad-size", "limit": 10_000}


PAINT = '<linearGradient id="g"><stop stop-color="red"/><stop offset="1" stop-color="red"/></linearGradient>'
EVERYTHING = {
    "gradient in an attribute": f'{PAINT}<rect width="99" height="99" fill="url(#g)"/>',
    "gradient in a style": f"{PAINT}<style>/* sky */ .a{{fill:url(#g)}}</style>"
    "<rect class='a' width='99' height='99'/>",
    "gradient by its reference": f'{PAINT}<radialGradient id="h" xlink:href="#g"/>'
    '<rect width="99" height="99" style="fill:url(#h)"/>',
    "pattern": '<pattern id="p" width="1" height="1"><rect width="99" height="99" fill="red"/></pattern>'
    '<rect width="99" height="99" fill="url(#p)"/>',
    "use and symbol": '<symbol id="s"><rect width="99" height="99" fill="red"/></symbol><use href="#s"/>',
    "mask and clip": '<mask id="m"><rect width="99" height="99" fill="white"/></mask>'
    '<clipPath id="c"><circle cx="50" cy="50" r="40"/></clipPath>'
    '<g clip-path="url(#c)"><rect width="99" height="99" fill="red" mask="url(#m)"/></g>',
    "filter": '<filter id="f"><feGaussianBlur stdDeviation="2"/><feOffset dx="1"/></filter>'
    '<rect width="99" height="99" fill="red" filter="url(#f)"/>',
    "marker": '<marker id="k" viewBox="0 0 2 2" markerWidth="9" markerHeight="9" refX="1" refY="1">'
    '<rect width="2" height="2" fill="red"/></marker>'
    '<path d="M0 50L50 50L99 50" stroke="red" marker-mid="url(#k)"/>',
    "aria and data": '<rect role="img" aria-label="a rug" data-x="1" width="99" height="99" fill="red"/>',
    "text on a path": '<path id="w" d="M0 60H99" fill="none"/><rect width="99" height="99" fill="red"/>'
    '<text><textPath href="#w"><tspan>Hi</tspan></textPath></text>',
}


@pytest.mark.parametrize("name", EVERYTHING)
def test_what_drawings_are_made_of_is_drawn(name: str) -> None:
    assert drawn(EVERYTHING[name]).getpixel((512, 516)) == RED


@pytest.mark.parametrize(
    ("inner", "name"),
    [
        ("<script/>", "script"),
        ("<rect onclick='x'/>", "onclick"),
        ("<g xmlns:e='urn:e' e:role='x'/>", "role"),
        ("<x-é/>", "?"),
        (f"<{'a' * 60}/>", "?"),
        ("<style>rect { MASK: none }</style>", "mask in <style>"),
        ("<pattern id='p'/><style>rect{fill:url(#p)}</style>", "url() in <style>"),
        ("<rect style='fill:red}'/>", "style"),
    ],
)
def test_what_is_not_drawn_is_named(inner: str, name: str) -> None:
    assert refusal(inner) == {"id": "drawing-forbidden", "name": name}


def test_what_is_drawn_is_what_was_checked() -> None:
    """Comments, instructions and marked sections are gone before the renderer reads anything."""
    image = drawn(
        '<!-- <script/> --><?x <script/> ?><rect width="99" height="99" fill="red"/><desc><![CDATA[<x>]]></desc>'
    )
    assert image.getpixel((500, 500)) == RED


@pytest.mark.skipif(known_version() < 1, reason="this kernel has no Landlock")
async def test_what_the_check_would_miss_the_process_keeps_from_the_disk(tmp_path: Path) -> None:
    """The renderer follows an image to the disk, as the first half shows; in its process it finds the font alone."""
    image = tmp_path / "red.png"
    Image.new("RGB", (50, 50), RED).save(image)
    drawing = svg(f'<image href="{image}" width="50" height="50"/><text y="90" font-size="40">Word</text>')
    drawing = drawing.replace(b"<svg ", b'<svg width="100" height="100" ')
    outside = Image.open(BytesIO(rendered(drawing.decode()))).convert("RGB")
    assert outside.getpixel((25, 25)) == RED
    _, png = await Sandbox().run(Job("tests.unit.media.unchecked"), {}, drawing)
    inside = Image.open(BytesIO(png)).convert("RGB")
    assert inside.getpixel((25, 25)) == WHITE
    assert dark(inside) == dark(outside.crop((0, 51, 100, 100))) > 100


def parsed(inner: str) -> Any:
    return fromstring(f"<svg {NAMESPACE}>{inner}</svg>")


def too_complex(inner: str) -> bool:
    try:
        check_cost(parsed(inner))
    except Refused as refused:
        assert refused.text_id == "drawing-too-complex"
        return True
    return False


def test_uses_count_as_often_as_they_draw() -> None:
    shapes = '<g id="a">' + "<rect/>" * 100 + "</g>"
    assert not too_complex(shapes + '<use href="#a"/>' * (MOST_DRAWN // 100 - 1))
    assert too_complex(shapes + '<use href="#a"/>' * (MOST_DRAWN // 100))


def test_what_is_only_defined_counts_where_it_is_used() -> None:
    shapes = '<defs><g id="a">' + "<rect/>" * (MOST_DRAWN // 2) + "</g></defs>"
    assert not too_complex(shapes)
    assert not too_complex(shapes + '<use href="#a"/>' * 2)
    assert too_complex(shapes + '<use href="#a"/>' * 3)


def test_a_pattern_counts_for_every_shape_that_it_fills_also_by_inheritance() -> None:
    pattern = '<pattern id="p">' + "<rect/>" * 100 + "</pattern>"
    assert not too_complex(pattern + '<g fill="url(#p)">' + "<rect/>" * 100 + "</g>")
    assert too_complex(pattern + '<g fill="url(#p)">' + "<rect/>" * 200 + "</g>")


def test_a_marker_counts_at_every_vertex() -> None:
    marker = '<marker id="m">' + "<rect/>" * 100 + "</marker>"
    assert not too_complex(marker + '<g style="marker:url(#m)"><path d="M0 0' + "L1 1" * 100 + '"/></g>')
    assert too_complex(marker + '<g style="marker:url(#m)"><path d="M0 0' + "1 1 " * 200 + '"/></g>')


def test_references_go_no_further_than_they_may() -> None:
    def chain(links: int) -> str:
        return "".join(f'<g id="a{n}"><use href="#a{n + 1}"/></g>' for n in range(links))

    assert not too_complex(chain(MOST_LINKS))
    assert too_complex(chain(MOST_LINKS + 1))
    assert too_complex('<g fill="url(#p)"><pattern id="p"><g fill="url(#p)"><rect/></g></pattern><rect/></g>')


def test_of_two_with_one_id_the_costlier_counts() -> None:
    twice = '<defs><g id="a"/><g id="a">' + "<rect/>" * MOST_DRAWN + "</g></defs>"
    assert too_complex(twice + '<use href="#a"/>' * 2)


async def test_a_drawing_that_takes_too_long_is_called_a_drawing() -> None:
    huge = "<pattern id='p' width='1e7' height='1e7' patternUnits='userSpaceOnUse'><circle r='9'/></pattern>"
    with pytest.raises(Refused) as caught:
        await MediaJobs().rasterise(svg(huge + "<rect width='99' height='99' fill='url(#p)'/>").decode())
    assert caught.value.text_id == "drawing-too-costly"


async def test_half_a_sign_is_no_reason_to_fail() -> None:
    with pytest.raises(Refused) as caught:
        await MediaJobs().rasterise("\ud83d")
    assert caught.value.text_id == "drawing-damaged"
