import html
import re
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from commands import memory_texts as texts
from memory.settings import MemorySettings
from memory.types import Conversation, Memory, Origin, ScopeKind, Source
from texts.catalogue import Speaker
from texts.markdown import escape

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
SAY = Speaker()
UNDO = " `!memories undo` brings that back within 10 minutes."
RULES = MemorySettings()
MARKDOWN = MarkdownIt("commonmark").enable(["strikethrough", "table"])


def rendered(text: str) -> str:
    """What a reader sees of an escaped text in a list line; fails when it made any element of its own."""
    page = MARKDOWN.render(f"- **#3** {escape(text)}")
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
    assert "\n" not in escape(text)
    rendered(text)


def test_line_breaks_and_hiding_characters_are_gone() -> None:
    assert escape("one\n# two\u202e\x07") == "one # two"


def test_d18_a_listing_shows_id_state_date_and_text_and_counts_the_private_ones() -> None:
    resting = replace(MOCHI, id=5, unused_days=7, text="Plays *chess*")
    assert texts.listing(SAY, (MOCHI, resting), 2, RULES) == (
        "I remember 2 things about you:\n\n"
        "- **#3** (active, saved 2026-03-01) Her cat is named Mochi\n"
        "- **#5** (resting, saved 2026-03-01) Plays \\*chess\\*\n\n"
        "2 more are private or not meant for here: ask in a direct room with me to see all."
    )


def test_d18_a_listing_marks_what_is_kept_for_another_persona() -> None:
    everywhere = replace(MOCHI, scope=ScopeKind.GLOBAL)
    said = texts.listing(SAY, (MOCHI, replace(MOCHI, id=4, persona="pirate"), everywhere), 0, RULES, persona="pirate")
    first, second, third = (line for line in said.splitlines() if line.startswith("- "))
    assert first == "- **#3** (active, saved 2026-03-01) Her cat is named Mochi *(only as the persona default)*"
    assert "persona" not in second + third


def test_d13_without_decay_every_memory_is_active() -> None:
    assert "(active," in texts.listing(SAY, (replace(MOCHI, unused_days=90),), 0, MemorySettings(decay_enabled=False))


def test_d18_an_empty_listing_says_so_and_hides_no_number() -> None:
    assert texts.listing(SAY, (), 0, RULES) == "I remember nothing about you."
    assert texts.listing(SAY, (), 1, RULES) == (
        "I remember nothing about you that may be shown here.\n\n"
        "1 more is private or not meant for here: ask in a direct room with me to see all."
    )


def test_wrong_ids_are_named_shortened_and_escaped() -> None:
    assert texts.deleted(SAY, (3, 4), ()) == f"Forgotten: #3, #4.{UNDO}"
    assert texts.deleted(SAY, (3,), ("#9", "*x*")) == f"Forgotten: #3.{UNDO} Not among your memories: #9, \\*x\\*."
    assert texts.deleted(SAY, (), ("x" * 50_000,)) == f"I have forgotten nothing. Not among your memories: {'x' * 30}…."
    assert texts.deleted(SAY, (), [str(n) for n in range(12)]).endswith("8, 9 and 2 more.")


@pytest.mark.parametrize(
    ("count", "rules", "said"),
    [
        (
            0,
            RULES,
            "You have no memories to delete. Things I heard only once are not memories yet. They fade by themselves "
            "after 14 days.",
        ),
        (
            2,
            MemorySettings(candidate_ttl_days=1),
            "Forgotten: 2 memories of you. `!memories undo` brings them back within 10 minutes. "
            "Things I heard only once are not memories yet. They fade by themselves after 1 day.",
        ),
        (
            1,
            MemorySettings(candidate_ttl_days=0, promotion_threshold=3),
            "Forgotten: 1 memory of you. `!memories undo` brings them back within 10 minutes. "
            "Things I heard fewer than 3 times are not memories yet. They do not fade by themselves.",
        ),
        (
            1,
            MemorySettings(promotion_threshold=1),
            "Forgotten: 1 memory of you. `!memories undo` brings them back within 10 minutes.",
        ),
    ],
)
def test_d18_clearing_says_what_stays_and_p4_for_how_long(count: int, rules: MemorySettings, said: str) -> None:
    assert texts.cleared(SAY, count, rules) == said


def test_ids_in_a_row_are_named_as_one() -> None:
    assert texts.ids_named((3, 4, 5, 9, 11, 12)) == "#3–#5, #9, #11, #12"
    assert texts.ids_named((5, 4, 3)) == "#5, #4, #3"
    assert texts.ids_named(()) == ""


HERE = Conversation("!room:example.org", private=False, asker="@ana:example.org")
ALONE = Conversation("!alone:example.org", private=True, asker="@ana:example.org")


@pytest.mark.parametrize(
    ("where", "room", "private", "said"),
    [
        (HERE, HERE.room_id, False, "Said in this room."),
        (HERE, "!b:example.org", False, "Said in another room."),
        (HERE, ALONE.room_id, True, "Said in private."),
        (ALONE, ALONE.room_id, True, "Said here, in private."),
        (ALONE, "!c_d:example.org", False, "Said in !c\\_d:example.org."),
        (ALONE, "!old:example.org", True, "Said in private, in !old:example.org."),
    ],
)
def test_d8_other_rooms_are_named_in_private_only(where: Conversation, room: str, private: bool, said: str) -> None:
    shown = texts.shown(SAY, replace(MOCHI, origin=Origin(room, "$e", private)), where, RULES)
    assert f"- {said}\n" in shown
    assert where.private or "!b:" not in shown


@pytest.mark.parametrize("source", Source)
def test_what_wrote_a_memory_is_said(source: Source) -> None:
    said = texts.shown(SAY, replace(MOCHI, source=source), HERE, RULES)
    ways = ("since it was mentioned", "since I was asked", "by command", "from a file", "by a cleanup")
    assert [way in said for way in ways].count(True) == 1


def test_d8_where_a_memory_may_be_used_is_said() -> None:
    private = replace(MOCHI, origin=Origin("!x:example.org", "$e", private=True))
    assert "- Private: used only in a direct room with me." in texts.shown(SAY, private, ALONE, RULES)
    assert "but rooms may use it" in texts.shown(SAY, replace(private, shared=True), HERE, RULES)
    assert "but rooms may use it" in texts.shown(SAY, private, HERE, MemorySettings(private_stays_private=False))
    limited = replace(MOCHI, rooms=(HERE.room_id,), tags=("*x*", "two words"))
    said = texts.shown(SAY, limited, HERE, RULES)
    assert "- Used only in 1 room, this one.\n" in said
    assert "- Used only when one of these words is said: \\*x\\*, two words.\n" in said
    assert f"- Used only in {HERE.room_id}.\n" in texts.shown(SAY, limited, ALONE, RULES)


def test_d11_d13_state_protection_and_persona_are_said() -> None:
    resting = replace(MOCHI, unused_days=8, protected=True, last_matched_at=SAVED)
    said = texts.shown(SAY, resting, HERE, RULES)
    assert "- Resting:" in said
    assert "unused for 8 days." in said
    assert "- Last fitted what was said on 2026-03-01.\n" in said
    assert "- Protected:" in said
    assert said.endswith("- For the persona default.")
    assert "- Active:" in texts.shown(SAY, resting, HERE, MemorySettings(decay_enabled=False))
    everywhere = replace(MOCHI, scope=ScopeKind.GLOBAL, persona="", protected=True)
    assert texts.shown(SAY, everywhere, HERE, RULES).endswith("- Global: for every persona.")
