"""init, check, status, SIGHUP and the HTTP port as an operator uses them: processes over a real homeserver."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
import stat
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from davenport import init as setup
from davenport.check import findings
from davenport.homeserver import Homeserver
from davenport.settings_load import load
from matrix.person import Person
from memory.errors import LoginFailed, MatrixError, SettingsError
from tests.e2e.conftest import NewUser, People
from tests.e2e.people import PASSWORD
from tests.e2e.whole import meet
from tests.fakes.model_server import ModelServer, say

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("DAVENPORT_", "MEMORY_", "ANTHROPIC_", "PYTEST"))
}
SECONDS = 60


async def davenport(*arguments: str, **environ: str) -> tuple[int, str, str]:
    """Run one command to its end; return code, stdout and stderr."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "davenport", *arguments),
        env=ENVIRONMENT | environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(SECONDS):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


class Running:
    """A bot process whose log is read as it is written."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.log: list[dict[str, object]] = []

    async def read(self) -> str:
        """Return the message of the next record."""
        assert self.process.stderr is not None
        async with asyncio.timeout(SECONDS):
            line = await self.process.stderr.readline()
        assert line, f"the bot ended: {self.log}"
        self.log.append(json.loads(line))
        return str(self.log[-1]["message"])

    async def until(self, pattern: str) -> str:
        """Read the log until a message matches, and return it."""
        while not re.search(pattern, message := await self.read()):
            pass
        return message

    async def follow(self, event_id: str, messages: set[str]) -> None:
        """Read the log until an event was named with all of these messages."""
        while not messages <= {str(record["message"]) for record in self.log if record.get("event_id") == event_id}:
            await self.read()


@asynccontextmanager
async def running(config: Path, **environ: str) -> AsyncIterator[Running]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "davenport", "run", "--config", str(config)),
        env=ENVIRONMENT | {"DAVENPORT_LOG__FORMAT": "json"} | environ,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Running(process)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(SECONDS):
            _, rest = await process.communicate()
    assert process.returncode == 0, rest.decode()


async def set_up(homeserver: str, user_id: str, config: Path, *, force: bool = False, **environ: str) -> list[str]:
    """Do what `davenport init --defaults` does, with everything given; return what it said."""
    given = {"matrix.homeserver": homeserver, "matrix.user_id": user_id}
    environ = {"DAVENPORT_MATRIX__PASSWORD": PASSWORD, "DAVENPORT_LLM__PROVIDER": "offline"} | environ
    said: list[str] = []
    environ = {name: value for name, value in environ.items() if value}
    await setup.init(setup.Request(config, given, None, said.append, force), environ)
    return said


async def checked(config: Path, **environ: str) -> list[str]:
    """Do what `davenport check` does; return its lines."""
    return [str(finding) async for finding in findings(config, environ)]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_init_logs_in_and_the_password_is_not_needed_again(
    homeserver: Homeserver, new_user: NewUser, tmp_path: Path
) -> None:
    user_id, config = await new_user("davenport"), tmp_path / "config.toml"
    common = ("init", "--defaults", "--config", str(config))
    code, out, err = await davenport(*common)
    assert (code, out) == (1, "")
    assert err == (
        "--defaults asks nothing, and these are missing: --homeserver or DAVENPORT_MATRIX__HOMESERVER; --user-id or "
        "DAVENPORT_MATRIX__USER_ID; DAVENPORT_MATRIX__PASSWORD or DAVENPORT_MATRIX__PASSWORD_FILE\n"
    )
    assert names(tmp_path) == []
    options = ("--homeserver", homeserver.url, "--user-id", user_id, "--provider", "offline")
    code, out, err = await davenport(*common, *options, DAVENPORT_MATRIX__PASSWORD=PASSWORD)
    assert (code, err) == (0, "")
    assert re.search(rf"logged in as {user_id}, device DAVENPORT\w+, cross-signed", out)
    assert "the model was not tried" in out
    assert mode(config) == 0o600
    assert PASSWORD not in config.read_text(encoding="utf-8")
    assert names(tmp_path) == ["config.toml", "data"]
    settings = load(config, {})
    assert (settings.matrix.homeserver, settings.matrix.user_id) == (homeserver.url, user_id)
    assert (settings.llm.provider, settings.matrix.password) == ("offline", None)
    assert await davenport("check", "--config", str(config)) == (
        0,
        "note: the model was not tried: llm.provider is offline\nall well\n",
        "",
    )


async def test_init_leaves_a_settings_file_alone_unless_told(
    homeserver: Homeserver, new_user: NewUser, tmp_path: Path
) -> None:
    user_id, config = await new_user("davenport"), tmp_path / "config.toml"
    config.write_text("mine", encoding="utf-8")
    with pytest.raises(SettingsError, match="is there already; --force replaces it"):
        await set_up(homeserver.url, user_id, config)
    assert config.read_text(encoding="utf-8") == "mine"
    await set_up(homeserver.url, user_id, config, force=True)
    assert load(config, {}).matrix.user_id == user_id
    assert mode(config) == 0o600


async def test_init_with_a_wrong_password_address_or_value_writes_no_settings(
    homeserver: Homeserver, new_user: NewUser, tmp_path: Path
) -> None:
    user_id, config = await new_user("davenport"), tmp_path / "config.toml"
    refused = rf"does not accept the login of {user_id} \(M_FORBIDDEN\): check matrix\.password"
    with pytest.raises(LoginFailed, match=refused) as caught:
        await set_up(homeserver.url, user_id, config, DAVENPORT_MATRIX__PASSWORD="wrong-password")
    assert "wrong-password" not in str(caught.value)
    with pytest.raises(MatrixError, match="/versions: ClientConnectorError"):
        await set_up("http://127.0.0.1:9", user_id, config)
    with pytest.raises(SettingsError, match=f"{config}: matrix.homeserver must be an http:// or https:// address"):
        await set_up("localhost", user_id, config)
    assert names(tmp_path) == ["data"]


async def test_init_takes_password_and_key_from_files_and_tries_the_model(
    homeserver: Homeserver, new_user: NewUser, tmp_path: Path
) -> None:
    user_id, config = await new_user("davenport"), tmp_path / "config.toml"
    for name, secret in (("password", PASSWORD), ("key", "sk-test")):
        (tmp_path / name).write_text(f"{secret}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o600)
    async with ModelServer(replies=lambda request: say("yes")) as model:
        said = await set_up(
            homeserver.url,
            user_id,
            config,
            DAVENPORT_MATRIX__PASSWORD="",
            DAVENPORT_MATRIX__PASSWORD_FILE=str(tmp_path / "password"),
            DAVENPORT_LLM__API_KEY_FILE=str(tmp_path / "key"),
            DAVENPORT_LLM__BASE_URL=model.base_url,
            DAVENPORT_LLM__PROVIDER="",
        )
        asked = [request.body["model"] for request in model.requests]
    assert f"claude-sonnet-5-5 and claude-haiku-5-5 answer at {model.base_url}" in said
    assert asked == ["claude-sonnet-5-5", "claude-haiku-5-5"]
    assert "sk-test" not in config.read_text(encoding="utf-8")


class Terminal:
    """Our end of a pseudo-terminal on which a command runs."""

    def __init__(self, descriptor: int) -> None:
        self.shown = ""
        self._descriptor = descriptor
        self._more = asyncio.Event()
        self._answered = 0
        os.set_blocking(descriptor, False)
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def _read(self) -> None:
        try:
            self.shown += os.read(self._descriptor, 4096).decode()
        except OSError:  # the command has ended
            asyncio.get_running_loop().remove_reader(self._descriptor)
        self._more.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not condition():
                self._more.clear()
                await self._more.wait()

    async def answer(self, question: str, text: str) -> None:
        """Type a line once a question is asked to its end; what is typed before is thrown away."""
        await self.until(lambda: question in self.shown[self._answered :] and self.shown.endswith(": "))
        self._answered = len(self.shown)
        os.write(self._descriptor, f"{text}\n".encode())


async def test_init_asks_at_a_terminal_and_shows_no_secret(
    homeserver: Homeserver, new_user: NewUser, tmp_path: Path
) -> None:
    user_id, config = await new_user("davenport"), tmp_path / "config.toml"
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "davenport", "init", "--config", str(config)),
        env=ENVIRONMENT | {"DAVENPORT_LLM__BASE_URL": "http://127.0.0.1:9"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    terminal = Terminal(ours)
    await terminal.answer("Address of the homeserver", homeserver.url)
    await terminal.answer("User id of the bot", user_id)
    await terminal.answer("Language model", "")
    await terminal.answer("Password of the bot", PASSWORD)
    await terminal.answer("API key", "sk-typed")
    await terminal.until(lambda: "start the bot with" in terminal.shown)
    assert await process.wait() == 0, terminal.shown
    os.close(theirs)
    asyncio.get_running_loop().remove_reader(ours)
    os.close(ours)
    assert "the model claude-sonnet-5-5 did not answer" in terminal.shown
    assert PASSWORD not in terminal.shown
    assert "sk-typed" not in terminal.shown
    assert (tmp_path / "llm.key").read_text(encoding="utf-8") == "sk-typed\n"
    assert (mode(tmp_path / "llm.key"), mode(config)) == (0o600, 0o600)
    key = load(config, {}).llm.api_key
    assert key is not None
    assert key.get_secret_value() == "sk-typed"


async def test_the_first_ctrl_c_at_a_prompt_ends_init_and_nothing_is_written(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "davenport", "init", "--config", str(config)),
        env=ENVIRONMENT,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    terminal = Terminal(ours)
    await terminal.answer("Address of the homeserver", "http://127.0.0.1:9")
    await terminal.until(lambda: "User id of the bot" in terminal.shown)
    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(SECONDS):
        assert await process.wait() == 1, terminal.shown
    os.close(theirs)
    asyncio.get_running_loop().remove_reader(ours)
    os.close(ours)
    assert "Traceback" not in terminal.shown
    assert not config.exists()


PRESSED_BEFORE_THE_READ = """
import ctypes, functools, signal
from davenport.asking import asked
pressed = ctypes.CFUNCTYPE(ctypes.c_int)(functools.partial(ctypes.CDLL(None)["raise"], signal.SIGINT))
hook = ctypes.c_void_p.in_dll(ctypes.pythonapi, "PyOS_InputHook")  # called where the read is about to block
hook.value = ctypes.cast(pressed, ctypes.c_void_p).value
asked("Question")
"""


async def test_a_ctrl_c_just_before_a_prompt_reads_is_not_lost() -> None:
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PRESSED_BEFORE_THE_READ), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    terminal = Terminal(ours)
    async with asyncio.timeout(SECONDS):
        assert await process.wait() == 1, terminal.shown
    asyncio.get_running_loop().remove_reader(ours)
    os.close(ours)
    assert terminal.shown.strip().endswith("Abort"), terminal.shown


async def test_check_names_one_fault_a_line_and_ends_in_1(
    homeserver: Homeserver, new_user: NewUser, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    assert (await checked(config))[0].startswith(f"fault: {config}: there is no such file")
    config.write_text(
        f'[matrix]\nhomeserver = "{homeserver.url}"\nuser_id = "{await new_user("davenport")}"\npassword = "wrong"\n'
        '[llm]\nbase_url = "http://127.0.0.1:9"\napi_key = "sk-test"\nmemory_model = ""\nmax_retries = 0\n',
        encoding="utf-8",
    )
    config.chmod(0o644)
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o755)
    code, out, err = await davenport("check", "--config", str(config))
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert lines[0] == f"note: the settings file {config} can be read by others: chmod 600 it"
    assert lines[1] == f"fault: {tmp_path / 'data'} is open to others (mode 755): chmod 700 it"
    assert lines[2].startswith(f"fault: login: {homeserver.url} does not accept the login of")
    assert lines[3].startswith("fault: the model claude-sonnet-5-5 at http://127.0.0.1:9: the model server cannot be")
    assert len(lines) == 4
    assert names(tmp_path / "data") == []
    config.write_text("[matrix]\nhomeserver = 3\n[no]\n", encoding="utf-8")
    lines = await checked(config)
    assert len(lines) == 3
    assert all(line.startswith("fault: ") for line in lines)


async def test_check_tries_a_password_without_leaving_a_device(
    homeserver: Homeserver, people: People, tmp_path: Path
) -> None:
    bot = await people("davenport")
    devices = ("GET", "/_matrix/client/v3/devices")
    before = await bot.client.request(*devices)
    config = tmp_path / "config.toml"
    config.write_text(f'[matrix]\nhomeserver = "{homeserver.url}"\nuser_id = "{bot.user_id}"\n', encoding="utf-8")
    lines = await checked(config, DAVENPORT_MATRIX__PASSWORD=PASSWORD)
    assert lines == [
        "note: the bot has not logged in yet; its password is accepted",
        "note: the model was not tried: there is no key in llm.api_key or ANTHROPIC_API_KEY",
    ]
    assert len((await bot.client.request(*devices))["devices"]) == len(before["devices"])
    assert (await checked(config))[0].startswith("fault: login: there is none yet: run `davenport init`")


async def test_check_of_an_unreachable_homeserver_a_lost_login_and_a_missing_embedder(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    user_id, config = await new_user("davenport"), tmp_path / "config.toml"
    await set_up(homeserver.url, user_id, config)
    offline = "note: the model was not tried: llm.provider is offline"
    text = config.read_text(encoding="utf-8").replace('# provider = "anthropic"', 'provider = "offline"')
    config.write_text(text, encoding="utf-8")
    assert await checked(config) == [offline]
    assert await checked(config, DAVENPORT_MATRIX__HOMESERVER="http://127.0.0.1:9") == [
        "fault: the homeserver http://127.0.0.1:9 cannot be reached: "
        "GET /_matrix/client/versions: ClientConnectorError",
        "note: the login was not tried, since the homeserver cannot be reached",
        offline,
    ]
    embeddings = {"PROVIDER": "openai", "BASE_URL": "http://127.0.0.1:9", "MODEL": "m"}
    *_, line = await checked(config, **{f"DAVENPORT_EMBEDDINGS__{name}": value for name, value in embeddings.items()})
    assert line.startswith("fault: the embedder openai: the embeddings server cannot be reached")
    *_, line = await checked(config, DAVENPORT_EMBEDDINGS__PROVIDER="none")
    assert line.startswith("note: there is no embedder")
    [line, _] = await checked(config, DAVENPORT_MATRIX__USER_ID="@else:localhost")
    assert line.startswith(f"fault: login: the data folder belongs to {user_id}")
    async with Person(homeserver.url, user_id[1:].partition(":")[0], PASSWORD, tmp_path / "owner") as owner:
        await owner.client.request("POST", "/_matrix/client/v3/logout/all", {})
    [line, _] = await checked(config)
    assert line in {
        f"fault: login: {homeserver.url} no longer accepts the stored login",
        "note: the stored access token has run out; the next start renews it",
    }


async def test_a_running_bot_is_asked_followed_reloaded_and_scraped(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    user_id, config = await new_user("davenport"), tmp_path / "config.toml"
    await set_up(homeserver.url, user_id, config)
    code, out, err = await davenport("status", "--config", str(config))
    assert (code, out, err) == (1, "", f"no bot runs on {tmp_path / 'data'}; `davenport run` starts one\n")
    http = {"DAVENPORT_HTTP__ENABLED": "true", "DAVENPORT_HTTP__PORT": "0"}
    async with running(config, DAVENPORT_MATRIX__DISPLAY_NAME="Desk", **http) as bot:
        port = (await bot.until("health and metrics are served")).rsplit(" ", 1)[1]
        alice = await people("alice")
        room_id = await meet(alice, bot=user_id, direct=True)
        event_id = await alice.say(room_id, "my cat is named Mochi")
        await alice.wait_for_answer(event_id)
        profile = await alice.client.request("GET", f"/_matrix/client/v3/profile/{user_id}")
        assert profile["displayname"] == "Desk"
        await bot.follow(event_id, {"journalled", "answered", "sent", "learned"})
        assert "Mochi" not in json.dumps(bot.log)

        code, out, err = await davenport("status", "--json", "--config", str(config))
        assert (code, err) == (0, "")
        found = json.loads(out)
        assert (found["state"], found["account"]["user_id"]) == ("running", user_id)
        assert found["sync"]["rooms"] == 1
        assert found["sync"]["age_seconds"] < 60
        assert found["counts"] == {"memories": 0, "candidates": 1, "users": 1}
        assert found["outbox"] == {"rows": 0, "oldest_seconds": None}
        assert found["actors"]["by_kind"]["room"] == 1
        assert mode(tmp_path / "data" / "control.sock") == 0o600

        code, _, err = await davenport("run", "--config", str(config))
        assert (code, "is in use by another davenport process" in err) == (1, True)
        code, out, _ = await davenport("status", "--config", str(config))
        assert (code, "memory:    0 memories, 1 candidates, 1 users" in out) == (0, True)

        code, out, _ = await davenport("check", "--config", str(config))
        process = str(bot.process.pid)
        assert (code, out.splitlines()[-1]) == (0, "all well")
        assert f"(process {process}) and was asked about database and login" in out

        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            assert (await session.get("/readyz")).status == 200
            page = await (await session.get("/metrics")).text()
        assert 'davenport_turns_total{kind="ask",outcome="answered"} 1.0' in page
        assert re.search(r'^davenport_outbox_sends_total{outcome="sent"} [1-9]', page, re.MULTILINE)
        assert 'davenport_model_calls_total{model="claude-sonnet-5-5",purpose="reply"} 1.0' in page

        text = config.read_text(encoding="utf-8").replace('# command_prefix = "!"', 'command_prefix = "%"')
        config.write_text(text.replace("# max_retries = 2", "max_retries = 3"), encoding="utf-8")
        bot.process.send_signal(signal.SIGHUP)
        assert await bot.until("settings read again") == "settings read again; changed: matrix.command_prefix"
        assert await bot.until("restart") == "a restart is needed before these act: llm.max_retries"
        help_id = await alice.say(room_id, "%help")
        assert "`%memories" in (await alice.wait_for_answer(help_id)).body

        config.write_text("nonsense", encoding="utf-8")
        bot.process.send_signal(signal.SIGHUP)
        assert "is not TOML" in await bot.until("settings not taken over")


@pytest.mark.slow
async def test_a_bot_that_waits_for_its_homeserver_can_be_asked_and_reloads(
    homeserver: Homeserver, new_user: NewUser, tmp_path: Path
) -> None:
    user_id, config = await new_user("davenport"), tmp_path / "config.toml"
    config.write_text(f'[matrix]\nhomeserver = "http://127.0.0.1:9"\nuser_id = "{user_id}"\npassword = "x"\n', "utf-8")
    config.chmod(0o600)
    async with running(config) as bot:
        await bot.until("does not answer as it should")
        code, out, _ = await davenport("status", "--json", "--config", str(config))
        assert (code, json.loads(out)["state"]) == (0, "connecting")
        code, out, _ = await davenport("check", "--config", str(config))
        assert code == 1
        assert "fault: the bot is not logged in yet: it waits for the homeserver" in out
        bot.process.send_signal(signal.SIGHUP)
        await bot.until("settings read again; changed: nothing")
