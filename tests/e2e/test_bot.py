"""The whole bot over a real Synapse: what people see, and what the database then holds."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from davenport.homeserver import Homeserver
from memory.errors import BudgetSpent
from memory.model import Block, Prompt, PromptMessage, ToolCall, ToolResult
from tests.e2e.conftest import NewUser, People
from tests.e2e.people import texts
from tests.e2e.whole import echoing, learning, meet, settings_for, whole
from tests.fakes.model_server import ModelServer, call_tool, cut, extracted, fail, garbage, held, say
from texts.catalogue import Speaker

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio(loop_scope="session")]

GAMES = "which board game should we play tonight?"


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
async def test_worked_example_of_the_rules_with_two_people(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path, encrypted: bool
) -> None:
    """P7, P10, D1, D4, D5, D6: second mention promotes, seven unused chat days rest, a question brings it back."""
    bot_id, juno, bau = await new_user("bot"), await people("juno"), await people("bau")
    facts = learning({"Mochi": "Cat is named Mochi"})
    async with (
        ModelServer(replies=echoing, extractions=facts) as model,
        whole(settings_for(homeserver.url, bot_id, tmp_path / "bot", model)) as bot,
    ):
        room = await meet(juno, bau, bot=bot_id, encrypted=encrypted)
        answer = await bot.ask(juno, room, "my cat is named Mochi")
        assert answer.encrypted is encrypted
        assert answer.body == "You said: my cat is named Mochi"
        candidates, memories = await bot.facts(juno)
        assert [(c.text, c.mentions) for c in candidates] == [("Cat is named Mochi", 1)]
        assert memories == ()
        await bot.ask(juno, room, "Mochi is my cat, you know")
        candidates, memories = await bot.facts(juno)
        assert candidates == ()
        assert [(m.text, m.mentions, m.unused_days) for m in memories] == [("Cat is named Mochi", 2, 0)]
        for day in range(1, 7):
            bot.clock.set(bot.clock.now().replace(day=2 + day))
            await bot.ask(juno, room, GAMES)
            await bot.ask(bau, room, GAMES)
            assert (await bot.facts(juno))[1][0].unused_days == day
        bot.clock.set(bot.clock.now().replace(day=16))  # after a quiet week
        await bot.ask(juno, room, GAMES)
        assert (await bot.facts(juno))[1][0].unused_days == 7
        bot.clock.set(bot.clock.now().replace(day=17))
        await bot.ask(juno, room, "how's my cat Mochi doing?")
        request = model.reply_requests[-1].body
        assert "Mochi" not in "".join(block["text"] for block in request["system"])
        assert "recalled_memories" in "".join(block["text"] for block in request["messages"][-1]["content"])
        assert (await bot.facts(juno))[1][0].unused_days == 0
        await bot.ask(juno, room, GAMES)
        assert "Mochi" in "".join(block["text"] for block in model.reply_requests[-1].body["system"])
        assert (await bot.facts(bau)) == ((), ())


async def test_answers_in_direct_rooms_on_mention_and_on_ask_and_nowhere_else(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    async with (
        ModelServer(replies=echoing) as model,
        whole(settings_for(homeserver.url, bot_id, tmp_path / "bot", model, matrix={"command_prefix": "?"})) as bot,
    ):
        direct = await meet(juno, bot=bot_id, direct=True)
        assert (await bot.ask(juno, direct, "hello", mention=None)).body == "You said: hello"
        room = await meet(juno, bot=bot_id)
        await juno.say(room, "not for the bot")
        await juno.say(room, "!ask not its prefix")
        await juno.say(room, "a notice", mention=bot_id, msgtype="m.notice")
        assert (await bot.ask(juno, room, "?ask what now", mention=None)).body == "You said: what now"
        localpart = bot_id[1:].partition(":")[0]
        by_name = await juno.send(room, {"msgtype": "m.text", "body": f"{localpart}: by name"})
        assert (await juno.wait_for_answer(by_name)).body == "You said: by name"
        root = await bot.ask(juno, room, "start")
        threaded = await bot.ask(juno, room, "in a thread", thread=root.event_id)
        assert threaded.relates_to["rel_type"] == "m.thread"
        assert threaded.relates_to["event_id"] == root.event_id
        assert len(texts(juno, room, bot_id)) == 4
        assert (await bot.ask(juno, room, "?memories", mention=None)).content["msgtype"] == "m.notice"


async def test_a_burst_of_messages_is_answered_whole_and_in_order(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    folder = tmp_path / "bot"
    async with ModelServer(replies=echoing) as model:
        settings = settings_for(homeserver.url, bot_id, folder, model)
        async with whole(settings):
            room = await meet(juno, bot=bot_id)
        sent = []
        for number in range(500):
            for_bot = number % 25 == 0
            event = await juno.say(room, f"number {number}", mention=bot_id if for_bot else None)
            sent += [event] if for_bot else []
        async with whole(settings) as bot:
            for event in sent:
                await juno.wait_for_answer(event, seconds=60)
            async with bot.bot.parts.store.transaction() as tables:
                seqs = [(await tables.journal.get(event)).seq for event in sent]  # type: ignore[union-attr]
        assert seqs == sorted(seqs)
        assert texts(juno, room, bot_id) == [f"You said: number {number}" for number in range(0, 500, 25)]


async def test_model_faults_are_one_sentence_nothing_is_learned_and_a_server_that_keeps_failing_is_left_alone(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    stuck = asyncio.Event()
    faults = [fail(500), fail(401), cut("half an ans", 3), garbage(b"<html>"), held(say("late"), stuck)]
    llm = {"timeout_seconds": 1.0, "breaker_failures": len(faults), "breaker_seconds": 5.0}
    async with (
        ModelServer(replies=[*faults, say("well again")], extractions=[extracted(["x"])]) as model,
        whole(settings_for(homeserver.url, bot_id, tmp_path / "bot", model, llm=llm, limits={"enforce": False})) as bot,
    ):
        room = await meet(juno, bot=bot_id, direct=True)
        for _ in faults:
            answer = await bot.ask(juno, room, "my cat is named Mochi")
            assert "language model" in answer.body
            assert len(answer.body) < 150
        assert model.extraction_requests == []
        assert (await bot.ask(juno, room, "hello")).body == Speaker()("model-paused")
        assert len(model.requests) == len(faults)
        async with asyncio.timeout(30):
            while (answer := await bot.ask(juno, room, "hello")).body == Speaker()("model-paused"):
                pass
        assert answer.body == "well again"
        stuck.set()


async def test_the_model_client_itself_asks_for_the_budget_before_each_call(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    async with (
        ModelServer(replies=[say("one"), say("two")]) as model,
        whole(settings_for(homeserver.url, bot_id, tmp_path / "bot", model, llm={"daily_budget": 1})) as bot,
    ):
        room = await meet(juno, bot=bot_id, direct=True)
        assert (await bot.ask(juno, room, "hello")).body == "one"
        client = bot.bot.panel.model
        assert client is not None
        prompt = Prompt((), (PromptMessage("user", (Block("hello"),)),))
        with pytest.raises(BudgetSpent):
            await client.reply(prompt, (), no_tool)
        bot.clock.advance(timedelta(days=1))
        assert (await client.reply(prompt, (), no_tool)).text == "two"
        assert len(model.requests) == 2, "the pass of the first turn was not paid for either"


async def no_tool(call: ToolCall) -> ToolResult:
    raise AssertionError(f"no tool expected, got {call.name}")


async def test_an_extraction_that_is_not_the_schema_teaches_nothing_and_says_nothing(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    """P17: silent to the user, nothing written."""
    bot_id, juno = await new_user("bot"), await people("juno")
    async with (
        ModelServer(replies=echoing, extractions=[say("I learned a lot"), say('{"new_facts": 3}')]) as model,
        whole(settings_for(homeserver.url, bot_id, tmp_path / "bot", model)) as bot,
    ):
        room = await meet(juno, bot=bot_id, direct=True)
        for _ in range(2):
            assert (await bot.ask(juno, room, "my cat is named Mochi")).body.startswith("You said")
        assert len(model.extraction_requests) == 2
        assert await bot.facts(juno) == ((), ())


async def test_without_a_key_the_bot_starts_says_so_once_and_answers_with_one_sentence(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    settings = settings_for(homeserver.url, bot_id, tmp_path / "bot", None, llm={"provider": "anthropic"})
    async with whole(settings) as bot:
        room = await meet(juno, bot=bot_id, direct=True)
        answer = await bot.ask(juno, room, "hello")
        assert "no key" in answer.body
    assert sum(record.getMessage().startswith("no key for the language model") for record in caplog.records) == 1


async def test_long_answers_markdown_and_an_empty_and_a_huge_message(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    long = "\n\n".join(f"**Part {n}** " + "word " * 400 for n in range(15))
    async with (
        ModelServer(replies=[say("**bold** <script>x</script>"), say(long), say("read")]) as model,
        whole(settings_for(homeserver.url, bot_id, tmp_path / "bot", model)) as bot,
    ):
        room = await meet(juno, bot=bot_id, direct=True, encrypted=True)
        await juno.say(room, "   ")
        answer = await bot.ask(juno, room, "hi")
        assert answer.content["formatted_body"].startswith(
            "<p><strong>bold</strong>"
        ) or "<strong>bold</strong>" in str(answer.content["formatted_body"])
        assert "<script" not in answer.content["formatted_body"]
        await bot.ask(juno, room, "tell me everything")
        await juno.wait_for(lambda event: "Part 14" in event.body)
        assert (await bot.ask(juno, room, "x" * 40_000)).body == "read"
        assert len(texts(juno, room, bot_id)) >= 4


async def test_save_memory_and_the_commands_on_memories(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    replies = [call_tool("save_memory", {"text": "Likes *tea*"}), say("Saved.")]
    async with (
        ModelServer(replies=replies) as model,
        whole(settings_for(homeserver.url, bot_id, tmp_path / "bot", model)) as bot,
    ):
        room = await meet(juno, bot=bot_id, direct=True)
        assert (await bot.ask(juno, room, "remember that I like tea")).body == "Saved."
        listing = await bot.ask(juno, room, "!memories")
        assert "Likes *tea*" in listing.body
        assert "<em>tea" not in listing.content["formatted_body"]
        await bot.ask(juno, room, "!memories edit 1 Likes coffee")
        [memory] = (await bot.facts(juno))[1]
        assert (memory.text, memory.protected) == ("Likes coffee", True)
        await bot.ask(juno, room, "!memories del #1, 7")
        assert (await bot.facts(juno))[1] == ()
        assert "!memories" in (await bot.ask(juno, room, "!help")).body


async def test_a_redaction_takes_back_what_was_learned_and_a_restart_answers_nothing_twice(
    homeserver: Homeserver, new_user: NewUser, people: People, tmp_path: Path
) -> None:
    bot_id, juno = await new_user("bot"), await people("juno")
    facts = learning({"Mochi": "Cat is named Mochi"})
    async with ModelServer(replies=echoing, extractions=facts) as model:
        settings = settings_for(homeserver.url, bot_id, tmp_path / "bot", model)
        async with whole(settings) as bot:
            room = await meet(juno, bot=bot_id, encrypted=True)
            event = await juno.say(room, "my cat is named Mochi", mention=bot_id)
            await juno.wait_for_answer(event)
            assert await bot.bot.at_rest(20)
            assert len((await bot.facts(juno))[0]) == 1
        await juno.redact(room, event)
        async with whole(settings) as bot:
            assert (await bot.ask(juno, room, "hello")).body == "You said: hello"
            assert (await bot.facts(juno))[0] == ()
        assert len(texts(juno, room, bot_id)) == 2
