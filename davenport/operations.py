"""What a running bot does on request over its control socket: one row an operation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from davenport import health
from davenport.panel import Panel
from davenport.status import status

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """A name, what it is for, and what carries it out. `run` takes the request's arguments and returns the result.

    It raises Declined, or another DavenportError, whose message is the answer (a Refused is put into English).
    """

    name: str
    help: str
    run: Callable[[Panel, Mapping[str, Any]], Awaitable[Json]]


async def _status(panel: Panel, arguments: Mapping[str, Any]) -> Json:
    return await status(panel)


async def _check(panel: Panel, arguments: Mapping[str, Any]) -> Json:
    found = (await health.database_fault(panel), await health.login_fault(panel))
    return {"faults": [fault for fault in found if fault is not None]}


OPERATIONS = (
    Operation("status", "What the bot is doing.", _status),
    Operation("check", "What is wrong with the database and the login of a running bot.", _check),
)
