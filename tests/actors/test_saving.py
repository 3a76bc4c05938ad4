"""Explicit saves and forgetting on request, through a whole bot: P16, D9-D12, forget_memory, `!memories add`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from memory.errors import EmbeddingError, ModelError, StorageError
from memory.model import Prompt, ToolCall, ToolResult
from memory.settings import MemorySettings
from memory.types import Draft, ListKey, Memory, Origin, Privacy, ScopeKind, Settlement, Source
from storage.memories import MemoryRows
from tests.actors.conftest import BAU, JUNO, ROOM, START, Bot, texts, until

DM = "!dm:hs"
DIRECT: dict[str, object] = {"room": DM, "direct": True, "alone": True}
FULL = MemorySettings(capacity_personal=3, capacity_room=3)
RESTS = 7


def saves(text: str, scope: str = "me", number: int = 0) -> ToolCall:
    return ToolCall(number, "save_memory", {"text": text, "scope": scope})


def forgets(*ids: object, number: int = 0) -> ToolCall:
    return ToolCall(number, "forget_memory", {"ids": list(ids)})


async def lay_down(
    bot: Bot,
    *wordings: str,
    unused_days: int = RESTS,
    scope: ScopeKind = ScopeKind.PERSONAL,
    owner: str | None = None,
    private: bool = False,
    protected: bool = False,
    persona: str = "default",
) -> list[int]:
    """Store memories that have gone unused for so many days, before any actor has loaded them."""
    owner = owner or (ROOM if scope is ScopeKind.ROOM else JUNO)
    origin = Origin(DM if private else ROOM, "$before", private)
    then = START - timedelta(days=30)
    ids = []
    async with bot.store.transaction() as tables:
        for text in wordings:
            draft = Draft(scope, owner, persona, text, Source.TOOL, origin, then, protected=protected)
            ids.append((await tables.memories.insert(draft, then)).id)
        for number in range(1, unused_days + 1):
            await tables.memories.settle(Settlement(then, then.date() + timedelta(days=number), aged=tuple(ids)))
    return ids


async def of_room(bot: Bot, persona: str = "default") -> tuple[Memory, ...]:
    async with bot.store.transaction() as tables:
        return await tables.memories.of_list(ListKey(ScopeKind.ROOM, ROOM, persona))


async def asked(bot: Bot, *calls: ToolCall, said: str = "please do", **details: object) -> list[ToolResult]:
    """Let the model make these calls in one turn; return what they answered."""
    bot.model.tool_calls, bot.model.tool_results = list(calls), []
    await bot.say(said, **details)  # type: ignore[arg-type]
    bot.model.tool_calls = []
    return bot.model.tool_results


def lines(bot: Bot, room: str = ROOM) -> list[str]:
    """What the bot said on its own account."""
    return [str(content["body"]) for where, _, content in bot.matrix.sent if where == room and content["notice"]]


def failing(bot: Bot, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    """Let the embedder fail for texts with this word."""
    assert bot.embedder is not None
    works, works_for_a_query = bot.embedder.embed, bot.embedder.embed_query

    async def embed(wanted: Sequence[str]) -> object:
        if any(word in text for text in wanted):
            raise EmbeddingError("unreachable")
        return await works(wanted)

    async def embed_query(wanted: str) -> object:
        if word in wanted:
            raise EmbeddingError("unreachable")
        return await works_for_a_query(wanted)

    monkeypatch.setattr(bot.embedder, "embed", embed)
    monkeypatch.setattr(bot.embedder, "embed_query", embed_query)


# --- a full list ------------------------------------------------------------------------------------------------------


async def test_d9_d12_a_save_into_a_full_list_forgets_one_resting_memory_and_says_so(bot: Bot) -> None:
    bot.settings.rules = FULL
    first, *others = await lay_down(bot, "Plays the *lute*", "Has a canoe", "Owns a loom")
    [result] = await asked(bot, saves("Likes tea"), said="remember that I like tea")
    assert result == ToolResult(f"Saved as memory 4. Memory {first} was forgotten to make room for it.")
    assert [memory.id for memory in await bot.memories()] == [*others, 4]
    assert lines(bot) == [
        f"Saved as **#4**: Likes tea\n\nTo make room for it, **#{first}** was forgotten: Plays the \\*lute\\*"
    ]
    assert bot.matrix.bodies(ROOM) == ["answer", *lines(bot)]


async def test_d9_one_save_forgets_at_most_one_even_of_a_list_over_its_capacity(bot: Bot) -> None:
    bot.settings.rules = FULL
    await lay_down(bot, *(f"Owns boat number {number}" for number in range(6)))
    await asked(bot, saves("Likes tea"), saves("Likes coffee", number=1))
    assert [memory.id for memory in await bot.memories()] == [3, 4, 5, 6, 7, 8]


async def test_d9_d6_what_this_turns_search_brought_back_is_not_forgotten(bot: Bot) -> None:
    bot.settings.rules = FULL
    await lay_down(bot, "Has a cat named Mochi", "Owns a loom", "Goes canoeing")
    await bot.say("good morning")  # loads the list, which then gets its vectors
    await asked(bot, saves("Cat Mochi is grey"), said="remember that Mochi, my cat, is grey")
    assert texts(await bot.memories()) == ["Has a cat named Mochi", "Goes canoeing", "Cat Mochi is grey"]


async def test_d9_d11_only_unprotected_memories_of_this_very_list_are_forgotten(bot: Bot) -> None:
    bot.settings.rules = FULL
    await lay_down(bot, "Sails in Bergen", owner=BAU)
    await lay_down(bot, "Meets on Fridays", scope=ScopeKind.ROOM)
    await lay_down(bot, "Owns a lathe", persona="other")
    await lay_down(bot, "Is called Juno", scope=ScopeKind.GLOBAL, persona="")
    kept = await lay_down(bot, "Plays the lute", "Owns a loom", protected=True)
    [goes] = await lay_down(bot, "Goes canoeing")
    await asked(bot, saves("Likes tea"))
    assert goes not in [memory.id for memory in await bot.memories()]
    assert {*kept, 2 + 1, 4} < {memory.id for memory in await bot.memories()}
    assert texts(await bot.memories(BAU)) == ["Sails in Bergen"]
    assert texts(await of_room(bot)) == ["Meets on Fridays"]


async def test_d9_a_full_list_of_the_room_forgets_too_and_names_the_rooms_own_text(bot: Bot) -> None:
    bot.settings.rules = FULL
    bot.matrix.admins.add(JUNO)
    await lay_down(bot, "Meets on Fridays", "Plays chess", "Reads novels", scope=ScopeKind.ROOM)
    await asked(bot, saves("Cooks on Mondays", "room"))
    assert texts(await of_room(bot)) == ["Plays chess", "Reads novels", "Cooks on Mondays"]
    assert lines(bot) == [
        "Saved for the room as **#4**: Cooks on Mondays\n\nTo make room for it, **#1** was forgotten: Meets on Fridays"
    ]


async def test_d9_what_was_forgotten_is_not_sent_any_more_and_what_was_saved_is(bot: Bot) -> None:
    bot.settings.rules = FULL
    await lay_down(bot, "Plays the lute", "Has a canoe", "Owns a loom")
    await bot.say("good morning")  # loads the list
    await asked(bot, saves("Likes tea"))
    await bot.say("do I play the lute?")
    prompt = bot.model.prompts[-1]
    shown = "\n".join(
        block.text for block in [*prompt.system, *(b for message in prompt.messages[-1:] for b in message.blocks)]
    )
    assert "Likes tea" in shown
    assert "Plays the lute" not in shown


@pytest.mark.parametrize("notices", ["room", "off"])
async def test_d10_where_none_may_be_forgotten_the_asker_hears_so_from_the_bot(bot: Bot, notices: str) -> None:
    bot.settings.rules = MemorySettings(capacity_personal=3, notices=notices)  # type: ignore[arg-type]
    await lay_down(bot, "Plays the lute", "Has a canoe", "Owns a loom", unused_days=RESTS - 2)
    [result] = await asked(bot, saves("Likes tea"))
    told = bot.parts.speaker(ROOM)("list-full-personal", n=3, capacity=3)
    assert result == ToolResult(told, is_error=True)
    assert lines(bot) == [told]
    assert len(await bot.memories()) == 3


async def test_d10_a_refusal_goes_to_the_direct_room_where_notices_are_private(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(capacity_personal=3, notices="private")
    await lay_down(bot, "Plays the lute", "Has a canoe", "Owns a loom", unused_days=0)
    await asked(bot, saves("Likes tea"), saves("Likes milk", number=1))
    assert lines(bot) == []
    assert lines(bot, bot.matrix.direct[JUNO]) == [bot.parts.speaker(ROOM)("list-full-personal", n=3, capacity=3)]


async def test_d10_the_asker_hears_a_refusal_in_the_room_where_no_direct_room_can_be_had(bot: Bot) -> None:
    """It holds no memory's text, so that nothing keeps it from the room (D10: always told to the one who asked)."""
    bot.settings.rules = MemorySettings(capacity_personal=3, notices="private")
    bot.matrix.unreachable.add(JUNO)
    await lay_down(bot, "Plays the lute", "Has a canoe", "Owns a loom", unused_days=0)
    await asked(bot, saves("Likes tea"))
    assert lines(bot) == [bot.parts.speaker(ROOM)("list-full-personal", n=3, capacity=3)]


