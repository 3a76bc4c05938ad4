"""What is written for people agrees with the code."""

import re
import tomllib
from pathlib import Path

import pytest
import typer.main

from commands.table import TABLE, lines
from davenport.cli import app
from davenport.pages import pages
from davenport.settings_fields import Key, all_keys
from davenport.settings_load import load
from texts.catalogue import Speaker

CHECKOUT = Path(__file__).parents[3]
PROSE = sorted([CHECKOUT / "README.md", CHECKOUT / "CHANGELOG.md", *CHECKOUT.glob("docs/**/*.md")])
PACKAGES = "davenport|commands|actors|matrix|llm|index|storage|texts|memory|docs"


def read(name: str) -> str:
    return (CHECKOUT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", pages())
def test_the_generated_pages_are_those_of_this_code(name: str) -> None:
    assert read(name) == pages()[name], "run `make pages`"


@pytest.mark.parametrize("key", all_keys(), ids=lambda key: key.dotted)
def test_every_setting_is_explained_with_bounds_and_variable(key: Key) -> None:
    assert key.field.description
    assert key.allowed
    row = next(line for line in read("docs/settings.md").splitlines() if f"`{key.variable}`" in line)
    assert row.startswith(f"| `{key.name}` | {key.field.description} | {key.allowed} |")
    assert row.endswith(f"| {key.scope} | {'SIGHUP' if key.live else 'restart'} | `{key.variable}` |")
    assert key.scope in {"global", "room"}


def test_every_command_is_documented() -> None:
    page, say = read("docs/commands.md"), Speaker()
    for row in TABLE:
        for usage, form in lines(row, "!"):
            cell = usage.replace("|", r"\|")
            assert f"| `{cell}` | {say(form.help)} | {say(form.who.label)} |" in page


def test_the_example_loads_once_it_is_filled_in_and_holds_the_defaults(tmp_path: Path) -> None:
    account = {"homeserver": "https://a.org", "user_id": "@b:a.org", "password": "sesame-open"}
    text = read("config.toml")
    for name, value in account.items():
        text = re.sub(rf"^{name} = .*CHANGE-ME.*$", f'{name} = "{value}"', text, flags=re.MULTILINE)
    every_default = re.sub(r"^# (\w+ = .+)$", r"\1", text, flags=re.MULTILINE)
    plain, spelt_out = tmp_path / "plain.toml", tmp_path / "spelt_out.toml"
    plain.write_text(text, encoding="utf-8")
    spelt_out.write_text(every_default, encoding="utf-8")
    given = tomllib.loads(every_default)
    unset = [key.dotted for key in all_keys() if key.name not in given[key.section]]
    assert unset == [key.dotted for key in all_keys() if key.default is None and key.example is None]
    assert "llm.api_key" in unset
    assert load(plain, {}) == load(spelt_out, {})


def test_commands_named_for_the_shell_exist() -> None:
    prose = "\n".join(read(str(path)) for path in PROSE)
    targets = set(re.findall(r"^([a-z]+):", read("Makefile"), flags=re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", prose, flags=re.MULTILINE))
    assert {"demo", "test"} <= named <= targets
    subcommands = set(typer.main.get_command(app).commands)
    used = set(re.findall(r"(?:bin/|`|… )davenport ([a-z]+)", prose))
    assert "run" in used <= subcommands


@pytest.mark.parametrize("page", PROSE, ids=lambda path: path.name)
def test_links_and_files_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    files = re.findall(rf"`((?:{PACKAGES})/[\w/.-]*)`", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    missing += [name for name in files if not (CHECKOUT / name).exists()]
    assert missing == []
