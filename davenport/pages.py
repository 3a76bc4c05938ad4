"""Writes config.toml and the pages of docs/ that list settings, commands and metrics: `make pages`."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from commands.page import commands_page
from davenport import metric_table, settings_personas
from davenport.settings_aliases import ALIASES, PREFIX
from davenport.settings_fields import Key, keys, sections, toml
from davenport.settings_rooms import EXAMPLE_ROOM, TABLE, room_keys

WIDTH = 100
CONFIG_HEAD = """\
# Settings of Davenport. Lines such as "# name = value" show the default, or nothing where none is set; remove the #
# to set another value.
# A variable overrules this file: DAVENPORT_MEMORY__MAX_PER_USER=80 sets max_per_user in [memory]; lists are separated
# by spaces there. A password or key may stand in a file of its own instead, named by the key with _file; keep that
# file, or this one if it holds a secret, readable by its owner only.
# MEMORY_DECAY_ENABLED=false in the environment turns the resting of memories off, whatever stands here.
# What admins set in chat with !config goes over this file and is kept in the database.
# Settings of promotion may also stand here, before the first section, under the names they have elsewhere, such as
# "memoryPromotionThreshold = 3" (see docs/settings.md).
"""
METRICS_HEAD = """\
# Metrics

Written from `davenport/metric_table.py` by `make pages`; change them there.

Served at `/metrics` where `http.enabled` is on, in the form Prometheus reads, with the `process_…` metrics of its
client library beside them. No label holds a user, a room or a text.

| Name | Kind | Labels | Meaning |
|---|---|---|---|
"""
PAGE_HEAD = """\
# Settings

Written from `davenport/settings.py` by `make pages`; change them there.

The bot reads `config.toml`, then the environment: the variable named in the last column overrules the file (a list is
separated by spaces there). `MEMORY_DECAY_ENABLED=false` turns the resting of memories off whatever else is set. An
unknown key or variable, a wrong type, a value out of bounds or a placeholder that was left in is refused at start,
every fault at once, with the key, the place and what is allowed.

Scope: `global` holds for the whole bot, `room` may be set for one room apart (see the end of this page). Acts at:
`SIGHUP` takes effect when the bot re-reads its settings, `restart` at the next start. A secret may stand in a file of
its own, named by the key with `_file`; to give both is refused.

Keys that act at `SIGHUP` can also be set in chat, with `!config`, and then act at once; tables, secrets and
`matrix.admins` cannot. What holds, from weak to strong: the default, `config.toml`, the environment, chat for
everywhere, `[rooms]` of `config.toml`, chat for one room. [configuring.md](configuring.md) says more.
"""

ROOMS_TITLE = (
    "What one room has of its own: a table named by its room id, with any of the keys of the scope room. What is not "
    "set there holds as above. Changes act at SIGHUP."
)
ROOMS_SECTION = """
## `[rooms."!id:server"]`

What one room has of its own: a table named by its room id, with any of the keys of the scope `room`, here with their
defaults. They go over the sections above and over the environment, and have no variables. Changes act at SIGHUP.

```toml
{example}
```
"""


ALIASES_SECTION = """
## Other names

The names that these settings have where their rules come from. They may stand at the top of `config.toml`, before the
first section, and are taken by `!config`, in any case and also with `{prefix}` before them.
A setting given under both names is refused.

| Name | Key |
|---|---|
"""
PERSONAS_TITLE = " ".join(settings_personas.MEANING.replace("`", "").split())
PERSONAS_SECTION = """
## `[personas.NAME]`

{meaning}

| Key | Allowed |
|---|---|
{rows}

