"""The job for pictures people send: decode, turn upright, make small, and write anew without anything but the pixels.

The format is told by the content, of four that browsers show too; each decoder more would be one more to attack. What
cameras write beside the pixels, such as the place, stays behind: it is nobody's business at a model's provider.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

import blurhash
from PIL import (
    GifImagePlugin,
    Image,
    ImageOps,
    JpegImagePlugin,
    MpoImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    UnidentifiedImageError,
    WebPImagePlugin,
)

from memory.errors import Refused

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
MOST_PIXELS = 50_000_000  # decoded 4 bytes each, twice for a moment; what phones take at their finest
LONGER_SIDE = 1_568  # models look at no more
MOST_BYTES = 3_500_000  # base64 makes a third more of them, and the API takes 5 MB
PNG = "image/png"
JPEG = "image/jpeg"
_FEW_COLOURS = 256
_SMALLER = 0.7
_BEGINNINGS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8")
# What decoders stumble over in a file that is not as it should be; anything else is a fault of ours.
_STUMBLES = (OSError, SyntaxError, ValueError, LookupError, TypeError, OverflowError, struct.error)


def work(_: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return {"media_type", "width", "height", "blurhash"} and the picture as PNG or JPEG of at most MOST_BYTES.

    PNG where it has transparency or few colours. Of an animation the first frame. Raises Refused:
    picture-unknown-format, picture-damaged or picture-too-large (in pixels).
    """
    try:
        image = _opened(data)
        image.thumbnail((LONGER_SIDE, LONGER_SIDE), Image.Resampling.LANCZOS, reducing_gap=3.0)
        image = _bare(ImageOps.exif_transpose(image))
    except Image.DecompressionBombError:
        raise Refused("picture-too-large", megapixels=MOST_PIXELS // 1_000_000) from None
    except UnidentifiedImageError:
        known = data.startswith(_BEGINNINGS) or (data[:4], data[8:12]) == (b"RIFF", b"WEBP")
        raise Refused("picture-damaged" if known else "picture-unknown-format") from None
    except _STUMBLES:
        raise Refused("picture-damaged") from None
    return next(found for found in _written(image) if len(found[1]) <= MOST_BYTES)


def preview(image: Image.Image) -> dict[str, Any]:
    """Return {"width", "height", "blurhash"} of a picture."""
    small = image.convert("RGB")
    small.thumbnail((32, 32), Image.Resampling.BOX)
    rows = [[small.getpixel((x, y)) for x in range(small.width)] for y in range(small.height)]
    return {"width": image.width, "height": image.height, "blurhash": blurhash.encode(rows, 4, 3)}


def _opened(data: bytes) -> Image.Image:
    """Open a picture; pixels are counted before any is decoded, and those of a palette get their colours."""
    image: Image.Image = Image.open(BytesIO(data), formats=FORMATS)
    if image.mode in {"P", "PA"} or image.mode.startswith("I"):  # sizes can be changed of colours only
        return _coloured(image)
    return image


def _coloured(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):  # grey of 16 bits, which would be cut off at 8
        image = image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def _bare(image: Image.Image) -> Image.Image:
    """Return the pixels alone, in RGB or RGBA."""
    coloured = _coloured(image)
    bare = Image.new(coloured.mode, coloured.size)
    bare.paste(coloured)
    return bare


def _written(image: Image.Image) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the picture in forms that take less and less, without end."""
    opaque = image.mode == "RGB" or image.getchannel("A").getextrema() == (255, 255)
    if not opaque or image.getcolors(_FEW_COLOURS) is not None:
        yield _saved(image.convert("RGB") if opaque else image, PNG)
    plain = image
    if image.mode != "RGB":
        plain = Image.new("RGB", image.size, "white")
        plain.paste(image, mask=image.getchannel("A"))
    while True:
        yield _saved(plain, JPEG)
        size = [max(1, round(side * _SMALLER)) for side in plain.size]
        plain = plain.resize((size[0], size[1]), Image.Resampling.LANCZOS)


def _saved(image: Image.Image, media_type: str) -> tuple[dict[str, Any], bytes]:
    made = BytesIO()
    if media_type == PNG:
        image.save(made, "PNG", optimize=True)
    else:
        image.save(made, "JPEG", quality=88, optimize=True)
    return {"media_type": media_type, **preview(image)}, made.getvalue()


def _warmed_up() -> None:
    """Do everything once, so that Pillow loads what it puts off: afterwards it can load nothing."""
    Image.MAX_IMAGE_PIXELS = MOST_PIXELS // 2  # above this it warns, above twice this it refuses
    warnings.simplefilter("ignore", Image.DecompressionBombWarning)
    plugins = (GifImagePlugin, JpegImagePlugin, MpoImagePlugin, PngImagePlugin, TiffImagePlugin, WebPImagePlugin)
    assert all(plugins)  # noqa: S101 - imported for what they register
    for form in FORMATS:
        made = BytesIO()
        Image.new("P", (2, 2)).convert("RGB").save(made, form)
        work({}, made.getvalue())


_warmed_up()
