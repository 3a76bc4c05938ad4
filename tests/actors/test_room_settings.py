"""What a room has of its own in config.toml reaches what is said and learned there."""

from __future__ import annotations

from pathlib import Path

from davenport.settings_load import load
from davenport.settings_source import ConfiguredSettings
from tests.actors.conftest import Bot, texts
from texts.catalogue import Speaker

GERMAN, QUIET, OTHER = "!german:hs", "!quiet:hs", "!other:hs"
CONFIG = f"""
[matrix]
homeserver = "https://hs"
user_id = "@bot:hs"
[rooms."{GERMAN}"]
bot.language = "de"
[rooms."{QUIET}"]
memory.enabled = false
"""


async def configured(bot: Bot, folder: Path) -> None:
    path = folder / "config.toml"
    path.write_text(CONFIG, encoding="utf-8")
    bot.settings = ConfiguredSettings(load(path, {}), embedder_threshold=0.25)  # type: ignore[assignment]
    await bot.restart()


async def test_a_german_room_is_answered_in_german_and_another_in_english(bot: Bot, tmp_path: Path) -> None:
    await configured(bot, tmp_path)
    for room in (GERMAN, OTHER):
        await bot.say("!memories edit 7 x", room=room)
    said = {language: Speaker(language)("memory-unknown", id="7") for language in ("de", "en")}
    assert said["de"] != said["en"]
    assert bot.matrix.bodies(GERMAN) == [said["de"]]
    assert bot.matrix.bodies(OTHER) == [said["en"]]


async def test_p2_a_room_with_learning_off_teaches_nothing_and_another_does(bot: Bot, tmp_path: Path) -> None:
    await configured(bot, tmp_path)
    bot.learns({"chess": "Likes chess", "tea": "Likes tea"})
    await bot.say("I like chess", room=QUIET)
    await bot.say("I like tea", room=OTHER)
    assert texts(await bot.candidates()) == ["Likes tea"]
