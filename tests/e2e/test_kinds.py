"""Every kind of turn, pictures and documents, in an encrypted room of a real homeserver, as two people see them.

Each event is printed as it was sent, and each picture saved under the test's folder, to be looked at: `pytest -s`.
"""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from PIL import Image

from davenport.homeserver import Homeserver
from llm.offline.api import Request
from matrix.person import Heard, Person
from memory.text import unfence
from tests.e2e.conftest import NewUser, People
from tests.e2e.files import open_file, send_file
from tests.e2e.whole import Whole, meet, said_in, settings_for, whole
from tests.fakes.model_server import ModelServer, Step, extracted, planned, say

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

HARBOUR = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1024 768">
<title>Ein Leuchtturm am Abend, darunter ein Boot</title>
<defs><linearGradient id="sky" x1="0" y1="0" x2="0" y2="1">
<stop offset="0" stop-color="#27336b"/><stop offset=".7" stop-color="#f2935c"/><stop offset="1" stop-color="#ffd98a"/>
</linearGradient></defs>
<rect width="1024" height="768" fill="url(#sky)"/>
<circle cx="760" cy="430" r="70" fill="#fff1c1"/>
<rect y="500" width="1024" height="268" fill="#1d4e6b"/>
<path d="M0 520q128 -24 256 0t256 0t256 0t256 0v248H0z" fill="#246083"/>
<path d="M160 560l40 -330h70l40 330z" fill="#f5f5f5"/>
<path d="M176 440l118 0l-8 -70h-102z" fill="#c8352b"/>
<rect x="196" y="180" width="78" height="56" fill="#ffe27a"/>
<path d="M186 180l49 -50l49 50z" fill="#8c1f1f"/>
<path d="M274 190L900 90v150z" fill="#fff6c8" opacity=".35"/>
<path d="M560 600h220l-50 60H610z" fill="#5b3420"/>
<path d="M660 590V430l90 150z" fill="#fafafa"/>
<text x="512" y="730" font-size="48" text-anchor="middle" font-family="sans-serif" fill="#ffffff">Gute Nacht</text>
</svg>"""
HOSTILE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><image href="file:///etc/passwd"/></svg>'
PROGRAM = "```python\n" + "\n".join(f"print({number})" for number in range(40)) + "\n```"
HANDBOOK = """# Club handbook

## Keys
The key to the boat house hangs behind the third oar on the left wall.

## Fees
Members pay forty euros a year, due in March.
"""


def turn_in(request: Request) -> str:
    """What the operator's block says of how this message is to be answered, "" where there is none."""
    return "\n".join(fenced.text for fenced in unfence("turn", _texts(request)))


def _texts(request: Request) -> str:
    blocks = request.body["messages"][-1]["content"]
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def _images(request: Request) -> list[dict[str, Any]]:
    return [block for block in request.body["messages"][-1]["content"] if block["type"] == "image"]


def answering(request: Request) -> Step:
    """A model for all kinds: knows each by what it is asked."""
    system, texts, turn = request.body["system"][0]["text"], _texts(request), turn_in(request)
    documents = unfence("document", texts)
    said = f"You said: {said_in(request)}" if unfence("message", texts) else ""
    answers = [
        ("writing SVG" in system, f"```svg\n{HARBOUR}\n```" if "lighthouse" in texts else HOSTILE),
        ("tell a story" in system, "The lamp went out, and **nobody** saw the boat.\n\nIn the morning it was back."),
        (bool(_images(request)), "I see a red square."),
        (bool(documents), f"By {documents[0].attributes['title']}: {len(documents)} parts." if documents else ""),
        ("asks for code" in turn, f"Here it is:\n\n{PROGRAM}"),
        ("part of a scene" in turn, "*draws a cutlass* Aye!"),
        (True, said),
    ]
    return say(next(answer for fits, answer in answers if fits))


def learning_everything(request: Request) -> Step:
    """An extraction that finds a fact in each message, unless it is told that it was a scene."""
    return extracted() if "scene" in _texts(request).lower() else extracted([f"Said {said_in(request)}"[:100]])


