"""An answer in Markdown as Matrix events: readable plain text, sanitised HTML, relation and mention. Pure."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_inline.state_inline import Delimiter, StateInline
from markdown_it.token import Token

from matrix.splitting import split
from memory.events import Answer
from memory.media import Attachment

BUDGET = 40_000
"""Bytes of an event's content as JSON. The limit of a whole event is 65,536, and encryption adds a third."""

CAPTION_CHARACTERS = 2000
"""Of a picture: far within the budget, whatever they are, and more than one reads under a picture."""

_BLOCKS = "blockquote caption details div h1 h2 h3 h4 h5 h6 hr li ol p pre summary table tbody td th thead tr ul"
_INLINE = "a b br code del em i s span strong sub sup u"
_TAGS = set(f"{_BLOCKS} {_INLINE}".split())
_ATTRIBUTES: dict[str, set[str]] = {"*": set(), "a": {"href"}, "code": {"class"}, "ol": {"start"}}
_SCHEMES = {"http", "https", "ftp", "mailto", "magnet"}
_CODE = {"fence", "code_block"}
_ESCAPE = re.compile(r"(?<!`)(`++)(?s:.+?)(?<!`)\1(?!`)|\\(?P<escaped>[!-/:-@\[-`{-~])")
_UNSENDABLE = str.maketrans({"\0": "\N{REPLACEMENT CHARACTER}"})


def render(answer: Answer) -> tuple[str, ...]:
    """Return the contents (JSON texts) of the events that say an answer, in order; none for a blank one.

    A file's is the last, still without where the file lies. Every part answers the same event, in its thread where
    there is one, and mentions the recipient and nobody else. What is said to the whole room is no reply and mentions
    nobody. An edit is one event, still without which one it replaces; what is over the limit is left out.
    """
    budget = BUDGET if answer.edits is None else BUDGET // 2  # an edit holds its content twice
    pieces = split(_sendable(answer.markdown), lambda markdown: _encoded_size(_content(markdown, answer)), budget)
    contents = [_content(piece.markdown, answer) for piece in pieces if piece.text.strip()]
    if answer.edits is not None:
        contents = [_edit(content) for content in contents[:1]]
    if answer.attachment is not None:
        contents.append(_file(answer.attachment, answer))
    return tuple(json.dumps(content, ensure_ascii=False) for content in contents)


def to_html(markdown: str) -> str:
    """Turn Markdown into HTML of the tags and attributes that the Matrix specification allows, without pills."""
    return _html(_markdown.parse(markdown))


def to_text(markdown: str) -> str:
    """Return Markdown as it is read without a renderer: the backslashes of escapes go, except in code."""
    return _text(markdown, _markdown.parse(markdown))


def _sendable(text: str) -> str:
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.translate(_UNSENDABLE).replace("\r\n", "\n").replace("\r", "\n")


def _text(markdown: str, tokens: Sequence[Token]) -> str:
    code = {line for token in tokens if token.type in _CODE and token.map for line in range(*token.map)}
    blocks = groupby(enumerate(markdown.split("\n")), key=lambda numbered: numbered[0] in code)
    texts = ((is_code, "\n".join(line for _, line in lines)) for is_code, lines in blocks)
    return "\n".join(text if is_code else _ESCAPE.sub(_unescaped, text) for is_code, text in texts)


def _unescaped(found: re.Match[str]) -> str:
    return found["escaped"] or found[0]


def _html(tokens: Sequence[Token]) -> str:
    rendered = nh3.clean(
        _markdown.renderer.render(tokens, _markdown.options, {}),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_without_pills,
        url_schemes=_SCHEMES,
        url_relative="deny",
        link_rel=None,
    ).strip()
    if rendered.count("<p>") == 1 and rendered.startswith("<p>") and rendered.endswith("</p>"):
        return rendered.removeprefix("<p>").removesuffix("</p>")
    return rendered