async def test_d13_a_full_list_refuses_while_decay_is_off(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(capacity_personal=3, decay_enabled=False)
    await lay_down(bot, "Plays the lute", "Has a canoe", "Owns a loom")
    await asked(bot, saves("Likes tea"))
    assert lines(bot) == [bot.parts.speaker(ROOM)("list-full-personal-decay-off", n=3, capacity=3)]
    assert len(await bot.memories()) == 3


@pytest.mark.parametrize("word", ["weather", "tea"])
async def test_d10_refused_where_this_turns_search_failed_or_the_new_text_cannot_be_embedded(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    bot.settings.rules = FULL
    await lay_down(bot, "Plays the lute", "Has a canoe", "Owns a loom")
    failing(bot, monkeypatch, word)
    await asked(bot, saves("Likes tea"), said="fine weather")
    assert lines(bot) == [bot.parts.speaker(ROOM)("list-full-personal-no-search", n=3, capacity=3)]
    assert len(await bot.memories()) == 3


async def test_d17_with_room_left_a_text_that_cannot_be_embedded_is_saved_all_the_same(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(bot, monkeypatch, "tea")
    await asked(bot, saves("Likes tea"))
    assert texts(await bot.memories()) == ["Likes tea"]


async def test_what_was_saved_is_searchable_from_the_next_message_on(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its vector is stored with it, so that it is embedded once."""
    await asked(bot, saves("Cat is named Mochi"))
    failing(bot, monkeypatch, "named Mochi")
    bot.next_day()
    await bot.say("how is Mochi the cat?")
    [memory] = await bot.memories()
    assert memory.last_matched_at == bot.clock.now()


@pytest.mark.parametrize("resting", [0, 20])
async def test_d9_fifty_saves_at_once_for_one_free_place_leave_exactly_the_capacity(bot: Bot, resting: int) -> None:
    """Without resting memories one is taken and 49 are refused; with 20 resting ones 21 are taken."""
    capacity = 30
    bot.settings.rules = MemorySettings(capacity_personal=capacity)
    await lay_down(bot, *(f"Owns loom number {number}" for number in range(resting)))
    await lay_down(bot, *(f"Owns boat number {number}" for number in range(capacity - 1 - resting)), unused_days=0)
    await bot.deliver(
        *(bot.message(f"!memories add Likes tea of sort {number}", thread_root=f"$t{number}") for number in range(50))
    )
    await bot.settle()
    after = await bot.memories()
    assert len(after) == capacity
    assert sum(memory.text.startswith("Likes tea") for memory in after) == 1 + resting
    assert sum(memory.text.startswith("Owns loom") for memory in after) == 0
    assert sum("Nothing was saved" in body for body in bot.matrix.bodies(ROOM)) == 49 - resting


@pytest.mark.parametrize("statement", ["insert", "put_vectors"])
async def test_d9_what_was_forgotten_is_back_when_the_save_fails(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    """Insert and forget are one transaction."""
    bot.settings.rules = FULL
    await lay_down(bot, "Plays the lute", "Has a canoe", "Owns a loom")
    await bot.say("good morning")  # loads the list, which then gets its vectors
    before = await bot.memories()

    async def fails(*_: object) -> None:
        raise StorageError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryRows, statement, fails)
        await bot.say("!memories add Likes tea")
    assert bot.matrix.bodies()[-1] == bot.parts.speaker(ROOM)("internal-error")
    assert await bot.memories() == before
    await bot.say("!memories add Likes tea")
    assert texts(await bot.memories()) == ["Has a canoe", "Owns a loom", "Likes tea"]


# --- where it is said -------------------------------------------------------------------------------------------------


async def test_d12_off_says_nothing(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(notices="off")
    await asked(bot, saves("Likes tea"))
    assert bot.matrix.bodies() == ["answer"]


async def test_d12_private_says_it_in_the_direct_room_alone(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(notices="private")
    await asked(bot, saves("Likes tea"))
    assert bot.matrix.bodies(ROOM) == ["answer"]
    assert lines(bot, bot.matrix.direct[JUNO]) == ["Saved as **#1**: Likes tea"]


async def test_d12_d8_text_the_room_may_not_see_is_named_by_id_there_and_told_to_its_owner(bot: Bot) -> None:
    bot.settings.rules = FULL
    await lay_down(bot, "Is looking for another job", "Has a canoe", "Owns a loom", private=True)
    await asked(bot, saves("Likes tea"))
    assert not any("job" in body for body in bot.matrix.bodies(ROOM))
    assert lines(bot)[0].endswith("To make room for it, **#1** was forgotten; what it said is not for this room.")
    [told] = lines(bot, bot.matrix.direct[JUNO])
    assert told.endswith("To make room for it, **#1** was forgotten: Is looking for another job")


@pytest.mark.parametrize("notices", ["room", "private", "off"])
async def test_d12_d8_the_same_for_a_command(bot: Bot, notices: str) -> None:
    bot.settings.rules = MemorySettings(capacity_personal=3, notices=notices)  # type: ignore[arg-type]
    await lay_down(bot, "Is looking for another job", "Has a canoe", "Owns a loom", private=True)
    await bot.say("!memories add Likes tea")
    hidden = "To make room for it, **#1** was forgotten; what it said is not for this room."
    [here] = bot.matrix.bodies(ROOM)
    assert here == (
        f"Saved as **#4**.\n\n{hidden}" if notices == "private" else f"Saved as **#4**: Likes tea\n\n{hidden}"
    )
    assert bot.matrix.bodies(bot.matrix.direct[JUNO]) == [
        "Saved as **#4**: Likes tea\n\nTo make room for it, **#1** was forgotten: Is looking for another job"
    ]


async def test_d12_d8_what_was_said_before_a_third_person_came_into_the_direct_room_is_not_told_there(bot: Bot) -> None:
    bot.settings.rules = FULL
    await lay_down(bot, "Is looking for another job", "Has a canoe", "Owns a loom", private=True)
    bot.matrix.joined[DM] |= {BAU}
    await asked(bot, saves("Likes tea"), room=DM, direct=True, alone=False)
    assert lines(bot, DM) == [
        "Saved as **#4**.\n\nTo make room for it, **#1** was forgotten; what it said is not for this room."
    ]
    assert "another job" in lines(bot, bot.matrix.direct[JUNO])[0]


async def test_d12_a_rooms_own_text_is_told_in_private_no_more_than_in_the_room(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(capacity_room=2, notices="private")
    bot.matrix.admins.add(JUNO)
    await lay_down(bot, "Meets on Fridays", "Plays chess", scope=ScopeKind.ROOM)
    await asked(bot, saves("Cooks on Mondays", "room"))
    assert lines(bot) == []
    assert lines(bot, bot.matrix.direct[JUNO]) == [
        "Saved for the room as **#3**: Cooks on Mondays\n\nTo make room for it, **#1** was forgotten: Meets on Fridays"
    ]


async def test_d12_who_cannot_be_reached_in_private_is_told_so(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(notices="private")
    bot.matrix.unreachable.add(JUNO)
    await asked(bot, saves("Likes tea"))
    answer, told = bot.matrix.bodies()
    assert (answer, told) == ("answer", bot.parts.speaker(ROOM)("private-unreachable"))
    assert texts(await bot.memories()) == ["Likes tea"]


async def test_d12_in_the_direct_room_everything_is_said_there(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(capacity_personal=3, notices="private")
    await lay_down(bot, "Is looking for another job", "Has a canoe", "Owns a loom", private=True)
    await asked(bot, saves("Likes tea"), **DIRECT)
    [told] = lines(bot, DM)
    assert "Likes tea" in told and "Is looking for another job" in told
    assert bot.matrix.direct == {}


async def test_d12_a_commands_own_answer_is_given_whatever_notices_say(bot: Bot) -> None:
    for number, (notices, told) in enumerate(
        [
            ("off", "Saved as **#1**: Has boat 0"),
            ("private", "Saved as **#2**."),
            ("room", "Saved as **#3**: Has boat 2"),
        ]
    ):
        bot.settings.rules = MemorySettings(notices=notices)  # type: ignore[arg-type]
        await bot.say(f"!memories add Has boat {number}")
        assert bot.matrix.bodies(ROOM)[-1] == told
    assert lines(bot, bot.matrix.direct[JUNO]) == ["Saved as **#2**: Has boat 1"]


async def test_d12_is_said_also_when_the_model_fails_after_its_tool_has_succeeded(bot: Bot) -> None:
    bot.model.answer = lambda prompt: ModelError("cut off")
    await asked(bot, saves("Likes tea"))
    assert lines(bot)[-1] == "Saved as **#1**: Likes tea"


# --- save_memory ------------------------------------------------------------------------------------------------------


async def test_p16_p3_the_cap_of_a_person_does_not_stop_an_explicit_save(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(max_per_user=1)
    await asked(bot, saves("Likes tea"), saves("Likes chess", number=1))
    await bot.say("!memories add Likes rowing")
    assert texts(await bot.memories()) == ["Likes tea", "Likes chess", "Likes rowing"]


async def test_p16_equal_text_is_a_match_makes_no_notice_and_needs_no_room(bot: Bot) -> None:
    bot.settings.rules = FULL
    await lay_down(bot, "Plays the lute", "Has a canoe", "Owns a loom")
    [result] = await asked(bot, saves("has  a CANOE!"), said="so be it")
    assert result == ToolResult("Already remembered as memory 2.")
    canoe = (await bot.memories())[1]
    assert (canoe.unused_days, canoe.last_matched_at, canoe.protected) == (0, bot.clock.now(), False)
    assert bot.matrix.bodies() == ["answer"]


async def test_p16_equal_text_of_another_visibility_is_another_memory(bot: Bot) -> None:
    await lay_down(bot, "Has a canoe", private=True)
    await asked(bot, saves("Has a canoe"))
    assert [memory.origin.private for memory in await bot.memories()] == [True, False]


async def test_p16_a_global_memory_is_on_the_list_too(bot: Bot) -> None:
    await lay_down(bot, "Has a canoe", scope=ScopeKind.GLOBAL, persona="")
    [result] = await asked(bot, saves("has a canoe"))
    assert result == ToolResult("Already remembered as memory 1.")


async def test_p16_the_rooms_list_takes_the_right_that_the_setting_names_for_tool_and_command_alike(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(room_power_level=50)
    bot.matrix.levels = {JUNO: 49, BAU: 50}
    [refused] = await asked(bot, saves("Meets on Fridays", "room"))
    await bot.say("!memories room add Meets on Mondays")
    assert refused == ToolResult(bot.parts.speaker(ROOM)("room-save-forbidden"), is_error=True)
    assert await of_room(bot) == ()
    await asked(bot, saves("Meets on Fridays", "room"), sender=BAU)
    await bot.say("!memories room add Meets on Mondays", sender=BAU)
    assert [(one.text, one.protected) for one in await of_room(bot)] == [
        ("Meets on Fridays", False),
        ("Meets on Mondays", True),
    ]
    assert await bot.memories(BAU) == ()


@pytest.mark.parametrize("privacy", [Privacy.NO_MEMORY, Privacy.SILENT])
async def test_p16_d8_nothing_is_saved_of_whoever_has_switched_memory_off(bot: Bot, privacy: Privacy) -> None:
    bot.matrix.admins.add(JUNO)
    async with bot.store.transaction() as tables:
        await tables.users.set_privacy(JUNO, privacy)
    if privacy is Privacy.NO_MEMORY:  # else there is no turn
        results = await asked(bot, saves("Likes tea"), saves("Juno likes tea", "room", 1))
        assert results == [ToolResult(bot.parts.speaker(ROOM)("save-not-open"), is_error=True)] * 2
    await bot.say("!memories add Likes tea")
    assert "`!privacy open`" in bot.matrix.bodies()[-1]
    assert await bot.memories() == () == await of_room(bot)


async def test_p16_d8_nothing_is_saved_of_who_is_blacklisted(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(blacklist=("@juno:*", "!room:*"))
    bot.matrix.admins |= {JUNO, BAU}
    await asked(bot, saves("Likes tea"))
    await asked(bot, saves("Meets on Fridays", "room"), sender=BAU)
    assert [result.is_error for result in bot.model.tool_results] == [True]
    assert await bot.memories() == () == await of_room(bot)


async def crash_before_the_answer(bot: Bot, *calls: ToolCall, said: str = "please do") -> None:
    """Let a turn make its calls, and crash before its answer is stored."""
    called = asyncio.Event()

    def answer(prompt: Prompt) -> str:
        called.set()
        return "never sent"

    bot.model.tool_calls, bot.model.answer = list(calls), answer
    bot.matrix.render = lambda answer: (_ for _ in ()).throw(asyncio.CancelledError())  # type: ignore[method-assign]
    await bot.deliver(bot.message(said))
    await asyncio.wait_for(called.wait(), 10)
    await bot.crash()
    del bot.matrix.render  # type: ignore[method-assign]
    bot.model.answer = lambda prompt: "answer"
    await bot.start()


async def resumed(bot: Bot, *calls: ToolCall) -> list[ToolResult]:
    bot.model.tool_calls, bot.model.tool_results = list(calls), []
    await bot.intake.resume()
    await bot.settle()
    return bot.model.tool_results


async def test_d9_p16_a_resumed_turn_forgets_nothing_twice_and_says_the_same(bot: Bot) -> None:
    bot.settings.rules = FULL
    await lay_down(bot, "Plays the lute", "Has a canoe", "Owns a loom")
    await crash_before_the_answer(bot, saves("Likes tea"))
    before = await bot.memories()
    [result] = await resumed(bot, saves("Likes green tea"))
    assert result.text == "Saved as memory 4. Memory 1 was forgotten to make room for it."
    assert await bot.memories() == before
    assert lines(bot) == ["Saved as **#4**: Likes tea\n\nTo make room for it, **#1** was forgotten: Plays the lute"]


async def test_p16_a_call_carried_out_before_a_crash_stands_whatever_tool_is_called_then(bot: Bot) -> None:
    [old] = await lay_down(bot, "Has a canoe", unused_days=0)
    await crash_before_the_answer(bot, saves("Likes tea"), forgets(old, number=1))
    assert texts(await bot.memories()) == ["Likes tea"]
    results = await resumed(bot, forgets(2), saves("Likes coffee", number=1))
    assert [result.text for result in results] == ["Saved as memory 2.", f"Forgotten: {old}."]
    assert texts(await bot.memories()) == ["Likes tea"]


# --- forget_memory ----------------------------------------------------------------------------------------------------


async def test_forget_that_deletes_own_memories_of_this_prompt_says_so_and_can_be_undone(bot: Bot) -> None:
    await lay_down(bot, "Has a canoe", "Owns a loom", "Plays the lute", unused_days=0)
    [result] = await asked(bot, forgets(1, 3), said="forget the canoe and the lute")
    assert result == ToolResult("Forgotten: 1, 3.")
    assert texts(await bot.memories()) == ["Owns a loom"]
    assert lines(bot) == [bot.parts.speaker(ROOM)("memories-forgotten-undo", ids="#1, #3")]
    await bot.say("!memories undo")
    assert texts(await bot.memories()) == ["Has a canoe", "Owns a loom", "Plays the lute"]


async def test_forget_that_reaches_a_recalled_memory_and_no_resting_one(bot: Bot) -> None:
    mochi, loom = await lay_down(bot, "Has a cat named Mochi", "Owns a loom")
    await bot.say("good morning")  # loads the list, which then gets its vectors
    results = await asked(bot, forgets(loom), forgets(mochi, number=1), said="forget my cat Mochi")
    assert [result.is_error for result in results] == [True, False]
    assert texts(await bot.memories()) == ["Owns a loom"]


@pytest.mark.parametrize("other", ["@bau:hs", "the room"])
async def test_forget_that_with_anybody_elses_id_has_no_effect_at_all(bot: Bot, other: str) -> None:
    [mine] = await lay_down(bot, "Has a canoe", unused_days=0)
    scope = ScopeKind.ROOM if other == "the room" else ScopeKind.PERSONAL
    [theirs] = await lay_down(bot, "Sails", unused_days=0, scope=scope, owner=ROOM if scope is ScopeKind.ROOM else BAU)
    await bot.say("hello", sender=BAU)
    [result] = await asked(bot, forgets(mine, theirs))
    assert result.is_error
    assert texts(await bot.memories()) == ["Has a canoe"]
    assert texts([*await bot.memories(BAU), *await of_room(bot)]) == ["Sails"]
    assert lines(bot) == []


async def test_forget_that_is_carried_out_once_also_after_a_crash(bot: Bot) -> None:
    [canoe] = await lay_down(bot, "Has a canoe", unused_days=0)
    await crash_before_the_answer(bot, forgets(canoe))
    assert await bot.memories() == ()
    [result] = await resumed(bot, forgets(canoe))  # which is in no prompt any more
    assert result == ToolResult(f"Forgotten: {canoe}.")
    assert lines(bot) == [bot.parts.speaker(ROOM)("memories-forgotten-undo", ids=f"#{canoe}")]


async def test_forget_that_of_what_was_deleted_meanwhile_is_an_error(bot: Bot) -> None:
    [canoe] = await lay_down(bot, "Has a canoe", unused_days=0)
    bot.model.gates["forget"] = asyncio.Event()
    bot.model.tool_calls = [forgets(canoe)]
    await bot.deliver(bot.message("forget the canoe"))
    await until(lambda: bot.model.replying == {"forget"})
    await bot.deliver(bot.message(f"!memories del {canoe}", thread_root="$other"))

    async def gone() -> bool:
        return await bot.memories() == ()

    await until(gone)
    bot.model.gates["forget"].set()
    await bot.settle()
    assert bot.model.tool_results == [ToolResult(f"Gone already: {canoe}.", is_error=True)]


# --- `!memories add` --------------------------------------------------------------------------------------------------


async def test_d11_what_a_person_adds_is_protected_and_says_where_it_came_from(bot: Bot) -> None:
    event = await bot.say("!memories add  Likes\n tea ", **DIRECT)
    [memory] = await bot.memories()
    assert (memory.text, memory.source, memory.protected) == ("Likes tea", Source.COMMAND, True)
    assert memory.origin == Origin(DM, event.event_id, private=True)
    assert (memory.unused_days, memory.counted_on, memory.persona) == (0, bot.clock.today(), "default")
    assert bot.matrix.bodies(DM) == ["Saved as **#1**: Likes tea"]


async def test_d11_d3_adding_what_is_there_protects_it_and_counts_as_a_match(bot: Bot) -> None:
    await bot.say("good morning")
    await asked(bot, saves("Likes tea"))
    bot.next_day()
    await bot.say("!memories add likes TEA.")
    [memory] = await bot.memories()
    assert (memory.text, memory.source, memory.protected) == ("Likes tea", Source.TOOL, True)
    assert memory.last_matched_at == bot.clock.now()
    told = "That is remembered already, as **#1**. From now on I never drop it by myself."
    assert bot.matrix.bodies()[-1] == told
    await bot.say("!memories add likes tea")
    assert bot.matrix.bodies()[-1] == "That is remembered already, as **#1**."


async def test_p18_text_that_cannot_be_saved_is_refused_with_the_reason(bot: Bot) -> None:
    for wording in ("x" * 501, "\u3164"):
        await bot.say(f"!memories add {wording}")
    assert bot.matrix.bodies() == [
        bot.parts.speaker(ROOM)("text-too-long", length=501, limit=500),
        bot.parts.speaker(ROOM)("text-blank"),
    ]
    await bot.say("!memories add")
    assert "`!memories add TEXT`" in bot.matrix.bodies()[-1]
    assert await bot.memories() == ()


async def test_d9_adding_into_a_full_list_forgets_and_a_failing_embedder_refuses_d10(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot.settings.rules = FULL
    await lay_down(bot, "Plays the lute", "Has a canoe", "Owns a loom")
    await bot.say("!memories add Likes tea")
    assert texts(await bot.memories()) == ["Has a canoe", "Owns a loom", "Likes tea"]
    assert bot.matrix.bodies()[-1].endswith("To make room for it, **#1** was forgotten: Plays the lute")
    failing(bot, monkeypatch, "coffee")
    await bot.say("!memories add Likes coffee")
    assert bot.matrix.bodies()[-1] == bot.parts.speaker(ROOM)("list-full-personal-no-search", n=3, capacity=3)
    assert texts(await bot.memories()) == ["Has a canoe", "Owns a loom", "Likes tea"]
