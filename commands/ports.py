"""What commands need of the actors."""

from __future__ import annotations

from typing import Protocol, TypeVar

from actors.actor import Address
from actors.messages import Request

R = TypeVar("R")


class System(Protocol):
    """The actor system, for asking."""

    async def ask(self, address: Address, request: Request[R]) -> R:
        """Send a request and return its answer. Raises Refused, ActorFailed or Stopping."""
        ...
