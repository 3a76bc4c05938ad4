"""D8, D18 from end to end: what is hidden from a conversation is neither sent, searched, shown to a pass nor listed.

A smaller matrix than that of the pure function (tests/unit/memory/test_visibility.py), through every actor and command
there is: every kind of memory, in every kind of conversation, at every privacy level and blacklist.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import product

import pytest

from memory.settings import MemorySettings
from memory.types import Memory, Origin, Privacy, ScopeKind
from tests.actors.conftest import BAU, BOT, JUNO, ROOM, Bot
from tests.actors.owned import given

DIRECT, SHARED_DIRECT, BAUS_DIRECT, ELSEWHERE = "!juno:hs", "!three:hs", "!bau:hs", "!elsewhere:hs"


@dataclass(frozen=True)
class Talk:
    """A conversation about the cat. `before`: who spoke earlier today; who is not in `joined` has left by now."""

    room: str
    asker: str
    before: str | None = None
    joined: tuple[str, ...] = (JUNO, BAU)
    direct: bool = False

    @property
    def private(self) -> bool:
        return self.direct and len(self.joined) == 1

    def of(self, user: str) -> bool:
        """Whether a person stands in the window."""
        return user in {self.asker, self.before}


TALKS = {
    "group": Talk(ROOM, JUNO, BAU),
    "group, asked by somebody else": Talk(ROOM, BAU, JUNO),
    "own direct": Talk(DIRECT, JUNO, joined=(JUNO,), direct=True),
    "direct with a third person": Talk(SHARED_DIRECT, JUNO, BAU, direct=True),
    "somebody else's direct": Talk(BAUS_DIRECT, BAU, JUNO, joined=(BAU,), direct=True),
}
LIMITS = ((), (ROOM, DIRECT, ELSEWHERE), (SHARED_DIRECT, BAUS_DIRECT))
TAGS = ((), ("cat", "tree"), ("boats",))
OWNERS = (JUNO, ROOM, DIRECT, SHARED_DIRECT, BAUS_DIRECT)


async def save_every_kind(bot: Bot) -> None:
    """Of Juno, personal and global, and of every room: limited or not, tagged or not, private or not, shared or not."""
    kinds = product(LIMITS, TAGS, (False, True), (False, True), OWNERS, (False, True))
    for number, (rooms, tags, private, shared, owner, everywhere) in enumerate(kinds):
        changes: dict[str, object] = {"rooms": rooms, "tags": tags, "shared": shared}
        changes["origin"] = Origin(ELSEWHERE, "$said", private)
        if everywhere:
            changes |= {"scope": ScopeKind.GLOBAL, "persona": ""}
        if owner == JUNO or not everywhere:
            await given(bot, f"Fact number {number}", owner, **changes)


def hidden(memory: Memory, talk: Talk, level: Privacy, settings: MemorySettings, heard: str) -> bool:
    """Say by D8 alone whether a memory is hidden from a conversation."""
    home = talk.private and memory.scope_id in {talk.asker, talk.room}
    patterns = {pattern.rstrip("*") for pattern in settings.blacklist}
    return (
        (level is not Privacy.OPEN and memory.scope_id == JUNO)
        or any(memory.scope_id.startswith(pattern) for pattern in patterns)
        or (bool(memory.rooms) and talk.room not in memory.rooms)
        or (bool(memory.tags) and not any(tag in heard.split() for tag in memory.tags))
        or (memory.origin.private and not memory.shared and settings.private_stays_private and not home)
    )


async def everything(bot: Bot) -> dict[int, Memory]:
    async with bot.store.transaction() as tables:
        every = await tables.memories._sql.rows("SELECT id FROM memories")  # type: ignore[attr-defined]
        return {memory.id: memory for memory in await tables.memories.get([memory_id for (memory_id,) in every])}


async def speak(bot: Bot, talk: Talk, text: str, sender: str) -> None:
    alone = talk.private and sender == talk.asker
    await bot.say(text, sender, talk.room, direct=talk.direct, alone=alone)
    bot.matrix.joined[talk.room] = {*talk.joined, BOT}


def sent(bot: Bot) -> tuple[list[int], list[int]]:
    """Return the ids in the start of the last prompt and beside its last message."""

    def ids(text: str) -> list[int]:
        return [int(found) for found in re.findall(r"^\[(\d+)\] \(", text, re.MULTILINE)]

    prompt = bot.model.prompts[-1]
    start = "\n".join(block.text for block in prompt.system)
    return ids(start), ids("\n".join(block.text for block in prompt.messages[-1].blocks))


@pytest.mark.parametrize(
    ("level", "blacklist", "stays"),
    [
        *((level, (), True) for level in Privacy),
        *((Privacy.OPEN, blacklist, True) for blacklist in (("@juno:*",), ("!*",))),
        (Privacy.OPEN, (), False),
    ],
)
async def test_d8_d18_every_place_in_every_conversation(
    bot: Bot, level: Privacy, blacklist: tuple[str, ...], stays: bool
) -> None:
    settings = MemorySettings(
        match_threshold=-1.0, max_per_user=500, blacklist=blacklist, private_stays_private=stays, capacity_personal=500
    )
    await save_every_kind(bot)
    for talk in TALKS.values():  # loads every list, so that all of them get their vectors
        await speak(bot, talk, "hi", talk.asker)
    await bot.say(f"!privacy {level}", room=ELSEWHERE)
    for name, talk in TALKS.items():
        bot.next_day()
        bot.settings.rules = replace(settings, decay_enabled=False)  # who spoke before moves no counter
        if talk.before:
            bot.matrix.joined[talk.room].add(talk.before)
            await speak(bot, talk, "hi", talk.before)
        bot.settings.rules = settings
        before = await everything(bot)
        answers, passes = len(bot.model.prompts), len(bot.model.requests)
        await speak(bot, talk, "The cat sleeps", talk.asker)
        asked = talk.asker != JUNO or level is not Privacy.SILENT
        assert len(bot.model.prompts) == answers + asked, name
        usable = {
            each
            for each, memory in before.items()
            if (memory.scope_id == talk.room or (memory.scope_id == JUNO and talk.of(JUNO)))
            and not hidden(memory, talk, level, settings, "The cat sleeps")
        }
        counted = set()
        if asked:
            start, beside = sent(bot)
            recalled = [each for each in beside if not before[each].tags]
            assert sorted([*start, *beside]) == sorted(usable), name
            assert not any(before[each].tags for each in start), name
            assert recalled == [], name
            counted = {each for each in usable if before[each].scope_id in {talk.room, *talk.joined}}
        after = await everything(bot)
        assert {each for each in before if after[each] != before[each]} == counted, name
        assert all(after[each].counted_on == bot.clock.today() for each in counted), name
        learned = asked and talk.asker == JUNO and level is Privacy.OPEN and not blacklist
        if talk.asker == JUNO:
            assert len(bot.model.requests) == passes + learned, name
        if learned:
            shown = {memory.id for memory in bot.model.requests[-1].memories}
            assert shown == {each for each in usable if before[each].scope_id == JUNO}, name
        if talk.asker == JUNO:
            await speak(bot, talk, "!memories", JUNO)
            listed = {int(found) for found in re.findall(r"#(\d+)", bot.matrix.bodies(talk.room)[-1])}
            mine = {each for each, memory in before.items() if memory.scope_id == JUNO}
            here = mine if talk.private else {each for each in usable if before[each].scope_id == JUNO}
            assert listed == here, name


async def test_d8_a_hidden_resting_memory_does_not_return_and_a_visible_one_does(bot: Bot) -> None:
    """Every resting memory says what is asked about; of those that may be used here the three best come back."""
    bot.settings.rules = replace(MemorySettings(), match_threshold=0.5, private_stays_private=True)
    kinds: list[dict[str, object]] = [
        {"rooms": (ELSEWHERE,)},
        {"tags": ("boats",)},
        {"origin": Origin(DIRECT, "$said", private=True)},
        {"tags": ("Mochi",)},
        {"rooms": (ROOM,)},
        {"origin": Origin(DIRECT, "$said", private=True), "shared": True},
        {},
    ]
    saved = [await given(bot, "The cat is named Mochi", **kind) for kind in kinds]
    await bot.say("hi")
    async with bot.store.transaction() as tables:
        await tables.memories._sql.run("UPDATE memories SET unused_days = 20")  # type: ignore[attr-defined]
    await bot.restart()
    bot.next_day()
    await bot.say("The cat is named Mochi")
    _, beside = sent(bot)
    assert sorted(beside) == [memory.id for memory in saved[3:6]]
    after = await everything(bot)
    assert [after[memory.id].unused_days for memory in saved] == [20, 20, 20, 0, 0, 0, 21]


async def test_p6_d8_a_pass_sees_a_tagged_memory_while_its_tag_stands_in_the_window(bot: Bot) -> None:
    """So that what equals a memory that was used in the conversation counts as nothing (P9)."""
    tagged = await given(bot, "Sails a boat", tags=("boats",))
    shown = []
    for text in ("hello", "I like boats", "every day"):
        await bot.say(text)
        shown.append([memory.id for memory in bot.model.requests[-1].memories])
    assert shown == [[], [tagged.id], [tagged.id]]
