"""One memory of an import file, read and checked (D11, P18). Pure. The file as a whole: `memory/transfer.py`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from memory.errors import Refused
from memory.marking import checked_tags
from memory.text import checked_text
from memory.types import ScopeKind

_MOST_ROOMS = 100
_MOST_MENTIONS = 1_000_000
_OF_MEMORY = frozenset(
    {
        *("scope", "persona", "text", "created_at", "first_seen", "mentions"),
        *("unused_days", "protected", "private", "shared", "rooms", "tags"),
    }
)
_PERSONA = re.compile(r"[\w.-]{1,40}")
_ROOM = re.compile(r"![!-~]{1,254}")
_SHOWABLE = re.compile(r"[A-Za-z0-9_.-]{1,40}")  # a key that can be named in a sentence as it is


@dataclass(frozen=True, slots=True)
class Item:
    """One memory of a file, checked. first_seen: None where the file does not say."""

    text: str
    scope: ScopeKind = ScopeKind.PERSONAL
    persona: str = "default"
    first_seen: datetime | None = None
    mentions: int = 1
    private: bool = False
    shared: bool = False
    rooms: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


class Entry:
    """One entry of the file's list, being checked; `number` counts from 1."""

    def __init__(self, number: int, entry: object) -> None:
        """Raises Refused where it is no memory at all, or has a key that is not known."""
        if not isinstance(entry, dict):
            raise Refused("import-no-memory", number=number)
        self._number = number
        self._entry: dict[str, Any] = entry
        refuse_unknown(entry, _OF_MEMORY, "import-unknown-key-of", number=number)

    def item(self, *, private: bool) -> Item:
        """Return what it says. Raises Refused."""
        said_in_private = self._flag("private", default=private)
        base = Item(
            text=self._text(),
            first_seen=self._moment("first_seen"),
            mentions=self._mentions(),
            private=said_in_private,
            shared=self._flag("shared", default=False) and said_in_private,
            rooms=self._rooms(),
            tags=self._tags(),
        )
        scope = self._entry.get("scope", ScopeKind.PERSONAL.value)
        if scope == ScopeKind.GLOBAL.value:
            if self._entry.get("persona", "") != "":
                raise self._wrong("persona")
            return replace(base, scope=ScopeKind.GLOBAL, persona="")
        if scope != ScopeKind.PERSONAL.value:
            raise self._wrong("scope")
        persona = self._entry.get("persona", "default")
        if not isinstance(persona, str) or not _PERSONA.fullmatch(persona):
            raise self._wrong("persona")
        return replace(base, persona=unicodedata.normalize("NFC", persona).lower())

    def _text(self) -> str:
        text = self._entry.get("text")
        if not isinstance(text, str):
            raise self._wrong("text")
        try:
            return checked_text(text)
        except Refused as refusal:
            if refusal.text_id == "text-blank":
                raise Refused("import-text-blank", number=self._number) from refusal
            raise Refused("import-text-too-long", number=self._number, **refusal.values) from refusal

    def _moment(self, key: str) -> datetime | None:
        value = self._entry.get(key)
        if value is None:
            return None
        try:
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is not None:
                return moment.astimezone(UTC)
        except (TypeError, ValueError, OverflowError) as error:
            raise self._wrong(key) from error
        raise self._wrong(key)

    def _mentions(self) -> int:
        value = self._entry.get("mentions", 1)
        if type(value) is not int or not 1 <= value <= _MOST_MENTIONS:
            raise self._wrong("mentions")
        return value

    def _flag(self, key: str, *, default: bool) -> bool:
        value = self._entry.get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key)
        return value

    def _rooms(self) -> tuple[str, ...]:
        rooms = self._texts("rooms")
        if len(rooms) > _MOST_ROOMS or not all(map(_ROOM.fullmatch, rooms)):
            raise self._wrong("rooms")
        return tuple(dict.fromkeys(rooms))

    def _tags(self) -> tuple[str, ...]:
        try:
            return checked_tags(self._texts("tags"))
        except Refused as refusal:
            raise self._wrong("tags") from refusal

    def _texts(self, key: str) -> Sequence[str]:
        values = self._entry.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise self._wrong(key)
        return values

    def _wrong(self, key: str) -> Refused:
        return Refused("import-bad-value", number=self._number, key=key)


def refuse_unknown(found: Mapping[str, Any], known: frozenset[str], text_id: str, **values: int) -> None:
    """Raise Refused, the text `text_id`, where there is a key that is not known."""
    unknown = next((key for key in found if key not in known), None)
    if unknown is not None:
        raise Refused(text_id, key=unknown if _SHOWABLE.fullmatch(unknown) else "…", **values)
