"""`!why` tells what the last answer was given, and no more than may be told where it is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory.events import Incoming, IncomingKind
from memory.settings import MemorySettings
from memory.types import Draft, Memory, Origin, Privacy, ScopeKind, Source
from tests.actors.conftest import BAU, JUNO, ROOM, Bot

DIRECT = "!direct:hs"
PRIVATELY = {"room": DIRECT, "direct": True, "alone": True, "addressed": False}


async def why(bot: Bot, room: str = ROOM, **details: object) -> str:
    await bot.say("!why", room=room, **details)  # type: ignore[arg-type]
    return bot.matrix.bodies(room)[-1]


async def remember(bot: Bot, text: str, owner: str = JUNO, **changes: object) -> Memory:
    """Put a memory into the database before anything is loaded."""
    room = owner.startswith("!")
    draft = Draft(
        scope=ScopeKind.ROOM if room else ScopeKind.PERSONAL,
        scope_id=owner,
        persona="default",
        text=text,
        source=Source.PROMOTION,
        origin=Origin(ROOM, "$origin", private=False),
        first_seen=bot.clock.now(),
    )
    async with bot.store.transaction() as tables:
        return await tables.memories.insert(replace(draft, **changes), bot.clock.now())  # type: ignore[arg-type]


async def test_before_any_answer_it_says_so(bot: Bot) -> None:
    told = "I have not answered you here yet, or no longer know what that answer was given."
    assert await why(bot) == told
    await bot.say("hello", sender=BAU)
    assert await why(bot) == told, "answers to others are not the caller's"


async def test_an_answer_without_memories_is_told_as_such(bot: Bot) -> None:
    await bot.say("hello")
    assert await why(bot) == "My last answer to you here was given no memories."


async def test_ids_age_origin_and_text_of_what_was_given(bot: Bot) -> None:
    mochi = await remember(bot, "Cat is named *Mochi*")
    chess = await remember(bot, "Plays chess", source=Source.TOOL, origin=Origin("!other:hs", "$o", private=False))
    friday = await remember(bot, "Film night is on Friday", owner=ROOM, source=Source.COMMAND)
    bot.next_day(3)
    await bot.say("hello")
    told = (await why(bot)).splitlines()
    assert told[0] == "My last answer to you here was given 3 memories:"
    assert sorted(told[2:]) == [
        f"- **#{mochi.id}** (saved 2026-03-02, 3 days ago; from this room; mentioned in conversation) "
        "Cat is named \\*Mochi\\*",
        f"- **#{chess.id}** (saved 2026-03-02, 3 days ago; from another room; saved on request) Plays chess",
        f"- **#{friday.id}** (saved 2026-03-02, 3 days ago; on this room’s list; added with a command) "
        "Film night is on Friday",
    ]


async def test_d6_what_was_recalled_stands_apart(bot: Bot) -> None:
    await remember(bot, "Plays chess on Sundays")
    resting = await remember(bot, "The cat is named Mochi")
    await bot.say("hello")  # what has no vector yet gets one
    async with bot.store.transaction() as tables:
        await tables.memories._sql.run("UPDATE memories SET unused_days = 9 WHERE id = ?", resting.id)
    await bot.restart()
    await bot.say("how is my cat Mochi today?")
    head, first, recalled, second = (await why(bot)).split("\n\n")
    assert head == "My last answer to you here was given 1 memory:"
    assert "Plays chess" in first
    assert recalled == "Resting, and fetched for it because your message touched on it: 1 memory."
    assert second.startswith(f"- **#{resting.id}** (saved 2026-03-02, today;")


async def test_of_other_people_only_how_many(bot: Bot) -> None:
    await remember(bot, "Is afraid of spiders", owner=BAU)
    await bot.say("hello", sender=BAU)
    await bot.say("hello")
    told = await why(bot)
    assert (
        told == "My last answer to you here was given 1 memory of other people in the conversation, and none of yours."
    )
    assert "spiders" not in told


async def test_d8_a_text_that_may_not_be_shown_here_any_more_is_left_out(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(private_stays_private=False)
    secret = await remember(bot, "Is looking for a new job", origin=Origin(DIRECT, "$o", private=True))
    await bot.say("hello")
    bot.settings.rules = MemorySettings()
    told = await why(bot)
    assert f"**#{secret.id}** (saved 2026-03-02, today; from a direct room;" in told
    assert told.endswith("Its text is not shown here.")
    await bot.say("hello", **PRIVATELY)  # type: ignore[arg-type]
    assert "Is looking for a new job" in await why(bot, **PRIVATELY)  # type: ignore[arg-type]


async def test_d8_the_level_of_the_caller_holds_for_their_own_and_not_for_the_room_s(bot: Bot) -> None:
    await remember(bot, "Plays chess")
    await remember(bot, "Film night is on Friday", owner=ROOM)
    await bot.say("hello")
    async with bot.store.transaction() as tables:
        await tables.users.set_privacy(JUNO, Privacy.NO_MEMORY)
    await bot.restart()
    told = await why(bot)
    assert "Plays chess" not in told
    assert "Film night is on Friday" in told


async def test_what_is_gone_meanwhile_is_counted(bot: Bot) -> None:
    gone = await remember(bot, "Plays chess")
    await bot.say("hello")
    await bot.say(f"!memories del {gone.id}")
    assert await why(bot) == "About my last answer to you here:\n\n1 memory it was given is gone since."


async def test_each_thread_and_each_room_has_its_own_last_answer(bot: Bot) -> None:
    await bot.say("in the thread", thread_root="$root")
    await remember(bot, "Plays chess", owner=ROOM)
    await bot.restart()
    await bot.say("in the room")
    assert "no memories" in await why(bot, thread_root="$root")
    assert "Plays chess" in await why(bot)
    assert "not answered you here yet" in await why(bot, room="!other:hs")


async def test_an_answer_that_was_taken_back_is_not_the_last_one(bot: Bot) -> None:
    await bot.say("hello")
    await remember(bot, "Plays chess", owner=ROOM)
    await bot.restart()
    second = await bot.say("and again")
    await redact(bot, second)
    assert "no memories" in await why(bot)


async def redact(bot: Bot, event: Incoming) -> None:
    await bot.deliver(replace(event, event_id="$redaction", kind=IncomingKind.REDACTION, target=event.event_id))
    await bot.settle()


@pytest.mark.parametrize("rest", ["!why", "!usage"])
async def test_neither_takes_arguments(bot: Bot, rest: str) -> None:
    await bot.say(f"{rest} else")
    assert bot.matrix.bodies()[-1] == f"This is how to use it: `{rest}`."
