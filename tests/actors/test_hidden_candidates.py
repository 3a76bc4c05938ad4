"""P19: no command of the table shows a candidate, whatever it is asked for."""

from __future__ import annotations

import re

import pytest

from commands.quotas import names
from commands.table import TABLE, lines
from tests.actors.conftest import JUNO, ROOM, Bot

SECRET = "Breeds axolotls"
DIRECT = "!direct:hs"
ARGUMENTS = {"TEXT": "something else", "WORD": "word", "KEY": "memory.enabled", "VALUE": "true", "COMMAND": "memories"}
FORMS = [
    (name, re.sub(rf"^!{name} ?", "", usage))
    for row in TABLE
    for (usage, _), name in zip(lines(row, "!"), names(row), strict=True)
    if name != "ask"  # a turn: the model answers, and is given no candidates (P6)
]


def filled(arguments: str, candidate_id: int) -> str:
    """Return arguments for a form as usage shows them: every id is the candidate's, of choices the first."""
    bare = re.sub(r"[\[\]…]", " ", arguments)
    words = (word.split("|")[0] for word in bare.split())
    return " ".join(str(candidate_id) if word == "ID" else ARGUMENTS.get(word, word) for word in words)


@pytest.fixture
async def noted(bot: Bot) -> Bot:
    """A bot with one candidate and no memory; the person is an admin and alone with it, so may do everything."""
    bot.settings.admins.add(JUNO)
    bot.matrix.admins.add(JUNO)
    bot.learns({"axolotl": SECRET})
    await bot.say("I have an axolotl", room=DIRECT, direct=True, alone=True)
    assert [candidate.text for candidate in await bot.candidates()] == [SECRET]
    return bot


@pytest.mark.parametrize(("name", "arguments"), FORMS, ids=[name for name, _ in FORMS])
async def test_p19_no_form_of_a_command_shows_a_candidate(noted: Bot, name: str, arguments: str) -> None:
    bot = noted
    (candidate,) = await bot.candidates()
    for text in (f"!{name}", f"!{name} {filled(arguments, candidate.id)}"):
        await bot.say(text, room=DIRECT, direct=True, alone=True)
        await bot.say(text, room=ROOM)
    said = "\n".join(str(content) for _, _, content in bot.matrix.sent)
    assert "axolotl" not in said
    async with bot.store.transaction() as tables:
        kept = await tables.overview._sql.rows("SELECT content FROM outbox")
        files = await tables.overview._sql.rows("SELECT data FROM attachments")
    assert "axolotl" not in f"{kept}{files}"
