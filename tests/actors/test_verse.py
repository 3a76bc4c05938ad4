"""`!verse`: one turn in character, and scenes that go on from message to message."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from davenport.day import DayTurn, Keeping
from memory.events import Incoming, JournalEntry, SyncBatch
from memory.kinds import INSTRUCTIONS
from memory.media import MediaKind
from memory.settings import KindSettings
from memory.types import LoreEntry, Persona, TurnKind
from tests.actors.conftest import BAU, JUNO, ROOM, Bot, until
from tests.actors.owned import given, last_prompt
from tests.actors.touched import touched
from texts.catalogue import Speaker

OTHER, DIRECT, THREAD = "!other:hs", "!direct-juno:hs", "$thread"
IN_CHARACTER = INSTRUCTIONS[TurnKind.VERSE].splitlines()[0]
QUARTER = timedelta(minutes=15)
say = Speaker("en")


@pytest.fixture
async def stage(bot: Bot) -> Bot:
    """A bot in whose rooms scenes are switched on."""
    bot.settings.of_kinds = KindSettings(verse_enabled=True)
    return bot


async def overheard(bot: Bot, text: str, sender: str = JUNO, room: str = ROOM, **details: object) -> Incoming:
    """Say something that does not address the bot."""
    return await bot.say(text, sender, room, **{"addressed": False} | details)


async def entry_of(bot: Bot, event: Incoming) -> JournalEntry:
    async with bot.store.transaction() as tables:
        found = await tables.journal.get(event.event_id)
    assert found is not None
    return found


async def kind_of(bot: Bot, event: Incoming) -> TurnKind | None:
    """The kind of turn that an event became; None: it was not answered by the model."""
    return (await entry_of(bot, event)).turn


async def scenes(bot: Bot) -> list[tuple[object, ...]]:
    async with bot.store.transaction() as tables:
        return await tables.scenes._sql.rows("SELECT room_id, thread_root, user_id FROM scenes")  # type: ignore[attr-defined, no-any-return]


def told(bot: Bot, room: str = ROOM) -> str:
    return bot.matrix.bodies(room)[-1]


# --- one turn -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["!verse hello", "!verse on", "!verse off", "!verse"])
async def test_scenes_are_off_unless_switched_on_and_say_so(bot: Bot, text: str) -> None:
    await bot.say(text)
    assert bot.matrix.bodies() == [say("verse-off")]
    assert bot.model.prompts == []
    assert await scenes(bot) == []


async def test_verse_is_one_turn_as_the_persona_with_the_lorebook_entries_whose_keys_are_heard(stage: Bot) -> None:
    lore = (LoreEntry("The tower fell last winter.", ("tower",)), LoreEntry("Elves sing.", ("elves",)))
    stage.settings.named = {"default": Persona(prompt="You are Mira, a smuggler.", lorebook=lore)}
    event = await overheard(stage, "!verse I look up at the tower")
    assert await kind_of(stage, event) is TurnKind.VERSE
    prompt = last_prompt(stage)
    assert IN_CHARACTER in prompt and "You are Mira" in prompt and "The tower fell" in prompt
    assert "Elves" not in prompt
    assert ">I look up at the tower</message>" in prompt
    after = await stage.say("hello")
    assert await kind_of(stage, after) is TurnKind.ASK
    assert IN_CHARACTER not in last_prompt(stage)


async def test_d14_the_start_of_the_prompt_is_that_of_other_turns(stage: Bot) -> None:
    await given(stage)
    await stage.say("hello")
    await stage.say("!verse hello")
    assert stage.model.prompts[0].system == stage.model.prompts[1].system


@pytest.mark.parametrize("text", ["!verse On the deck, I wait.", "!verse off we go", "!verse on on"])
async def test_a_text_that_begins_with_on_or_off_is_a_turn(stage: Bot, text: str) -> None:
    event = await overheard(stage, text)
    assert (await entry_of(stage, event)).said == text.removeprefix("!verse ")
    assert await scenes(stage) == []


async def test_verse_and_ask_touch_the_same_tables_and_a_scene_one_more_p1_d2(stage: Bot) -> None:
    stage.learns({"chess": "Likes chess", "tea": "Likes tea", "jazz": "Likes jazz"})
    mochi = await given(stage)
    await stage.say("hello")
    folder = stage.folder
    stage.next_day()
    asked = await touched(folder, lambda: stage.say("!ask chess and my cat Mochi"))
    stage.next_day()
    played = await touched(folder, lambda: stage.say("!verse tea and my cat Mochi"))
    assert asked == played == {"journal", "outbox", "sync_state", "usage", "memories", "memory_candidates", "mentions"}
    begun = await touched(folder, lambda: stage.say("!verse on"))
    assert begun == {"journal", "outbox", "sync_state", "scenes", "effects"}
    stage.next_day()
    await stage.say("!verse on")
    stage.clock.set(stage.clock.now() + timedelta(minutes=1))
    event = stage.message("jazz and my cat Mochi", addressed=False)
    assert await touched(folder, lambda: _delivered(stage, event)) == {*asked, "scenes"}
    recall = (await entry_of(stage, event)).recall
    assert recall is not None and [match.memory_id for match in recall.matches] == [mochi.id]
    stage.clock.set(stage.clock.now() + timedelta(minutes=1))
    assert await touched(folder, lambda: stage.say("!verse off")) == {*begun}
    assert await touched(folder, lambda: stage.say("!verse")) == {"journal", "outbox", "sync_state"}


async def _delivered(bot: Bot, event: Incoming) -> None:
    await bot.deliver(event)
    await bot.settle()


# --- a scene ------------------------------------------------------------------------------------------------------


async def test_in_a_scene_what_its_person_says_in_that_room_is_for_the_bot_without_a_mention(stage: Bot) -> None:
    await overheard(stage, "!verse on")
    assert told(stage) == say("verse-on", n=15)
    mine = await overheard(stage, "I draw my sword")
    theirs = await overheard(stage, "nice weather", BAU)
    elsewhere = await overheard(stage, "hello all", room=OTHER)
    assert await kind_of(stage, mine) is TurnKind.VERSE
    assert (await entry_of(stage, mine)).incoming.scene
    for event in (theirs, elsewhere):
        assert await kind_of(stage, event) is None
        assert (await entry_of(stage, event)).incoming.body == ""
    asked = await stage.say("bot, what is the time?", BAU)
    assert await kind_of(stage, asked) is TurnKind.ASK


async def test_in_a_direct_room_the_confirmation_is_shorter_and_everything_is_in_the_scene(stage: Bot) -> None:
    details = {"direct": True, "alone": True, "addressed": False}
    await stage.say("!verse on", room=DIRECT, **details)
    assert told(stage, DIRECT) == say("verse-on-direct", n=15)
    event = await stage.say("I draw my sword", room=DIRECT, **details, reply_to="$earlier", for_others=True)
    assert await kind_of(stage, event) is TurnKind.VERSE


async def test_a_thread_and_the_main_timeline_are_scenes_apart(stage: Bot) -> None:
    await overheard(stage, "!verse on", thread_root=THREAD)
    within = await overheard(stage, "I draw my sword", thread_root=THREAD)
    outside = await overheard(stage, "lunch?")
    another = await overheard(stage, "I wait", thread_root="$another")
    assert await kind_of(stage, within) is TurnKind.VERSE
    assert await kind_of(stage, outside) is None
    assert await kind_of(stage, another) is None
    await overheard(stage, "!verse off")
    assert told(stage) == say("verse-none")
    assert await kind_of(stage, await overheard(stage, "I wait", thread_root=THREAD)) is TurnKind.VERSE
    await overheard(stage, "!verse off", thread_root=THREAD)
    assert await kind_of(stage, await overheard(stage, "I wait", thread_root=THREAD)) is None


@pytest.mark.parametrize(("after", "inside"), [(QUARTER, True), (QUARTER + timedelta(microseconds=1), False)])
async def test_exactly_fifteen_minutes_are_still_in_the_scene(stage: Bot, after: timedelta, inside: bool) -> None:
    await overheard(stage, "!verse on")
    stage.clock.set(stage.clock.now() + after)
    event = await overheard(stage, "I draw my sword")
    assert await kind_of(stage, event) is (TurnKind.VERSE if inside else None)


async def test_every_message_of_the_scene_lets_it_go_on_and_nobody_elses_does(stage: Bot) -> None:
    await overheard(stage, "!verse on")
    for _ in range(3):
        stage.clock.set(stage.clock.now() + timedelta(minutes=10))
        assert await kind_of(stage, await overheard(stage, "I walk on")) is TurnKind.VERSE
    stage.clock.set(stage.clock.now() + timedelta(minutes=10))
    await overheard(stage, "!verse and on")  # a single turn in the scene is one of its messages
    stage.clock.set(stage.clock.now() + timedelta(minutes=10))
    assert await kind_of(stage, await overheard(stage, "I walk on")) is TurnKind.VERSE
    stage.clock.set(stage.clock.now() + timedelta(minutes=10))
    await stage.say("hello", BAU)
    await stage.say("!memories")
    stage.clock.set(stage.clock.now() + timedelta(minutes=6))
    assert await kind_of(stage, await overheard(stage, "I walk on")) is None
    assert await scenes(stage) == []


async def test_a_single_turn_begins_no_scene(stage: Bot) -> None:
    await overheard(stage, "!verse I draw my sword")
    assert await scenes(stage) == []
    assert await kind_of(stage, await overheard(stage, "I wait")) is None


async def test_verse_minutes_of_the_room_say_how_long(stage: Bot) -> None:
    stage.settings.of_kinds = KindSettings(verse_enabled=True, verse_minutes=1)
    await overheard(stage, "!verse on")
    assert told(stage) == say("verse-on", n=1)
    stage.clock.set(stage.clock.now() + timedelta(seconds=61))
    assert await kind_of(stage, await overheard(stage, "I wait")) is None


async def test_verse_alone_says_how_things_stand(stage: Bot) -> None:
    await overheard(stage, "!verse")
    assert told(stage) == say("verse-none")
    await overheard(stage, "!verse on")
    stage.clock.set(stage.clock.now() + timedelta(minutes=4, seconds=1))
    await overheard(stage, "!verse")
    assert told(stage) == say("verse-left", n=11)
    stage.clock.set(stage.clock.now() + QUARTER)
    await overheard(stage, "!verse")
    assert told(stage) == say("verse-none")
    await overheard(stage, "!verse off")
    assert told(stage) == say("verse-none")


async def test_verse_off_ends_it_for_whoever_says_so(stage: Bot) -> None:
    await overheard(stage, "!verse on")
    await overheard(stage, "!verse on", BAU)
    await overheard(stage, "!verse off")
    assert told(stage) == say("verse-ended")
    assert await kind_of(stage, await overheard(stage, "I wait")) is None
    assert await kind_of(stage, await overheard(stage, "I wait", BAU)) is TurnKind.VERSE


async def test_verse_off_holds_from_the_moment_it_comes_in_though_an_answer_keeps_it_waiting(stage: Bot) -> None:
    await overheard(stage, "!verse on")
    gate = stage.model.gates["sword"] = asyncio.Event()
    before = stage.message("I draw my sword", addressed=False)
    off = stage.message("!verse off", addressed=False)
    after = stage.message("lunch, anybody?", addressed=False)
    await stage.deliver(before)
    await stage.deliver(off, after)
    assert await scenes(stage) == []
    gate.set()
    await stage.settle()
    assert told(stage) == say("verse-ended")
    assert await kind_of(stage, before) is TurnKind.VERSE
    assert await kind_of(stage, after) is None
    assert (await entry_of(stage, after)).incoming.body == ""


async def test_verse_off_that_comes_in_again_does_not_end_a_later_scene(stage: Bot) -> None:
    await overheard(stage, "!verse on")
    off = await overheard(stage, "!verse off")
    async with stage.store.transaction() as tables:
        await tables.effects.drop(off.event_id)
    await overheard(stage, "!verse on")
    await stage.deliver(off)
    await stage.settle()
    assert await scenes(stage) == [(ROOM, "", JUNO)]


async def test_in_a_scene_ask_is_an_ordinary_question_and_a_mention_is_part_of_it(stage: Bot) -> None:
    await overheard(stage, "!verse on")
    asked = await overheard(stage, "!ask what time is it?")
    coded = await overheard(stage, "!code a clock")
    mentioned = await stage.say("what do you see?")
    assert await kind_of(stage, asked) is TurnKind.ASK
    assert await kind_of(stage, coded) is TurnKind.CODE
    assert await kind_of(stage, mentioned) is TurnKind.VERSE
    assert not (await entry_of(stage, asked)).incoming.scene


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ("!otherbot do that", {}),
        ("Bau, lunch?", {"for_others": True}),
        ("yes", {"reply_to": "$baus"}),
        ("", {"media": MediaKind.IMAGE}),
        (" \u200b ", {}),
    ],
)
async def test_what_is_for_others_or_holds_no_text_is_no_part_of_a_scene_and_is_not_stored(
    stage: Bot, text: str, details: dict[str, object]
) -> None:
    await overheard(stage, "!verse on")
    event = await overheard(stage, text, **details)
    assert await kind_of(stage, event) is None
    entry = await entry_of(stage, event)
    assert (entry.incoming.text, entry.incoming.scene) == ("", False)
    assert len(stage.matrix.sent) == 1


async def test_a_reply_to_a_word_of_the_bots_own_is_part_of_the_scene_without_a_mention(stage: Bot) -> None:
    await overheard(stage, "!verse on")
    await overheard(stage, "I draw my sword")
    said = stage.matrix.sent[-1][1]
    event = await overheard(stage, "I wait for your answer", reply_to=said)
    assert await kind_of(stage, event) is TurnKind.VERSE
    assert stage.matrix.sent[-1][2]["answers"] == event.event_id


async def test_a_message_that_came_before_the_bot_had_begun_the_scene_is_no_part_of_it(stage: Bot) -> None:
    on = stage.message("!verse on", addressed=False)
    meanwhile = stage.message("I draw my sword", addressed=False)
    await stage.deliver(on, meanwhile)
    await stage.settle()
    assert await kind_of(stage, meanwhile) is None
    assert (await entry_of(stage, meanwhile)).incoming.body == ""


@pytest.mark.parametrize(("addressed", "kind"), [(False, None), (True, TurnKind.VERSE)])
async def test_a_message_whose_key_came_late_is_for_the_bot_only_if_it_says_so(
    stage: Bot, addressed: bool, kind: TurnKind | None
) -> None:
    late = stage.message("I draw my sword", addressed=addressed)
    await overheard(stage, "!verse on")
    await stage.intake.take(SyncBatch("late", late=(late,)))
    await stage.settle()
    assert await kind_of(stage, late) is kind


async def test_a_message_with_a_persons_name_is_read_without_it(stage: Bot) -> None:
    stage.settings.named = {"default": Persona(answers_to=("Mira",))}
    await overheard(stage, "!verse on")
    event = await overheard(stage, "Mira, what do you see?")
    assert (await entry_of(stage, event)).said == "what do you see?"
    assert await kind_of(stage, event) is TurnKind.VERSE


async def test_the_messages_of_a_scene_count_as_verse_for_the_quota(stage: Bot) -> None:
    await overheard(stage, "!verse on")
    for _ in range(29):
        await overheard(stage, "I walk on")
    assert len(stage.model.prompts) == 29
    await overheard(stage, "I walk on")
    assert len(stage.model.prompts) == 29
    await overheard(stage, "!verse off")  # which is never refused for that
    assert told(stage) == say("verse-ended")


# --- how it ends otherwise, and what a crash leaves ------------------------------------------------------------------


async def test_a_restart_in_the_middle_of_a_scene_goes_on_with_it(stage: Bot) -> None:
    await overheard(stage, "!verse on")
    await overheard(stage, "I draw my sword")
    await stage.restart()
    assert await kind_of(stage, await overheard(stage, "I wait")) is TurnKind.VERSE
    assert "I draw my sword" in last_prompt(stage)
    stage.clock.set(stage.clock.now() + QUARTER * 2)
    await stage.restart()
    assert await kind_of(stage, await overheard(stage, "I wait")) is None


async def test_a_message_of_a_scene_that_is_cut_off_by_a_crash_is_answered_in_character(stage: Bot) -> None:
    await overheard(stage, "!verse on")
    stage.model.gates["sword"] = asyncio.Event()
    event = stage.message("I draw my sword", addressed=False)
    await stage.deliver(event)
    await until(lambda: "sword" in stage.model.replying)
    await stage.crash()
    stage.model.gates.clear()
    stage.clock.set(stage.clock.now() + QUARTER * 2)
    await stage.start()
    await stage.deliver()
    await stage.intake.resume()
    await stage.settle()
    assert await kind_of(stage, event) is TurnKind.VERSE
    assert IN_CHARACTER in last_prompt(stage)


@pytest.mark.parametrize(("command", "answer"), [("!verse on", "verse-on"), ("!verse off", "verse-ended")])
async def test_a_command_carried_out_again_after_a_crash_does_it_once_and_answers_the_same(
    stage: Bot, command: str, answer: str
) -> None:
    await overheard(stage, "!verse on")
    stage.clock.set(stage.clock.now() + timedelta(minutes=10))
    render = stage.matrix.render
    stage.matrix.render = lambda answer: (_ for _ in ()).throw(asyncio.CancelledError())  # type: ignore[method-assign]
    await stage.deliver(stage.message(command, addressed=False))
    await stage.settle()
    before = await _until(stage)
    stage.matrix.render = render  # type: ignore[method-assign]
    stage.clock.set(stage.clock.now() + timedelta(minutes=3))
    await stage.restart()
    await stage.settle()
    assert told(stage) == say(answer, n=15)
    assert await _until(stage) == before


async def _until(bot: Bot) -> object:
    async with bot.store.transaction() as tables:
        return await tables.scenes.until(ROOM, None, JUNO)


async def test_a_scene_ends_where_scenes_are_switched_off_and_does_not_come_back(stage: Bot) -> None:
    await overheard(stage, "!verse on")
    stage.settings.of_kinds = KindSettings()
    event = await overheard(stage, "I wait")
    assert await kind_of(stage, event) is None
    assert (await entry_of(stage, event)).incoming.body == ""
    stage.settings.of_kinds = KindSettings(verse_enabled=True)
    assert await kind_of(stage, await overheard(stage, "I wait")) is None


@pytest.mark.parametrize("command", ["!privacy silent", "!forget"])
async def test_silence_and_forgetting_end_ones_scenes_everywhere_and_nobody_elses(stage: Bot, command: str) -> None:
    await overheard(stage, "!verse on")
    await overheard(stage, "!verse on", thread_root=THREAD)
    await overheard(stage, "!verse on", room=OTHER)
    await overheard(stage, "!verse on", BAU, OTHER)
    await stage.say(command)
    assert await scenes(stage) == [(OTHER, "", BAU)]


async def test_somebody_silent_begins_no_scene_and_what_they_say_is_in_none(stage: Bot) -> None:
    await stage.say("!privacy silent")
    await overheard(stage, "!verse on")
    assert told(stage) == say("verse-silent")
    assert await scenes(stage) == []
    async with stage.store.transaction() as tables:  # as if the level had been set between two transactions
        await tables.scenes.put(ROOM, None, JUNO, stage.clock.now() + QUARTER)
    event = await overheard(stage, "I draw my sword")
    assert (await entry_of(stage, event)).incoming.body == ""


async def test_the_turn_of_the_day_deletes_scenes_that_are_over(stage: Bot) -> None:
    await overheard(stage, "!verse on")
    stage.clock.set(stage.clock.now() + timedelta(minutes=14))
    await overheard(stage, "!verse on", BAU)
    turn = DayTurn(stage.store, stage.system, Keeping())
    stage.clock.set(stage.clock.now() + timedelta(minutes=2))
    await turn.day_turn(stage.clock.now())
    assert await scenes(stage) == [(ROOM, "", BAU)]


async def test_without_scenes_a_batch_is_not_looked_at_for_them(stage: Bot) -> None:
    """One row is asked for, none by key."""
    async with stage.store.transaction() as tables:
        batch = SyncBatch("x", (stage.message("hello"),))
        tables.scenes.until = None  # type: ignore[method-assign, assignment]
        marked = await stage.intake._scenes.mark(tables, batch, batch.events, frozenset())
    assert marked == batch.events


@pytest.mark.parametrize("relation", ["thread_root", "reply_to"])
async def test_a_relation_that_utf8_cannot_hold_stops_nobody_beside_a_scene(stage: Bot, relation: str) -> None:
    await overheard(stage, "!verse on")
    for sender in (JUNO, BAU):
        await stage.say("hello", sender, **{relation: "$\ud800"})
        assert told(stage) == "answer"
