"""The numbers that the pages tell people are those of the code: a change of one is a change of the page too."""

from __future__ import annotations

import pytest

from actors.code_files import MOST_FILES
from commands.memory_arguments import MOST_IN_RANGES
from commands.table import TABLE
from index import builtin, openai
from media.document_pdf import MOST_PAGES
from media.document_text import SIZE
from media.jobs import DOCUMENT, DRAWING, PICTURE
from media.picture import LONGER_SIDE
from media.sandbox import AT_ONCE
from memory import drawing, story, transfer
from memory.capacity import MOST_GLOBAL
from memory.settings import KindSettings, MemorySettings
from tests.unit.docs.blocks import CHECKOUT

KINDS, MEMORY = KindSettings(), MemorySettings()
WORDS = {1: "one", 2: "two", 3: "three", 5: "five", 20: "twenty", 30: "thirty", 50: "fifty", 1000: "a thousand"}
MEGABYTE = 1_000_000


def times(command: str) -> int:
    """Return how often a person may give a command in ten minutes."""
    found = next(row.quota for row in TABLE if row.name == command)
    assert found is not None
    assert found.user is not None
    assert found.user.span.total_seconds() == 600
    return found.user.count


def calls(pictures: int) -> int:
    """Return the calls of the model for a story with this many that draw its pictures."""
    return 1 + KINDS.story_parts + pictures


USERS = (
    f"Your list holds {MEMORY.capacity_personal} memories.",
    f"{MOST_GLOBAL} at most",
    f"of at most {MOST_IN_RANGES}.",
    f"The most are {transfer.MOST_BYTES // MEGABYTE} MB and {transfer.MOST_MEMORIES:,} memories.",
    f"You may ask {WORDS[times('ask')]} times in ten minutes",
)
KINDS_PAGE = (
    f"what is longer than {KINDS.code_attach_lines} lines",
    f"{WORDS[MOST_FILES]} files at most",
    f"You may ask {WORDS[times('code')]} times in ten minutes.",
    f"nothing there for {KINDS.verse_minutes} minutes",
    f"a picture, from a description of at most {drawing.MAX_DESCRIPTION:,} characters",
    f"You may ask {WORDS[times('draw')]} times in ten minutes.",
    f"tell a story, from a request of at most {story.MAX_REQUEST:,} characters",
    f"as many as {WORDS[KINDS.story_parts]} parts with up to {WORDS[KINDS.story_illustrations]} pictures",
    f"You may ask for {WORDS[times('story')]} story in ten minutes.",
    f"WebP up to {KINDS.pictures_most_bytes // MEGABYTE} MB",
    f"HTML or PDF, up to {KINDS.documents_most_bytes // MEGABYTE} MB",
    f"A room has {WORDS[KINDS.documents_most]} documents at most.",
    f"go along with it, {WORDS[KINDS.documents_in_prompt]} at most",
    f"up to {MOST_PAGES:,} pages",
)
OPERATING = (
    f"{calls(KINDS.story_illustrations)} with the defaults, {calls(2 * KINDS.story_illustrations)} at most",
    f"at most {LONGER_SIDE:,} pixels long",
    f"text in parts of at most {WORDS[SIZE]} characters",
    f"from {builtin.DOCUMENT_THRESHOLD} with the built-in embedder",
    f"from {openai.DOCUMENT_THRESHOLD} with a server's",
    f"processes of their own, {WORDS[AT_ONCE]} at a time",
    f"It is ended at {DRAWING.megabytes} MB above what it starts with ({PICTURE.megabytes} for a picture)",
    f"after {DRAWING.cpu_seconds} seconds of computing ({DOCUMENT.cpu_seconds} for a document) or after a minute",
)
SETTINGS = (
    f"a part is given; not set: {builtin.DOCUMENT_THRESHOLD}, as measured for the built-in embedder, or "
    f"{openai.DOCUMENT_THRESHOLD} for openai",
)
PAGES = {"users": USERS, "kinds": KINDS_PAGE, "operating-kinds": OPERATING, "settings": SETTINGS}
TOLD = [(page, told) for page, all_told in PAGES.items() for told in all_told]


@pytest.mark.parametrize(("page", "told"), TOLD)
def test_a_number_that_people_are_told_is_the_codes(page: str, told: str) -> None:
    text = (CHECKOUT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert told in " ".join(text.split())


def test_the_limits_of_the_processes_are_those_of_all_three() -> None:
    assert DOCUMENT.megabytes == DRAWING.megabytes
    assert PICTURE.cpu_seconds == DRAWING.cpu_seconds
    assert {job.wall_seconds for job in (DRAWING, PICTURE, DOCUMENT)} == {60.0}
