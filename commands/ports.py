"""What commands need of the actors, and of the settings that can be set in chat."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from actors.actor import Address
from actors.messages import EffectKey, Request
from memory.media import Attachment

R = TypeVar("R")


class Files(Protocol):
    """Files that people sent."""

    async def attachment(self, room_id: str, event_id: str, most_bytes: int) -> Attachment | None:
        """Return the file of an event, None where it holds none.

        Raises Refused where it is too large or cannot be read; MatrixError.
        """
        ...


class System(Protocol):
    """The actor system, for asking."""

    async def ask(self, address: Address, request: Request[R]) -> R:
        """Send a request and return its answer. Raises Refused, ActorFailed or Stopping."""
        ...


class Origin(StrEnum):
    """Where the value of a setting comes from: the id of the text that says so."""

    DEFAULT = "config-from-default"
    FILE = "config-from-file"
    ENVIRONMENT = "config-from-environment"
    CHAT = "config-from-chat"
    FILE_OF_ROOM = "config-from-file-of-room"
    CHAT_OF_ROOM = "config-from-chat-of-room"


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """One setting as `!config` shows it; values as TOML, None where nothing is set. allowed: in words.

    room: whether a room may have its own value. settable: whether chat may set it. admins: whether even the value of a
    room is for admins alone to set.
    """

    key: str
    value: str | None
    default: str | None
    origin: Origin
    allowed: str
    room: bool = False
    settable: bool = True
    admins: bool = False


@dataclass(frozen=True, slots=True)
class ChangedSetting:
    """A setting after a change. `now`: what the change made it. `here`: what holds in the room of the command.

    had: whether anything was set that a reset could take away.
    """

    now: ShownSetting
    here: ShownSetting
    had: bool = True


@dataclass(frozen=True, slots=True)
class ChosenSettings:
    """What is set in chat: for everywhere, for the room asked about, and how much for other rooms.

    idle: keys of either that are set and do not act, since they no longer fit.
    """

    everywhere: tuple[ShownSetting, ...]
    here: tuple[ShownSetting, ...]
    elsewhere: int
    idle: tuple[str, ...] = ()


class Configuring(Protocol):
    """Settings that are set in chat. `key` is `section.name` or a name of the source (`memoryMaxPerUser`)."""

    def show(self, key: str, room_id: str) -> ShownSetting:
        """Return what holds in a room. Raises Refused: no such key, or a secret."""
        ...

    def everything(self, room_id: str) -> tuple[ShownSetting, ...]:
        """Return every setting that may be shown, as it holds in a room, in the order of config.toml."""
        ...

    def chosen(self, room_id: str) -> ChosenSettings:
        """Return what is set in chat."""
        ...

    async def set(self, change: SetSetting) -> ChangedSetting:
        """Store a value and put it in force, once for each event. Raises Refused, naming key, value and what is
        allowed.
        """
        ...

    async def reset(self, change: ResetSetting) -> ChangedSetting:
        """Let what holds without it hold again, once for each event. Raises Refused."""
        ...


@dataclass(frozen=True, slots=True)
class ResetSetting:
    """Take away what was set: in `room_id` alone, or (`everywhere`) for all rooms. room_id: of the command."""

    key: str
    room_id: str
    everywhere: bool
    effect: EffectKey


@dataclass(frozen=True, slots=True)
class SetSetting(ResetSetting):
    """Set a value, as it was typed."""

    text: str