class Stage:
    """A room with two people and the bot. `told` are the events of the bot, printed as they are looked at."""

    def __init__(self, bot: Whole, model: ModelServer, host: Person, guest: Person, room_id: str, folder: Path) -> None:
        self.bot, self.model, self.host, self.guest, self.room_id, self.folder = (
            bot,
            model,
            host,
            guest,
            room_id,
            folder,
        )
        self.shown = 0

    async def give(self, text: str, **details: Any) -> list[Heard]:
        """Let the host say something; return what the bot sent on account of it, all of it encrypted."""
        await self.said(await self.host.say(self.room_id, text, **details))
        return self.news(text)

    async def said(self, event_id: str) -> None:
        """Wait until everything that follows from an event is done and heard."""
        await self.host.wait_for_answer(event_id, seconds=30)
        await self.rest()

    async def rest(self) -> None:
        assert await self.bot.bot.at_rest(60)
        async with self.bot.bot.parts.store.transaction() as tables:
            assert await tables.outbox.pending() == ()
        marker = await self.guest.say(self.room_id, "(a remark between people)")
        await self.host.wait_for(lambda event: event.event_id == marker)

    def news(self, about: str) -> list[Heard]:
        """Return the bot's events since last time, and print them."""
        fresh = [
            event for event in self.host.heard if event.room_id == self.room_id and event.sender == self.bot.user_id
        ]
        fresh = [event for event in fresh if event.type == "m.room.message"][self.shown :]
        self.shown += len(fresh)
        print(f"\n{about}")
        for event in fresh:
            assert event.encrypted
            print("   ", json.dumps(_shortened(event.content), ensure_ascii=False))
        return fresh

    async def look(self, event: Heard, name: str) -> Image.Image:
        """Open a picture of the bot's as a client does, and keep it to be looked at."""
        data = await open_file(self.guest, next(each for each in self.guest.heard if each.event_id == event.event_id))
        path = self.folder / name
        path.write_bytes(data)
        picture = Image.open(io.BytesIO(data))
        print(f"    picture saved: {path} {picture.format} {picture.size}")
        info = event.content["info"]
        assert (info["w"], info["h"], info["size"]) == (*picture.size, len(data))
        assert info["xyz.amorgan.blurhash"]
        return picture


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shortened(each) for key, each in value.items() if key not in {"file", "formatted_body", "format"}}
    return value if not isinstance(value, str) or len(value) <= 160 else f"{value[:120]} … ({len(value)})"


@pytest_asyncio.fixture(loop_scope="session")
async def stage(homeserver: Homeserver, people: People, new_user: NewUser, tmp_path: Path) -> AsyncIterator[Stage]:
    bot_id = await new_user("davenport")
    host, guest = await people("host"), await people("guest")
    story = planned("The lamp", ("Dark", "The lamp fails.", "a lighthouse at night"), ("Dawn", "The boat returns.", ""))
    async with ModelServer(replies=answering, extractions=learning_everything, stories=lambda request: story) as model:
        settings = settings_for(
            homeserver.url, bot_id, tmp_path / "bot", model, verse={"enabled": True}, memory={"promotion_threshold": 1}
        )
        async with whole(settings) as bot:
            room_id = await meet(host, guest, bot=bot_id, encrypted=True)
            yield Stage(bot, model, host, guest, room_id, tmp_path)


def texts_of(events: list[Heard]) -> list[str]:
    return [event.body for event in events]


async def test_code_goes_out_in_words_and_as_a_file(stage: Stage) -> None:
    words, file = await stage.give("!code count to forty")
    assert words.content["msgtype"] == "m.text"
    assert "print(39)" in words.body
    assert file.content["msgtype"] == "m.file"
    assert file.content["filename"].endswith(".py")
    data = await open_file(stage.host, file)
    assert data.decode().splitlines() == [f"print({number})" for number in range(40)]
    [why] = await stage.give("!why")
    assert "code" in why.body.lower()


async def test_a_scene_is_played_and_teaches_nothing(stage: Stage) -> None:
    [aye] = await stage.give("!verse Captain, a sail!")
    assert aye.body == "*draws a cutlass* Aye!"
    await stage.give("!verse on")
    [more] = await stage.give("I was born on this ship and I am ninety years old.")  # addresses nobody
    assert more.body == "*draws a cutlass* Aye!"
    await stage.give("!verse off")
    asked = list(stage.model.extraction_requests)
    assert len(asked) == 2, "counts as ask: a pass follows each turn of the scene"
    assert all("scene" in _texts(request).lower() for request in asked)
    candidates, memories = await stage.bot.facts(stage.host)
    assert (candidates, memories) == ((), ())


