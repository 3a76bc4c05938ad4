"""The fenced blocks of the pages, and what a command line in one must satisfy."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import typer.main

from davenport.cli import app
from davenport.operations import OPERATIONS
from davenport.settings_fields import all_keys
from davenport.settings_load import API_KEY, DECAY_SWITCH

CHECKOUT = Path(__file__).parents[3]
VARIABLES = {API_KEY, DECAY_SWITCH, "SSL_CERT_FILE", *(key.variable for key in all_keys())}
SYSTEM = {"cd", "git"}  # only get the checkout, before there is anything to check
FENCE = re.compile(r"^(?P<fence>```+)(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=fence)[ ]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; `line` is that of its fence."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str, text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page in order."""
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Block(page, line, match["language"].strip(), match["text"])


def commands(script: str) -> Iterator[list[str]]:
    """Yield the words of each simple command: lines, pipes and lists are split, quotes and continuations joined."""
    lexer = shlex.shlex(script.replace("\\\n", " "), posix=True, punctuation_chars="|&;\n")
    lexer.whitespace, lexer.whitespace_split = " \t", True
    words: list[str] = []
    for word in lexer:
        if set(word) <= set("|&;\n"):
            if words:
                yield words
            words = []
        else:
            words.append(word)
    if words:
        yield words


def check_command(words: list[str], database: Path) -> None:
    """Raise where a command is none that this project has; SQL runs against `database`, without writing to it."""
    while words and (given := re.fullmatch(r"([A-Z][A-Z0-9_]*)=.*", words[0], re.DOTALL)):
        assert given[1] in VARIABLES, f"{given[1]} is no variable of the bot"
        words = words[1:]
    if not words or words[0] in SYSTEM:
        return
    name, *arguments = words
    match name.removeprefix(".venv/bin/"):
        case "davenport":
            check_davenport(arguments)
        case "make":
            check_targets(arguments)
        case "sqlite3":
            check_sqlite(arguments, database)
        case "echo":
            request = json.loads(arguments[0])
            assert request["operation"] in {operation.name for operation in OPERATIONS}
        case "socat":
            assert arguments == ["-", "UNIX-CONNECT:data/control.sock"]
        case other:
            raise AssertionError(f"{other} is no command of the project")


def check_davenport(arguments: list[str]) -> None:
    """Parse a command line as the program does, without running it. Raises click's UsageError."""
    group = typer.main.get_command(app)
    name, *rest = arguments
    command = group.commands[name]  # type: ignore[attr-defined]
    command.make_context(name, rest)


def check_targets(arguments: list[str]) -> None:
    """Each word of a call of make is a target or sets a variable."""
    targets = set(re.findall(r"^([a-z]+):", (CHECKOUT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    unknown = {word for word in arguments if "=" not in word} - targets
    assert not unknown, f"make has no {unknown}"


def check_sqlite(arguments: list[str], database: Path) -> None:
    """Run the SQL of a call of sqlite3; what is not marked as reading only may only copy."""
    *options, file, sql = arguments
    assert Path(file).name == database.name
    assert options == ["-readonly"] or sql.startswith("VACUUM INTO 'backup.db'")
    if options:
        run_sql(sql, database)
    else:
        run_sql(sql.replace("backup.db", str(database.with_name("backup.db"))), database)


def run_sql(sql: str, database: Path) -> None:
    """Run one statement against a database that is opened for reading. Raises sqlite3.Error."""
    connection = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
    try:
        connection.execute(sql).fetchall()
    finally:
        connection.close()
