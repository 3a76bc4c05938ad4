"""Token counts and a prompt cache, both simple and stated.

A token is up to four letters or digits in a row, or one other character that is no white space. The cache keeps every
prefix that ended at or before a breakpoint, without a time limit and whatever its length; the last thousand or so stay.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Iterator

from llm.offline.api import JsonObject, Spent

_TOKEN = re.compile(r"[^\W_]{1,4}|[^\s]")
_REMEMBERED = 4096


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text."""
    return sum(1 for _ in _TOKEN.finditer(text))


def cut_to(text: str, tokens: int) -> str:
    """Return the longest start of a text that has at most so many tokens."""
    for number, token in enumerate(_TOKEN.finditer(text), start=1):
        if number > tokens:
            return text[: token.start()]
    return text


class PromptCache:
    """Remembers prefixes of prompts by hash, so that usage tells whether a prompt's start stayed the same (D14)."""

    def __init__(self) -> None:
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def spend(self, body: JsonObject) -> Spent:
        """Count a request's input tokens and note its prefixes up to the last breakpoint."""
        digest = hashlib.sha256(str(body["model"]).encode())
        total = read = marked = 0
        prefixes: list[tuple[bytes, int]] = []
        marks = 0
        for owner, text, breakpoint_after in _blocks(body):
            digest.update(f"{owner}\0{text}\0".encode("utf-8", "surrogatepass"))
            total += count_tokens(text)
            prefixes.append((digest.digest(), total))
            if breakpoint_after:
                marked, marks = total, len(prefixes)
        for key, tokens in prefixes[:marks]:
            if key in self._seen:
                read = tokens
            self._note(key)
        return Spent(uncached=total - marked, cache_read=read, cache_write=marked - read)

    def _note(self, key: bytes) -> None:
        self._seen[key] = None
        self._seen.move_to_end(key)
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)


def _blocks(body: JsonObject) -> Iterator[tuple[str, str, bool]]:
    """Yield tools, system and messages in the order the API caches them: whose, the text, and whether it is marked."""
    for tool in body.get("tools", []):
        yield "tool", _plain(tool), "cache_control" in tool
    system = body.get("system", "")
    yield from _of_content("system", system) if system else ()
    for message in body["messages"]:
        yield from _of_content(message["role"], message["content"])


def _of_content(owner: str, content: str | list[JsonObject]) -> Iterator[tuple[str, str, bool]]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in content:
        text = block["text"] if block.get("type") == "text" else _plain(block)
        yield owner, text, "cache_control" in block


def _plain(block: JsonObject) -> str:
    return json.dumps({k: v for k, v in block.items() if k != "cache_control"}, ensure_ascii=False, sort_keys=True)
