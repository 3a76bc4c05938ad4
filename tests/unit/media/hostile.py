"""Files made to do harm, and what becomes of each. `python -m tests.unit.media.hostile` prints it as a table.

Every file is made here, by code. `told`: the ids of the sentences that refuse it, one of which it must be; HARMLESS:
something may be made of it, since nothing in it does anything.
"""

from __future__ import annotations

import asyncio
import json
import resource
import struct
import subprocess
import sys
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from gzip import compress
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from PIL import Image

from media.jobs import DOCUMENT, DRAWING, PICTURE
from media.sandbox import Sandbox
from media.worker import Job
from memory.errors import Refused
from tests.unit.media.hostile_documents import DOCUMENTS
from texts.catalogue import Speaker

HARMLESS = "made harmless"
NAMESPACE = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
SECRET = "/etc/passwd"
COSTLY = "file-too-costly"
COMPLEX = "drawing-too-complex"
FORBIDDEN = "drawing-forbidden"
OUTSIDE = "drawing-outside"
SIZE = "drawing-bad-size"
DAMAGED = "picture-damaged"


@dataclass(frozen=True, slots=True)
class Case:
    """A file for a job, and what may come of it."""

    job: Job
    make: Callable[[], bytes]
    told: tuple[str, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)


def svg(inner: str, attributes: str = 'viewBox="0 0 100 100"', before: str = "") -> bytes:
    return f"{before}<svg {NAMESPACE} {attributes}>{inner}</svg>".encode()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *chunks: bytes, rows: bytes = b"\0\0") -> bytes:
    """A PNG of 8 bits of grey that says of itself what it likes."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    end = chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + end


def _packed(megabytes: int) -> bytes:
    """As many bytes of nothing, packed once and repeated; the sum at the end is wrong, which nobody comes to see."""
    packer = zlib.compressobj(9)
    first = packer.compress(bytes(1_000_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    more = packer.compress(bytes(1_000_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + more * (megabytes - 1) + packer.flush()


def good(form: str, size: tuple[int, int] = (200, 100), **options: Any) -> bytes:
    made = BytesIO()
    image = Image.linear_gradient("L").resize(size).convert("RGB")
    image.save(made, form, **options)
    return made.getvalue()


def gif_of_many_frames(frames: int = 10_000) -> bytes:
    one = good("GIF", (100, 100))
    begin = one.index(b"\x2c", 13 + 3 * 256)  # after the header and its palette
    return one[:begin] + one[begin:-1] * frames + b"\x3b"


def zipped(name: str) -> bytes:
    made = BytesIO()
    with ZipFile(made, "w") as archive:
        archive.writestr(name, bytes(1_000_000))
    return made.getvalue()


def webp_of(width: int, height: int) -> bytes:
    """A lossless WebP whose header says another size than it has."""
    data = bytearray(good("WEBP", lossless=True))
    at = data.index(b"VP8L") + 9
    data[at : at + 4] = struct.pack("<I", (width - 1) | (height - 1) << 14)
    return bytes(data)


def jpeg_of(width: int, height: int) -> bytes:
    """A JPEG whose header says another size than it has."""
    data = bytearray(good("JPEG", (16, 16)))
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def webp_of_many_frames(frames: int = 100_000, side: int = 4) -> bytes:
    """An animation; side: of its canvas, as it says."""
    one = good("WEBP", (4, 4), lossless=True)[12:]
    frame = b"ANMF" + struct.pack("<I", 16 + len(one)) + bytes(6) + b"\3\0\0\3\0\0\1\0\0\0" + one
    canvas = struct.pack("<I", side - 1)[:3] * 2
    head = b"WEBPVP8X" + struct.pack("<I", 10) + b"\2\0\0\0" + canvas + b"ANIM" + struct.pack("<I", 6) + bytes(6)
    return b"RIFF" + struct.pack("<I", len(head) + frames * len(frame)) + head + frame * frames


def png_of_many_frames(frames: int = 10_000) -> bytes:
    def control(number: int) -> bytes:
        return chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, 1, 1, 0, 0, 1, 10, 0, 0))

    rows = zlib.compress(b"\0\0")
    others = [
        control(number) + chunk(b"fdAT", struct.pack(">I", number + 1) + rows) for number in range(1, 2 * frames - 1, 2)
    ]
    return png(1, 1, chunk(b"acTL", struct.pack(">II", frames, 0)), control(0), chunk(b"IDAT", rows), *others)


def jpeg_of_many_scans(scans: int) -> bytes:
    """A progressive JPEG that says its last scan again and again."""
    data = good("JPEG", (400, 400), progressive=True)
    last = data.rindex(b"\xff\xda")
    return data[:last] + data[last:-2] * scans + data[-2:]


def exif_bomb() -> bytes:
    """EXIF whose directory has 65,535 entries that all point to themselves."""
    entries = struct.pack("<HHII", 0x8769, 4, 1, 8) * 5_000
    return good("JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0\xff\xff" + entries)


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
                "<feSpecularLighting surfaceScale='1e30'><fePointLight x='1e30' z='NaN'/></feSpecularLighting>" * 9
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

PICTURES: dict[str, tuple[bytes | Callable[[], bytes], str | tuple[str, ...]]] = {
    "PNG that says 60,000 x 60,000": (png(60_000, 60_000), "picture-too-large"),
    "PNG that says 7,000 x 7,000 and has nothing": (png(7_000, 7_000), DAMAGED),
    "PNG of 49 million pixels": (lambda: png(7_000, 7_000, rows=bytes(7_001 * 7_000)), HARMLESS),
    "PNG without pixels": (png(0, 0), DAMAGED),
    "PNG with a bomb in its text": (
        lambda: png(1, 1, chunk(b"zTXt", b"a\0\0" + _packed(50))),
        (DAMAGED, HARMLESS),
    ),
    "PNG with a bomb for a colour profile": (
        lambda: png(1, 1, chunk(b"iCCP", b"a\0\0" + _packed(50))),
        (DAMAGED, HARMLESS),
    ),
    "PNG whose pixels are a bomb": (lambda: png(1, 1, rows=bytes(10_000_000)), (DAMAGED, HARMLESS)),
    "truncated PNG": (lambda: good("PNG")[:-200], DAMAGED),
    "truncated JPEG": (lambda: good("JPEG")[:-400], DAMAGED),
    "truncated GIF": (lambda: good("GIF")[:400], DAMAGED),
    "truncated WebP": (lambda: good("WEBP")[:-50], DAMAGED),
    "JPEG of nothing but its beginning": (b"\xff\xd8\xff\xe0", DAMAGED),
    "JPEG with a bomb for EXIF": (exif_bomb, (DAMAGED, HARMLESS)),
    "JPEG with a broken colour profile": (lambda: good("JPEG", icc_profile=b"\xff" * 500_000), HARMLESS),
    "GIF with 10,000 frames": (gif_of_many_frames, HARMLESS),
    "GIF that says 65,535 x 65,535": (
        b"GIF89a\xff\xff\xff\xff\x80\0\0" + bytes(6) + b"\x2c\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x44\x01\0\x3b",
        "picture-too-large",
    ),
    "WebP that says 16,384 x 16,384": (lambda: webp_of(16_384, 16_384), ("picture-too-large", DAMAGED)),
    "WebP that says 5,000 x 5,000": (lambda: webp_of(5_000, 5_000), (DAMAGED, HARMLESS)),
    "WebP of nothing but its beginning": (b"RIFF\xff\xff\xff\xffWEBPVP8L", DAMAGED),
    "JPEG that says 60,000 x 60,000": (lambda: jpeg_of(60_000, 60_000), "picture-too-large"),
    "JPEG that says 7,000 x 7,000 and has nothing": (lambda: jpeg_of(7_000, 7_000), (DAMAGED, HARMLESS)),
    "JPEG that says 0 x 0": (lambda: jpeg_of(0, 0), DAMAGED),
    "JPEG of many scans": (lambda: jpeg_of_many_scans(200), (DAMAGED, HARMLESS)),
    "JPEG with 10,000 times EXIF": (
        lambda: b"\xff\xd8" + (b"\xff\xe1\0\x08Exif\0\0" * 10_000) + good("JPEG")[2:],
        (DAMAGED, HARMLESS),
    ),
    "JPEG of several pictures that there are not": (
        lambda: good("JPEG")[:2] + b"\xff\xe2\xff\xffMPF\0II*\0\x08\0\0\0\xff\xff" + b"\2\xb0" * 40_000,
        (DAMAGED, HARMLESS),
    ),
    "PNG of 10,000 frames": (png_of_many_frames, HARMLESS),
    "PNG of 100,000 parts without anything in them": (
        lambda: png(1, 1, *[chunk(b"IDAT", b"")] * 100_000),
        (DAMAGED, HARMLESS),
    ),
    "PNG with a part of 2 GB": (b"\x89PNG\r\n\x1a\n\x7f\xff\xff\xffIHDR", DAMAGED),
    "PNG that says 2^31 x 2^31": (png(2**31 - 1, 2**31 - 1), "picture-too-large"),
    "PNG that says 1 x 50,000,001": (png(1, 50_000_001), "picture-too-large"),
    "PNG with a bomb in its text of any language": (
        lambda: png(1, 1, chunk(b"iTXt", b"a\0\1\0\0\0" + _packed(50))),
        (DAMAGED, HARMLESS),
    ),
    "WebP with 100,000 frames": (webp_of_many_frames, HARMLESS),
    "animated WebP that says 2^24 x 2^24": (lambda: webp_of_many_frames(2, 1 << 24), ("picture-too-large", DAMAGED)),
    "GIF with a frame beside it": (
        b"GIF89a\1\0\1\0\x80\0\0" + bytes(6) + b"\x2c" + b"\xff" * 8 + b"\0\2\2\x44\1\0\x3b",
        ("picture-too-large", DAMAGED, HARMLESS),
    ),
    "GIF of 300,000 comments": (
        lambda: b"GIF89a\1\0\1\0\x80\0\0" + bytes(6) + b"\x21\xfe\0" * 300_000 + b"\x3b",
        DAMAGED,
    ),
    "GIF that is an archive too": (lambda: good("GIF") + zipped("a.class"), HARMLESS),
    "PNG that is HTML too": (lambda: good("PNG") + b"<script>alert(1)</script>", HARMLESS),
    "ICO": (lambda: good("ICO"), "picture-unknown-format"),
    "JPEG 2000": (lambda: good("JPEG2000"), "picture-unknown-format"),
    "HEIC": (b"\0\0\0\x18ftypheic" + bytes(99), "picture-unknown-format"),
    "AVIF": (b"\0\0\0\x1cftypavif" + bytes(99), "picture-unknown-format"),
    "zip named .png": (lambda: zipped("cat.png"), "picture-unknown-format"),
    "SVG for a picture": (svg("<script/>"), "picture-unknown-format"),
    "TIFF": (lambda: good("TIFF"), "picture-unknown-format"),
    "BMP": (lambda: good("BMP"), "picture-unknown-format"),
    "EPS, which other programs would run": (b"%!PS-Adobe-3.0 EPSF-3.0\n", "picture-unknown-format"),
    "empty picture": (b"", "picture-unknown-format"),
    "noise": (lambda: zlib.compress(bytes(range(256)) * 99), "picture-unknown-format"),
}


def cases() -> Iterator[tuple[str, Case]]:
    """Yield every case with its name."""
    for job, of_job in ((DRAWING, DRAWINGS), (PICTURE, PICTURES)):
        for name, (data, told) in of_job.items():
            make = data if callable(data) else (lambda data=data: data)
            yield name, Case(job, make, (told,) if isinstance(told, str) else told)
    for name, (data, told, file_name) in DOCUMENTS.items():
        make = data if callable(data) else (lambda data=data: data)
        arguments = {"name": file_name, "media_type": "", "most_chunks": 500}
        yield name, Case(DOCUMENT, make, (told,) if isinstance(told, str) else told, arguments)


CASES = dict(cases())


async def outcome(case: Case, data: bytes) -> Refused | None:
    """What became of a file: its refusal, or None where something was made of it."""
    try:
        await Sandbox().run(case.job, case.arguments, data)
    except Refused as refused:
        return refused
    return None


def measured(name: str, data: bytes) -> tuple[str, float, int]:
    """Run one case in this process, and return outcome, seconds and the most bytes that the job's process took.

    That is never told as less than this process itself takes, about 30 MB.
    """
    begun = time.monotonic()
    refused = asyncio.run(outcome(CASES[name], data))
    seconds = time.monotonic() - begun
    told = HARMLESS if refused is None else Speaker().refusal(refused)
    return told, seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def main() -> None:
    """Print the table, each case run below a process of its own, so that its memory is seen apart."""
    print("| file | outcome | seconds | peak MB |\n|---|---|---|---|")
    for name, case in CASES.items():
        command = [sys.executable, "-m", "tests.unit.media.hostile", name]
        answer = subprocess.run(command, check=True, input=case.make(), stdout=subprocess.PIPE).stdout
        told, seconds, most = json.loads(answer)
        print(f"| {name} | {told} | {seconds:.1f} | {most / 1e6:.0f} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measured(sys.argv[1], sys.stdin.buffer.read())))
    else:
        main()
