"""`!config` as people write it: pure reading of every form, and code that shows exactly what was typed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.config_arguments import ConfigAll, ConfigChosen, ConfigReset, ConfigSet, ConfigShow
from commands.config_texts import code
from commands.parse import parse
from commands.table import TABLE
from commands.values import Misused


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!config", ConfigChosen()),
        ("!CONFIG  List", ConfigChosen()),
        ("!config list ALL", ConfigAll()),
        ("!config list all of it", Misused()),
        ("!config room", ConfigChosen(room=True)),
        ("!config a.b", ConfigShow("a.b")),
        ("!config `a.b`", ConfigShow("a.b")),
        ("!config a.b =", ConfigShow("a.b")),
        ("!config a.b 3", ConfigSet("a.b", "3")),
        ("!config a.b = 3", ConfigSet("a.b", "3")),
        ("!config a.b=3", ConfigSet("a.b", "3")),
        ("!config a.b\u00a03", ConfigSet("a.b", "3")),
        ("!config a.b\n3 4\n5", ConfigSet("a.b", "3 4\n5")),
        ("!config a.b = =", ConfigSet("a.b", "=")),
        ("!config room a.b", ConfigShow("a.b", room=True)),
        ("!config room a.b = 3", ConfigSet("a.b", "3", room=True)),
        ("!config reset a.b", ConfigReset("a.b")),
        ("!config reset `a.b`", ConfigReset("a.b")),
        ("!config reset a.b c", Misused()),
        ("!config reset", Misused()),
        ("!config room reset a.b", ConfigReset("a.b", room=True)),
        ("!config room reset", Misused()),
        ("!config =", Misused()),
    ],
)
def test_each_form_is_read(text: str, value: object) -> None:
    call = parse(text, "!", TABLE)
    assert call is not None
    assert call.value == value


@given(st.text(max_size=50))
def test_whatever_follows_is_read_or_refused(text: str) -> None:
    call = parse(f"!config {text}", "!", TABLE)
    assert call is not None
    assert call.path[0].name == "config"


@given(st.text(alphabet="`ab \n*<", max_size=30))
def test_code_cannot_be_left_by_what_stands_in_it(text: str) -> None:
    """The run of backticks that opens it occurs nowhere within, and it is one line (CommonMark's rule)."""
    shown = code(text)
    fence = re.match("`+", shown)
    assert fence is not None
    inner = shown[len(fence[0]) : -len(fence[0])]
    assert shown.endswith(fence[0])
    assert len(fence[0]) not in {len(run) for run in re.findall("`+", inner)}
    assert inner.strip() == " ".join(text.split())
    assert "\n" not in shown
