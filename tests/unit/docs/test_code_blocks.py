"""Every fenced block of the pages is what it says: commands exist, settings load, SQL and Python run, JSON parses."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from davenport.settings_load import load
from memory.errors import SettingsError
from storage import Database
from tests.unit.docs.blocks import CHECKOUT, Block, blocks, check_command, commands, run_sql

PAGES = [CHECKOUT / "README.md", *sorted(CHECKOUT.glob("docs/**/*.md"))]
ALL = [block for page in PAGES for block in blocks(str(page.relative_to(CHECKOUT)), page.read_text(encoding="utf-8"))]
NOT_RUN = {"text": "a drawing or what a program prints, nothing to type"}
USAGE: type[Exception] = typer.BadParameter.__mro__[1]  # the parent of every fault of a command line
SECRET_FILE = re.compile(r'^\w+_file = "([\w.]+)"$', re.MULTILINE)
ACCOUNT = '[matrix]\nhomeserver = "https://matrix.example.org"\nuser_id = "@davenport:example.org"\n'


@pytest.fixture
async def database(tmp_path: Path) -> Path:
    """Return the file of a fresh database with every migration."""
    async with await Database.open(tmp_path / "data") as store:
        return store.path


def check(block: Block, database: Path) -> None:
    match block.language:
        case "sh":
            for words in commands(block.text):
                check_command(words, database)
        case "toml":
            config = database.with_name("config.toml")
            config.write_text(f"{ACCOUNT}{block.text}", encoding="utf-8")
            for name in SECRET_FILE.findall(block.text):
                config.with_name(name).write_text("a secret", encoding="utf-8")
            load(config, {})
        case "sql":
            run_sql(block.text, database)
        case "python":
            subprocess.run([sys.executable, "-c", block.text], cwd=database.parent, check=True, timeout=60)
        case "json":
            json.loads(block.text)
        case other:
            assert other in NOT_RUN, f"{block}: no test knows what to do with the language {other!r}"


@pytest.mark.parametrize("block", ALL, ids=str)
def test_the_block_holds(block: Block, database: Path) -> None:
    check(block, database)


def test_the_pages_have_blocks_and_every_fence_is_seen() -> None:
    fences = sum(
        line.lstrip().startswith("```") for page in PAGES for line in page.read_text(encoding="utf-8").splitlines()
    )
    assert len(ALL) * 2 == fences > 0
    assert {"sh", "toml", "text"} <= {block.language for block in ALL}


@pytest.mark.parametrize(
    ("language", "text", "fault"),
    [
        ("sh", "make demmo\n", AssertionError),
        ("sh", "make setup\nfrobnicate now\n", AssertionError),
        ("sh", "davenport flyaway\n", KeyError),
        ("sh", "davenport run --confg x\n", USAGE),
        ("sh", "davenport demo --provider gemini\n", USAGE),
        ("sh", "DAVENPORT_NO__SUCH=1 davenport run\n", AssertionError),
        ("sh", 'echo \'{"operation": "dance"}\' | socat - UNIX-CONNECT:data/control.sock\n', AssertionError),
        ("sh", "sqlite3 -readonly data/davenport.db \\\n  'SELECT nothing\n FROM memories'\n", sqlite3.Error),
        ("sh", "sqlite3 data/davenport.db 'DELETE FROM memories'\n", AssertionError),
        ("toml", "[memory]\nmax_per_usr = 3\n", SettingsError),
        ("sql", "DELETE FROM memories", sqlite3.Error),
        ("python", "import no_such_module_at_all", subprocess.CalledProcessError),
        ("json", "{", ValueError),
        ("rust", "fn main() {}", AssertionError),
        ("", "no language", AssertionError),
    ],
)
def test_a_block_that_does_not_hold_is_found(language: str, text: str, fault: type[Exception], database: Path) -> None:
    with pytest.raises(fault):
        check(Block("page.md", 1, language, text), database)
