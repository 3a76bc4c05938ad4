"""Cleanups on request (P14, P15): `!memories cleanup` for oneself, `!memories room cleanup` for a room's list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import SecretStr

from actors.actor import Address
from actors.cleanup_messages import CleanUp
from actors.messages import EffectKey, TakenBack
from llm.client import AnthropicModel
from llm.offline.brain import OfflineServer
from llm.settings import LlmSettings
from memory.cleanup import CleanupAnswer, CleanupGroup, Drop, Merge
from memory.errors import ActorFailed, ModelError, ModelKeyMissing, Refused, StorageError
from memory.events import IncomingKind
from memory.settings import MemorySettings
from memory.types import Conversation, ListKey, Memory, ScopeKind, Settlement, Source
from memory.visibility import View
from storage.memories import MemoryRows
from tests.actors.conftest import BAU, BOT, JUNO, ROOM, Bot, texts, until
from tests.actors.tidying import EVERYWHERE, HERE, PRIVATE, dropping, learned, merging, remember

CATS = ("Has a cat", "Owns a cat")
DM = {"room": "!dm:hs", "direct": True, "alone": True}


async def in_room(bot: Bot, persona: str = "default") -> tuple[Memory, ...]:
    async with bot.store.transaction() as tables:
        return await tables.memories.of_list(ListKey(ScopeKind.ROOM, ROOM, persona))


# --- what it does -------------------------------------------------------------------------------------------------


async def test_p14_it_drops_and_merges_and_says_what_it_did(bot: Bot) -> None:
    cat, other, tea, green = await remember(bot, *CATS, "Likes tea", "Likes green tea")
    bot.model.tidier = lambda group: CleanupAnswer(
        (Drop(other.id, cat.id),), (Merge((green.id, tea.id), "Likes *green* tea"),)
    )
    await bot.say("!memories cleanup")
    kept, made = await bot.memories()
    assert (kept, made.text, made.source) == (cat, "Likes *green* tea", Source.MERGE)
    assert bot.matrix.bodies() == [
        "I looked at 4 memories and tidied up:\n\n"
        f"- #{tea.id}, #{green.id} are now **#{made.id}**: Likes \\*green\\* tea\n"
        f"- #{other.id} is gone, since **#{cat.id}** says the same: Has a cat\n\n"
        "`!memories undo` puts it all back within 10 minutes."
    ]


async def test_p14_all_personas_and_visibilities_are_tidied_each_by_itself(bot: Bot) -> None:
    await remember(bot, *CATS)
    await remember(bot, *CATS, persona="pirate")
    await remember(bot, *CATS, origin=PRIVATE)
    await remember(bot, *CATS, scope_id=BAU)
    await remember(bot, *CATS, **HERE)
    await remember(bot, "Speaks Finnish", protected=True, **EVERYWHERE)
    bot.model.tidier = dropping("Owns a cat", "Has a cat")
    await bot.say("!memories cleanup")
    assert [len(group.memories) for group in bot.model.groups] == [2, 2, 2]
    assert texts(await bot.memories()) == ["Has a cat", "Has a cat", "Has a cat", "Speaks Finnish"]
    assert len(await bot.memories(BAU)) == len(await in_room(bot)) == 2


@pytest.mark.parametrize(("saved", "looked"), [((), "0 memories"), (("Has a cat",), "1 memory")])
async def test_p14_without_a_group_the_model_is_not_asked(bot: Bot, saved: tuple[str, ...], looked: str) -> None:
    await remember(bot, *saved)
    await bot.say("!memories cleanup")
    assert bot.model.groups == []
    assert bot.matrix.bodies() == [f"I looked at {looked} and found nothing to tidy."]


async def test_p14_nothing_to_change_is_said(bot: Bot) -> None:
    await remember(bot, *CATS)
    await bot.say("!memories cleanup")
    assert bot.matrix.bodies() == ["I looked at 2 memories and found nothing to tidy."]
    assert len(await bot.memories()) == 2


async def test_p15_d11_protected_memories_are_shown_and_stay(bot: Bot) -> None:
    [mine] = await remember(bot, "Owns a cat", protected=True)
    await remember(bot, "Has a cat")
    bot.model.tidier = dropping("Has a cat", "Owns a cat")
    await bot.say("!memories cleanup")
    assert await bot.memories() == (mine,)


async def test_p3_it_works_at_the_cap(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(max_per_user=2)
    await remember(bot, *CATS)
    bot.model.tidier = dropping("Owns a cat", "Has a cat")
    await bot.say("!memories cleanup")
    assert len(await bot.memories()) == 1


async def test_p15_a_merged_memory_has_a_vector_of_its_own_and_the_old_ones_are_not_found(bot: Bot) -> None:
    await remember(bot, "Cat is named Mochi", "Mochi is a cat")
    await bot.say("hello")  # loads the list
    bot.model.tidier = merging("Cat Mochi plays the cello", "Cat is named Mochi", "Mochi is a cat")
    await bot.say("!memories cleanup")
    bot.clock.advance(timedelta(hours=1))
    await bot.say("who plays the cello?")
    [memory] = await bot.memories()
    assert memory.last_matched_at == bot.clock.now()
    assert f"[{memory.id}]" in str(bot.model.prompts[-1]) and "Mochi is a cat" not in str(bot.model.prompts[-1])


async def test_d8_a_merged_global_memory_is_on_every_loaded_list(bot: Bot) -> None:
    await remember(bot, "Speaks Finnish", "Knows Finnish", **EVERYWHERE)
    await bot.say("hello")
    bot.model.tidier = merging("Speaks Finnish well", "Speaks Finnish", "Knows Finnish")
    await bot.say("!memories cleanup")
    await bot.say("hello again")
    assert "Speaks Finnish well" in str(bot.model.prompts[-1])
    [memory] = await bot.memories()
    assert (memory.scope, memory.persona, memory.protected) == (ScopeKind.GLOBAL, "", False)


async def test_d8_in_a_group_room_private_memories_are_named_by_id_alone(bot: Bot) -> None:
    cat, other = await remember(bot, *CATS, origin=PRIVATE)
    one, two = await remember(bot, "Fears dogs", "Is afraid of dogs", origin=PRIVATE)
    bot.model.tidier = lambda group: CleanupAnswer((Drop(other.id, cat.id),), (Merge((one.id, two.id), "Fears dogs"),))
    await bot.say("!memories cleanup")
    [told] = bot.matrix.bodies()
    assert f"- #{other.id} is gone, since **#{cat.id}** says the same.\n" in told
    assert f"#{one.id}, #{two.id} are now **#{two.id + 1}**.\n" in told
    assert "cat" not in told and "dog" not in told


async def test_d8_in_private_the_owner_is_shown_their_text(bot: Bot) -> None:
    await remember(bot, *CATS, origin=PRIVATE)
    bot.model.tidier = dropping("Owns a cat", "Has a cat")
    await bot.say("!memories cleanup", **DM)  # type: ignore[arg-type]
    assert "Has a cat" in bot.matrix.bodies()[-1]


async def test_it_is_counted_and_its_log_holds_ids_alone(bot: Bot, caplog: pytest.LogCaptureFixture) -> None:
    counted: list[str] = []
    bot.parts.metrics.cleanup = counted.append  # type: ignore[method-assign, assignment]
    caplog.set_level("DEBUG")
    await bot.say("!memories cleanup")
    await remember(bot, *CATS)
    await bot.say("!memories cleanup")
    bot.model.tidier = lambda group: ModelError("down")
    await bot.say("!memories cleanup")
    bot.clock.advance(timedelta(hours=1))  # past the quota of the command
    bot.model.tidier = lambda group: CleanupAnswer(merges=(Merge((1,), "Has a cat"),))
    await bot.say("!memories cleanup")
    assert counted == ["nothing", "applied", "failed", "rejected"]
    assert "merge-of-one" in caplog.text
    assert "cat" not in caplog.text.casefold().replace("rejected", "")


# --- when it is refused or comes to nothing -----------------------------------------------------------------------


WRONG: dict[str, Callable[[tuple[int, ...]], CleanupAnswer]] = {
    "unknown id": lambda ids: CleanupAnswer((Drop(999, ids[0]),)),
    "used twice": lambda ids: CleanupAnswer((Drop(ids[1], ids[0]),), (Merge(ids[1:3], "Cats"),)),
    "merge of one": lambda ids: CleanupAnswer(merges=(Merge(ids[:1], "Cats"),)),
    "no survivor": lambda ids: CleanupAnswer((Drop(ids[0], 999),)),
    "survivor goes": lambda ids: CleanupAnswer((Drop(ids[0], ids[1]), Drop(ids[1], ids[2]))),
    "two groups": lambda ids: CleanupAnswer(merges=(Merge((ids[0], ids[0] + 4), "Cats"),)),
    "blank": lambda ids: CleanupAnswer(merges=(Merge(ids[:2], " \n\u200b"),)),
    "overlong": lambda ids: CleanupAnswer(merges=(Merge(ids[:2], "x" * 501),)),
    "protected": lambda ids: CleanupAnswer((Drop(ids[3], ids[0]),)),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
async def test_p15_a_wrong_answer_for_one_group_changes_nothing_at_all(
    bot: Bot, wrong: Callable[[tuple[int, ...]], CleanupAnswer]
) -> None:
    await remember(bot, "Has a cat", "Owns a cat", "Keeps a cat")
    await remember(bot, "Is fond of cats", protected=True)
    await remember(bot, *CATS, origin=PRIVATE)
    before = await bot.memories()

    def answer(group: CleanupGroup) -> CleanupAnswer:
        ids = tuple(memory.id for memory in group.memories)
        return wrong(ids) if len(ids) == 4 else CleanupAnswer((Drop(ids[1], ids[0]),))

    bot.model.tidier = answer
    await bot.say("!memories cleanup")
    assert await bot.memories() == before
    assert [body.split(":")[0] for body in bot.matrix.bodies()] == ["I changed nothing"]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ModelError("secret detail"), "The language model gave me no usable answer, so I changed nothing."),
        (ModelKeyMissing("none"), "no key for the language model"),
    ],
)
async def test_p15_a_model_that_fails_for_one_group_changes_nothing(bot: Bot, error: ModelError, told: str) -> None:
    await remember(bot, *CATS)
    await remember(bot, *CATS, origin=PRIVATE)
    bot.model.tidier = lambda group: error if len(bot.model.groups) == 2 else dropping(*CATS)(group)
    await bot.say("!memories cleanup")
    assert len(await bot.memories()) == 4
    assert told in bot.matrix.bodies()[-1] and "secret" not in bot.matrix.bodies()[-1]


async def begun(bot: Bot, command: str = "!memories cleanup") -> str:
    """Hold a cleanup back at the model, and return the id of the command that asked for it."""
    bot.model.cleanup_gate = asyncio.Event()
    event = bot.message(command)
    await bot.deliver(event)
    await until(lambda: bool(bot.model.groups))
    return event.event_id


async def ended(bot: Bot) -> None:
    assert bot.model.cleanup_gate is not None
    bot.model.cleanup_gate.set()
    await bot.settle()


@pytest.mark.parametrize("change", ["edit {0} Has a cat", "del {0}", "tag {0} pet", "global {0}", "clear"])
async def test_p15_p20_a_change_meanwhile_of_what_it_touches_changes_nothing_more(bot: Bot, change: str) -> None:
    ids = [memory.id for memory in await remember(bot, *CATS)]
    bot.model.tidier = dropping("Owns a cat", "Has a cat")
    await begun(bot)
    # From another room: in this one a person's commands wait for each other.
    await bot.deliver(bot.message(f"!memories {change.format(*ids)}", room="!other:hs"))
    await until(lambda: len(bot.matrix.sent) == 1)
    before = await bot.memories()
    await ended(bot)
    assert await bot.memories() == before
    assert bot.matrix.bodies(ROOM) == [
        "I changed nothing, since a memory was changed while I was tidying. Please try again."
    ]


async def test_p15_a_search_meanwhile_is_no_change(bot: Bot) -> None:
    await remember(bot, *CATS)
    await bot.say("hello")  # loads and embeds them
    bot.model.tidier = merging("Has one cat", *CATS)
    await begun(bot)
    bot.clock.advance(timedelta(hours=1))
    await bot.deliver(bot.message("has a cat", room="!other:hs"))
    await until(lambda: len(bot.matrix.sent) == 2)
    await ended(bot)
    [memory] = await bot.memories()
    assert memory.last_matched_at == bot.clock.now()


async def test_p20_the_command_is_redacted_meanwhile_and_nothing_is_done(bot: Bot) -> None:
    await remember(bot, *CATS)
    bot.model.tidier = dropping("Owns a cat", "Has a cat")
    event_id = await begun(bot)
    redaction = replace(bot.message(""), kind=IncomingKind.REDACTION, target=event_id, addressed=False)
    await bot.deliver(redaction)
    await until(lambda: is_retracted(bot, event_id))
    await ended(bot)
    assert (len(await bot.memories()), bot.matrix.bodies()) == (2, [])


async def is_retracted(bot: Bot, event_id: str) -> bool:
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event_id)
    return entry is not None and not entry.incoming.body


async def test_a_second_request_while_one_runs_is_refused(bot: Bot) -> None:
    await remember(bot, *CATS)
    await begun(bot)
    await bot.deliver(bot.message("!memories cleanup", room="!other:hs"))
    await until(lambda: bool(bot.matrix.sent))
    assert "already" in bot.matrix.bodies("!other:hs")[0]
    await ended(bot)
    assert len(bot.model.groups) == 1


async def test_p13_a_periodic_one_that_is_due_while_this_runs_follows_it(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(promotion_threshold=1, cleanup_interval=1)
    bot.learns({"tea": "Likes tea"})
    await remember(bot, *CATS)
    await bot.say("hello")  # a command at which the actor loads has its place among the turns
    await begun(bot)
    await bot.deliver(bot.message("I like tea", room="!other:hs"))
    await until(lambda: count_is(bot, 3))
    assert len(bot.model.groups) == 1
    await ended(bot)
    assert [len(group.memories) for group in bot.model.groups] == [2, 3]


async def count_is(bot: Bot, count: int) -> bool:
    return len(await bot.memories()) == count


@pytest.mark.parametrize("how", ["blacklist", "privacy"])
async def test_p1_nothing_is_shown_to_the_model_where_learning_is_forbidden(bot: Bot, how: str) -> None:
    await remember(bot, *CATS)
    if how == "privacy":
        await bot.say("!privacy no-memory")
    else:
        bot.settings.rules = MemorySettings(blacklist=("@juno:*",))
    await bot.say("!memories cleanup")
    assert bot.model.groups == []
    assert "learning about you is switched off" in bot.matrix.bodies()[-1]


# --- rooms --------------------------------------------------------------------------------------------------------


async def test_p14_a_rooms_list_is_tidied_only_by_its_own_command_and_only_its_current_persona(bot: Bot) -> None:
    bot.matrix.admins.add(JUNO)
    await remember(bot, *CATS)
    await remember(bot, *CATS, **HERE)
    await remember(bot, *CATS, persona="pirate", **HERE)
    await remember(bot, *CATS, scope=ScopeKind.ROOM, scope_id="!other:hs")
    bot.model.tidier = dropping("Owns a cat", "Has a cat")
    await bot.say("!memories room cleanup")
    assert texts(await in_room(bot)) == ["Has a cat"]
    assert len(await in_room(bot, "pirate")) == len(await bot.memories()) == 2
    assert len(bot.model.groups) == 1
    assert "says the same: Has a cat" in bot.matrix.bodies()[-1] and "`!memories room undo`" in bot.matrix.bodies()[-1]


async def test_a_room_is_tidied_by_those_who_may_change_its_list(bot: Bot) -> None:
    await remember(bot, *CATS, **HERE)
    await bot.say("!memories room cleanup")
    assert bot.model.groups == []
    bot.settings.rules = MemorySettings(room_power_level=0)
    await bot.say("!memories room cleanup")
    assert len(bot.model.groups) == 1


async def test_a_room_that_is_blacklisted_is_not_tidied(bot: Bot) -> None:
    bot.matrix.admins.add(JUNO)
    await remember(bot, *CATS, **HERE)
    bot.settings.rules = MemorySettings(blacklist=(ROOM,))
    await bot.say("!memories room cleanup")
    assert bot.model.groups == []
    assert "excluded this room" in bot.matrix.bodies()[-1]


# --- once, whole or not at all ------------------------------------------------------------------------------------


def request(event_id: str) -> CleanUp:
    return CleanUp(View(Conversation(ROOM, False, JUNO), MemorySettings()), EffectKey(event_id))


async def test_the_same_event_tidies_once_and_gets_the_same_answer(bot: Bot) -> None:
    cat, _ = await remember(bot, *CATS)
    await remember(bot, "Likes tea", "Likes green tea")
    bot.model.tidier = lambda group: CleanupAnswer((Drop(2, 1),), (Merge((3, 4), "Likes green tea"),))
    asked = await bot.system.ask(Address("user", JUNO), request("$once"))
    first = await asked
    await remember(bot, *CATS)
    again = await (await bot.system.ask(Address("user", JUNO), request("$once")))
    assert again == first
    assert (first.looked_at, first.texts) == (4, {cat.id: "Has a cat", 5: "Likes green tea"})
    assert len(bot.model.groups) == 1


async def test_asked_again_for_the_same_event_while_it_runs_the_later_asker_is_told(bot: Bot) -> None:
    """As a room's actor does that came back after a failure."""
    await remember(bot, *CATS)
    bot.model.tidier = merging("Has one cat", *CATS)
    bot.model.cleanup_gate = asyncio.Event()
    first = await bot.system.ask(Address("user", JUNO), request("$twice"))
    second = await bot.system.ask(Address("user", JUNO), request("$twice"))
    await ended(bot)
    assert (await second).merges == (((1, 2), 3),)
    assert first.cancelled()
    assert len(bot.model.groups) == 1


