"""Every link of the pages leads somewhere: to a file of the checkout, and to a heading that its page has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.docs.blocks import CHECKOUT, FENCE

PAGES = [CHECKOUT / "README.md", CHECKOUT / "CHANGELOG.md", *sorted(CHECKOUT.glob("docs/**/*.md"))]
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\((?P<target>[^()\s]+)\)")
HEADING = re.compile(r"^#+ +(?P<words>.+)$", re.MULTILINE)


def prose(page: Path) -> str:
    """Return a page without its fenced blocks, where nothing is a link or a heading."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchor(heading: str) -> str:
    """Return the name that a forge gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def faults(page: Path, text: str) -> list[str]:
    """Return those links of a page's text, as it would stand in `page`, that lead nowhere."""
    wrong = []
    for match in LINK.finditer(CODE.sub("`", text)):
        target = match["target"]
        path, _, name = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if "://" in target or (there.exists() and not name):
            continue
        if not there.is_file() or name not in {anchor(found["words"]) for found in HEADING.finditer(prose(there))}:
            wrong.append(target)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert faults(page, prose(page)) == []


def test_every_page_is_linked_from_another() -> None:
    linked = set()
    for page in PAGES:
        targets = (match["target"].partition("#")[0] for match in LINK.finditer(prose(page)))
        linked |= {(page.parent / target).resolve() for target in targets if target and "://" not in target}
    assert [page for page in CHECKOUT.glob("docs/*.md") if page not in linked] == []


@pytest.mark.parametrize("target", ["nowhere.md", "docs/users.md#nothing-of-this-name", "#neither"])
def test_a_link_that_leads_nowhere_is_found(target: str) -> None:
    assert faults(CHECKOUT / "README.md", f"see [this]({target}), [that](docs/users.md#its-language)") == [target]
