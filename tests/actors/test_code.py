"""`!code`: a turn like `!ask` in all that memory is (P1, D2), and long code as files."""

from __future__ import annotations

from datetime import timedelta

import pytest

from actors import outbox
from actors.code_files import MEDIA_TYPE, MOST_FILES, file_name
from matrix.formatting import render
from memory.errors import MatrixError
from memory.events import JournalState
from memory.kinds import INSTRUCTIONS
from memory.model import Prompt, Reply, ToolCall, Usage
from memory.settings import KindSettings
from memory.types import TurnKind
from tests.actors.conftest import JUNO, ROOM, Bot, texts
from tests.actors.owned import given, last_prompt, stored
from tests.actors.touched import touched
from texts.catalogue import Speaker
from texts.code_blocks import CodeBlock

LONG = "\n".join(f"line_{number} = {number}" for number in range(31)) + "\n"
SHORT = "print('hi')\n"


def fenced(code: str, info: str = "python") -> str:
    return f"```{info}\n{code}```"


def files(bot: Bot, room: str = ROOM) -> list[str]:
    """The names of the files the bot sent to a room, each checked to be sent as plain text."""
    sent = [content for where, _, content in bot.matrix.sent if where == room and "url" in content]
    assert all(content["type"] == MEDIA_TYPE for content in sent)
    return [str(content["body"]) for content in sent]


async def code(bot: Bot, answer: str, text: str = "!code something") -> None:
    bot.model.answer = lambda prompt: answer
    await bot.say(text, addressed=False)


# --- a turn that remembers ----------------------------------------------------------------------------------------


async def test_code_and_ask_touch_the_same_tables_p1_d2(bot: Bot) -> None:
    bot.learns({"chess": "Likes chess", "tea": "Likes tea"})
    await given(bot)
    await bot.say("!ask hello")
    bot.next_day()
    folder = bot.folder
    asked = await touched(folder, lambda: bot.say("!ask I like chess, what is my cat called?"))
    bot.next_day()
    coded = await touched(folder, lambda: bot.say("!code I like tea, what is my cat called?"))
    assert asked == coded == {"journal", "outbox", "sync_state", "usage", "memories", "memory_candidates", "mentions"}


async def test_a_code_turn_is_told_so_beside_the_message_and_searches_once_d2_d14(bot: Bot) -> None:
    mochi = await given(bot)
    await bot.say("!ask hello")
    start = bot.model.prompts[-1].system
    bot.next_day()
    event = await bot.say("!code a feeder for my cat named Mochi", addressed=False)
    assert bot.model.prompts[-1].system == start
    assert INSTRUCTIONS[TurnKind.CODE].splitlines()[0] in last_prompt(bot)
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event.event_id)
    assert entry is not None and entry.recall is not None
    assert (entry.turn, entry.state) == (TurnKind.CODE, JournalState.LEARNED)
    assert [match.memory_id for match in entry.recall.matches] == [mochi.id]
    assert (await stored(bot, mochi.id))[mochi.id].counted_on == bot.clock.today()


async def test_p1_a_pass_follows_a_code_turn(bot: Bot) -> None:
    bot.learns({"chess": "Likes chess"})
    await code(bot, fenced(SHORT), "!code a clock, since I like chess")
    assert texts(await bot.candidates()) == ["Likes chess"]
    [request] = bot.model.requests
    assert not request.exchange.scene


async def test_p16_a_code_turn_may_save_what_it_is_asked_to_remember(bot: Bot) -> None:
    bot.model.tool_calls = [ToolCall(0, "save_memory", {"text": "Writes Rust", "scope": "me"})]
    await bot.say("!code hello, and remember that I write Rust")
    assert texts(await bot.memories()) == ["Writes Rust"]


async def test_code_without_a_text_is_misused(bot: Bot) -> None:
    await bot.say("!code")
    assert bot.model.prompts == []
    assert "`!code TEXT`" in bot.matrix.bodies()[-1]


# --- files --------------------------------------------------------------------------------------------------------


async def test_code_of_more_lines_than_the_setting_follows_the_words_as_a_file_that_is_exactly_the_code(
    bot: Bot,
) -> None:
    await code(bot, f"Here it is.\n\n{fenced(LONG, 'rust')}\n\nAnd\n\n{fenced(SHORT)}")
    assert [content.get("url") is not None for _, _, content in bot.matrix.sent] == [False, True]
    assert files(bot) == ["code.rs"]
    assert bot.matrix.uploads == [LONG.encode()]


@pytest.mark.parametrize(("lines", "count"), [(30, 0), (31, 1)])
async def test_thirty_lines_are_not_more_than_thirty(bot: Bot, lines: int, count: int) -> None:
    await code(bot, fenced("x\n" * lines))
    assert len(files(bot)) == count


async def test_attach_lines_of_the_room_decides_and_zero_means_every_block(bot: Bot) -> None:
    bot.settings.of_kinds = KindSettings(code_attach_lines=0)
    await code(bot, f"{fenced(SHORT)}\n\n{fenced('', 'text')}\n\nno `fence`\n\n    indented")
    assert files(bot) == ["code.py"]


async def test_other_turns_have_no_files(bot: Bot) -> None:
    bot.settings.of_kinds = KindSettings(verse_enabled=True)
    for text in ("!ask for code", "hello", "!verse a wizard writes"):
        await code(bot, fenced(LONG), text)
    assert files(bot) == []