async def test_a_room_actor_that_fails_meanwhile_answers_once(bot: Bot) -> None:
    await remember(bot, *CATS)
    bot.model.tidier = merging("Has one cat", *CATS)
    await begun(bot)
    with pytest.raises(ActorFailed):
        await bot.system.ask(Address("room", ROOM), object())  # type: ignore[arg-type]
    await ended(bot)
    assert texts(await bot.memories()) == ["Has one cat"]
    assert [body[:8] for body in bot.matrix.bodies()] == ["I looked"]


async def test_a_crash_before_it_is_carried_out_lets_the_command_do_it_once(bot: Bot) -> None:
    await remember(bot, *CATS)
    bot.model.tidier = merging("Has one cat", *CATS)
    await begun(bot)
    bot.model.cleanup_gate = None
    await bot.restart()
    await bot.settle()
    assert texts(await bot.memories()) == ["Has one cat"]
    assert len(bot.matrix.bodies()) == 1


async def test_a_failure_in_the_middle_of_it_leaves_nothing_behind_and_is_told(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await remember(bot, *CATS, "Likes tea", "Likes green tea")
    bot.model.tidier = lambda group: CleanupAnswer((Drop(2, 1),), (Merge((3, 4), "Likes green tea"),))

    async def fail(self: MemoryRows, merged: object) -> Memory:
        raise StorageError("disk full")

    monkeypatch.setattr(MemoryRows, "merge", fail)
    await bot.say("!memories cleanup")
    assert await bot.memories() == before
    assert bot.matrix.bodies() == ["Something went wrong on my side, and I could not do that. Please try again."]
    monkeypatch.undo()
    await bot.say("!memories cleanup")
    assert len(await bot.memories()) == 2


async def test_when_the_actor_goes_whoever_asked_is_told(bot: Bot) -> None:
    await remember(bot, *CATS)
    bot.model.cleanup_gate = asyncio.Event()
    running = await bot.system.ask(Address("user", JUNO), request("$gone"))
    with pytest.raises(ActorFailed):
        await bot.system.ask(Address("user", JUNO), object())  # type: ignore[arg-type]
    with pytest.raises(ActorFailed):
        await running


async def test_a_refusal_is_resolved_too(bot: Bot) -> None:
    await remember(bot, *CATS)
    bot.model.tidier = lambda group: ModelError("down")
    running = await bot.system.ask(Address("user", JUNO), request("$refused"))
    with pytest.raises(Refused, match="cleanup-failed"):
        await running


async def test_undo_puts_everything_back_as_it_was(bot: Bot) -> None:
    saved = [await learned(bot, "Has a cat", "$a", "$b"), *await remember(bot, "Owns a cat", "Likes tea")]
    bot.model.tidier = lambda group: CleanupAnswer((), (Merge((1, 2), "Has one cat"),))
    await bot.say("!memories cleanup")
    await bot.say("!memories undo")
    assert list(await bot.memories()) == saved
    async with bot.store.transaction() as tables:
        [kept] = await tables.undo.as_they_are([saved[0].id])
    assert kept.mentioned_by == ("$a", "$b")


async def test_undo_of_a_rooms_cleanup(bot: Bot) -> None:
    bot.matrix.admins.add(BAU)
    saved = await remember(bot, *CATS, **HERE)
    bot.model.tidier = dropping("Owns a cat", "Has a cat")
    await bot.say("!memories room cleanup", sender=BAU)
    assert len(await in_room(bot)) == 1
    await bot.say("!memories room undo", sender=BAU)
    assert await in_room(bot) == saved


# --- what was merged and is then taken back -----------------------------------------------------------------------


async def merged(bot: Bot) -> None:
    bot.model.tidier = merging("Has a cat named Mochi", "Has a cat", "Cat is named Mochi")
    await bot.say("!memories cleanup")
    assert "Has a cat named Mochi" in texts(await bot.memories())


async def taken_back(bot: Bot, *events: str) -> list[str]:
    for event_id in events:
        await bot.system.ask(Address("user", JUNO), TakenBack(event_id))
    return texts(await bot.memories())


async def test_p15_the_mentions_of_its_sources_are_the_merged_memorys(bot: Bot) -> None:
    await learned(bot, "Has a cat", "$a", "$b")
    await learned(bot, "Cat is named Mochi", "$b", "$c")
    await merged(bot)
    [memory] = await bot.memories()
    async with bot.store.transaction() as tables:
        [kept] = await tables.undo.as_they_are([memory.id])
    assert sorted(kept.mentioned_by) == ["$a", "$b", "$c"]


async def test_a_merged_memory_stays_while_each_part_is_still_said_somewhere(bot: Bot) -> None:
    await learned(bot, "Has a cat", "$a", "$b")
    await learned(bot, "Cat is named Mochi", "$b", "$c")
    await merged(bot)
    assert await taken_back(bot, "$b") == ["Has a cat named Mochi"]


@pytest.mark.parametrize(
    ("events", "left"), [(("$a", "$b"), "Cat is named Mochi"), (("$b", "$c"), "Has a cat"), (("$a", "$b", "$c"), "")]
)
async def test_a_merged_memory_is_taken_apart_when_what_taught_a_part_of_it_is_taken_back(
    bot: Bot, events: tuple[str, ...], left: str
) -> None:
    """The part goes, as it would have without the cleanup; what else was merged comes back by itself (DESIGN)."""
    await learned(bot, "Has a cat", "$a", "$b")
    await learned(bot, "Cat is named Mochi", "$b", "$c")
    await merged(bot)
    assert await taken_back(bot, *events) == [left] * bool(left)
    await bot.say("hello")
    assert left in str(bot.model.prompts[-1])
    assert "Has a cat named Mochi" not in str(bot.model.prompts[-1])


async def test_what_was_saved_on_request_comes_back_whatever_else_is_taken_back(bot: Bot) -> None:
    [saved] = await remember(bot, "Has a cat")
    await learned(bot, "Cat is named Mochi", "$b")
    await merged(bot)
    assert await taken_back(bot, "$said", "$b") == ["Has a cat"]
    assert await bot.memories() == (saved,)


async def test_parts_come_back_as_visible_and_with_the_counters_of_what_they_were_merged_into(bot: Bot) -> None:
    await learned(bot, "Has a cat", "$a")
    await learned(bot, "Cat is named Mochi", "$b")
    await merged(bot)
    await bot.say("!memories limit 3 here")
    await bot.say("!memories tag 3 cat")
    async with bot.store.transaction() as tables:
        await tables.memories.settle(Settlement(bot.clock.now(), bot.clock.today(), used=(3,)))
    await taken_back(bot, "$a")
    [left] = await bot.memories()
    assert (left.text, left.rooms, left.tags) == ("Cat is named Mochi", (ROOM,), ("cat",))
    assert left.last_matched_at == bot.clock.now()


async def test_parts_are_remembered_over_a_second_merge(bot: Bot) -> None:
    await learned(bot, "Has a cat", "$a")
    await learned(bot, "Cat is named Mochi", "$b")
    await learned(bot, "Mochi is white", "$c")
    await merged(bot)
    bot.model.tidier = merging("Has a white cat, Mochi", "Has a cat named Mochi", "Mochi is white")
    await bot.say("!memories cleanup")
    assert await taken_back(bot, "$b") == ["Has a cat", "Mochi is white"]


async def test_d11_what_a_person_has_reworded_stays_whatever_is_taken_back(bot: Bot) -> None:
    await learned(bot, "Has a cat", "$a")
    await learned(bot, "Cat is named Mochi", "$b")
    await merged(bot)
    await bot.say("!memories edit 3 My cat is Mochi")
    assert await taken_back(bot, "$a", "$b") == ["My cat is Mochi"]


async def test_over_the_offline_server_what_says_the_same_is_dropped(bot: Bot) -> None:
    async with OfflineServer() as server:
        model = AnthropicModel(LlmSettings(base_url=server.base_url, api_key=SecretStr("offline"), max_retries=0))
        bot.parts = replace(bot.parts, model=model)
        first, _, tea, _ = await remember(
            bot, "Cat is named Mochi", "has a cat called Mochi", "Likes tea", "likes tea."
        )
        await remember(bot, "Has two dogs", "Has three dogs", protected=True)
        await bot.say("!memories cleanup")
        await model.aclose()
    assert texts(await bot.memories()) == ["Cat is named Mochi", "Likes tea", "Has two dogs", "Has three dogs"]
    assert f"since **#{first.id}** says the same" in bot.matrix.bodies()[-1]
    assert f"since **#{tea.id}** says the same" in bot.matrix.bodies()[-1]


async def test_german_rooms_are_answered_in_german(bot: Bot) -> None:
    bot.settings.languages[ROOM] = "de"
    bot.matrix.joined[ROOM] |= {JUNO, BOT}
    await bot.say("!memories cleanup")
    assert bot.matrix.bodies() == ["Ich habe 0 Erinnerungen durchgesehen und nichts aufzuräumen gefunden."]
