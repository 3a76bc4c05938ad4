"""From text to the value of a key: as variables hold it, and as people type it in chat."""

from __future__ import annotations

import json
from typing import Literal, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from davenport.settings_fields import Key

QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d", "\u201e": "\u201c", "\u2018": "\u2019", "\u00ab": "\u00bb"}
AROUND_WORDS = "," + "".join({*QUOTES, *QUOTES.values()})
EITHER_WAY = "\u201d\u2019"  # some keyboards close as they open


def typed(key: Key, text: str) -> object:
    """Return the value a text stands for; a text that stands for none is left for the bounds to refuse.

    Lists are separated by white space, tables are JSON.
    """
    if get_origin(key.kind) is tuple:
        return text.split()
    if get_origin(key.kind) is dict:
        return _json(text)
    if key.kind not in (bool, int, float):
        return text
    try:
        return TypeAdapter(key.kind).validate_python(text)
    except ValidationError:
        return text


def typed_in_chat(key: Key, text: str) -> object:
    """Return the value that was typed in chat: a text may stand in quotes of any kind, a list in brackets, as TOML."""
    if get_origin(key.kind) is tuple:
        listed = _json(text) if text.startswith("[") else None
        if isinstance(listed, list):
            return listed
        text = text[1:-1] if text.startswith("[") and text.endswith("]") else text
        return [word for word in (each.strip(AROUND_WORDS) for each in text.split()) if word]
    text = unquoted(text)
    if get_origin(key.kind) is Literal and text.casefold() in get_args(key.kind):
        return text.casefold()
    return typed(key, text)


def unquoted(text: str) -> str:
    """Return a text without the quotes around it, where they belong together."""
    text = text.strip()
    if len(text) > 1 and (QUOTES.get(text[0]) == text[-1] or (text[0] == text[-1] and text[0] in EITHER_WAY)):
        return text[1:-1]
    return text


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
