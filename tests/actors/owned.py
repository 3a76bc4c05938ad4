"""Memories put into storage before the actors look, and what the tests of commands on them ask of the bot."""

from __future__ import annotations

from dataclasses import replace

from actors.actor import Address
from actors.messages import Request
from memory.types import Draft, Memory, Origin, ScopeKind, Source
from tests.actors.conftest import JUNO, ROOM, Bot

DIRECT = "!direct-juno:hs"
ELSEWHERE = "!elsewhere:hs"


async def given(bot: Bot, text: str = "Cat is named Mochi", owner: str = JUNO, **changes: object) -> Memory:
    """Save a memory of a person, or of a room, said in public in ROOM unless `changes` say otherwise."""
    draft = Draft(
        scope=ScopeKind.ROOM if owner.startswith("!") else ScopeKind.PERSONAL,
        scope_id=owner,
        persona="default",
        text=text,
        source=Source.PROMOTION,
        origin=Origin(ROOM, "$said", private=False),
        first_seen=bot.clock.now(),
    )
    async with bot.store.transaction() as tables:
        return await tables.memories.insert(replace(draft, **changes), bot.clock.now())  # type: ignore[arg-type]


async def given_in_private(bot: Bot, text: str = "Cat is named Mochi", **changes: object) -> Memory:
    return await given(bot, text, **{"origin": Origin(DIRECT, "$said", private=True)} | changes)


async def answer(bot: Bot, text: str, sender: str = JUNO, room: str = ROOM) -> str:
    """Give a command in a group room and return what the bot answers."""
    await bot.say(text, sender, room)
    return bot.matrix.bodies(room)[-1]


async def answer_in_private(bot: Bot, text: str) -> str:
    """Give a command in Juno's direct room and return what the bot answers."""
    await bot.say(text, room=DIRECT, direct=True, alone=True)
    return bot.matrix.bodies(DIRECT)[-1]


async def stored(bot: Bot, *ids: int) -> dict[int, Memory]:
    """Return those of the memories that exist."""
    async with bot.store.transaction() as tables:
        return {memory.id: memory for memory in await tables.memories.get(ids)}


async def asked(bot: Bot, request: Request[object], owner: str = JUNO) -> object:
    """Ask the actor of a person or a room as a command does."""
    return await bot.system.ask(Address("room" if owner.startswith("!") else "user", owner), request)


def last_prompt(bot: Bot) -> str:
    """Return everything that the last prompt said."""
    prompt = bot.model.prompts[-1]
    blocks = [*prompt.system, *(block for message in prompt.messages for block in message.blocks)]
    return "\n".join(block.text for block in blocks)
