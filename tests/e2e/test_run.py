"""`davenport run` as a process, the way people start it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from davenport.homeserver import Homeserver
from matrix.person import Person
from storage import Database
from tests.e2e.conftest import NewUser, People
from tests.e2e.people import PASSWORD, texts
from tests.e2e.whole import meet, said_in
from tests.fakes.model_server import ModelServer, held, say

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

CONFIG = """
[matrix]
homeserver = "{homeserver}"
user_id = "{user_id}"
password = "{password}"
[bot]
welcome = false
[llm]
{llm}
[storage]
data_dir = "data"
"""
OFFLINE = 'provider = "offline"'


def write_config(folder: Path, homeserver: str, user_id: str, *, password: str = PASSWORD, llm: str = OFFLINE) -> Path:
    path = folder / "config.toml"
    path.write_text(CONFIG.format(homeserver=homeserver, user_id=user_id, password=password, llm=llm))
    return path


@asynccontextmanager
async def davenport(*arguments: str | Path) -> AsyncIterator[asyncio.subprocess.Process]:
    environment = {name: value for name, value in os.environ.items() if name != "ANTHROPIC_API_KEY"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "davenport", *map(str, arguments)),
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def ended(process: asyncio.subprocess.Process, seconds: float) -> tuple[int | None, str]:
    async with asyncio.timeout(seconds):
        output, _ = await process.communicate()
    return process.returncode, output.decode()


async def stopped(process: asyncio.subprocess.Process, number: signal.Signals) -> tuple[int | None, str]:
    """Send a signal and return how it ended; it must within ten seconds."""
    process.send_signal(number)
    return await ended(process, 10)


async def said(process: asyncio.subprocess.Process, words: str) -> str:
    """Read the log until a line has these words."""
    assert process.stdout is not None
    async with asyncio.timeout(40):
        while line := (await process.stdout.readline()).decode():
            if words in line:
                return line
    raise AssertionError(f"the process ended before it said {words!r}")


async def hello(person: Person, bot_id: str) -> str:
    room_id = await meet(person, bot=bot_id, direct=True)
    await person.wait_for_answer(await person.say(room_id, "hello"), seconds=40)
    return room_id


@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGTERM, id="SIGTERM"), pytest.param(signal.SIGINT, id="SIGINT", marks=pytest.mark.slow)],
)
async def test_a_signal_drains_exits_0_and_a_restart_keeps_login_and_device(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path, number: signal.Signals
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    asked, go_on = asyncio.Event(), asyncio.Event()

    def answer(request: object) -> object:
        if said_in(request) == "slow":  # type: ignore[arg-type]
            asked.set()
            return held(say("drained"), go_on)
        return say("hi")

    async with ModelServer(replies=answer) as model:  # type: ignore[arg-type]
        llm = f'base_url = "{model.base_url}"\napi_key = "sk-test"'
        config = write_config(tmp_path, homeserver.url, bot_id, llm=llm)
        async with davenport("run", "--config", config) as process:
            room_id = await hello(juno, bot_id)
            event = await juno.say(room_id, "slow")
            await asyncio.wait_for(asked.wait(), 20)
            process.send_signal(number)
            go_on.set()
            assert (await ended(process, 10))[0] == 0
        assert (await juno.wait_for_answer(event)).body == "drained"
        first = await stored_login(tmp_path)
        async with davenport("run", "--config", config) as process:
            again = await juno.say(room_id, "hello again")
            await juno.wait_for_answer(again, seconds=40)
            code, output = await stopped(process, number)
        assert code == 0
        assert f"running as {bot_id} in 1 rooms" in output
        assert "AVX" not in output
        assert await stored_login(tmp_path) == first
        assert texts(juno, room_id, bot_id) == ["hi", "drained", "hi"]


async def test_a_model_that_never_answers_does_not_keep_the_bot_from_stopping_and_the_answer_comes_later(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    asked, never = asyncio.Event(), asyncio.Event()

    def answer(request: object) -> object:
        if said_in(request) == "slow" and not asked.is_set():  # type: ignore[arg-type]
            asked.set()
            return held(say("never"), never)
        return say("hi")

    async with ModelServer(replies=answer) as model:  # type: ignore[arg-type]
        llm = f'base_url = "{model.base_url}"\napi_key = "sk-test"'
        config = write_config(tmp_path, homeserver.url, bot_id, llm=llm)
        async with davenport("run", "--config", config) as process:
            room_id = await hello(juno, bot_id)
            event = await juno.say(room_id, "slow")
            await asyncio.wait_for(asked.wait(), 20)
            assert (await stopped(process, signal.SIGTERM))[0] == 0
        async with davenport("run", "--config", config) as process:
            assert (await juno.wait_for_answer(event, seconds=40)).body == "hi"
            assert (await stopped(process, signal.SIGTERM))[0] == 0
        never.set()


async def test_wrong_password_is_exit_1_and_names_the_key(
    homeserver: Homeserver, new_user: NewUser, tmp_path: Path
) -> None:
    config = write_config(tmp_path, homeserver.url, await new_user("bot"), password="wrong")
    async with davenport("run", "--config", config) as process:
        code, output = await ended(process, 40)
    assert code == 1
    assert "matrix.password" in output
    assert "Traceback" not in output


async def test_unreachable_homeserver_is_waited_for_with_one_clear_line(tmp_path: Path) -> None:
    config = write_config(tmp_path, "http://127.0.0.1:9", "@bot:localhost")
    async with davenport("run", "--config", config) as process:
        assert "http://127.0.0.1:9" in await said(process, "does not answer")
        code, output = await stopped(process, signal.SIGTERM)
    assert code == 0
    assert "Traceback" not in output


async def test_a_second_process_on_the_same_data_folder_is_refused(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    config = write_config(tmp_path, homeserver.url, bot_id)
    async with davenport("run", "--config", config) as process:
        await hello(juno, bot_id)
        async with davenport("run", "--config", config) as second:
            code, output = await ended(second, 40)
        assert code == 1
        assert str(tmp_path / "data") in output
        assert (await stopped(process, signal.SIGTERM))[0] == 0


async def test_no_secret_is_written_to_the_log(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    config = write_config(tmp_path, homeserver.url, bot_id)
    config.write_text(config.read_text() + '[log]\nlevel = "debug"\n')
    async with davenport("run", "--config", config) as process:
        room_id = await meet(juno, bot=bot_id, encrypted=True, direct=True)
        await juno.wait_for_answer(await juno.say(room_id, "my cat is named Mochi"), seconds=40)
        _, output = await stopped(process, signal.SIGTERM)
    login = await stored_login(tmp_path)
    assert PASSWORD not in output
    assert "Mochi" not in output
    for token in login.split('"'):
        assert len(token) < 30 or token not in output


async def stored_login(folder: Path) -> str:
    async with await Database.open(folder / "data") as store, store.transaction() as tables:
        values = await tables.account.all()
    return values["matrix.login"]
