"""Answers as events: nothing lost, nothing over the limit, nothing that clients must not be sent."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix.formatting import BUDGET, render, to_html, to_text
from matrix.splitting import split
from memory.events import Answer
from memory.media import Attachment, PictureInfo

ALICE = "@alice:example.org"


def answer(markdown: str, **more: Any) -> Answer:
    return Answer("!room", "$asked", ALICE, markdown, **more)


def contents(markdown: str, **more: Any) -> list[dict[str, Any]]:
    return [json.loads(content) for content in render(answer(markdown, **more))]


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("*a* **b** ~~c~~ `d`", "<em>a</em> <strong>b</strong> <s>c</s> <code>d</code>"),
        ("snake_case_name and 2*3*4 and a**b**c", "snake_case_name and 2*3*4 and a**b**c"),
        ("これは**重要**です", "これは<strong>重要</strong>です"),
        ("one\ntwo", "one<br>\ntwo"),
        ("# T\n\ntext", "<h1>T</h1>\n<p>text</p>"),
        ("|a|b|\n|-|-|\n|1|2|", None),
        ("```py\nx < 1\n```", '<pre><code class="language-py">x &lt; 1\n</code></pre>'),
        ("3. c\n4. d", '<ol start="3">\n<li>c</li>\n<li>d</li>\n</ol>'),
        ('[t](https://example.org/?a=1&b=2 "title")', '<a href="https://example.org/?a=1&amp;b=2">t</a>'),
        # not to be interpreted
        ("<b>x</b><script>y</script>", "&lt;b&gt;x&lt;/b&gt;&lt;script&gt;y&lt;/script&gt;"),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("![pic](https://example.org/p.png)", '!<a href="https://example.org/p.png">pic</a>'),
        ("[1] see\n\n[1]: https://example.org", "<p>[1] see</p>\n<p>[1]: https://example.org</p>"),
        # no pills from text
        ("[Bob](https://matrix.to/#/@bob:example.org) @room", "<a>Bob</a> @room"),
        ("<HTTPS://MATRIX.TO/#/%40bob:example.org>", "<a>HTTPS://MATRIX.TO/#/%40bob:example.org</a>"),
        ("[Bob](matrix:u/bob:example.org)", "<a>Bob</a>"),
    ],
)
def test_html(markdown: str, html: str | None) -> None:
    rendered = to_html(markdown)
    if html is None:
        assert rendered.startswith("<table>")
    else:
        assert rendered == html


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[tuple[str, str]] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {(tag, name) for name, _ in attrs} | {(tag, "")}


@given(st.text() | st.text(alphabet="<>&\"'/=abimgscriptonhrefl []()!:*`\n", max_size=80))
def test_html_has_allowed_tags_and_attributes_only(markdown: str) -> None:
    tags = Tags()
    tags.feed(to_html(markdown))
    assert {(tag, name) for tag, name in tags.found if name} <= {("a", "href"), ("code", "class"), ("ol", "start")}
    assert {tag for tag, _ in tags.found}.isdisjoint({"img", "script", "style", "iframe", "svg", "input"})


def test_plain_text_has_no_formatted_body() -> None:
    [content] = contents("just <text> & nothing else")
    assert content["body"] == "just <text> & nothing else"
    assert "formatted_body" not in content


def test_relation_and_mention() -> None:
    [content] = contents("hi @room")
    assert content["m.mentions"] == {"user_ids": [ALICE]}
    assert content["m.relates_to"] == {"m.in_reply_to": {"event_id": "$asked"}}
    assert content["msgtype"] == "m.text"
    [content] = contents("hi", thread_root="$root", notice=True)
    assert content["m.relates_to"] == {
        "rel_type": "m.thread",
        "event_id": "$root",
        "is_falling_back": True,
        "m.in_reply_to": {"event_id": "$asked"},
    }
    assert content["msgtype"] == "m.notice"


def test_blank_answer_is_no_event() -> None:
    assert render(answer(" \n\t")) == ()


def test_every_part_has_relation_and_mention() -> None:
    parts = contents("many words " * 20_000)
    assert len(parts) > 4
    assert all(part["m.mentions"] == {"user_ids": [ALICE]} for part in parts)
    assert all(part["m.relates_to"] == {"m.in_reply_to": {"event_id": "$asked"}} for part in parts)


def test_long_code_is_closed_and_opened_again_with_its_language() -> None:
    lines = [f"line number {number}\n" for number in range(6000)]
    parts = contents("Here:\n\n```python\n" + "".join(lines) + "```\n\nDone.")
    assert len(parts) > 1
    for part in parts:
        assert part["body"].count("```") % 2 == 0
    assert all(part["body"].startswith("```python\n") for part in parts[1:])
    assert parts[-1]["body"].endswith("Done.")
    assert [line for part in parts for line in part["body"].splitlines(keepends=True) if line in lines] == lines


def test_cuts_at_paragraphs() -> None:
    paragraphs = [f"{number} " + "word " * 1000 for number in range(40)]
    parts = contents("\n\n".join(paragraphs))
    assert [text.strip() for part in parts for text in part["body"].split("\n\n")] == [p.strip() for p in paragraphs]


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        (r"Likes \*tea\*", "Likes *tea*"),
        (r"\[x\] \\ \a `\*` ``\* ` \*`` \*", r"[x] \ \a `\*` ``\* ` \*`` *"),
        ("\\*\n```\n\\*\n```\n\\*\n\n    \\*\n", "*\n```\n\\*\n```\n*\n\n    \\*\n"),
        ("> ```\n> \\*\n> ```", "> ```\n> \\*\n> ```"),
        ("`` \\* `", "`` * `"),
    ],
)
def test_plain_text_has_no_escapes_outside_of_code(markdown: str, text: str) -> None:
    assert to_text(markdown) == text


def squeezed(text: str) -> str:
    """What has to arrive: everything but white space and the backslashes of escapes."""
    return re.sub(r"[\s\\]", "", text)


AWKWARD = st.text(alphabet="a \n`~>|-*_#&<[]()\"'é漢😀\u0301\u200d\x07\r", min_size=1, max_size=60)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=300) | AWKWARD, st.integers(1, 3000))
def test_parts_lose_no_text_and_fit(text: str, times: int) -> None:
    markdown = (text * times)[:90_000]
    parts = render(answer(markdown))
    assert all(len(json.dumps(json.loads(part))) <= BUDGET for part in parts)
    bodies = "".join(json.loads(part)["body"] for part in parts)
    if "```" not in markdown and "~~~" not in markdown:
        assert squeezed(bodies) == squeezed(markdown.replace("\0", "\N{REPLACEMENT CHARACTER}"))


@given(st.text(max_size=200) | AWKWARD, st.integers(120, 400))
def test_pieces_joined_are_the_text(text: str, budget: int) -> None:
    def size(markdown: str) -> int:
        return len(json.dumps(markdown))

    pieces = list(split(text * 5, size, budget))
    assert "".join(piece.text for piece in pieces) == text * 5
    assert all(size(piece.markdown) <= budget for piece in pieces)


@pytest.mark.parametrize(
    "markdown",
    ["> " * 30_000 + "x", "- " * 30_000, "|" * 50_000, "|a" * 3000 + "|\n" + "|-" * 3000 + "|\n|\n|\n", "[" * 9000],
)
def test_markup_that_grows_still_fits(markdown: str) -> None:
    parts = render(answer(markdown))
    assert all(len(json.dumps(json.loads(part))) <= BUDGET for part in parts)
    assert squeezed("".join(json.loads(part)["body"] for part in parts)) == squeezed(markdown)


def test_lone_surrogates_and_nul_are_replaced() -> None:
    [content] = contents("a\ud800b\0c")
    assert content["body"] == "a�b�c"


def test_what_is_said_to_the_whole_room_answers_and_mentions_nobody() -> None:
    [content] = [json.loads(each) for each in render(Answer("!room", "$join", None, "Hello", notice=True))]
    assert content == {"msgtype": "m.notice", "body": "Hello", "m.mentions": {}}


def test_a_file_follows_the_words_and_answers_as_they_do() -> None:
    file = Attachment("facts – ü.json", "application/json", b"{}")
    words, held = contents("hi", attachment=file, thread_root="$root", notice=True)
    assert words["body"] == "hi"
    assert held == {
        "msgtype": "m.file",
        "body": "facts – ü.json",
        "filename": "facts – ü.json",
        "info": {"mimetype": "application/json", "size": 2},
        "m.mentions": {"user_ids": [ALICE]},
        "m.relates_to": words["m.relates_to"],
    }
    [alone] = render(Answer("!direct", "$asked", None, "", attachment=file))
    assert json.loads(alone)["m.mentions"] == {}
    assert "m.relates_to" not in json.loads(alone), "the event is of another room"


def test_an_edit_replaces_its_content_whole_and_mentions_nobody_anew() -> None:
    [said] = contents("**Part 2** of 5", thread_root="$root", notice=True)
    [content] = contents("**Part 2** of 5", thread_root="$root", notice=True, edits="dvp-status")
    relation = said.pop("m.relates_to")
    assert relation["rel_type"] == "m.thread"
    assert content["m.new_content"] == said
    assert said["m.mentions"] == {"user_ids": [ALICE]}
    assert content["m.mentions"] == {}
    assert content["body"] == "* **Part 2** of 5"
    assert content["formatted_body"] == "* <strong>Part 2</strong> of 5"
    assert "m.relates_to" not in content, "which event it replaces is known when it is sent"


def test_what_goes_on_with_an_answer_may_mention_nobody_and_answers_all_the_same() -> None:
    [content] = contents("Part 2", thread_root="$root", quiet=True)
    assert content["m.mentions"] == {}
    assert content["m.relates_to"]["m.in_reply_to"] == {"event_id": "$asked"}


def test_an_edit_is_one_event_within_the_limit() -> None:
    long = "word " * 20_000
    [content] = contents(long, edits="dvp-status")
    assert len(json.dumps(content)) <= BUDGET + 1_000
    assert contents(" ", edits="dvp-status") == []


def picture(alt: str) -> Attachment:
    return Attachment("drawing.png", "image/png", b"\x89PNG", picture=PictureInfo(1024, 576, "LEHV6nWB2yk8"), alt=alt)


def test_a_picture_has_its_alternative_text_as_caption_its_size_and_a_blurred_preview() -> None:
    [content] = contents("", attachment=picture("A cat on the *moon* @room"), thread_root="$root")
    relation = content.pop("m.relates_to")
    assert (relation["rel_type"], relation["event_id"]) == ("m.thread", "$root")
    assert relation["m.in_reply_to"] == {"event_id": "$asked"}
    assert content == {
        "msgtype": "m.image",
        "body": "A cat on the *moon* @room",
        "filename": "drawing.png",
        "info": {"mimetype": "image/png", "size": 4, "w": 1024, "h": 576, "xyz.amorgan.blurhash": "LEHV6nWB2yk8"},
        "m.mentions": {"user_ids": [ALICE]},
    }


@pytest.mark.parametrize("alt", ["", "  \n "])
def test_a_picture_without_alternative_text_is_called_by_its_name(alt: str) -> None:
    [content] = contents("", attachment=picture(alt))
    assert content["body"] == content["filename"] == "drawing.png"


@pytest.mark.parametrize("character", ["x", "\U0001f600", "\x01", "\ud800"])
def test_a_caption_of_any_length_fits_into_an_event(character: str) -> None:
    [content] = contents("", attachment=picture(character * 50_000))
    assert len(json.dumps(content)) <= BUDGET
    assert content["body"].encode()
