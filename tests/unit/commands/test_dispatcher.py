from dataclasses import replace
from typing import cast

import pytest

from actors.actor import Address
from actors.messages import (
    ClearMemories,
    Deleted,
    DeleteMemories,
    Edited,
    EditMemory,
    EffectKey,
    ListMemories,
    MemoryListing,
    Request,
)
from commands.dispatcher import CommandDispatcher
from commands.ports import R
from commands.table import TABLE, Permission, Row, Table, lines
from memory.errors import Refused
from memory.events import Caller, Dispatcher, Recognised
from memory.settings import ContextSettings, MemorySettings
from memory.types import Conversation, Memory, Persona, TurnKind
from tests.unit.commands.test_texts import MOCHI, UNDO
from texts.catalogue import Speaker, languages

ANA = Caller("@ana:example.org", "$command", Conversation("!room:example.org", private=False, asker="@ana:example.org"))
USER_ACTOR = Address("user", "@ana:example.org")


class FixedSettings:
    def __init__(self, memory: MemorySettings, language: str = "en") -> None:
        self._memory = memory
        self._language = language

    def memory(self, room_id: str) -> MemorySettings:
        return self._memory

    def context(self, room_id: str) -> ContextSettings:
        return ContextSettings()

    def language(self, room_id: str) -> str:
        return self._language

    def welcome(self, room_id: str) -> bool:
        return True

    def persona(self, name: str) -> Persona:
        return Persona()


class UserActorOf:
    """Answers like the user actor of one user who has these memories."""

    def __init__(self, *memories: Memory) -> None:
        self.memories = {memory.id: memory for memory in memories}
        self.asked: list[tuple[Address, object]] = []

    async def ask(self, address: Address, request: Request[R]) -> R:
        self.asked.append((address, request))
        return cast("R", self._answer(request))

    def _answer(self, request: object) -> object:
        match request:
            case ListMemories():
                return MemoryListing(tuple(self.memories.values()), hidden=1)
            case DeleteMemories(ids):
                known = tuple(each for each in ids if each in self.memories)
                return Deleted(known, tuple(each for each in ids if each not in known))
            case EditMemory(memory_id, text):
                return Edited(memory_id, text)
            case ClearMemories():
                return len(self.memories)
        raise AssertionError(f"unexpected request {request}")


def dispatcher(
    actor: UserActorOf | None = None,
    *,
    prefix: str = "!",
    table: Table = TABLE,
    settings: MemorySettings = MemorySettings(),  # noqa: B008 - an immutable value
    language: str = "en",
) -> CommandDispatcher:
    return CommandDispatcher(actor or UserActorOf(MOCHI), FixedSettings(settings, language), prefix=prefix, table=table)


async def run(text: str, commands: CommandDispatcher) -> str:
    recognised = commands.recognise(text, meant=True)
    assert recognised is not None
    assert recognised.command is not None
    return (await commands.run(recognised.command, ANA)).markdown


async def refusal(text: str, commands: CommandDispatcher) -> str:
    with pytest.raises(Refused) as refused:
        await run(text, commands)
    return Speaker(prefix=commands.prefix).refusal(refused.value)


def test_it_is_the_dispatcher_that_the_room_actor_knows() -> None:
    port: Dispatcher = dispatcher()
    assert port.recognise("good morning") is None


def test_ask_is_a_turn() -> None:
    assert dispatcher().recognise("!ask how is Mochi?") == Recognised(
        turn=TurnKind.ASK, text="how is Mochi?", name="ask"
    )


async def test_an_unknown_word_is_another_bots_unless_the_message_is_meant_for_this_one() -> None:
    commands = dispatcher()
    assert commands.recognise("!weather Berlin") is None
    assert await refusal("!weather Berlin", commands) == "I have no command weather. `!help` lists them."
    assert commands.recognise("wow", meant=True) is None


async def test_d18_memories_lists_what_the_callers_actor_answers() -> None:
    actor = UserActorOf(MOCHI, replace(MOCHI, id=5, unused_days=8))
    said = await run("!memories", dispatcher(actor))
    assert "**#3** (active" in said
    assert "**#5** (resting" in said
    assert "1 more is private" in said
    assert actor.asked == [(USER_ACTOR, ListMemories(ANA.conversation))]


async def test_d13_with_decay_off_all_are_listed_as_active() -> None:
    actor = UserActorOf(replace(MOCHI, unused_days=8))
    assert "resting" not in await run("!memories", dispatcher(actor, settings=MemorySettings(decay_enabled=False)))


async def test_del_does_the_valid_ids_and_names_the_wrong_ones() -> None:
    actor = UserActorOf(MOCHI)
    said = await run("!memories del 3, #9 mochi", dispatcher(actor))
    assert said == f"Forgotten: #3.{UNDO} Not among your memories: #9, mochi."
    assert actor.asked == [(USER_ACTOR, DeleteMemories((3, 9), EffectKey("$command")))]


async def test_del_without_any_id_asks_nobody() -> None:
    actor = UserActorOf(MOCHI)
    said = await run("!memories del mochi", dispatcher(actor))
    assert said == "I have forgotten nothing. Not among your memories: mochi."
    assert actor.asked == []


async def test_edit_shows_the_new_wording() -> None:
    actor = UserActorOf(MOCHI)
    assert await run("!memories edit #3 Her *cat*", dispatcher(actor)) == "**#3** now reads: Her \\*cat\\*"
    assert actor.asked == [(USER_ACTOR, EditMemory(3, "Her *cat*", EffectKey("$command")))]


