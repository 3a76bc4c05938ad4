"""Pictures as they come out: what is to be seen stays, all else goes."""

from __future__ import annotations

import random
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from media.jobs import MediaJobs
from media.picture import LONGER_SIDE, MOST_BYTES, work
from memory.errors import Refused
from tests.unit.media.hostile import good

PLACE = b"at home with Juno"
RED, BLUE = (255, 0, 0), (0, 0, 255)


def two_colours(size: tuple[int, int] = (40, 20), mode: str = "RGB") -> Image.Image:
    """Red on the left, blue on the right."""
    image = Image.new("RGB", size, RED)
    image.paste(BLUE, (size[0] // 2, 0, *size))
    return image.convert(mode)


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    drawn = random.Random(7).randbytes(width * height * len(mode))  # noqa: S311
    return Image.frombytes(mode, (width, height), drawn)


def file_of(image: Image.Image, form: str, **options: Any) -> bytes:
    made = BytesIO()
    image.save(made, form, **options)
    return made.getvalue()


def seen(data: bytes) -> tuple[Image.Image, str]:
    """What the job makes of a file, opened, and its media type."""
    told, made = work({}, data)
    image = Image.open(BytesIO(made))
    assert (told["width"], told["height"]) == image.size
    assert told["media_type"] == Image.MIME[image.format or ""]
    return image, told["media_type"]


@pytest.mark.parametrize(
    ("form", "options"),
    [("PNG", {}), ("JPEG", {"quality": 95}), ("GIF", {}), ("WEBP", {"lossless": True}), ("WEBP", {})],
)
async def test_each_format_is_read(form: str, options: dict[str, Any]) -> None:
    picture = await MediaJobs().picture(file_of(two_colours(), form, **options))
    image = Image.open(BytesIO(picture.data)).convert("RGB")
    assert (picture.info.width, picture.info.height) == image.size == (40, 20)
    assert len(picture.info.blurhash) == 28
    left, right = (image.getpixel((x, 10)) for x in (5, 35))
    assert isinstance(left, tuple)
    assert isinstance(right, tuple)
    assert min(left[0], right[2]) > 230
    assert max(left[2], right[0]) < 30


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "CMYK", "RGBA", "I;16"])
def test_every_way_to_hold_pixels_is_read(mode: str) -> None:
    deep = mode == "I;16"
    image = Image.new(mode, (40, 20), 0x8000) if deep else Image.new("RGB", (40, 20), "white").convert(mode)
    read, _ = seen(file_of(image, "JPEG" if mode == "CMYK" else "PNG"))
    assert read.convert("L").getpixel((20, 10)) == (128 if deep else 255)


def test_a_camera_held_upright_gives_an_upright_picture() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned a quarter to the right
    image, _ = seen(file_of(two_colours(), "JPEG", exif=exif, quality=95))
    assert image.size == (20, 40)
    above, below = (image.convert("RGB").getpixel((10, y)) for y in (5, 35))
    assert isinstance(above, tuple)
    assert isinstance(below, tuple)
    assert above[0] > 200 > below[0]


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF"])
def test_nothing_but_pixels_leaves(form: str) -> None:
    exif = Image.Exif()
    exif[0x010E] = PLACE.decode()
    exif.get_ifd(0x8825)[29] = "2026:03:03"
    options: dict[str, Any] = {"comment": PLACE} if form == "GIF" else {"exif": exif, "icc_profile": PLACE}
    if form == "JPEG":
        options |= {"comment": PLACE, "xmp": PLACE}
    source = file_of(noise(40, 20) if form == "JPEG" else two_colours(), form, **options)
    assert PLACE in source or form == "PNG"  # which packs the profile
    _, made = work({}, source)
    image = Image.open(BytesIO(made))
    image.load()
    assert PLACE not in made
    assert not image.getexif()
    assert set(image.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}


def test_a_large_picture_is_made_small_and_keeps_its_form() -> None:
    image, _ = seen(file_of(two_colours((4_000, 1_000)), "PNG"))
    assert image.size == (LONGER_SIDE, LONGER_SIDE // 4)
    assert seen(file_of(two_colours((9_000, 2)), "PNG"))[0].size == (LONGER_SIDE, 1)


def test_a_small_picture_stays_as_small() -> None:
    assert seen(file_of(two_colours((3, 1)), "PNG"))[0].size == (3, 1)


def test_a_photo_is_sent_as_jpeg_and_a_drawing_as_png() -> None:
    assert seen(file_of(noise(300, 200), "PNG"))[1] == "image/jpeg"
    assert seen(file_of(two_colours(), "JPEG", quality=100, subsampling=0))[1] == "image/png"


def test_transparency_stays() -> None:
    image = two_colours(mode="RGBA")
    image.paste((0, 0, 0, 0), (0, 0, 20, 20))
    for form in ("PNG", "WEBP", "GIF"):
        read, media_type = seen(file_of(image, form, **({"lossless": True} if form == "WEBP" else {})))
        assert media_type == "image/png"
        clear, blue = (read.convert("RGBA").getpixel((x, 10)) for x in (5, 35))
        assert isinstance(clear, tuple)
        assert clear[3] == 0
        assert blue == (*BLUE, 255)


def test_transparency_that_is_none_does_not_count() -> None:
    assert seen(file_of(noise(300, 200).convert("RGBA"), "PNG"))[1] == "image/jpeg"


def test_what_cannot_be_packed_is_made_smaller_until_it_fits() -> None:
    _, made = work({}, file_of(noise(LONGER_SIDE, LONGER_SIDE, "RGBA"), "PNG", compress_level=0))
    assert len(made) <= MOST_BYTES


@pytest.mark.parametrize("form", ["GIF", "PNG", "WEBP"])
def test_of_an_animation_the_first_frame_is_seen(form: str) -> None:
    frames = [Image.new("RGB", (9, 9), colour) for colour in (RED, BLUE)]
    options: dict[str, Any] = {"lossless": True} if form == "WEBP" else {}
    image, _ = seen(file_of(frames[0], form, save_all=True, append_images=frames[1:], duration=100, **options))
    assert image.convert("RGB").getpixel((4, 4)) == RED


async def test_a_photo_of_several_pictures_is_read_in_the_process_too() -> None:
    """The module for it is one that Pillow loads only when it meets such a file."""
    several = file_of(noise(60, 40), "MPO", save_all=True, append_images=[noise(60, 40)])
    picture = await MediaJobs().picture(several)
    assert (picture.info.width, picture.info.height) == (60, 40)


async def test_the_largest_photo_that_may_be_is_read_within_the_limits() -> None:
    picture = await MediaJobs().picture(file_of(Image.new("RGB", (8_160, 6_120), RED), "JPEG"))
    assert picture.info.width == LONGER_SIDE


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_a_picture_of_more_pixels_than_may_be_is_refused() -> None:
    with pytest.raises(Refused) as caught:
        work({}, file_of(Image.new("1", (50_000, 1_001)), "PNG"))
    assert (caught.value.text_id, caught.value.values) == ("picture-too-large", {"megapixels": 50})


def test_a_file_named_otherwise_is_told_by_what_it_is() -> None:
    with pytest.raises(Refused) as caught:
        work({}, good("TIFF"))
    assert caught.value.text_id == "picture-unknown-format"
