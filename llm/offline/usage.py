"""Token counts and a prompt cache, both simple and stated.

A token is up to four letters or digits in a row, or one other character that is no white space. A picture is one token
for 750 pixels, as in the API; of one that is no PNG the size is not looked for, and it counts 1,600.

The cache is the Messages API's: a prompt is its tools, then system, then messages, block by block. A breakpoint (at
most four, see `checks`) writes one entry, the whole prompt up to it, if that is at least 1,024 tokens. From each
breakpoint the cache looks back over 20 blocks, the marked one included, for the last entry that an earlier request
wrote. An entry is gone once nothing has hit it for more than five minutes. Each model has entries of its own, and
another `tool_choice` makes other messages. What is read is the longest prefix found; what is written, the rest up to
the last breakpoint.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from llm.offline.api import JsonObject, Spent

MINIMUM_TOKENS = 1024
LIFETIME = timedelta(minutes=5)
LOOKBACK_BLOCKS = 20
_TOKEN = re.compile(r"[^\W_]{1,4}|[^\s]")
_REMEMBERED = 4096
PICTURE_TOKENS = 1600  # of one whose size is not looked for

_PNG_START = 24  # bytes, up to the end of width and height
_Content = tuple[str, str, bool, int | None]  # whose, the text, whether it is marked, and its tokens if it is no text


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text."""
    return sum(1 for _ in _TOKEN.finditer(text))


def cut_to(text: str, tokens: int) -> str:
    """Return the longest start of a text that has at most so many tokens."""
    for number, token in enumerate(_TOKEN.finditer(text), start=1):
        if number > tokens:
            return text[: token.start()]
    return text


def _wall_clock() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _Prefix:
    """A prompt up to the end of one block: what names it, and its tokens."""

    key: bytes
    tokens: int
    marked: bool


class PromptCache:
    """Remembers prefixes of prompts by hash, so that usage tells whether a prompt's start stayed the same (D14).

    now: the clock that entries expire by. minimum: tokens below which a prefix is not cached.
    """

    def __init__(self, now: Callable[[], datetime] = _wall_clock, *, minimum: int = MINIMUM_TOKENS) -> None:
        self._now = now
        self._minimum = minimum
        self._used: OrderedDict[bytes, datetime] = OrderedDict()  # the entry used longest ago first

    def spend(self, body: JsonObject) -> Spent:
        """Count a request's input tokens, read what is cached of it and write what its breakpoints mark."""
        now = self._now()
        prefixes = list(_prefixes(body))
        marks = [at for at, prefix in enumerate(prefixes) if prefix.marked and prefix.tokens >= self._minimum]
        hits = [hit for hit in (self._hit(prefixes, mark, now) for mark in marks) if hit is not None]
        for prefix in (*hits, *(prefixes[mark] for mark in marks)):
            self._note(prefix.key, now)
        total = prefixes[-1].tokens if prefixes else 0
        cached = prefixes[marks[-1]].tokens if marks else 0
        read = max((hit.tokens for hit in hits), default=0)
        return Spent(uncached=total - cached, cache_read=read, cache_write=cached - read)

    def _hit(self, prefixes: Sequence[_Prefix], mark: int, now: datetime) -> _Prefix | None:
        """Return the longest cached prefix that one breakpoint finds."""
        looked_at = prefixes[max(0, mark + 1 - LOOKBACK_BLOCKS) : mark + 1]
        return next((prefix for prefix in reversed(looked_at) if self._lives(prefix.key, now)), None)

    def _lives(self, key: bytes, now: datetime) -> bool:
        used = self._used.get(key)
        return used is not None and abs(now - used) <= LIFETIME  # an entry of a clock since set back is no younger

    def _note(self, key: bytes, now: datetime) -> None:
        self._used[key] = now
        self._used.move_to_end(key)
        if len(self._used) > _REMEMBERED:
            self._used.popitem(last=False)


def _prefixes(body: JsonObject) -> Iterator[_Prefix]:
    digest = hashlib.sha256(str(body["model"]).encode())
    tokens = 0
    for owner, text, marked, counted in _blocks(body):
        digest.update(f"{owner}\0{text}\0".encode("utf-8", "surrogatepass"))
        tokens += count_tokens(text) if counted is None else counted
        yield _Prefix(digest.digest(), tokens, marked)


def _blocks(body: JsonObject) -> Iterator[_Content]:
    """Yield tools, system and messages in the order the API caches them."""
    for tool in body.get("tools", []):
        yield "tool", _plain(tool), "cache_control" in tool, None
    system = body.get("system", "")
    yield from _of_content("system", system) if system else ()
    choice = _plain(body.get("tool_choice", {}))
    for message in body["messages"]:
        yield from _of_content(f"{message['role']} {choice}", message["content"])


def _of_content(owner: str, content: str | list[JsonObject]) -> Iterator[_Content]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in content:
        text = block["text"] if block.get("type") == "text" else _plain(block)
        yield owner, text, "cache_control" in block, _picture_tokens(block)


def _picture_tokens(block: JsonObject) -> int | None:
    """Return the tokens of a picture, None for any other block."""
    if block.get("type") != "image":
        return None
    start = base64.b64decode(block["source"]["data"][:32])
    if start[1:4] != b"PNG" or len(start) < _PNG_START:
        return PICTURE_TOKENS
    width, height = struct.unpack(">II", start[16:_PNG_START])
    return int(-(-width * height // 750))


def _plain(block: JsonObject) -> str:
    return json.dumps({k: v for k, v in block.items() if k != "cache_control"}, ensure_ascii=False, sort_keys=True)
