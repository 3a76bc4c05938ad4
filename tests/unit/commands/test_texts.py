import html
import re
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from commands import texts
from memory.types import Memory, Origin, ScopeKind, Source

SAVED = datetime(2026, 3, 1, 12, tzinfo=UTC)
MOCHI = Memory(
    id=3,
    scope=ScopeKind.PERSONAL,
    scope_id="@ana:example.org",
    persona="default",
    text="Her cat is named Mochi",
    source=Source.PROMOTION,
    protected=False,
    unused_days=0,
    counted_on=date(2026, 3, 1),
    last_matched_at=None,
    mentions=2,
    first_seen=SAVED,
    created_at=SAVED,
    updated_at=SAVED,
    origin=Origin("!room:example.org", "$event", private=False),
)
MARKDOWN = MarkdownIt("commonmark").enable(["strikethrough", "table"])


def rendered(text: str) -> str:
    """What a reader sees of an escaped text in a list line; fails when it made any element of its own."""
    page = MARKDOWN.render(f"- **#3** {texts.escape(text)}")
    found = re.fullmatch(r"<ul>\n<li><strong>#3</strong> ?([^<>]*)</li>\n</ul>\n", page)
    assert found, page
    return html.unescape(found[1])


@pytest.mark.parametrize(
    "text",
    [
        "**bold** _em_ `code` ~~gone~~ snake_case_name",
        "[Ana](https://matrix.to/#/@ana:example.org)",
        "<a href='https://evil.example'>x</a> <script>alert(1)</script> <https://evil.example>",
        "![pic](mxc://example.org/x) &amp; &#64;room \\* | a | b |",
        "# heading - item > quote 1. one",
        "``` fence",
    ],
)
def test_a_memory_cannot_bring_formatting_links_or_pills_along(text: str) -> None:
    assert rendered(text) == text


@given(st.text(max_size=80))
def test_any_text_shows_as_it_is_and_on_one_line(text: str) -> None:
    assert "\n" not in texts.escape(text)
    rendered(text)


def test_line_breaks_and_hiding_characters_are_gone() -> None:
    assert texts.escape("one\n# two\u202e\x07") == "one # two"


def test_d18_a_listing_shows_id_state_date_and_text_and_counts_the_private_ones() -> None:
    resting = replace(MOCHI, id=5, unused_days=7, text="Plays *chess*")
    assert texts.listing((MOCHI, resting), 2, 7) == (
        "I remember 2 memories about you:\n\n"
        "- **#3** (active, saved 2026-03-01) Her cat is named Mochi\n"
        "- **#5** (resting, saved 2026-03-01) Plays \\*chess\\*\n\n"
        "2 more are private: ask in a direct room with me to see all."
    )


def test_d13_without_decay_every_memory_is_active() -> None:
    assert "(active," in texts.listing((replace(MOCHI, unused_days=90),), 0, None)


def test_d18_an_empty_listing_says_so_and_hides_no_number() -> None:
    assert texts.listing((), 0, 7) == "I remember nothing about you."
    assert texts.listing((), 1, 7) == (
        "I remember nothing about you that may be shown here.\n\n"
        "1 more is private: ask in a direct room with me to see all."
    )


def test_wrong_ids_are_named_shortened_and_escaped() -> None:
    assert texts.deleted((3, 4), ()) == "Forgotten: #3, #4."
    assert texts.deleted((3,), ("#9", "*x*")) == "Forgotten: #3. Not among your memories: #9, \\*x\\*."
    assert texts.deleted((), ("x" * 50_000,)) == f"I have forgotten nothing. Not among your memories: {'x' * 30}…."
    assert texts.deleted((), [str(n) for n in range(12)]).endswith("8, 9 and 2 more.")
