"""`!memories` on single memories: show, share, limit, tag, global; whose they are; a room's list (D8, D11, D18)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from actors.memory_messages import MakeGlobal, MarkMemories
from actors.messages import DeleteMemories, EditMemory, EffectKey, Request
from memory.errors import Refused
from memory.marking import Limiting, Sharing, Tagging
from memory.settings import MemorySettings
from memory.types import ListKey, Origin, Persona, ScopeKind, Settlement
from tests.actors.conftest import BAU, JUNO, ROOM, START, Bot
from tests.actors.owned import (
    DIRECT,
    ELSEWHERE,
    answer,
    answer_in_private,
    asked,
    given,
    given_in_private,
    last_prompt,
    stored,
)

LIST = ListKey(ScopeKind.PERSONAL, JUNO, "default")


# --- show -----------------------------------------------------------------------------------------------------------


async def test_show_says_all_there_is_to_know(bot: Bot) -> None:
    memory = await given(bot, mentions=3, first_seen=START - timedelta(days=2))
    assert await answer(bot, f"!memories show #{memory.id}") == (
        "**#1** Cat is named Mochi\n\n"
        "- Active: sent with every reply where it may be used; unused for 0 days.\n"
        "- Mentioned 3 times, first on 2026-02-28.\n"
        "- Saved on 2026-03-02 since it was mentioned often enough.\n"
        "- Said in this room.\n"
        "- Never fitted what was said so far.\n"
        "- Not protected: I may drop it for a new one when the list is full, or merge it with others.\n"
        "- For the persona default."
    )


async def test_show_counts_other_rooms_in_a_group_room_and_names_them_in_private(bot: Bot) -> None:
    memory = await given(bot, origin=Origin(ELSEWHERE, "$e", private=False))
    async with bot.store.transaction() as tables:
        await tables.memories.set_visibility(replace(memory, rooms=(ROOM, ELSEWHERE), tags=("Café",)))
    shown = await answer(bot, "!memories show 1")
    assert shown == "Memory 1 may not be shown here. Ask in a direct room with me: `!memories show 1`."
    await bot.say("let us go to the CAFÉ")
    shown = await answer(bot, "!memories show 1")
    assert "Said in another room." in shown
    assert "Used only in 2 rooms, this one among them." in shown
    assert "Used only when one of these words is said: Café." in shown
    assert ELSEWHERE not in shown
    private = await answer_in_private(bot, "!memories show 1")
    assert f"Said in {ELSEWHERE}." in private
    assert f"Used only in {ROOM}, {ELSEWHERE}." in private


async def test_d8_what_is_hidden_here_is_refused_without_its_text_and_shown_in_private(bot: Bot) -> None:
    memory = await given_in_private(bot)
    shown = await answer(bot, "!memories show 1")
    assert shown == "Memory 1 may not be shown here. Ask in a direct room with me: `!memories show 1`."
    private = await answer_in_private(bot, f"!memories show {memory.id}")
    assert "Said here, in private." in private
    assert "Private: used only in a direct room with me." in private
    bot.settings.rules = MemorySettings(private_stays_private=False)
    assert "Said in private, but rooms may use it." in await answer(bot, "!memories show 1")


async def test_d5_d13_show_tells_resting_from_active(bot: Bot) -> None:
    await given(bot)
    async with bot.store.transaction() as tables:
        for day in range(1, 8):
            moment = START + timedelta(days=day)
            await tables.memories.settle(Settlement(moment, moment.date(), aged=(1,)))
    assert "Resting: comes back when it fits what is said; unused for 7 days." in await answer(bot, "!memories show 1")
    bot.settings.rules = MemorySettings(decay_enabled=False)
    assert "Active:" in await answer(bot, "!memories show 1")


# --- share, limit, tag ----------------------------------------------------------------------------------------------


async def test_d8_d11_sharing_lets_rooms_use_it_and_changes_nothing_else(bot: Bot) -> None:
    memory = await given_in_private(bot)
    await bot.say("hello")
    assert "Mochi" not in last_prompt(bot)
    assert await answer(bot, "!memories share 1") == "Shared, so that rooms may use it: #1."
    assert await stored(bot, 1) == {1: replace(memory, shared=True)}
    await bot.say("hello")
    assert "Mochi" in last_prompt(bot)
    assert await answer(bot, "!memories unshare #1.") == "Private again: #1."
    await bot.say("hello")
    assert "Mochi" not in last_prompt(bot)
    assert await stored(bot, 1) == {1: memory}


async def test_d8_what_was_not_said_in_private_has_nothing_to_share(bot: Bot) -> None:
    public, private = await given(bot), await given_in_private(bot, "Likes tea")
    said = await answer(bot, "!memories share 1-3 x")
    assert said == (
        "Shared, so that rooms may use it: #2. Not first said in private, so sharing makes no difference: #1. "
        "`!memories limit ID here` keeps a memory to this room. Not among your memories: #3, x."
    )
    assert await stored(bot, 1, 2) == {1: public, 2: replace(private, shared=True)}


async def test_d8_limits_are_rooms_added_one_by_one_and_lifted_all_at_once(bot: Bot) -> None:
    memory = await given(bot)
    assert await answer(bot, "!memories limit 1 here") == "Used only in rooms you named, this one included: #1."
    await answer(bot, "!memories limit here 1", room=ELSEWHERE)
    await answer(bot, "!memories limit 1 here")
    assert (await stored(bot, 1))[1] == replace(memory, rooms=(ROOM, ELSEWHERE))
    assert await answer(bot, "!memories", room="!third:hs") == (
        "I remember nothing about you that may be shown here.\n\n"
        "1 more is private or not meant for here: ask in a direct room with me to see all."
    )
    assert await answer(bot, "!memories limit off 1", room="!third:hs") == "No longer limited to certain rooms: #1."
    assert await stored(bot, 1) == {1: memory}


async def test_d8_tags_are_cleaned_compared_folded_and_taken_away_by_none(bot: Bot) -> None:
    memory = await given(bot)
    said = await answer(bot, '!memories tag 1 Fish, FISH "New\u200b  York" *x*')
    assert said == "**#1** is used only when one of these words is said: Fish, New York, \\*x\\*."
    assert await stored(bot, 1) == {1: replace(memory, tags=("Fish", "New York", "*x*"))}
    await bot.say("hello")
    assert "Mochi" not in last_prompt(bot)
    await bot.say("about the fish")
    assert "Mochi" in last_prompt(bot)
    assert await answer(bot, "!memories tag 1") == "**#1** has no tags: it is used whatever is said."
    assert await stored(bot, 1) == {1: memory}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (" ".join(f"w{n}" for n in range(11)), "A memory has at most 10 tags. Nothing was changed."),
        ("x" * 51, "A tag has at most 50 characters. Nothing was changed."),
        ("fish \u200b\u2060", "A tag needs something to read. Nothing was changed."),
    ],
)
async def test_unfit_tags_are_refused_whole(bot: Bot, words: str, said: str) -> None:
    memory = await given(bot)
    assert await answer(bot, f"!memories tag 1 {words}") == said
    assert await stored(bot, 1) == {1: memory}


async def test_d8_marking_works_on_what_is_hidden_here_and_names_it_by_id_only(bot: Bot) -> None:
    await given_in_private(bot)
    for command in ("limit 1 here", "share 1", "unshare 1", "tag 1 fish", "global 1", "del 1", "undo"):
        said = await answer(bot, f"!memories {command}")
        assert "#1" in said
        assert "Mochi" not in said


async def test_d11_marking_keeps_the_vector_of_a_loaded_list(bot: Bot) -> None:
    """Counters, text and vectors stay: nothing is embedded again and the memory is found at once."""
    await given_in_private(bot)
    await bot.say("hello", room=DIRECT, direct=True, alone=True)
    assert bot.parts.indexes.ids(LIST) == {1}
    embedder = bot.parts.embedder
    assert embedder is not None
    texts: list[str] = []
    embed = type(embedder).embed

    async def counted(self: object, wanted: object) -> object:
        texts.extend(wanted)  # type: ignore[arg-type]
        return await embed(embedder, wanted)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(embedder), "embed", counted)
        for command in ("share 1", "limit 1 here", "tag 1 fish", "tag 1", "global 1"):
            await answer(bot, f"!memories {command}")
            assert bot.parts.indexes.ids(LIST) == {1}
    assert texts == []


# --- global ---------------------------------------------------------------------------------------------------------


async def test_d11_global_holds_for_every_persona_and_is_protected(bot: Bot) -> None:
    memory = await given(bot)
    bot.settings.named = {"pirate": Persona("pirate")}
    async with bot.store.transaction() as tables:
        await tables.rooms.set_persona(ELSEWHERE, "pirate")
    await bot.say("ahoy", room=ELSEWHERE)
    assert "Mochi" not in last_prompt(bot)
    said = await answer(bot, "!memories global 1")
    assert said == "Global now, for every persona, and never dropped by me: #1."
    assert await stored(bot, 1) == {1: replace(memory, scope=ScopeKind.GLOBAL, persona="", protected=True)}
    await bot.say("ahoy", room=ELSEWHERE)
    assert "Mochi" in last_prompt(bot)
    assert bot.parts.indexes.ids(replace(LIST, persona="pirate")) == {1}
    assert "Global: for every persona." in await answer(bot, "!memories show 1")


async def test_what_says_the_same_as_a_global_one_stays_as_it_is(bot: Bot) -> None:
    await given(bot)
    again = await given(bot, "CAT is named  Mochi.", persona="pirate")
    said = await answer(bot, "!memories global 1 2 1 9")
    assert said == (
        "Global now, for every persona, and never dropped by me: #1. **#2** stays as it is: **#1** says the same and "
        "is global already. Not among your memories: #9."
    )
    assert await stored(bot, 2) == {2: again}
    assert await answer(bot, "!memories global 1") == said.split(". ")[0] + "."


# --- whose ----------------------------------------------------------------------------------------------------------

ON_ONE = ("show {}", "del {}", "edit {} Dog", "share {}", "unshare {}", "limit {} here", "tag {} fish", "global {}")


@pytest.mark.parametrize("command", [*ON_ONE, "room show {}", "room del {}", "room edit {} Dog"])
async def test_somebody_elses_memory_cannot_be_told_from_none(bot: Bot, command: str) -> None:
    bot.matrix.admins = {BAU}
    memories = [
        await given_in_private(bot),
        await given(bot, owner=ELSEWHERE),
        await given(bot, owner=ROOM, persona="pirate"),
    ]
    if not command.startswith("room"):
        memories.append(await given(bot, owner=ROOM))
    none = (await answer(bot, f"!memories {command.format(99)}", BAU)).replace("99", "N")
    for memory in memories:
        said = await answer(bot, f"!memories {command.format(memory.id)}", BAU)
        assert said.replace(str(memory.id), "N") == none
    assert await stored(bot, *(memory.id for memory in memories)) == {memory.id: memory for memory in memories}


# --- a room's list --------------------------------------------------------------------------------------------------


async def test_anybody_sees_the_rooms_list_of_the_current_persona_and_only_it(bot: Bot) -> None:
    await given(bot, "Quiz is on Friday", owner=ROOM)
    await given(bot, "Quiz is on Monday", owner=ROOM, persona="pirate")
    await given(bot, "Quiz is on Sunday", owner=ELSEWHERE)
    await given(bot)
    assert await answer(bot, "!memories room", BAU) == (
        "I remember 1 thing about this room:\n\n- **#1** (active, saved 2026-03-02) Quiz is on Friday"
    )
    assert "Quiz is on Friday" in await answer(bot, "!memories room show 1", BAU)
    assert await answer(bot, "!memories room", room="!empty:hs") == "I remember nothing about this room."


async def test_d8_a_rooms_hidden_memories_are_counted_only(bot: Bot) -> None:
    await given(bot, "Quiz is on Friday", owner=ROOM, origin=Origin(ROOM, "$e", private=True))
    assert await answer(bot, "!memories room") == (
        "I remember nothing about this room that may be shown here.\n\n1 more may not be shown here."
    )
    assert await answer(bot, "!memories room show 1") == "Memory 1 of this room may not be shown here now."


async def test_d11_editors_delete_edit_and_undo_in_the_rooms_list(bot: Bot) -> None:
    memory = await given(bot, "Quiz is on Friday", owner=ROOM)
    bot.matrix.admins = {BAU}
    refused = "Only people who may change this room's memories may do that."
    for command in ("del 1", "edit 1 Quiz is off", "undo"):
        assert await answer(bot, f"!memories room {command}") == refused
    assert await answer(bot, "!memories room edit 1 Quiz is off", BAU) == "**#1** now reads: Quiz is off"
    edited = (await stored(bot, 1))[1]
    assert (edited.text, edited.protected) == ("Quiz is off", True)
    await bot.say("hello")
    assert "Quiz is off" in last_prompt(bot)
    assert await answer(bot, "!memories room undo", BAU) == "Undone. As before: #1."
    assert await stored(bot, 1) == {1: memory}
    assert await answer(bot, "!memories room del 1 2", BAU) == (
        "Forgotten: #1. `!memories room undo` brings that back within 10 minutes. Not among this room's memories: #2."
    )
    await bot.say("hello")
    assert "Quiz" not in last_prompt(bot)
    assert await answer(bot, "!memories room undo", BAU) == "Undone. As before: #1."
    await bot.say("hello")
    assert "Quiz is on Friday" in last_prompt(bot)


async def test_the_power_level_for_a_rooms_list_can_be_set(bot: Bot) -> None:
    await given(bot, "Quiz is on Friday", owner=ROOM)
    bot.settings.rules = MemorySettings(room_power_level=50)
    bot.matrix.levels = {JUNO: 49}
    assert "Only people" in await answer(bot, "!memories room del 1")
    bot.matrix.levels = {JUNO: 50}
    assert (await answer(bot, "!memories room del 1")).startswith("Forgotten: #1.")


async def test_undo_of_a_room_and_of_a_person_are_two(bot: Bot) -> None:
    bot.matrix.admins = {JUNO}
    await given(bot, "Quiz is on Friday", owner=ROOM)
    mine = await given(bot)
    await answer(bot, "!memories room del 1")
    await answer(bot, "!memories del 2")
    assert await answer(bot, "!memories undo") == "Undone. As before: #2."
    assert await stored(bot, 1, 2) == {2: mine}
    assert await answer(bot, "!memories room undo") == "Undone. As before: #1."


# --- once -----------------------------------------------------------------------------------------------------------


async def test_a_replayed_edit_answers_the_same_when_the_memory_has_gone_since(bot: Bot) -> None:
    await given(bot)
    request = EditMemory(1, "Cat is called Mochi", EffectKey("$command"))
    first = await asked(bot, request)
    await asked(bot, DeleteMemories((1,), EffectKey("$later")))
    await bot.restart()
    assert await asked(bot, request) == first
    assert await bot.memories() == ()


@pytest.mark.parametrize(
    "request_of",
    [  # what is asked under an effect key
        lambda key: DeleteMemories((1, 9), key),
        lambda key: EditMemory(1, "Cat is called Mochi", key),
        lambda key: MarkMemories((1, 2, 9), Sharing(on=True), key),
        lambda key: MarkMemories((1, 9), Limiting(ROOM), key),
        lambda key: MarkMemories((1, 9), Tagging(("fish",)), key),
        lambda key: MakeGlobal((1, 3, 9), key),
    ],
)
async def test_a_replay_repeats_no_effect_and_answers_the_same(
    bot: Bot, request_of: Callable[[EffectKey], Request[object]]
) -> None:
    await given_in_private(bot)
    await given(bot, "Likes tea")
    await given(bot, persona="pirate")
    request = request_of(EffectKey("$command"))
    first = await asked(bot, request)
    before = await stored(bot, 1, 2, 3)
    await bot.restart()
    bot.clock.advance(timedelta(minutes=1))
    assert await asked(bot, request) == first
    assert await stored(bot, 1, 2, 3) == before


async def test_an_edit_of_somebody_elses_is_refused_at_the_actor_too(bot: Bot) -> None:
    await given(bot)
    with pytest.raises(Refused, match="memory-unknown"):
        await asked(bot, EditMemory(1, "Dog", EffectKey("$e")), BAU)
