"""Resting memories over a real Synapse with the clock moved: whose days count (D2, D4), and what brings back (D6)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from davenport.homeserver import Homeserver
from matrix.person import Person
from memory.types import Memory
from tests.e2e.conftest import NewUser, People
from tests.e2e.whole import Whole, echoing, learning, meet, settings_for, whole
from tests.fakes.model_server import ModelServer

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

GAMES = "which board game should we play tonight?"
CAT = "Cat is named Mochi"
DENTIST = "Works as a dentist"
VISITS = 7


class Visits:
    """A room with a regular and a visitor, and what is remembered of the two."""

    def __init__(self, bot: Whole, model: ModelServer, regular: Person, visitor: Person, room_id: str) -> None:
        self.bot, self.model, self.room_id = bot, model, room_id
        self.regular, self.visitor = regular, visitor

    def on(self, month: int, day: int) -> None:
        self.bot.clock.set(datetime(2026, month, day, 19, 0, tzinfo=UTC))

    async def says(self, person: Person, text: str) -> None:
        await self.bot.ask(person, self.room_id, text)

    async def of(self, person: Person) -> Memory:
        [memory] = (await self.bot.facts(person))[1]
        return memory

    async def show(self, what: str) -> None:
        print(f"\n{self.bot.clock.now():%Y-%m-%d}  {what}")
        for person in (self.visitor, self.regular):
            each = await self.of(person)
            who, _, _ = person.user_id[1:].partition("-")
            state = "resting" if each.resting(7) else "active"
            print(f"    {who:5} {each.text!r} unused_days {each.unused_days} counted_on {each.counted_on} {state}")

    @property
    def start(self) -> str:
        return "".join(block["text"] for block in self.model.reply_requests[-1].body["system"])

    @property
    def beside_message(self) -> str:
        return "".join(block["text"] for block in self.model.reply_requests[-1].body["messages"][-1]["content"])


async def test_d4_d5_d6_seven_visits_without_a_match_rest_the_visitors_memories_and_other_peoples_chat_does_not(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    """The monthly visitor of RULES.md; the bot is restarted after the third visit."""
    bot_id, juno, bau = await new_user("bot"), await people("juno"), await people("bau")
    facts = learning({"Mochi": CAT, "dentist": DENTIST})
    async with ModelServer(replies=echoing, extractions=facts) as model:
        settings = settings_for(
            homeserver.url,
            bot_id,
            tmp_path / "bot",
            model,
            memory={"promotion_threshold": 1},
            limits={"enforce": False},
        )
        async with whole(settings) as bot:
            room = await meet(juno, bau, bot=bot_id)
            here = Visits(bot, model, juno, bau, room)
            here.on(1, 5)
            await here.says(bau, "my cat is named Mochi")
            await here.says(juno, "I work as a dentist")
            await here.show("both are learned about")
            for month in range(2, 5):
                await a_month(here, month)
        async with whole(settings, bot.clock) as bot:
            here.bot = bot
            for month in range(5, 2 + VISITS):
                await a_month(here, month)
            await here.says(bau, GAMES)
            assert CAT not in here.start + here.beside_message
            here.on(10, 1)
            await here.says(bau, "how's my cat Mochi doing?")
            await here.show("the visitor asks about it")
            assert CAT not in here.start
            assert CAT in here.beside_message
            assert (await here.of(bau)).unused_days == 0
            await here.says(bau, GAMES)
            assert CAT in here.start


async def a_month(here: Visits, month: int) -> None:
    """The regular talks on two days with the bot, and the visitor on one, when nobody speaks of the cat."""
    visits, before = month - 1, await here.of(here.visitor)
    assert before.unused_days == visits - 1
    for day in (8, 9):
        here.on(month, day)
        await here.says(here.regular, GAMES)
    await here.show("two days of the regular's")
    assert await here.of(here.visitor) == before
    assert (await here.of(here.regular)).unused_days == 2 * visits
    here.on(month, 20)
    await here.says(here.visitor, GAMES)
    assert CAT in here.start, "a move shows in the start from the next reply on (D14)"
    await here.show(f"visit {visits}")
    after = await here.of(here.visitor)
    assert (after.unused_days, after.last_matched_at) == (visits, None)
    assert after.resting(7) is (visits == VISITS)
    assert (await here.of(here.regular)).unused_days == 2 * visits
