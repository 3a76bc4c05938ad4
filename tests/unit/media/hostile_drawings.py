"""Drawings made to do harm. See `tests.unit.media.hostile`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from gzip import compress

HARMLESS = "made harmless"
COSTLY = "file-too-costly"
NAMESPACE = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
SECRET = "/etc/passwd"
COMPLEX = "drawing-too-complex"
FORBIDDEN = "drawing-forbidden"
OUTSIDE = "drawing-outside"
SIZE = "drawing-bad-size"


def svg(inner: str, attributes: str = 'viewBox="0 0 100 100"', before: str = "") -> bytes:
    return f"{before}<svg {NAMESPACE} {attributes}>{inner}</svg>".encode()


def nested_uses(levels: int = 9, times: int = 10) -> str:
    def uses(number: int) -> str:
        return f'<use href="#a{number}"/>' * times

    rows = "".join(f'<g id="a{n}">{uses(n - 1)}</g>' for n in range(1, levels))
    return f'<defs><g id="a0"><rect width="9" height="9"/></g>{rows}</defs><use href="#a{levels - 1}"/>'


def nested_patterns(levels: int = 9, times: int = 10) -> str:
    def shapes(paint: str) -> str:
        return f'<rect width="9" height="9" fill="{paint}"/>' * times

    rows = "".join(
        f'<pattern id="p{n}" width="1" height="1">{shapes(f"url(#p{n - 1})" if n else "red")}</pattern>'
        for n in range(levels)
    )
    return f"<defs>{rows}</defs>" + shapes(f"url(#p{levels - 1})")


def filtered(primitive: str, region: str = "") -> str:
    return f'<filter id="f" {region}>{primitive}</filter><rect width="100" height="100" filter="url(#f)"/>'


def entities(text: str) -> bytes:
    return svg("<text>&z;</text>", before=f"<!DOCTYPE svg [{text}]>")


LAUGHS = '<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefghi", "bcdefghiz", strict=True)
)
MARKER = '<marker id="m"><circle r="1"/></marker>'

DRAWINGS: dict[str, tuple[bytes | Callable[[], bytes], str | tuple[str, ...]]] = {
    "billion laughs": (entities(LAUGHS), FORBIDDEN),
    "entities of quadratic growth": (lambda: entities(f'<!ENTITY z "{"x" * 50_000}">'), FORBIDDEN),
    "parameter entity": (entities('<!ENTITY % a SYSTEM "http://127.0.0.1:9/x"> %a;'), FORBIDDEN),
    "external entity": (entities(f'<!ENTITY z SYSTEM "file://{SECRET}">'), FORBIDDEN),
    "external DTD": (svg("", before='<!DOCTYPE svg SYSTEM "http://127.0.0.1:9/x.dtd">'), FORBIDDEN),
    "use of data": (svg('<use href="data:image/svg+xml,%3Csvg/%3E#a"/>'), OUTSIDE),
    "fill of data": (svg('<rect style="fill:url(data:image/png;base64,AAAA)"/>'), OUTSIDE),
    "fill of elsewhere, after one of its own": (svg('<rect fill="url(#a) url(http://127.0.0.1:9/)"/>'), OUTSIDE),
    "fill of elsewhere, by a number of a letter": (svg('<rect fill="&#117;rl(http://127.0.0.1:9/)"/>'), OUTSIDE),
    "fill of elsewhere, apart": (svg('<rect style="fill:ur/**/l(http://127.0.0.1:9/)"/>'), FORBIDDEN),
    "pointer of elsewhere": (svg('<rect cursor="url(http://127.0.0.1:9/x.cur)"/>'), OUTSIDE),
    "font of elsewhere": (svg(f'<text font-family="url(file://{SECRET})">x</text>'), OUTSIDE),
    "pictures of elsewhere, as a set": (svg("<rect style=\"fill:image-set('http://127.0.0.1:9/' 1x)\"/>"), HARMLESS),
    "image of the disk": (svg(f'<image href="{SECRET}" width="9" height="9"/>'), FORBIDDEN),
    "image by file://": (svg(f'<image xlink:href="file://{SECRET}"/>'), FORBIDDEN),
    "image by http": (svg('<image href="http://127.0.0.1:9/x.png"/>'), FORBIDDEN),
    "image within, of a bomb": (
        lambda: svg(f'<image href="data:image/svg+xml;base64,{b64encode(svg(nested_uses())).decode()}"/>'),
        FORBIDDEN,
    ),
    "use of another file": (svg(f'<use href="file://{SECRET}#a"/>'), OUTSIDE),
    "use by http": (svg('<use xlink:href="http://127.0.0.1:9/x.svg#a"/>'), OUTSIDE),
    "feImage": (svg(filtered(f'<feImage href="{SECRET}"/>')), FORBIDDEN),
    "gradient of elsewhere": (svg('<linearGradient href="http://127.0.0.1:9/#g"/>'), OUTSIDE),
    "fill of elsewhere": (svg('<rect fill="url(http://127.0.0.1:9/#g)"/>'), OUTSIDE),
    "fill of elsewhere, disguised": (svg('<rect fill="URL ( &quot;http://127.0.0.1:9/#g&quot; )"/>'), OUTSIDE),
    "fill of elsewhere, in style": (svg("<rect style='fill:url(//127.0.0.1:9)'/>"), OUTSIDE),
    "fill of elsewhere, escaped": (svg(r"<rect style='fill:\75rl(//127.0.0.1:9)'/>"), FORBIDDEN),
    "style @import": (svg("<style>@import url(http://127.0.0.1:9/x.css);</style>"), FORBIDDEN),
    "style @font-face": (svg(f"<style>@font-face{{font-family:x;src:url(file://{SECRET})}}</style>"), FORBIDDEN),
    "style @import, as it is": (svg("<style><![CDATA[@import 'http://127.0.0.1:9/x.css';]]></style>"), FORBIDDEN),
    "style @import, around a comment": (svg("<style>@imp<!-- -->ort 'http://127.0.0.1:9/x.css'</style>"), FORBIDDEN),
    "style @import, behind another sheet": (svg("<style>/*</style><style>*/@import 'x.css'</style>"), FORBIDDEN),
    "style with a filter": (svg("<style>rect{filter/**/:url(#f)}</style><rect/>"), FORBIDDEN),
    "style sheet by instruction": (
        svg('<rect width="9" height="9"/>', before='<?xml-stylesheet href="http://127.0.0.1:9/x.css"?>'),
        HARMLESS,
    ),
    "xml:base": (svg('<g xml:base="file:///etc/"><use href="#a"/></g>'), FORBIDDEN),
    "XInclude": (
        svg(f'<x:include xmlns:x="http://www.w3.org/2001/XInclude" href="{SECRET}" parse="text"/>'),
        FORBIDDEN,
    ),
    "script": (svg("<script>alert(1)</script>"), FORBIDDEN),
    "script in another namespace": (svg('<s xmlns="http://www.w3.org/1999/xhtml">x</s>'), FORBIDDEN),
    "foreignObject": (svg('<foreignObject><p xmlns="http://www.w3.org/1999/xhtml">x</p></foreignObject>'), FORBIDDEN),
    "handler of events": (svg('<rect onload="alert(1)"/>'), FORBIDDEN),
    "link that runs": (svg('<a href="javascript:alert(1)"><rect/></a>'), FORBIDDEN),
    "animation": (svg('<rect><set attributeName="href" to="http://127.0.0.1:9/"/></rect>'), FORBIDDEN),
    "bomb of nested uses": (svg(nested_uses()), COMPLEX),
    "bomb of nested patterns": (svg(nested_patterns()), COMPLEX),
    "bomb of markers": (
        lambda: svg(MARKER + f'<path d="M0 0{"l1 1" * 20_000}" marker-mid="url(#m)" stroke="red"/>'),
        COMPLEX,
    ),
    "bomb of filters": (svg(filtered("<feGaussianBlur stdDeviation='9'/>" * 500)), COMPLEX),
    "bomb of filters in one style": (svg(f"<rect style='filter:{'blur(9px) ' * 190}'/>" * 9), COMPLEX),
    "bomb of masks": (
        svg('<mask id="m"><rect/></mask>' + "<rect width='90' height='90' mask='url(#m)'/>" * 1_000),
        COMPLEX,
    ),
    "bomb of letters": (lambda: svg(f"<text>{'x' * 150_000}</text>"), COMPLEX),
    "bomb of words of their own style": (lambda: svg(f"<text>{'<tspan>x</tspan>' * 4_900}</text>"), COMPLEX),
    "bomb of rules of style": (lambda: svg("<style>" + "g g g *{fill:red}" * 9_000 + "</style>"), COMPLEX),
    "bomb of gradients' references": (
        svg("".join(f'<linearGradient id="g{n}" href="#g{n + 1}"/>' for n in range(99)) + '<rect fill="url(#g0)"/>'),
        COMPLEX,
    ),
    "gradients of each other": (
        svg('<linearGradient id="a" href="#b"/><linearGradient id="b" href="#a"/><rect fill="url(#a)"/>'),
        COMPLEX,
    ),
    "markers in markers": (
        svg(
            "".join(
                f'<marker id="m{n}"><path d="M0 0L1 1L2 2L3 3" marker-mid="url(#m{n + 1})"/></marker>'
                for n in range(15)
            )
            + '<path d="M0 0L9 9L20 20" marker-mid="url(#m0)"/>'
        ),
        COMPLEX,
    ),
    "use of the whole drawing": (svg('<use href="#r"/>', 'id="r" viewBox="0 0 9 9"'), COMPLEX),
    "use of itself": (svg('<g id="a"><use href="#a"/></g>'), COMPLEX),
    "mask of itself": (svg('<mask id="m"><rect mask="url(#m)"/></mask><rect mask="url(#m)"/>'), COMPLEX),
    "long chain of uses": (
        svg('<g id="a0"/>' + "".join(f'<g id="a{n + 1}"><use href="#a{n}"/></g>' for n in range(2_000))),
        COMPLEX,
    ),
    "long chain of uses, backwards": (
        svg("".join(f'<g id="a{n}"><use href="#a{n + 1}"/></g>' for n in range(2_000))),
        COMPLEX,
    ),
    "width of 20,000 px": (svg("<rect/>", 'width="20000" height="20000"'), SIZE),
    "width of 1e9": (svg("<rect/>", 'width="1e9" height="1e9" viewBox="0 0 1 1"'), SIZE),
    "viewBox of 1e9": (svg("<rect/>", 'viewBox="0 0 1e9 1e9"'), SIZE),
    "viewBox without end": (svg("<rect/>", 'viewBox="0 0 inf nan"'), SIZE),
    "width below nothing": (svg("<rect/>", 'width="-9" height="9"'), SIZE),
    "thin as a thread": (svg("<rect/>", 'viewBox="0 0 9000 1"'), SIZE),
    "viewBox of no numbers": (svg("<rect/>", 'viewBox="nan nan nan nan"'), SIZE),
    "viewBox below nothing": (svg("<rect/>", 'viewBox="0 0 -9 -9"'), SIZE),
    "viewBox of nothing": (svg("<rect/>", 'viewBox="0 0 0 0"'), SIZE),
    "viewBox of 1,900 digits": (svg("<rect/>", f'viewBox="0 0 {"9" * 1_900} 1"'), SIZE),
    "viewBox as small as can be": (svg('<rect width="9" height="9"/>', 'viewBox="0 0 1e-300 1e-300"'), HARMLESS),
    "drawings in a drawing, each larger": (
        svg('<svg viewBox="0 0 1e-30 1e30" width="1e30">' * 30 + '<rect width="9" height="9"/>' + "</svg>" * 30),
        HARMLESS,
    ),
    "no size": (svg("<rect/>", ""), SIZE),
    "huge numbers": (svg('<circle cx="1e38" cy="-1e38" r="1e38" stroke="red" stroke-width="1e38"/>'), HARMLESS),
    "huge transform": (svg('<g transform="scale(1e30) rotate(1e30)"><rect width="9" height="9"/></g>'), HARMLESS),
    "huge blur": (svg(filtered("<feGaussianBlur stdDeviation='1e9'/>", "width='1e9' height='1e9'")), HARMLESS),
    "huge region of a filter": (
        svg(filtered("<feFlood/>", "x='-1e9' y='-1e9' width='2e9' height='2e9' filterUnits='userSpaceOnUse'")),
        HARMLESS,
    ),
    "huge lights": (
        svg(
            filtered(
                "<feSpecularLighting surfaceScale='1e30'><fePointLight x='1e30' z='NaN'/></feSpecularLighting>" * 2
            )
        ),
        HARMLESS,
    ),
    "huge letters": (svg('<text font-size="1e30" letter-spacing="1e30" textLength="1e30" y="50">x</text>'), HARMLESS),
    "huge marker": (
        svg(
            '<marker id="m" markerWidth="1e9" markerHeight="1e9"><circle r="9"/></marker>'
            '<path d="M0 0L9 9L20 20" stroke="red" marker-mid="url(#m)"/>'
        ),
        HARMLESS,
    ),
    "tiny pattern": (
        svg(
            "<pattern id='p' width='1e-6' height='1e-6' patternUnits='userSpaceOnUse'><circle r='9'/></pattern>"
            "<rect width='100' height='100' fill='url(#p)'/>"
        ),
        HARMLESS,
    ),
    "masks of masks": (
        svg(
            "".join(f"<mask id='m{n}' mask='url(#m{n + 1})'><rect width='99' height='99'/></mask>" for n in range(15))
            + "<rect mask='url(#m0)' width='9' height='9'/>"
        ),
        HARMLESS,
    ),
    "letters that turn directions": (svg(f"<text>{chr(0x202E) + chr(0x2067)} hello</text>" * 9), HARMLESS),
    "huge pattern": (
        svg(
            "<pattern id='p' width='1e7' height='1e7' patternUnits='userSpaceOnUse'><circle r='9'/></pattern>"
            "<rect width='100' height='100' fill='url(#p)'/>"
        ),
        (COSTLY, HARMLESS),
    ),
    "tiny dashes": (
        svg(f'<path d="M0 0{"l99 99l-99-99" * 900}" stroke="red" stroke-dasharray="1e-6"/>'),
        (COSTLY, HARMLESS),
    ),
    "feTurbulence of 10,000 octaves": (svg(filtered("<feTurbulence baseFrequency='5' numOctaves='10000'/>")), COSTLY),
    "feMorphology of a great radius": (svg(filtered("<feMorphology operator='dilate' radius='99'/>")), FORBIDDEN),
    "5,000 layers of the whole picture": (
        lambda: svg('<g fill-opacity=".1">' + '<rect width="99" height="99"/>' * 4_900 + "</g>"),
        COSTLY,
    ),
    "a value of 150,000 characters": (lambda: svg(f'<path d="M0 0{"l1 1" * 37_000}"/>'), COMPLEX),
    "30,000 elements": (lambda: svg("<g/>" * 30_000), COMPLEX),
    "nested 25,000 deep": (lambda: svg("<g>" * 25_000 + "</g>" * 25_000), COMPLEX),
    "truncated drawing": (svg("<rect/>")[:-9], "drawing-damaged"),
    "no XML": (b"draw a cat", "drawing-damaged"),
    "two roots": (svg("") * 2, "drawing-damaged"),
    "empty drawing": (b"", "drawing-damaged"),
    "HTML": (b"<html><body><script>alert(1)</script></body></html>", "drawing-not-svg"),
    "SVG without its namespace": (b'<svg viewBox="0 0 9 9"><rect/></svg>', "drawing-not-svg"),
    "UTF-16": (svg("<script/>").decode().encode("utf-16"), "drawing-damaged"),
    "said to be UTF-16, and is not": (svg("<script/>", before='<?xml version="1.0" encoding="UTF-16"?>'), FORBIDDEN),
    "said to be UTF-7": (
        svg("+ADw-script+AD4-", before='<?xml version="1.0" encoding="UTF-7"?>'),
        HARMLESS,
    ),
    "UTF-16 with a mark": (svg("<script/>").decode().encode("utf-16"), "drawing-damaged"),
    "UTF-32": (svg("<script/>").decode().encode("utf-32"), "drawing-damaged"),
    "UTF-8 with a mark": (b"\xef\xbb\xbf" + svg("<script/>"), FORBIDDEN),
    "said to be in an encoding that there is not": (
        svg("<script/>", before='<?xml version="1.0" encoding="nonsense"?>'),
        (FORBIDDEN, "drawing-damaged"),
    ),
    "a letter of 5,000 digits": (svg(f"<text>&#{'9' * 5_000};</text>"), "drawing-damaged"),
    "letters that XML has not": (svg("<text>&#0;&#xFFFF;</text>"), "drawing-damaged"),
    "4,000 namespaces": (
        lambda: svg("".join(f'<g xmlns:a{n}="urn:{n}"/>' for n in range(4_000))),
        (HARMLESS, COMPLEX),
    ),
    "15,000 attributes": (lambda: svg("<g " + " ".join(f'a{n}="1"' for n in range(15_000)) + "/>"), COMPLEX),
    "a path of 10 MB": (lambda: svg(f'<path d="M0 0{"l1 1" * 2_500_000}"/>'), "drawing-too-large"),
    "overlong UTF-8": (svg("<rect/>") + b"\xc0\xbc", "drawing-damaged"),
    "svgz": (compress(svg("<rect/>")), "drawing-damaged"),
    "svgz bomb": (lambda: compress(bytes(10_000_000)), "drawing-damaged"),
}
