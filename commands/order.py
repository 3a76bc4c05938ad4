"""What a handler of a command is given, and the register that finds the handler of a command value."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from actors.actor import Address
from actors.media_ports import Media
from actors.messages import EffectKey
from actors.ports import Embedder, SettingsSource
from commands.ports import Configuring, Files, System
from memory.events import Caller, Told
from memory.settings import MemorySettings
from memory.visibility import View
from texts.catalogue import Speaker

if TYPE_CHECKING:
    from commands.table import Row, Table

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Order:
    """A command about to be carried out. say: speaks the language of the room. config: None where nothing is set in
    chat. path: the rows that were named. embedder: None where none is configured (D13).
    files: None where no file can be fetched. media: reads them, None where that cannot be.
    """

    say: Speaker
    caller: Caller
    system: System
    settings: SettingsSource
    config: Configuring | None
    table: Table
    path: tuple[Row, ...]
    prefix: str
    embedder: Embedder | None = None
    files: Files | None = None
    media: Media | None = None

    @property
    def room_id(self) -> str:
        """The room in which the command was given."""
        return self.caller.conversation.room_id

    @property
    def memory(self) -> MemorySettings:
        """The settings of memory in this room now (P5)."""
        return self.settings.memory(self.room_id)

    @property
    def effect(self) -> EffectKey:
        """The key under which the command's effect is recorded, so that a replay repeats none."""
        return EffectKey(self.caller.event_id)

    @property
    def me(self) -> Address:
        """The caller's actor: nobody can name another person's memories."""
        return Address("user", self.caller.user_id)

    @property
    def here(self) -> Address:
        """The room's actor."""
        return Address("room", self.room_id)

    @property
    def view(self) -> View:
        """How this room is looked at from, for people whose privacy level is open (D8); actors put the level in."""
        return View(self.caller.conversation, self.memory, heard=self.caller.heard)


Handler = Callable[[Any, Order], Awaitable[Told | str]]


class Handlers:
    """Handlers by the type of the command value they carry out."""

    def __init__(self, *families: Handlers) -> None:
        self._by_type: dict[type, Handler] = {}
        for family in families:
            self._by_type |= family._by_type

    def on(
        self, kind: type[V]
    ) -> Callable[[Callable[[V, Order], Awaitable[Told | str]]], Callable[[V, Order], Awaitable[Told | str]]]:
        """Register the decorated function for a type of command value."""

        def register(
            handler: Callable[[V, Order], Awaitable[Told | str]],
        ) -> Callable[[V, Order], Awaitable[Told | str]]:
            self._by_type[kind] = handler
            return handler

        return register

    def of(self, value: object) -> Handler:
        """Return the handler of a command value."""
        return self._by_type[type(value)]