```toml
{example}```
"""


def example_config(given: Mapping[str, str] | None = None) -> str:
    """Return config.toml: placeholders to fill in, or the texts given by dotted key; every default in a comment."""
    return CONFIG_HEAD + "".join("\n" + _section(name, given or {}) for name in sections()) + _tables_in_config()


def settings_page() -> str:
    """Return docs/settings.md."""
    example = "\n".join(_room_lines())
    tables = "".join("\n" + _table(name) for name in sections())
    return PAGE_HEAD + tables + ROOMS_SECTION.format(example=example) + _personas_section() + _aliases_section()


def metrics_page() -> str:
    """Return docs/metrics.md."""
    rows = []
    for metric in metric_table.TABLE:
        labels = ", ".join(f"`{label}`" for label in metric.labels) or "-"
        rows.append(f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |")
    return METRICS_HEAD + "\n".join(rows) + "\n"


def _personas_section() -> str:
    rows = "\n".join(f"| `{key}` | {allowed} |" for key, allowed in settings_personas.ALLOWED.items())
    return PERSONAS_SECTION.format(meaning=settings_personas.MEANING, rows=rows, example=settings_personas.EXAMPLE)


def _aliases_section() -> str:
    rows = "".join(f"| `{name}` | `{key}` |\n" for name, key in ALIASES.items())
    return ALIASES_SECTION.format(prefix=PREFIX) + rows


def _tables_in_config() -> str:
    """Return what stands beside the sections, as comments: an example of a room and of a persona."""
    persona = (f"  {line}".rstrip() for line in settings_personas.EXAMPLE.splitlines())  # no default, so set apart
    parts = ((ROOMS_TITLE, _room_lines()), (PERSONAS_TITLE, persona))
    return "".join(
        "\n" + "\n".join([*_comment(title), "#", *(f"# {line}".rstrip() for line in lines)]) + "\n"
        for title, lines in parts
    )


def _room_lines() -> list[str]:
    return [f'[{TABLE}."{EXAMPLE_ROOM}"]', *(_room_line(key) for key in room_keys())]


def _room_line(key: Key) -> str:
    """Return a key with its default; one that has none is a comment."""
    return f"# {key.dotted} =" if key.default is None else f"{key.dotted} = {key.default}"


def _section(name: str, given: Mapping[str, str]) -> str:
    lines = [f"[{name}]", *_comment(_title(name))]
    for key in keys(name):
        lines += ["", *_comment(key.field.description or ""), *_comment(_facts(key)), _line(key, given)]
    return "\n".join(lines) + "\n"


def _facts(key: Key) -> str:
    return f"Allowed: {key.allowed}. Scope: {key.scope}. Changes act at {acts_at(key)}."


def _line(key: Key, given: Mapping[str, str]) -> str:
    if key.dotted in given:
        return f"{key.name} = {toml(given[key.dotted])}"
    if key.example is not None and given:
        return f"# {key.name} ="
    if key.example is not None:
        return f"{key.name} = {key.example}"
    return f"# {key.name} = {key.default or ''}".rstrip()


def _comment(text: str) -> Iterator[str]:
    return (f"# {line}" for line in textwrap.wrap(text, WIDTH))


def _title(section: str) -> str:
    return inspect.cleandoc(sections()[section].__doc__ or "")


def _table(name: str) -> str:
    rows = [
        f"## `[{name}]`",
        "",
        _title(name),
        "",
        "| Key | Meaning | Allowed | Default | Scope | Acts at | Variable |",
        "|---|---|---|---|---|---|---|",
    ]
    for key in keys(name):
        default = "must be given" if key.field.is_required() else _code(key.default)
        cells = (f"`{key.name}`", key.field.description, key.allowed, default, key.scope, acts_at(key))
        rows.append(f"| {' | '.join(map(str, cells))} | `{key.variable}` |")
    return "\n".join(rows) + "\n"


def acts_at(key: Key) -> str:
    """Say when a changed value acts."""
    return "SIGHUP" if key.live else "restart"


def _code(default: str | None) -> str:
    return "not set" if default is None else f"`{default}`"


def pages() -> dict[str, str]:
    """Return what each generated file holds, by its path in the checkout."""
    return {
        "config.toml": example_config(),
        "docs/settings.md": settings_page(),
        "docs/commands.md": commands_page(),
        "docs/metrics.md": metrics_page(),
    }


def write(checkout: Path) -> None:
    """Write every generated file of a checkout."""
    for name, text in pages().items():
        (checkout / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path())
