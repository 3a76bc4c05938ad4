"""What commands need of the actors, and of the settings that can be set in chat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from actors.actor import Address
from actors.messages import Request

R = TypeVar("R")


class System(Protocol):
    """The actor system, for asking."""

    async def ask(self, address: Address, request: Request[R]) -> R:
        """Send a request and return its answer. Raises Refused, ActorFailed or Stopping."""
        ...


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """One setting as `!config` shows it; values as TOML. origin: the id of the text that says where the value is from.

    default: None where there is none. allowed: in words. settable: whether it can be set in chat.
    """

    key: str
    value: str
    default: str | None
    scope: str
    origin: str
    allowed: str
    settable: bool = True


class Configuring(Protocol):
    """Settings that are set in chat. `key` is `section.name` or a name of the source (`memoryMaxPerUser`)."""

    def show(self, key: str, room_id: str) -> ShownSetting:
        """Return what holds in a room. Raises Refused: no such key, or a secret."""
        ...

    def everything(self, room_id: str) -> tuple[ShownSetting, ...]:
        """Return every setting that may be shown, in the order of config.toml."""
        ...

    async def set(self, key: str, text: str, room_id: str | None) -> ShownSetting:
        """Set a value for everywhere, or for one room, and put it in force. Raises Refused, naming key, value and
        what is allowed.
        """
        ...

    async def reset(self, key: str, room_id: str | None) -> ShownSetting:
        """Let the value of file, environment or default hold again. Raises Refused."""
        ...
