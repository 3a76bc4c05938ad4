"""One Synapse for the whole run, and people to talk through it.

The process and the people live on the session's event loop, so modules with end-to-end tests set
`pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import pytest_asyncio

from davenport.homeserver import Homeserver
from matrix.person import Person
from tests.e2e.matrix_bot import MatrixBot
from tests.e2e.people import PASSWORD

People = Callable[[str], Awaitable[Person]]
NewUser = Callable[[str], Awaitable[str]]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def homeserver() -> AsyncIterator[Homeserver]:
    """The Synapse that all tests share; tests that stop it start one of their own."""
    async with Homeserver() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def new_user(homeserver: Homeserver) -> NewUser:
    """Register an account with a localpart no other test has; its password is PASSWORD."""

    async def register(name: str) -> str:
        return await homeserver.register(f"{name}-{uuid4().hex[:8]}", PASSWORD)

    return register


@pytest_asyncio.fixture(loop_scope="session")
async def people(homeserver: Homeserver, new_user: NewUser, tmp_path: Path) -> AsyncIterator[People]:
    """Make people who are logged in and listening until the test ends: `alice = await people("alice")`."""
    async with AsyncExitStack() as stack:

        async def arrive(name: str) -> Person:
            user_id = await new_user(name)
            localpart = user_id[1:].partition(":")[0]
            person = Person(homeserver.url, localpart, PASSWORD, tmp_path / localpart)
            return await stack.enter_async_context(person)

        yield arrive


@pytest_asyncio.fixture(loop_scope="session")
async def matrix_bot(homeserver: Homeserver, new_user: NewUser, tmp_path: Path) -> AsyncIterator[MatrixBot]:
    """The bot's Matrix layer, started; stopped at the end if it still runs."""
    bot = MatrixBot(homeserver.url, await new_user("davenport"), PASSWORD, tmp_path / "bot", ignore_users=["@*ghost*"])
    await bot.start()
    yield bot
    await bot.close()