async def test_a_short_block_is_a_file_where_one_event_cannot_hold_it(bot: Bot) -> None:
    bot.matrix.render = render  # type: ignore[method-assign]
    wide = f"a = '{'x' * 50_000}'\n"
    bot.model.answer = lambda prompt: f"{fenced(wide)}\n\nand\n\n{fenced(SHORT)}"
    await bot.say("!code a long line")
    sent = [content for _, _, content in bot.matrix.sent]
    assert [content["msgtype"] for content in sent][-1] == "m.file"
    assert len(sent) > 2
    assert sent[-1]["info"] == {"mimetype": "text/plain; charset=utf-8", "size": len(wide)}
    assert bot.matrix.uploads == [wide.encode()]


async def test_more_files_than_five_are_left_in_the_words_and_names_are_told_apart(bot: Bot) -> None:
    infos = ["python", "python", "python Code.py", "js", "text", "c", "go"]
    await code(bot, "\n\n".join(fenced(LONG, info) for info in infos))
    assert files(bot) == ["code.py", "code-2.py", "Code-3.py", "code.js", "code.txt"]
    assert len(files(bot)) == MOST_FILES


async def test_of_an_answer_that_was_cut_no_file_is_made_of_what_is_not_whole(bot: Bot) -> None:
    text = f"{fenced(LONG)}\n\n```rust\n{LONG}"

    async def reply(prompt: Prompt, tools: object, run_tool: object) -> Reply:
        return Reply(text, (Usage("fake"),), cut=True)

    bot.model.reply = reply  # type: ignore[method-assign, assignment]
    await bot.say("!code two files")
    assert files(bot) == ["code.py"]
    # Apart from the answer: in it, it would stand in the code block that has no end.
    words = [content["body"] for _, _, content in bot.matrix.sent if "url" not in content]
    assert words == [text, Speaker()("answer-cut")]


async def test_files_go_out_once_though_the_bot_is_killed_before_they_are_sent(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "_pause", lambda state: 0.0)
    bot.model.answer = lambda prompt: f"Here it is.\n\n{fenced(LONG)}"
    bot.matrix.failures = [MatrixError("down")] * outbox.ATTEMPTS
    await bot.deliver(bot.message("!code something"))
    await bot.settle()
    assert bot.matrix.sent == []
    for _ in range(2):
        await bot.restart()
        await bot.settle()
    assert files(bot) == ["code.py"]
    assert bot.matrix.uploads == [LONG.encode()]
    assert len(bot.model.prompts) == 1


async def test_d8_what_was_written_for_somebody_alone_goes_to_them_alone_where_another_joined(bot: Bot) -> None:
    room = "!alone:hs"

    def joining(prompt: Prompt) -> str:
        bot.matrix.joined[room].add("@bau:hs")
        return fenced(LONG)

    bot.model.answer = joining
    await bot.say("!code something", room=room, direct=True, alone=True)
    assert files(bot, room) == []
    assert files(bot, bot.matrix.direct[JUNO]) == ["code.py"]


async def test_why_says_that_it_was_a_code_turn(bot: Bot) -> None:
    await code(bot, fenced(SHORT))
    async with bot.store.transaction() as tables:
        given_then = await tables.journal.last_given(ROOM, None, JUNO)
    assert given_then is not None and given_then.turn is TurnKind.CODE


async def test_the_quota_of_code_is_its_own(bot: Bot) -> None:
    for _ in range(20):
        await bot.say("!code x")
    await bot.say("!code x")
    assert len(bot.model.prompts) == 20
    await bot.say("!ask x")
    bot.clock.set(bot.clock.now() + timedelta(minutes=11))
    await bot.say("!code x")
    assert len(bot.model.prompts) == 22


# --- names --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("info", "first", "name"),
    [
        ("python", "", "code.py"),
        ("C++", "", "code.cpp"),
        ("dockerfile", "", "Dockerfile"),
        ("no-such-language", "", "code.txt"),
        ("", "", "code.txt"),
        ("vim", "", "code.vim"),
        ("python app.py", "", "app.py"),
        ("python:app.py", "", "app.py"),
        ("app.py", "", "app.py"),
        ("make Makefile", "", "Makefile"),
        ('python title="app.py"', "", "app.py"),
        ("python", "# app.py", "app.py"),
        ("js", "// File: app.js", "app.js"),
        ("html", "<!-- index.html -->", "index.html"),
        ("css", "/* style.min.css */", "style.min.css"),
        ("python", "# Usage", "code.py"),
        ("bash", "#!/bin/sh", "code.sh"),
        ("c", "#include <stdio.h>", "code.c"),
    ],
)
def test_a_file_is_called_as_the_model_says_or_by_its_language(info: str, first: str, name: str) -> None:
    assert file_name(CodeBlock(info, f"{first}\ncode\n", closed=True)) == name


@pytest.mark.parametrize(
    "name",
    [
        "../app.py",
        "/etc/passwd",
        "src/app.py",
        "a\\b.py",
        "C:app.py",
        ".bashrc",
        "..",
        "app.py.",
        "con.py",
        "NUL",
        "lpt1.txt",
        "-rf.py",
        "app.py\u202egpj.exe",
        "\u0430pp.py",
        "a" * 70 + ".py",
        "$(id).py",
        "<b>.py",
        "%2e%2e.py",
        "README",
    ],
)
def test_a_name_that_is_no_plain_one_is_not_taken(name: str) -> None:
    for info, first in ((f"python {name}", ""), (f"python:{name}", ""), ("python", f"# {name}")):
        assert file_name(CodeBlock(info, f"{first}\ncode\n", closed=True)) == "code.py"
    assert file_name(CodeBlock(name.replace(":", "/"), "code\n", closed=True)) == "code.txt"