async def test_a_drawing_is_a_picture_with_words_for_those_who_do_not_see_it(stage: Stage) -> None:
    [drawing] = await stage.give("!draw a lighthouse in the evening, a boat below it")
    assert drawing.content["msgtype"] == "m.image"
    assert "Leuchtturm" in drawing.body
    picture = await stage.look(drawing, "draw.png")
    assert max(picture.size) == 1024
    assert stage.model.extraction_requests == []
    [refused] = await stage.give("!draw my password file")
    assert refused.content["msgtype"] == "m.notice"
    [why] = await stage.give("!why")
    assert "draw" in why.body.lower()


async def test_a_story_is_told_in_a_thread_under_one_line_that_is_edited(stage: Stage) -> None:
    root = await stage.host.say(stage.room_id, "!story a lighthouse keeper loses the light")
    await stage.said(root)
    events = stage.news("!story a lighthouse keeper loses the light")
    relations = [event.content.get("m.relates_to", {}) for event in events]
    edits = [
        event for event, relation in zip(events, relations, strict=True) if relation.get("rel_type") == "m.replace"
    ]
    assert edits
    assert {event.content["m.relates_to"]["event_id"] for event in edits} == {events[0].event_id}
    told = [event for event, relation in zip(events, relations, strict=True) if relation.get("event_id") == root]
    assert [event.content["msgtype"] for event in told].count("m.text") >= 2
    [illustration] = [event for event in told if event.content["msgtype"] == "m.image"]
    await stage.look(illustration, "story.png")
    assert stage.model.extraction_requests == []
    [too_soon] = await stage.give("!story another one")
    assert too_soon.content["msgtype"] == "m.notice"


async def test_a_picture_is_shown_to_the_model_and_other_media_are_named(stage: Stage) -> None:
    square = io.BytesIO()
    Image.new("RGB", (40, 30), "#c02020").save(square, "JPEG", exif=_place())
    event_id = await send_file(
        stage.host, stage.room_id, square.getvalue(), name="IMG_1.jpg", media_type="image/jpeg", msgtype="m.image"
    )
    [seen] = await stage.give("What is this?", mention=stage.bot.user_id, reply_to=event_id)
    assert seen.body == "I see a red square."
    [image] = _images(stage.model.reply_requests[-1])
    assert "Exif" not in json.dumps(image)
    sound = await send_file(
        stage.host,
        stage.room_id,
        b"RIFF0000WAVEfmt ",
        name="voice.wav",
        media_type="audio/wav",
        msgtype="m.audio",
        details={"m.mentions": {"user_ids": [stage.bot.user_id]}},
    )
    await stage.said(sound)
    [named] = stage.news("a voice message that mentions the bot")
    assert named.content["msgtype"] == "m.notice"
    [why] = await stage.give("!why")
    assert "picture" in why.body.lower()


async def test_a_document_is_added_asked_about_and_gone_with_its_file(stage: Stage) -> None:
    file = await send_file(stage.host, stage.room_id, HANDBOOK.encode(), name="handbook.md", media_type="text/markdown")
    [added] = await stage.give("!documents add", reply_to=file)
    assert "handbook" in added.body.lower()
    [listed] = await stage.give("!documents list")
    assert "handbook" in listed.body.lower()
    [answer] = await stage.give("Where is the key to the boat house?", mention=stage.bot.user_id)
    assert answer.body.startswith("By ")
    [why] = await stage.give("!why")
    assert "handbook" in why.body.lower()
    await stage.host.redact(stage.room_id, file)
    await stage.rest()
    [empty] = await stage.give("!documents list")
    assert "handbook" not in empty.body.lower()
    [answer] = await stage.give("And where is the key to the boat house now?", mention=stage.bot.user_id)
    assert answer.body.startswith("You said: ")
    async with stage.bot.bot.parts.store.transaction() as tables:
        assert await tables.documents.of_room(stage.room_id) == ()


def _place() -> bytes:
    exif = Image.Exif()
    exif[0x010E] = "at 48.2, 16.4"  # ImageDescription
    return exif.tobytes()
