"""`davenport demo` as a process, the way people start it: scripts, the chat at a terminal, and every way to end it."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from matrix.person import Person
from tests.e2e.test_run import davenport, ended
from tests.fakes.model_server import ModelServer, extracted, say

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

PICTURE = Path(__file__).parents[2] / "docs" / "life-of-a-memory.svg"
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
READY = "you> "


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the demo makes its own; empty at first."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def left_behind(folder: Path) -> list[str]:
    """Return files in the folder and processes that name it."""
    listing = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True)
    processes = [line for line in listing.stdout.splitlines() if str(folder) in line]
    return [*processes, *(path.name for path in folder.iterdir())]


async def until(condition: Callable[[], bool], seconds: float) -> None:
    """Wait for what nobody will tell us of: the state of other processes."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - nothing signals it
            await asyncio.sleep(0.1)


# --- scripts ---------------------------------------------------------------------------------------------------------


async def test_the_built_in_script_draws_the_picture_that_the_readme_shows(temporary: Path, tmp_path: Path) -> None:
    async with davenport("demo", "--picture", tmp_path / "life.svg") as process:
        code, output = await ended(process, 120)
    assert code == 0, output
    assert "was recalled" in output
    assert (tmp_path / "life.svg").read_text() == PICTURE.read_text(), (
        f"draw it again: davenport demo --picture {PICTURE.parent.name}/{PICTURE.name}"
    )
    assert left_behind(temporary) == []


@pytest.mark.parametrize(
    "script",
    [
        "japanese.toml",
        pytest.param("german.toml", marks=pytest.mark.slow),
        pytest.param("spanish.toml", marks=pytest.mark.slow),
    ],
)
async def test_the_demo_plays_any_script_to_the_end(script: str) -> None:
    async with davenport("demo", "--script", Path(__file__).parent / "scripts" / script) as process:
        code, output = await ended(process, 120)
    assert code == 0, output
    assert "was recalled" in output
    assert not [line for line in output.splitlines() if line.startswith("Not everything")]


async def test_a_demo_whose_script_expects_something_else_fails_and_says_what_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    expect = 'expect = [{ who = "ana", contains = "Rex", stage = "memory" }]'
    days = [
        f'[[day]]\nsay = [{{ who = "ana", text = "{text}" }}]\n{expect}'
        for text in ("My dog is named Rex.", "Who invented chess?")
    ]
    path.write_text("\n".join(['title = "wrong"', 'people = ["ana"]', *days]))
    async with davenport("demo", "--script", path) as process:
        code, output = await ended(process, 120)
    assert code == 1
    assert output.splitlines()[-1] == (
        "day 1: what ana said about “Rex” should be a memory; it is a candidate, mentioned 1 time "
        "(not as expected on 1 later day either)"
    )


# --- a chat ----------------------------------------------------------------------------------------------------------


class Terminal:
    """A demo whose stdin and stdout are a terminal, and what stands on it. `typed` is sent as keys."""

    def __init__(self, process: asyncio.subprocess.Process, keys: int) -> None:
        self.process = process
        self.shown = ""
        self._keys = keys
        self._news = asyncio.Event()
        self._mark = 0
        asyncio.get_running_loop().add_reader(keys, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._keys, 65_536)
        except OSError:  # how a terminal ends once nobody has it open
            data = b""
        if data:
            self.shown += ESCAPES.sub("", data.decode("utf-8", "replace")).replace("\r", "")
        else:
            self.hang_up()
        self._news.set()

    def hang_up(self) -> None:
        """Close the terminal, as closing its window does."""
        if self._keys >= 0:
            asyncio.get_running_loop().remove_reader(self._keys)
            os.close(self._keys)
            self._keys = -1

    def keys(self, typed: str) -> None:
        os.write(self._keys, typed.encode())

    async def until(self, words: str, seconds: float = 40) -> str:
        """Wait for these words after those waited for last; return what came up to them."""
        async with asyncio.timeout(seconds):
            while (found := self.shown.find(words, self._mark)) < 0:
                assert self.process.returncode is None, self.shown
                self._news.clear()
                await self._news.wait()
        start, self._mark = self._mark, found + len(words)
        return self.shown[start : self._mark]

    async def line(self, typed: str, words: str) -> str:
        """Type a line that is answered with these words; return what comes until the next line is asked for."""
        self.keys(f"{typed}\n")
        return await self.until(words) + await self.until(READY)


@asynccontextmanager
async def at_a_terminal(*arguments: str, **environment: str) -> AsyncIterator[Terminal]:
    keys, end = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "davenport", "demo", *arguments),
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120", **environment},
        stdin=end,
        stdout=end,
        stderr=end,
        start_new_session=True,
        preexec_fn=_own_the_terminal,
    )
    os.close(end)
    terminal = Terminal(process, keys)
    try:
        yield terminal
    finally:
        terminal.hang_up()
        if process.returncode is None:
            process.kill()
            await process.wait()


def _own_the_terminal() -> None:
    """Make stdin the controlling terminal, so that Ctrl-C and closing it reach the process as signals."""
    os.close(os.open(os.ttyname(0), os.O_RDWR))


async def exit_code(terminal: Terminal, seconds: float = 20) -> int:
    async with asyncio.timeout(seconds):
        return await terminal.process.wait()


