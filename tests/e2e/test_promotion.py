"""Promotion over a real Synapse, with the settings of the source changed by `!config` while the bot runs."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from davenport.homeserver import Homeserver
from llm.offline.api import Request
from llm.offline.reading import is_cleanup
from matrix.person import Person
from tests.e2e.conftest import NewUser, People
from tests.e2e.whole import Whole, echoing, learning, meet, settings_for, whole
from tests.fakes.model_server import ModelServer, Step, tidied

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

FACTS = {word: f"Likes {word}" for word in ("tea", "chess", "rowing", "jazz", "maps", "bees", "kites", "rye", "owls")}


class Room:
    """A room with the bot and its admin, and what the admin says and sees there."""

    def __init__(self, bot: Whole, model: ModelServer, admin: Person, room_id: str) -> None:
        self.bot, self.model, self.admin, self.room_id = bot, model, admin, room_id

    async def config(self, line: str) -> str:
        answer = await self.bot.ask(self.admin, self.room_id, f"!config {line}", mention=None)
        print(f"\n!config {line}\n    {answer.body}")
        return answer.body

    async def mention(self, *words: str, times: int = 1) -> None:
        for _ in range(times):
            await self.bot.ask(self.admin, self.room_id, f"did I say that I like {' and '.join(words)}?")
        print(f"    mentioned {times} x: {', '.join(words)}; now {self.bot.clock.now():%Y-%m-%d %H:%M}")
        await self.show()

    async def show(self) -> None:
        candidates, memories = await self.bot.facts(self.admin)
        for one in candidates:
            print(
                f"    memory_candidates: {one.id} {one.text!r} mentions {one.mentions} last_seen {one.last_seen:%m-%d}"
            )
        for each in memories:
            print(f"    memories: {each.id} {each.text!r} {each.source.value} mentions {each.mentions}")

    async def candidates(self) -> dict[str, int]:
        return {one.text.removeprefix("Likes "): one.mentions for one in (await self.bot.facts(self.admin))[0]}

    @property
    def cleanups(self) -> int:
        """How often the model was asked to tidy a group."""
        return sum(is_cleanup(request.body) for request in self.model.requests)

    async def counter(self) -> int:
        """Passes that promoted since the last cleanup (P13)."""
        async with self.bot.bot.parts.store.transaction() as tables:
            count = await tables.users.promoting_passes(self.admin.user_id)
        print(f"    user_state: promoting_passes {count}; cleanups asked for so far {self.cleanups}")
        return count

    async def memories(self) -> dict[str, int]:
        return {each.text.removeprefix("Likes "): each.mentions for each in (await self.bot.facts(self.admin))[1]}


OpenRoom = Callable[..., AbstractAsyncContextManager[Room]]


def merging(first: str, second: str, text: str) -> Callable[[Request], Step]:
    """A cleanup script: merges two memories where both are shown, and leaves everything else."""

    def answer(request: Request) -> Step:
        shown = "\n".join(block["text"] for block in request.body["messages"][-1]["content"])
        ids = {
            wording: int(number)
            for number, wording in re.findall(r"^\[(\d+)\] \(\S+ saved\) (.*)$", shown, re.MULTILINE)
        }
        return tidied(merges=[((ids[first], ids[second]), text)]) if {first, second} <= ids.keys() else tidied()

    return answer


@pytest.fixture
def room(homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path) -> OpenRoom:
    @asynccontextmanager
    async def open_room(model: ModelServer, *, encrypted: bool = False) -> AsyncIterator[Room]:
        bot_id, admin = await new_user("bot"), await people("admin")
        settings = settings_for(
            homeserver.url,
            bot_id,
            tmp_path / "bot",
            model,
            matrix={"admins": [admin.user_id]},
            limits={"enforce": False},
        )
        async with whole(settings) as bot:
            yield Room(bot, model, admin, await meet(admin, bot=bot_id, encrypted=encrypted))

    return open_room


async def test_p10_threshold_1_2_and_3_act_on_the_next_pass_and_lowering_promotes_nothing_by_itself(
    room: OpenRoom,
) -> None:
    async with ModelServer(replies=echoing, extractions=learning(FACTS)) as model, room(model, encrypted=True) as here:
        await here.config("memory.promotion_threshold 1")
        await here.mention("tea")
        assert (await here.candidates(), await here.memories()) == ({}, {"tea": 1})
        await here.config("plugins.LLM.memoryPromotionThreshold 2")
        await here.mention("chess")
        assert await here.candidates() == {"chess": 1}
        await here.mention("chess")
        assert (await here.candidates(), await here.memories()) == ({}, {"tea": 1, "chess": 2})
        await here.config("memoryPromotionThreshold 3")
        await here.mention("rowing", times=2)
        assert await here.candidates() == {"rowing": 2}
        await here.config("memoryPromotionThreshold 2")
        await here.mention("jazz")
        assert await here.candidates() == {"rowing": 2, "jazz": 1}
        await here.mention("rowing")
        assert (await here.candidates(), await here.memories()) == ({"jazz": 1}, {"tea": 1, "chess": 2, "rowing": 3})


async def test_p4_ttl_14_keeps_what_is_exactly_that_old_and_0_prunes_nothing(room: OpenRoom) -> None:
    async with ModelServer(replies=echoing, extractions=learning(FACTS)) as model, room(model) as here:
        await here.config("memoryCandidateTTLDays 14")
        await here.mention("tea")
        here.bot.clock.set(here.bot.clock.now() + timedelta(days=14))
        await here.mention("chess")
        assert await here.candidates() == {"tea": 1, "chess": 1}
        here.bot.clock.set(here.bot.clock.now() + timedelta(seconds=1))
        await here.mention("rowing")
        assert await here.candidates() == {"chess": 1, "rowing": 1}
        await here.config("memoryCandidateTTLDays 0")
        here.bot.clock.set(here.bot.clock.now() + timedelta(days=400))
        await here.mention("jazz")
        assert await here.candidates() == {"chess": 1, "rowing": 1, "jazz": 1}
        await here.config("reset memoryCandidateTTLDays")
        await here.mention("maps")
        assert await here.candidates() == {"jazz": 1, "maps": 1}


async def test_p3_at_cap_2_nobody_is_extracted_until_the_cap_rises_or_a_memory_goes(room: OpenRoom) -> None:
    async with ModelServer(replies=echoing, extractions=learning(FACTS)) as model, room(model) as here:
        await here.config("memoryPromotionThreshold 1")
        await here.config("memoryMaxPerUser 2")
        await here.mention("tea", "chess", "rowing")
        assert (await here.candidates(), await here.memories()) == ({"rowing": 1}, {"tea": 1, "chess": 1})
        asked = len(model.extraction_requests)
        here.bot.clock.set(here.bot.clock.now() + timedelta(days=30))
        await here.mention("rowing", "jazz")
        assert len(model.extraction_requests) == asked, "no model call at the cap"
        assert await here.candidates() == {"rowing": 1}, "no reinforcement, no new candidate, no pruning"
        await here.config("memoryMaxPerUser 3")
        await here.mention("rowing")  # the old candidate is pruned first, then the fact is new again
        assert (await here.candidates(), await here.memories()) == ({}, {"tea": 1, "chess": 1, "rowing": 1})


async def test_p13_interval_0_1_and_3_and_a_cleanup_on_request(room: OpenRoom) -> None:
    async with (
        ModelServer(
            replies=echoing,
            extractions=learning(FACTS),
            cleanups=merging("Likes tea", "Likes chess", "Likes tea and chess"),
        ) as model,
        room(model) as here,
    ):
        await here.config("memoryPromotionThreshold 1")
        await here.config("memoryCleanupInterval 0")
        for word in ("tea", "chess", "rowing", "jazz"):
            await here.mention(word)
        assert here.cleanups == 0
        assert await here.counter() == 4
        await here.config("memoryCleanupInterval 3")  # counts on from what was counted
        await here.mention("maps")
        assert here.cleanups == 1
        assert await here.memories() == {"rowing": 1, "jazz": 1, "maps": 1, "tea and chess": 1}
        assert await here.counter() == 0
        for word in ("bees", "kites"):
            await here.mention(word)
        assert (here.cleanups, await here.counter()) == (1, 2)
        await here.mention("rye")
        assert (here.cleanups, await here.counter()) == (2, 0)
        await here.config("memoryCleanupInterval 1")
        await here.mention("owls")
        assert (here.cleanups, await here.counter()) == (3, 0)
        answer = await here.bot.ask(here.admin, here.room_id, "!memories cleanup", mention=None)
        print(f"\n!memories cleanup\n    {answer.body}")
        assert here.cleanups == 4
