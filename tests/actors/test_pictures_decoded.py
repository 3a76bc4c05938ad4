"""From a file as a telephone sends it to what the model is shown, decoded by the real jobs."""

from __future__ import annotations

import io

import PIL.Image
import pytest

from memory.media import Attachment, MediaKind
from tests.actors.conftest import JUNO, Bot

PLACE = "at 48.2, 16.4"


def photograph(width: int = 1600, height: int = 1200) -> bytes:
    exif = PIL.Image.Exif()
    exif[0x010E] = PLACE
    data = io.BytesIO()
    down, round_ = PIL.Image.linear_gradient("L"), PIL.Image.radial_gradient("L")
    coloured = PIL.Image.merge("RGB", (down, round_, down.transpose(PIL.Image.Transpose.ROTATE_90)))
    coloured.resize((width, height)).save(data, "JPEG", exif=exif.tobytes())
    return data.getvalue()


async def send(bot: Bot, data: bytes, text: str) -> None:
    event = bot.message(text, media=MediaKind.IMAGE)
    file = Attachment("IMG_1.png", "image/png", data, kind=MediaKind.IMAGE, sender=JUNO)
    bot.matrix.files[(event.room_id, event.event_id)] = file
    await bot.deliver(event)
    await bot.settle()


async def test_the_model_is_shown_the_pixels_and_nothing_else_of_the_file(bot: Bot) -> None:
    data = photograph()
    assert PLACE.encode() in data
    await send(bot, data, "what is this?")
    (image,) = bot.model.prompts[-1].messages[-1].images
    assert image.media_type == "image/jpeg", "by its content, whatever its name says"
    picture = PIL.Image.open(io.BytesIO(image.data))
    assert picture.size == (1568, 1176)
    assert dict(picture.getexif()) == {}
    assert PLACE.encode() not in image.data


@pytest.mark.parametrize(
    ("data", "text_id"),
    [
        (photograph()[:200], "picture-damaged"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "picture-unknown-format"),
        (b"", "picture-unknown-format"),
    ],
    ids=["cut off", "no format of ours", "empty"],
)
async def test_a_file_that_is_no_picture_costs_no_answer_and_is_named(bot: Bot, data: bytes, text_id: str) -> None:
    await send(bot, data, "what is this?")
    assert bot.model.prompts[-1].messages[-1].images == ()
    assert bot.matrix.bodies() == ["answer", bot.parts.speaker("!room:hs")(text_id)]
