"""The command line. Faults are one message on stderr and exit code 1."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

import typer

from davenport import logs
from davenport.asking import asked
from davenport.control_client import ask
from davenport.pages import example_config
from davenport.reload import Reloader
from davenport.settings import Settings
from davenport.settings_load import load, load_with_sources
from davenport.settings_secrets import readable_by_others
from davenport.status import as_text
from memory.errors import DavenportError

log = logging.getLogger(__name__)

Config = Annotated[Path, typer.Option("--config", help="The settings file.")]
DEFAULT_CONFIG = Path("config.toml")

app = typer.Typer(
    help="A Matrix bot with a memory that stays true.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # it prints local variables, settings among them
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"davenport {version('davenport')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A Matrix bot with a memory that stays true."""


@app.command()
def run(config: Config = DEFAULT_CONFIG) -> None:
    """Run the bot until SIGTERM or SIGINT, then finish what has begun. SIGHUP reads the settings again."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there is something to reload; by default it would end us
    try:
        loaded = load_with_sources(config)
        settings = loaded.settings
        logs.configure(settings.log.level, settings.log.format, settings.secrets())
        for line in readable_by_others(settings, config):
            log.warning("%s", line)
        asyncio.run(_serve(settings, Reloader(config, settings, sources=loaded.sources)))
    except DavenportError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    except Exception as error:
        log.critical("stopped by an error nobody expected", exc_info=True)
        raise typer.Exit(1) from error


async def _serve(settings: Settings, reloader: Reloader) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)  # a second signal changes nothing: stopping has begun
    loop.add_signal_handler(signal.SIGHUP, reloader.reload)
    gc.disable()  # what is imported is no garbage: looking for some takes an eighth of the time
    from davenport import wiring  # noqa: PLC0415 - loads every library the bot runs on; faults of settings come first

    gc.enable()
    await wiring.run(settings, stop=stop, reloader=reloader)


@app.command()
def init(
    config: Config = DEFAULT_CONFIG,
    homeserver: Annotated[str, typer.Option(help="Address of the homeserver.")] = "",
    user_id: Annotated[str, typer.Option(help="User id of the bot.")] = "",
    provider: Annotated[str, typer.Option(help="anthropic or offline.")] = "",
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Ask nothing: take options and environment, fail with what is missing.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a settings file that is there.")] = False,
) -> None:
    """Set the bot up: ask, log in, try the model, write the settings. The password is not kept."""
    from davenport import init as setup  # noqa: PLC0415 - as in _serve

    given = {"matrix.homeserver": homeserver, "matrix.user_id": user_id, "llm.provider": provider}
    with _faults_end_in_1():
        asyncio.run(setup.init(setup.Request(config, given, None if defaults else asked, typer.echo, force)))


@app.command()
def check(config: Config = DEFAULT_CONFIG) -> None:
    """Look for what would keep the bot from working, without disturbing one that runs."""
    from davenport.check import findings  # noqa: PLC0415 - as in _serve

    async def report() -> bool:
        well = True
        async for finding in findings(config):
            well &= not finding.fault
            typer.echo(str(finding))
        return well

    if not asyncio.run(report()):
        raise typer.Exit(1)
    typer.echo("all well")


@app.command()
def status(
    config: Config = DEFAULT_CONFIG,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Say what the running bot is doing."""
    with _faults_end_in_1():
        found = asyncio.run(ask(load(config).storage.data_dir, "status"))
        typer.echo(json.dumps(found, indent=2) if as_json else as_text(found))


@app.command("inspect")
def inspect_memory(
    owner: Annotated[str, typer.Argument(help="A user id, or a room id; without one, everybody is listed.")] = "",
    config: Config = DEFAULT_CONFIG,
    as_json: Annotated[bool, typer.Option("--json", help="For programs: one object a line.")] = False,
) -> None:
    """Show candidates and memories of a user, or memories and documents of a room, also while the bot runs."""
    from davenport.inspection import report  # noqa: PLC0415 - as in _serve

    with _faults_end_in_1():
        for line in report(load(config).storage.data_dir, owner, as_json=as_json):
            typer.echo(line)


@contextmanager
def _faults_end_in_1() -> Iterator[None]:
    try:
        yield
    except DavenportError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


@app.command()
def demo(
    script: Annotated[Path | None, typer.Option("--script", help="Play this script.")] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Draw what the script did as SVG into this file.")
    ] = None,
    chat: Annotated[bool, typer.Option("--chat", help="Chat, also where stdin is no terminal.")] = False,
    provider: Annotated[
        Literal["offline", "anthropic"], typer.Option(help="anthropic: the real model; needs ANTHROPIC_API_KEY.")
    ] = "offline",
) -> None:
    """Chat with the bot in a real room, or play a script of many days. Needs no account; leaves nothing behind.

    At a terminal this is a chat. With --script or --picture, or where stdin is no terminal, a script is played, the
    built-in one unless another is named.
    """
    from davenport import demo as theatre  # noqa: PLC0415 - needs packages that the bot itself does not

    raise typer.Exit(theatre.demo(theatre.Options(script, picture, chat, provider)))


@app.command()
def config() -> None:
    """Print a config.toml to fill in."""
    typer.echo(example_config(), nl=False)


def main() -> None:
    """Run the command line."""
    app()
