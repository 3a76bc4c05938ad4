"""The systemd unit that is handed out."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import typer.main

from davenport.cli import app
from davenport.settings_fields import all_keys

UNIT = Path(__file__).parents[3] / "contrib" / "davenport.service"


def test_it_starts_what_there_is_and_sets_what_there_is() -> None:
    text = UNIT.read_text(encoding="utf-8")
    [command] = re.findall(r"^ExecStart=\S+/davenport (\w+) --config", text, flags=re.MULTILINE)
    assert command in typer.main.get_command(app).commands  # type: ignore[attr-defined]
    variables = set(re.findall(r"^Environment=(\w+)=", text, flags=re.MULTILINE))
    assert variables == {"DAVENPORT_STORAGE__DATA_DIR"} <= {key.variable for key in all_keys()}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_finds_no_fault_in_it(tmp_path: Path) -> None:
    text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", UNIT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (tmp_path / UNIT.name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / UNIT.name)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
