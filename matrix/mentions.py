"""Whether a message is addressed to the bot, and its text without the mention that did it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote

_LOOKED_AT = 10_000  # characters of HTML: the parser takes time by the square of some of it, and all rooms wait
_PILL = re.compile(r"^(?:https?://matrix\.to/#/|matrix:u/)(?P<user>[^/?]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a mention has to mean: the bot's user id and the names people may write for it."""

    user_id: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Addressing:
    """`addressed`: the bot is meant. `text`: the body without a leading mention of it, stripped.

    `for_others`: m.mentions names people, and the bot is none of them.
    """

    addressed: bool
    text: str
    for_others: bool = False


def address(content: Mapping[str, Any], body: str, me: Identity) -> Addressing:
    """Read a message content: m.mentions decides where it is present, else a pill or the leading name.

    `body` is the text without reply fallback. Only a mention that addresses the bot is taken off its beginning.
    """
    pills = _pills(content)
    leading_pill = bool(pills) and pills[0] == (me.user_id, True)
    rest = _without_name(body, me, loose=leading_pill)
    mentioned = _mentioned(content.get("m.mentions"))
    if "m.mentions" in content:
        addressed = me.user_id in mentioned
    else:
        addressed = any(user == me.user_id for user, _ in pills) or rest is not None
    if addressed and rest is not None:
        return Addressing(addressed, rest)
    return Addressing(addressed, body.strip(), for_others=bool(mentioned) and not addressed)


def _mentioned(mentions: object) -> Sequence[object]:
    users = mentions.get("user_ids") if isinstance(mentions, Mapping) else None
    return users if isinstance(users, list) else ()


def _without_name(body: str, me: Identity, *, loose: bool) -> str | None:
    """Return what follows a leading name, or None where none leads.

    A bare name needs a colon or comma, a name after `@` needs a space; `loose` (a pill leads) needs neither.
    """
    names = sorted({me.user_id[1:], *me.names} - {""}, key=len, reverse=True)
    choice = "|".join(re.escape(name) for name in names)
    end = r"(?=\s|$)"
    forms = [rf"@(?:{choice})(?:[:,])?{end}", rf"(?:{choice})\s?[:,]"]
    if loose:
        forms.append(rf"@?(?:{choice})(?:[:,])?{end}")
    found = re.match(rf"\s*(?:{'|'.join(forms)})", body, re.IGNORECASE)
    return body[found.end() :].strip() if found else None


def _pills(content: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Return (user id, whether nothing precedes it) of each user pill in the formatted body, without quotes."""
    formatted = content.get("formatted_body")
    if not isinstance(formatted, str) or content.get("format") != "org.matrix.custom.html":
        return []
    finder = _PillFinder()
    finder.feed(formatted[:_LOOKED_AT])
    return finder.pills


class _PillFinder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pills: list[tuple[str, bool]] = []
        self._in_reply = 0
        self._at_start = True

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Read `<![…` as browsers do, as a comment: some of them the parser answers with an AssertionError."""
        return self.parse_bogus_comment(i, report)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "mx-reply":
            self._in_reply += 1
        if tag != "a" or self._in_reply:
            return
        found = _PILL.match(dict(attrs).get("href") or "")
        if found:
            user = unquote(found["user"])
            self.pills.append((user if user.startswith("@") else f"@{user}", self._at_start))

    def handle_endtag(self, tag: str) -> None:
        if tag == "mx-reply" and self._in_reply:
            self._in_reply -= 1

    def handle_data(self, data: str) -> None:
        if not self._in_reply and data.strip():
            self._at_start = False