async def test_a_person_types_a_fact_twice_over_a_day_sees_the_memory_and_quits(temporary: Path) -> None:
    async with at_a_terminal() as terminal:
        assert "password" in await terminal.until(READY)
        await terminal.line("My cat is named Mochi.", "Thanks for telling me")
        assert "candidate" in await terminal.line("/table", "mentions")
        await terminal.line("/day", "Day 2")
        await terminal.line("By the way, my cat is named Mochi!", "Thanks for telling me")
        table = await terminal.line("/table", "mentions")
        assert re.search(r"you +Cat is named Mochi +memory +2 +0 +active", table), table
        assert "Cat is named Mochi" in await terminal.line("!memories", "about you:")
        terminal.keys("/quit\n")
        assert await exit_code(terminal) == 0
    assert left_behind(temporary) == []


@pytest.mark.slow
async def test_a_guest_with_a_client_of_their_own_talks_in_the_same_room(temporary: Path, tmp_path: Path) -> None:
    async with at_a_terminal() as terminal:
        welcome = await terminal.until(READY)
        address, password, room_id = (
            re.search(pattern, welcome)[1]  # type: ignore[index]
            for pattern in (r"homeserver +(http\S+)", r"password +(\S+)", r"room +(!\S+),")
        )
        async with Person(address, "guest", password, tmp_path / "guest") as guest:
            await guest.join(room_id)
            event_id = await guest.say(room_id, "davenport: I live in Bern.", mention="@davenport:localhost")
            await guest.wait_for_answer(event_id)
            assert "guest  davenport: I live in Bern." in await terminal.until("Thanks for telling me")
            terminal.keys("Hello from the keyboard\n")
            await guest.wait_for(lambda heard: heard.body == "davenport: Hello from the keyboard")
        await terminal.until("I remember nothing about you")
        await terminal.until(READY)
        assert re.search(r"guest +Lives in Bern +candidate", await terminal.line("/table", "mentions"))
        await terminal.line("/day 0", "from 1 to 365")
        await terminal.line("/day 7", "Day 8")
        await terminal.line("/tabel", "/tabel is not known")
        await terminal.line("/help", "/quit")
        terminal.keys("\x04")  # Ctrl-D
        assert await exit_code(terminal) == 0
    assert left_behind(temporary) == []


@pytest.mark.slow
async def test_the_real_model_is_asked_where_the_provider_is_anthropic(temporary: Path) -> None:
    async with (
        ModelServer(replies=lambda _: say("From the model."), extractions=lambda _: extracted()) as model,
        at_a_terminal(
            *("--provider", "anthropic"), ANTHROPIC_API_KEY="sk-test", DAVENPORT_LLM__BASE_URL=model.base_url
        ) as terminal,
    ):
        await terminal.until(READY)
        await terminal.line("Hello", "From the model.")
        terminal.keys("/quit\n")
        assert await exit_code(terminal) == 0
    assert model.requests


@pytest.mark.slow
async def test_a_chat_may_be_piped_in_and_out(temporary: Path) -> None:
    async with davenport("demo", "--chat") as process:  # stdin is empty
        code, output = await ended(process, 60)
    assert code == 0, output
    assert output.splitlines()[-1] == "Done; the homeserver and its folder are gone."


# --- endings ---------------------------------------------------------------------------------------------------------


def _ctrl_c_again_and_again(terminal: Terminal) -> None:
    terminal.keys("\x03")
    for _ in range(4):
        terminal.process.send_signal(signal.SIGINT)


@pytest.mark.parametrize(
    ("end", "code"),
    [
        pytest.param(_ctrl_c_again_and_again, 0, id="Ctrl-C"),
        pytest.param(lambda terminal: terminal.process.send_signal(signal.SIGTERM), 143, id="SIGTERM"),
        pytest.param(Terminal.hang_up, 129, id="closed"),
        pytest.param(lambda terminal: terminal.process.kill(), -9, id="SIGKILL"),
    ],
)
@pytest.mark.slow
async def test_a_chat_however_it_ends_leaves_no_process_and_no_file(
    temporary: Path, end: Callable[[Terminal], None], code: int
) -> None:
    async with at_a_terminal() as terminal:
        await terminal.until(READY)
        end(terminal)
        assert await exit_code(terminal) == code
    await until(lambda: not left_behind(temporary), 10)
    assert "Traceback" not in terminal.shown
    assert "Unclosed" not in terminal.shown


@pytest.mark.parametrize("delay", [0.0, 0.5, 2.0, 5.0])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.slow
async def test_a_script_interrupted_at_any_moment_leaves_nothing(
    temporary: Path, number: signal.Signals, delay: float
) -> None:
    async with davenport("demo") as process:
        assert process.stdout is not None
        await process.stdout.readline()
        await asyncio.sleep(delay)  # the moment itself is what is tested
        process.send_signal(number)
        process.send_signal(number)
        code, output = await ended(process, 20)
    assert code == (-9 if number is signal.SIGKILL else 128 + number)
    assert "Traceback" not in output
    assert "Unclosed" not in output
    await until(lambda: not left_behind(temporary), 10)


async def test_a_killed_demo_takes_its_homeserver_along(temporary: Path) -> None:
    async with davenport("demo") as process:
        await until(lambda: sum("synapse.app" in line for line in left_behind(temporary)) > 1, 60)
        process.kill()
        await process.wait()
    await until(lambda: not left_behind(temporary), 10)