async def test_clear_says_how_many() -> None:
    actor = UserActorOf(MOCHI)
    assert (await run("!memories clear", dispatcher(actor))).startswith("Forgotten: 1 memory of you.")
    assert (await run("!memories clear", dispatcher(UserActorOf()))).startswith("You have no memories to delete.")
    assert actor.asked == [(USER_ACTOR, ClearMemories(EffectKey("$command")))]


@pytest.mark.parametrize(
    ("text", "usage"),
    [
        ("?memories del", "This is how to use it: `?memories del ID…`."),
        ("?memories edit 3", "This is how to use it: `?memories edit ID TEXT`."),
        ("?memories clear all", "This is how to use it: `?memories clear`."),
        ("?ask", "This is how to use it: `?ask TEXT`."),
        ("?memories forget", "I have no such form. `?help memories` lists those there are."),
        ("?memories room forget", "I have no such form. `?help memories room` lists those there are."),
        ("?memories limit 3", "This is how to use it: `?memories limit ID… here|off`."),
    ],
)
async def test_misuse_is_refused_with_the_usage(text: str, usage: str) -> None:
    actor = UserActorOf(MOCHI)
    assert await refusal(text, dispatcher(actor, prefix="?")) == usage
    assert actor.asked == []


async def test_help_is_a_line_for_each_command_the_caller_may_give_and_names_the_forms_below() -> None:
    said = await run("?help", dispatcher(prefix="?"))
    allowed = [row for row in TABLE if row.who.allows(ANA)]
    assert len(said.splitlines()) == len(allowed) < len(TABLE), "!config is for others"
    for line, row in zip(said.splitlines(), allowed, strict=True):
        assert line.startswith(f"- `{f'?{row.name} {row.arguments}'.rstrip()}` {Speaker()(row.help)}")
    assert "`undo`, `share`, `unshare`, `limit`" in said
    assert "see `?help memories`." in said


@pytest.mark.parametrize("topic", ["memories", "!memories", "MEMORIES", "memories weather"])
async def test_help_on_one_command_shows_it_and_the_forms_right_below(topic: str) -> None:
    said = await run(f"!help {topic}", dispatcher())
    assert said.splitlines()[0].startswith("- `!memories` ")
    memories = next(row for row in TABLE if row.name == "memories")
    assert len(said.splitlines()) == 1 + len(memories.below)
    assert "Also: `delete`" in said
    assert "see `!help memories room`." in said


@pytest.mark.parametrize(
    ("topic", "usages"),
    [
        ("memories del", ["!memories del ID…"]),
        ("memory delete 3", ["!memories del ID…"]),
        ("!Memories room add", ["!memories room add TEXT"]),
        ("config room", ["!config room [KEY [VALUE]]", "!config room reset KEY"]),
    ],
)
async def test_help_on_a_form_shows_that_form(topic: str, usages: list[str]) -> None:
    said = await run(f"!help {topic}", dispatcher())
    assert [line.split("`")[1] for line in said.splitlines()] == usages


async def test_every_row_of_the_table_is_found_by_help() -> None:
    for row in TABLE:
        for usage, form in lines(row, "!"):
            words = usage.removesuffix(form.arguments)
            assert (await run(f"!help {words}", dispatcher())).startswith(f"- `{usage}` {Speaker()(form.help)}")


async def test_help_on_what_is_no_command_is_refused() -> None:
    said = await refusal("!help <b>weather</b>", dispatcher())
    assert said == "I have no command \\<b\\>weather\\</b\\>. `!help` lists them."


async def test_who_may_comes_from_the_table_for_commands_and_subcommands() -> None:
    nobody = Permission("who-everyone", lambda caller: caller.user_id == "@owner:example.org")
    memories = next(row for row in TABLE if row.name == "memories")
    below = tuple(replace(row, who=nobody) if row.name == "clear" else row for row in memories.below)
    guarded: tuple[Row, ...] = (replace(memories, below=below),)
    actor = UserActorOf(MOCHI)
    commands = dispatcher(actor, table=guarded)
    assert await refusal("!memories clear", commands) == "Only everyone may do that."
    assert actor.asked == []
    assert "Mochi" in await run("!memories", commands)
    all_forbidden = dispatcher(actor, table=(replace(memories, who=nobody),))
    assert await refusal("!memories del 3", all_forbidden) == "Only everyone may do that."


async def test_only_what_recognise_gave_is_carried_out() -> None:
    with pytest.raises(TypeError, match="not a command"):
        await dispatcher().run("!memories clear", ANA)


@pytest.mark.parametrize("text", ["!memories", "!memories del 3 x", "!memories edit 3 y", "!memories clear", "!help"])
async def test_every_answer_is_in_the_language_of_the_room(text: str) -> None:
    said = {await run(text, dispatcher(UserActorOf(MOCHI), language=language)) for language in languages()}
    assert len(said) == len(languages())


async def test_names_of_commands_and_their_arguments_are_the_same_in_every_language() -> None:
    for row in TABLE:
        for usage, form in lines(row, "!"):
            said = await run(f"!help {usage.removesuffix(form.arguments)}", dispatcher(language="de"))
            assert said.startswith(f"- `{usage}` {Speaker('de')(form.help)}")


async def test_values_in_a_refusal_are_in_the_language_of_the_room_too() -> None:
    nobody = Permission("who-everyone", lambda caller: False)
    table = tuple(replace(row, who=nobody) for row in TABLE)
    with pytest.raises(Refused) as refused:
        await run("!memories", dispatcher(language="de", table=table))
    assert Speaker("de").refusal(refused.value) == "Das dürfen nur alle."
