"""Who is addressed, and what is left of the text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.mentions import Identity, address

ME = Identity("@davenport:example.org", ("davenport", "Dave N. Port"))
PILL = '<a href="https://matrix.to/#/@davenport:example.org">Dave</a>'


def html(formatted: str) -> dict[str, Any]:
    return {"format": "org.matrix.custom.html", "formatted_body": formatted}


MENTIONED = {"m.mentions": {"user_ids": ["@davenport:example.org"]}}


@pytest.mark.parametrize(
    ("content", "body", "addressed", "text"),
    [
        # m.mentions decides where it is present
        (MENTIONED, "what is up?", True, "what is up?"),
        (MENTIONED, "Davenport: what is up?", True, "what is up?"),
        (MENTIONED, "@davenport:example.org: hi", True, "hi"),
        (MENTIONED, "@davenport:example.org hi", True, "hi"),
        (MENTIONED, "Dave N. Port, hi", True, "hi"),
        ({"m.mentions": {}}, "davenport: hi", False, "davenport: hi"),
        ({"m.mentions": {"user_ids": ["@other:example.org"]}}, "davenport: hi", False, "davenport: hi"),
        ({"m.mentions": {"room": True}}, "hi all", False, "hi all"),
        ({"m.mentions": "nonsense"}, "davenport: hi", False, "davenport: hi"),
        ({"m.mentions": {"user_ids": 7}}, "davenport: hi", False, "davenport: hi"),
        # else a pill
        (html(f"{PILL}: hi"), "Dave: hi", True, "Dave: hi"),
        (html(f"{PILL} hi"), "davenport hi", True, "hi"),
        (html(f"say hi to {PILL}"), "say hi to Dave", True, "say hi to Dave"),
        (html('<a href="https://matrix.to/#/%40davenport%3Aexample.org">x</a> hi'), "x hi", True, "x hi"),
        (html('<a href="matrix:u/davenport:example.org?action=chat">x</a> hi'), "x hi", True, "x hi"),
        (html(f"<mx-reply>{PILL}</mx-reply>me too"), "me too", False, "me too"),
        (html('<a href="https://matrix.to/#/@davenport:evil.org">Dave</a> hi'), "Dave hi", False, "Dave hi"),
        # else the leading name
        ({}, "davenport: hi", True, "hi"),
        ({}, "DAVENPORT, hi", True, "hi"),
        ({}, "  @davenport hi", True, "hi"),
        ({}, "@davenport", True, ""),
        ({}, "dave n. port: hi", True, "hi"),
        ({}, "davenport is a town in Iowa", False, "davenport is a town in Iowa"),
        ({}, "davenports: two of them", False, "davenports: two of them"),
        ({}, "@davenport:evil.org hi", False, "@davenport:evil.org hi"),
        ({}, "I like davenport: it is tidy", False, "I like davenport: it is tidy"),
        # only a mention that leads is taken off
        (MENTIONED, "davenport is a town, @davenport", True, "davenport is a town, @davenport"),
    ],
)
def test_address(content: dict[str, Any], body: str, addressed: bool, text: str) -> None:
    found = address(content, body, ME)
    assert (found.addressed, found.text) == (addressed, text)


@given(st.text(), st.text(), st.sampled_from([{}, MENTIONED, {"m.mentions": {}}]))
def test_text_is_always_a_part_of_the_body(body: str, formatted: str, content: dict[str, Any]) -> None:
    found = address({**content, **html(formatted)}, body, ME)
    assert body.strip().endswith(found.text)
    assert found.text == found.text.strip()


@pytest.mark.parametrize(
    ("content", "for_others"),
    [
        ({"m.mentions": {"user_ids": ["@other:example.org"]}}, True),
        ({"m.mentions": {"user_ids": ["@other:example.org", "@davenport:example.org"]}}, False),
        ({"m.mentions": {"user_ids": []}}, False),
        ({"m.mentions": {}}, False),
        ({"m.mentions": {"room": True}}, False),
        ({}, False),
    ],
)
def test_whether_it_is_told_that_others_are_meant(content: dict[str, Any], for_others: bool) -> None:
    """A name of a persona then does not address the bot."""
    assert address(content, "Captain, hi", ME).for_others is for_others


@pytest.mark.parametrize("odd", ["<![foo[bar]]>", "<![", "<!", "<?x", "</", "<!DOCTYPE [<!x"])
def test_odd_html_hides_no_mention_before_it_and_stops_nothing(odd: str) -> None:
    """Python's parser raises AssertionError on the first of these."""
    assert address(html(f"{PILL} {odd} hi"), "Dave hi", ME).addressed
    assert not address(html(f"{odd} hi"), "hi", ME).addressed


def test_only_so_much_html_is_looked_at_since_parsing_it_may_take_long() -> None:
    assert address(html(PILL + "<" * 60_000), "Dave hi", ME).addressed
    assert address(html("x" * 9_000 + PILL), "Dave hi", ME).addressed
    assert not address(html("x" * 10_000 + PILL), "hi", ME).addressed


TEXTS = st.text(alphabet=st.sampled_from("<>![]-/?&;#adDOCTYPE \"'="), max_size=40)


@given(TEXTS)
def test_html_without_a_pill_addresses_nobody_and_never_raises(formatted: str) -> None:
    assert not address(html(formatted), "hi", ME).addressed
