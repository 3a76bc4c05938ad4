"""The command line as a process. What it starts is put in its place by a module of the same name."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from davenport.pages import example_config

WriteConfig = Callable[..., Path]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("DAVENPORT_", "MEMORY_"))}
FAKE_WIRING = """
import sys, types
from memory.errors import LoginFailed, StorageError
wiring = types.ModuleType("davenport.wiring")
async def run(settings, *, stop, reloader):
{body}
wiring.run = run
import davenport
davenport.wiring = sys.modules["davenport.wiring"] = wiring
from davenport.cli import main
"""


def davenport(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "davenport", *arguments],
        env=ENVIRONMENT | environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def start(config: Path, body: str, head: str = "main()") -> subprocess.Popen[str]:
    code = FAKE_WIRING.format(body="\n".join(f"    {line}" for line in body.strip().splitlines())) + head
    return subprocess.Popen(
        [sys.executable, "-c", code, "run", "--config", str(config)],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_version_is_printed() -> None:
    done = davenport("--version")
    assert (done.returncode, done.stdout) == (0, "davenport 0.1.0\n")


def test_an_example_is_printed_that_is_refused_until_it_is_filled_in(tmp_path: Path) -> None:
    printed = davenport("config")
    assert (printed.returncode, printed.stdout) == (0, example_config())
    path = tmp_path / "config.toml"
    path.write_text(printed.stdout, encoding="utf-8")
    done = davenport("run", "--config", str(path))
    assert (done.returncode, done.stdout) == (1, "")
    for key in ("matrix.homeserver", "matrix.user_id", "matrix.password"):
        assert f"{path}: {key} still holds the placeholder CHANGE-ME" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_file_is_named_and_ends_in_1(tmp_path: Path) -> None:
    done = davenport("run", "--config", str(tmp_path / "none.toml"))
    assert done.returncode == 1
    assert f"{tmp_path / 'none.toml'}: there is no such file" in done.stderr


def test_a_fault_in_the_environment_ends_in_1(write_config: WriteConfig) -> None:
    done = davenport("run", "--config", str(write_config()), DAVENPORT_MEMORY__MAX_PER_USER="0")
    assert done.returncode == 1
    assert "DAVENPORT_MEMORY__MAX_PER_USER: memory.max_per_user must be a whole number from 1" in done.stderr


@pytest.mark.parametrize("error", ["LoginFailed", "StorageError"])
def test_a_known_failure_is_one_message_and_1(write_config: WriteConfig, error: str) -> None:
    process = start(write_config(), f"raise {error}('matrix.password is not accepted')")
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (1, "", "matrix.password is not accepted\n")


def test_an_unexpected_failure_is_logged_without_secrets_and_ends_in_1(write_config: WriteConfig) -> None:
    process = start(write_config(), "raise ValueError(settings.matrix.password.get_secret_value())")
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert err.endswith("ValueError\n")
    assert "sesame" not in err


def test_signals_during_the_start_are_kept_for_later_and_do_not_kill(write_config: WriteConfig) -> None:
    head = """
import os, signal
from davenport import cli

def early(found=cli.load):
    def load(config):
        os.kill(os.getpid(), signal.SIGHUP)
        return found(config)
    return load

def importing(name):
    os.kill(os.getpid(), signal.SIGHUP)
    os.kill(os.getpid(), signal.SIGTERM)
    return sys.modules["davenport.wiring"]

cli.load = early()
del davenport.wiring
davenport.__getattr__ = importing
main()
"""
    body = """
await stop.wait()
print("stopped in order", reloader.settings.matrix.user_id)
"""
    process = start(write_config(), body, head)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "stopped in order @davenport:example.org\n"), err
    assert "settings read again" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_and_a_second_one_does_not_break_the_drain(write_config: WriteConfig, number: int) -> None:
    body = """
import os, asyncio
print("up", flush=True)
await stop.wait()
print("draining", flush=True)
os.kill(os.getpid(), %d)
await asyncio.sleep(0)  # the second signal is handled here
await asyncio.sleep(0)
print("drained", flush=True)
"""
    process = start(write_config(), body % number)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "draining\ndrained\n", "")