def _content(markdown: str, answer: Answer) -> dict[str, Any]:
    tokens = _markdown.parse(markdown)
    body = _text(markdown, tokens).strip("\n")
    content: dict[str, Any] = {
        "msgtype": "m.notice" if answer.notice else "m.text",
        "body": body,
        **_relations(answer),
    }
    formatted = _html(tokens)
    if formatted != html.escape(body, quote=False):
        content |= {"format": "org.matrix.custom.html", "formatted_body": formatted}
    return content


def _edit(content: dict[str, Any]) -> dict[str, Any]:
    """Return a content as what replaces an earlier one: mentions nobody anew, and beside it as text for old clients."""
    new = {key: value for key, value in content.items() if key != "m.relates_to"}
    shown: dict[str, Any] = {key: f"* {new[key]}" for key in ("body", "formatted_body") if key in new}
    return {**new, **shown, "m.mentions": {}, "m.new_content": new}


def _file(attachment: Attachment, answer: Answer) -> dict[str, Any]:
    """Return the content of a file, or of a picture, which has what is to be seen in it as its caption."""
    info: dict[str, Any] = {"mimetype": attachment.media_type, "size": len(attachment.data)}
    file = {"filename": attachment.name, "info": info, **_relations(answer)}
    picture = attachment.picture
    if picture is None:
        return {"msgtype": "m.file", "body": attachment.name, **file}
    info |= {"w": picture.width, "h": picture.height, "xyz.amorgan.blurhash": picture.blurhash}
    alt = _sendable(attachment.alt).strip()[:CAPTION_CHARACTERS]
    return {"msgtype": "m.image", "body": alt or attachment.name, **file}


def _relations(answer: Answer) -> dict[str, Any]:
    """Return whom a content mentions and what it answers."""
    if answer.recipient is None:
        return {"m.mentions": {}}
    mentions = {} if answer.quiet else {"user_ids": [answer.recipient]}
    return {"m.mentions": mentions, "m.relates_to": _relation(answer)}


def _relation(answer: Answer) -> dict[str, Any]:
    reply = {"m.in_reply_to": {"event_id": answer.event_id}}
    if answer.thread_root is None:
        return reply
    return {"rel_type": "m.thread", "event_id": answer.thread_root, "is_falling_back": True, **reply}


def _encoded_size(content: dict[str, Any]) -> int:
    # What is encrypted is JSON with every character beyond ASCII escaped, the largest form there is.
    return len(json.dumps(content))


def _without_pills(tag: str, attribute: str, value: str) -> str | None:
    """Drop links to users, rooms and events: clients would show them as mentions that nobody made."""
    if tag == "a" and attribute == "href" and "matrix.to/" in value.casefold():
        return None
    return value


def _emphasis(state: StateInline, silent: bool) -> bool:
    """Collect `*` and `_` as CommonMark does, but never as emphasis between two ASCII letters or digits."""
    marker = state.src[state.pos]
    if silent or marker not in "_*":
        return False
    scanned = state.scanDelims(state.pos, marker == "*" and not _inside_word(state, marker))
    for _ in range(scanned.length):
        state.push("text", "", 0).content = marker
        state.delimiters.append(
            Delimiter(
                marker=ord(marker),
                length=scanned.length,
                token=len(state.tokens) - 1,
                end=-1,
                open=scanned.can_open,
                close=scanned.can_close,
            )
        )
    state.pos += scanned.length
    return True


def _inside_word(state: StateInline, marker: str) -> bool:
    end = state.pos
    while end < state.posMax and state.src[end] == marker:
        end += 1
    around = state.src[state.pos - 1 : state.pos] + state.src[end : end + 1]
    return len(around) == 2 and around.isascii() and around.isalnum()  # noqa: PLR2004 - one on each side


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True, "linkify": False})
    parser.enable(["table", "strikethrough"])
    # Remote images cannot be shown in Matrix, and a reference definition would vanish from what is read.
    parser.disable(["image", "reference"])
    parser.inline.ruler.at("emphasis", _emphasis)
    return parser


_markdown = _parser()
