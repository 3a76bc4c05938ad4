"""The offline server through the real SDK: what it answers, and that it refuses what the API refuses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import anthropic
import httpx2
import pytest
from pydantic import SecretStr

from llm.client import AnthropicModel
from llm.extraction import output_format
from llm.offline.brain import OfflineServer
from llm.settings import LlmSettings
from llm.tools import FORGET_MEMORY, SAVE_MEMORY, forget_memory_arguments, save_memory_arguments
from memory.contents import choose
from memory.documents import Chunk
from memory.drawing import alt_text, drawing_prompt, find_svg, second_prompt
from memory.model import Prompt, ToolCall, ToolResult
from memory.prompt import build_prompt
from memory.story import StoryRequest, part_prompt
from memory.types import (
    Candidate,
    Exchange,
    Extraction,
    ExtractionRequest,
    Memory,
    Origin,
    Persona,
    ScopeKind,
    Source,
    TurnKind,
)
from memory.window import WindowEntry

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ORIGIN = Origin("!r:hs", "$d", False)
HELLO: list[Any] = [{"role": "user", "content": "Hello"}]


def memory(number: int, text: str) -> Memory:
    return Memory(
        id=number,
        scope=ScopeKind.PERSONAL,
        scope_id="@anna:hs",
        persona="default",
        text=text,
        source=Source.PROMOTION,
        protected=False,
        unused_days=0,
        counted_on=NOW.date(),
        last_matched_at=None,
        mentions=1,
        first_seen=NOW,
        created_at=NOW,
        updated_at=NOW,
        origin=ORIGIN,
    )


def prompt(said: str, *memories: Memory, recalled: tuple[Memory, ...] = (), **beside: Any) -> Prompt:
    return build_prompt(
        persona=Persona(),
        contents=choose(
            room=[],
            people=[("@anna:hs", (*memories, *recalled))],
            recalled=[m.id for m in recalled],
            rest_after_days=7,
        ),
        history=[],
        message=WindowEntry("$1", "@anna:hs", said, NOW),
        today=NOW.date(),
        **beside,
    )


def request(said: str, memories: tuple[str, ...] = (), candidates: tuple[str, ...] = ()) -> ExtractionRequest:
    exchange = Exchange(
        event_id="$1",
        room_id="!r:hs",
        user_id="@anna:hs",
        persona="default",
        direct=False,
        private=False,
        said=said,
        answered="I have a horse and I live in Oslo.",
    )
    return ExtractionRequest(
        exchange,
        tuple(memory(number, text) for number, text in enumerate(memories, start=1)),
        tuple(Candidate(n, "@anna:hs", text, 1, NOW, NOW, ORIGIN) for n, text in enumerate(candidates, start=11)),
    )


@asynccontextmanager
async def offline_model() -> AsyncIterator[AnthropicModel]:
    async with OfflineServer() as server:
        model = AnthropicModel(LlmSettings(base_url=server.base_url, api_key=SecretStr("offline"), max_retries=0))
        try:
            yield model
        finally:
            await model.aclose()


async def no_tool(call: ToolCall) -> ToolResult:
    raise AssertionError(f"no tool expected, got {call.name}")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (request("My cat is named Mochi."), Extraction(("Cat is named Mochi",))),
        (request("I have a cat called Mochi!", candidates=("Cat is named Mochi",)), Extraction((), (11,))),
        (request("I have three dogs", candidates=("Has two dogs",)), Extraction(("Has three dogs",))),
        (request("I have a cat called Mochi", memories=("Cat is named Mochi",)), Extraction()),
        (request("How is Mochi doing?", candidates=("Cat is named Mochi",)), Extraction()),
        (request("Ich wohne in Bern. Ich wohne in Bern!", candidates=("Lebt in Bern",)), Extraction((), (11,))),
        (request(""), Extraction()),
    ],
)
async def test_extraction_finds_new_facts_and_re_mentions_p6_p9(asked: ExtractionRequest, expected: Extraction) -> None:
    async with offline_model() as model:
        found, usage = await model.extract(asked)
    assert found == expected
    assert usage.input_tokens > 0 and usage.output_tokens > 0


async def test_of_a_scene_only_what_is_said_out_of_character_is_found_p6() -> None:
    said = "I have two daughters and my cat is named Mochi. ((I live in Bern))"
    asked = request(said, candidates=("Cat is named Mochi",))
    async with offline_model() as model:
        found, _ = await model.extract(replace(asked, exchange=replace(asked.exchange, scene=True)))
    assert found == Extraction(("Lives in Bern",))


async def test_reply_says_what_it_remembers_and_what_it_is() -> None:
    mine = (memory(1, "Cat is named Mochi"), memory(2, "Lives in Bern"))
    async with offline_model() as model:
        about = await model.reply(prompt("How is Mochi?", *mine, recalled=(memory(9, "Has a parrot"),)), (), no_tool)
        listed = await model.reply(prompt("Was weißt du noch über mich?", *mine), (), no_tool)
        nothing = await model.reply(prompt("Hello"), (), no_tool)
        told = await model.reply(prompt("My cat is named Mochi."), (), no_tool)
    assert "Has a parrot" in about.text and "Mochi" in about.text and "Bern" not in about.text
    assert "not a language model" in about.text
    assert "Mochi" in listed.text and "Bern" in listed.text and "kein Sprachmodell" in listed.text
    assert "nothing" in nothing.text and "not a language model" in nothing.text
    assert told.text == "Thanks for telling me (offline rules, not a language model)."


@pytest.mark.parametrize(
    ("said", "text", "confirmed"),
    [
        ("Remember that I have two dogs!", "Has two dogs", "saved"),
        ("Kannst du dir bitte merken, dass ich nachts arbeite?", "Arbeitet nachts", "Gespeichert"),
        ("Please remember the code of the door is blue", "The code of the door is blue", "saved"),
    ],
)
async def test_asked_to_remember_it_calls_the_tool_first_p16(said: str, text: str, confirmed: str) -> None:
    calls: list[ToolCall] = []

    async def run(call: ToolCall) -> ToolResult:
        calls.append(call)
        return ToolResult("saved as 7")

    async with offline_model() as model:
        reply = await model.reply(prompt(said), [SAVE_MEMORY], run)
        without = await model.reply(prompt(said), (), no_tool)
    [checked] = [save_memory_arguments(call.arguments) for call in calls]
    assert not isinstance(checked, ToolResult) and (checked.text, checked.scope) == (text, "me")
    assert text in reply.text and confirmed in reply.text
    assert "saved" not in without.text and "Gespeichert" not in without.text


async def test_asked_to_forget_it_calls_the_tool_with_the_ids_of_that_person_alone() -> None:
    calls: list[ToolCall] = []

    async def run(call: ToolCall) -> ToolResult:
        calls.append(call)
        return ToolResult("Forgotten: 1.")

    mine = (memory(1, "Has a canoe"), memory(2, "Lives in Bern"))
    async with offline_model() as model:
        reply = await model.reply(prompt("Please forget that I have a canoe", *mine), [FORGET_MEMORY], run)
        none = await model.reply(prompt("Vergiss, dass ich ein Pferd habe", *mine), [FORGET_MEMORY], no_tool)
    assert [forget_memory_arguments(call.arguments, frozenset({1, 2})) for call in calls] == [(1,)]
    assert reply.text == "I have forgotten: Has a canoe"
    assert "nichts über dich" in none.text


async def test_a_refused_save_is_told() -> None:
    async def run(_call: ToolCall) -> ToolResult:
        return ToolResult("The list is full.", is_error=True)

    async with offline_model() as model:
        reply = await model.reply(prompt("Remember that I have two dogs"), [SAVE_MEMORY], run)
    assert "could not" in reply.text and "The list is full." in reply.text


@pytest.mark.parametrize("said", ["Do you remember my cat?", "Remember when we met?", "Weißt du noch, wie ich heiße?"])
async def test_asking_what_it_remembers_saves_nothing(said: str) -> None:
    async with offline_model() as model:
        reply = await model.reply(prompt(said), [SAVE_MEMORY], no_tool)
    assert reply.text


async def test_many_at_once_and_long_messages_are_answered() -> None:
    async with offline_model() as model:
        texts = ["I have a cat. " * 4_000, *["Hello"] * 10]
        replies = await asyncio.gather(*(model.reply(prompt(text), (), no_tool) for text in texts))
    assert all(reply.text for reply in replies)


@pytest.mark.parametrize(
    ("said", "fence", "lines", "told"),
    [
        ("fizzbuzz please", "```python\n", 2, "by heart (offline rules, not a language model)."),
        ("Schreib mir das Spiel des Lebens in Rust", "```python\n", 40, "nur in Python"),
        ("the primes below 100", "```python\n", 8, "not a language model"),
        (
            "a web server in rust, with tests",
            "```rust\n// asked for: a web server in rust, with tests\n",
            4,
            "no program",
        ),
        ("how do I sort in C? */ x --", "```c\n/* asked for: how do I sort in C? / x – */\n", 6, "no program"),
        ("", "```python\n# asked for: \n", 2, "not a language model"),
    ],
)
async def test_code_is_one_known_by_heart_or_none_and_says_so(said: str, fence: str, lines: int, told: str) -> None:
    async with offline_model() as model:
        answer = (await model.reply(prompt(said, kind=TurnKind.CODE), (), no_tool)).text
    assert fence in answer and told in answer
    code = answer.split("```")[1]
    assert code.count("\n") - 1 >= lines


async def test_in_a_scene_it_plays_along_and_saves_nothing_p16() -> None:
    async with offline_model() as model:
        one, two, german = [
            (await model.reply(prompt(said, kind=TurnKind.VERSE), [SAVE_MEMORY, FORGET_MEMORY], no_tool)).text
            for said in ("Remember that I have two *dragons*!", "I open the door", "Ich öffne die Tür und bin müde")
        ]
    assert "“Remember that I have two dragons !”" in one
    assert "I open the door" in two
    assert all("not a language model" in each for each in (one, two)) and "kein Sprachmodell" in german


def part(number: int, title: str, text: str) -> Chunk:
    return Chunk(number, 1, title, number, 5, text)


async def test_a_document_is_quoted_by_its_best_sentence_and_named() -> None:
    parts = [
        part(2, "House rules", "No shoes inside.\nQuiet hours begin at ten. Guests\nare welcome."),
        part(1, "Menu", "Quiet soup on Mondays."),
    ]
    async with offline_model() as model:
        answer = await model.reply(prompt("When do the quiet hours begin?", chunks=parts), (), no_tool)
        both = await model.reply(
            prompt("When do the quiet hours begin?", recalled=(memory(9, "Loves quiet"),), chunks=parts), (), no_tool
        )
        told = await model.reply(prompt("Ich habe zwei Hunde.", chunks=parts), (), no_tool)
    quote = "In “House rules”, part 2 of 5, it says: “Quiet hours begin at ten.” (offline rules, not a language model)"
    assert answer.text == quote
    assert both.text.startswith(f"{quote}\n\n") and "Loves quiet" in both.text
    assert "In „House rules“, Teil 2 von 5" in told.text and "Danke" in told.text


@pytest.mark.parametrize(
    ("description", "seen"),
    [
        (
            "a red house with three trees under the sun",
            "To be seen: house (red), 3 × trees, sun. Drawn by offline rules",
        ),
        ("Male den gelben Mond über dem Meer, mit Booten", "Zu sehen: Mond (gelb), 3 × Boote. Gezeichnet nach festen"),
        ("the meaning of <life> & all", "To be seen: a sign that says “the meaning of <life> & all”. Drawn by offline"),
        ("forty cats and 6 dogs and six cars and trees", "To be seen: 3 × cats, 6 × dogs, car. Drawn by offline rules"),
        ("word " * 400, "To be seen: a sign that says “word word word word word"),
    ],
)
async def test_a_drawing_is_put_together_from_known_things_and_says_what_is_seen(description: str, seen: str) -> None:
    async with offline_model() as model:
        answer = (await model.reply(drawing_prompt(description), (), no_tool)).text
        again = (await model.reply(second_prompt(description, answer, "no <image>"), (), no_tool)).text
    svg = find_svg(answer)
    assert svg == answer == again
    assert alt_text(svg, "").startswith(seen)
    assert "language model" in alt_text(svg, "") or "Sprachmodell" in alt_text(svg, "")
    assert not {"script", "image", "style", "use"} & set(re.findall(r"<(\w+)", svg)) and "href" not in svg


@pytest.mark.parametrize(
    ("text", "parts", "pictures", "title"),
    [
        ("a cat who crosses the sea", 5, 3, "Cat, or: a cat who crosses the sea"),
        ("Erzähl mir von der Katze und dem Mond!", 3, 1, "Katze, oder: Erzähl mir von der Katze und dem Mond"),
        ("the meaning of <life> & {name}", 1, 0, "Somebody, or: the meaning of <life> & {name}"),
        ("two dogs", 9, 9, "Dog, or: two dogs"),
    ],
)
async def test_a_story_is_one_tale_with_the_words_of_the_request(
    text: str, parts: int, pictures: int, title: str
) -> None:
    asked = StoryRequest(text, parts, pictures)
    async with offline_model() as model:
        plan, _ = await model.plan_story(asked)
        told = [
            (await model.reply(part_prompt(asked, plan, number, ()), (), no_tool)).text
            for number in range(1, len(plan.parts) + 1)
        ]
    assert plan.title == title
    assert (len(plan.parts), plan.pictures) == (min(parts, 5), min(pictures, 5))
    assert len(set(told)) == len(told)
    assert all("language model" in each or "Sprachmodell" in each for each in (told[0], told[-1]))
    assert plan.parts[-1].heading in ("How it ends", "Wie es ausgeht")


# --- what the API refuses -----------------------------------------------------------------------------------------


@asynccontextmanager
async def sdk() -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with (
        OfflineServer() as server,
        anthropic.AsyncAnthropic(
            base_url=server.base_url,
            api_key="any",
            max_retries=0,
            http_client=anthropic.DefaultAsyncHttpxClient(trust_env=False),
        ) as client,
    ):
        yield client


def marked(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}


def schema(properties: Any, **more: Any) -> dict[str, Any]:
    whole = {"type": "object", "properties": properties, "additionalProperties": False, **more}
    return {"output_config": {"format": {"type": "json_schema", "schema": whole}}}


TOOL: dict[str, Any] = {"name": "save_memory", "input_schema": {"type": "object"}}
USE: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "save_memory", "input": {}}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}

REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("messages", {"messages": []}),
    ("max_tokens", {"max_tokens": 0}),
    ("user role", {"messages": [{"role": "assistant", "content": "Hi"}, *HELLO]}),
    ("prefilled", {"messages": [*HELLO, {"role": "assistant", "content": "The"}]}),
    ("role", {"messages": [{"role": "robot", "content": "Hi"}]}),
    ("content", {"messages": [{"role": "user", "content": " "}]}),
    ("text", {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}),
    ("cache_control", {"messages": [{"role": "user", "content": "Hi", "cache_control": {"type": "ephemeral"}}]}),
    ("maximum of 4", {"system": [marked(str(n)) for n in range(5)]}),
    ("tool_choice", {"tool_choice": {"type": "auto"}}),
    ("tool_choice", {"tools": [TOOL], "tool_choice": {"type": "sometimes"}}),
    ("not found", {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "other"}}),
    ("unique", {"tools": [TOOL, TOOL]}),
    ("input_schema", {"tools": [{"name": "save_memory", "input_schema": {"type": "array"}}]}),
    ("tool_result", {"messages": [*HELLO, {"role": "assistant", "content": [USE]}, *HELLO]}),
    ("tool_result", {"messages": [{"role": "user", "content": [RESULT]}]}),
    ("temperature", {"extra_body": {"temperature": 0.5}}),
    ("maxItems", schema({"a": {"type": "array", "items": {"type": "string"}, "maxItems": 3}})),
    ("minimum", schema({"a": {"type": "integer", "minimum": 1}})),
    ("maxLength", schema({"a": {"type": "string", "maxLength": 5}})),
    ("pattern", schema({"a": {"anyOf": [{"type": "string", "pattern": "x"}, {"type": "null"}]}})),
    ("minItems", schema({"a": {"type": "array", "items": {"type": "string"}, "minItems": 2}})),
    ("additionalProperties", schema({}, additionalProperties=True)),
    ("type", schema({"a": {}})),
    ("no answer for this schema", schema({"a": {"type": "string"}})),
]


@pytest.mark.parametrize(("named", "change"), REFUSED, ids=[f"{n}-{name}" for n, (name, _) in enumerate(REFUSED)])
async def test_what_the_api_refuses_is_refused(named: str, change: dict[str, Any]) -> None:
    async with sdk() as client:
        with pytest.raises(anthropic.BadRequestError, match=named) as caught:
            await client.messages.create(**{"model": "any", "max_tokens": 10, "messages": HELLO, **change})
    assert caught.value.type == "invalid_request_error"
    assert caught.value.request_id


async def test_whole_and_streamed_answers_are_the_same() -> None:
    system = [marked("You are. " * 400)]
    parameters: dict[str, Any] = {"model": "any", "max_tokens": 100, "messages": HELLO, "system": system}
    async with sdk() as client:
        whole = await client.messages.create(**parameters)
        async with client.messages.stream(**parameters) as stream:
            kinds = [event.type async for event in stream]
            streamed = await stream.get_final_message()
    assert [block.model_dump(exclude={"parsed_output"}) for block in streamed.content] == [
        block.model_dump() for block in whole.content
    ]
    assert (whole.stop_reason, streamed.stop_reason) == ("end_turn", "end_turn")
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop"
    assert whole.usage.cache_creation_input_tokens == streamed.usage.cache_read_input_tokens == 1_200


async def test_the_schema_the_client_sends_is_taken() -> None:
    async with sdk() as client:
        answer = await client.messages.create(
            model="any", max_tokens=100, messages=HELLO, output_config={"format": output_format()}
        )
    assert answer.content[0].type == "text"


async def test_bodies_that_are_no_request_are_refused() -> None:
    headers = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
    async with OfflineServer() as server, httpx2.AsyncClient(base_url=server.base_url, trust_env=False) as http:
        for body in (b"", b"{", b"[]", b"\xff", b"[" * 100_000):
            answer = await http.post("/v1/messages", content=body, headers=headers)
            assert (answer.status_code, answer.json()["type"]) == (400, "error")
        without_key = await http.post("/v1/messages", content=b"{}", headers={"anthropic-version": "x"})
        without_version = await http.post("/v1/messages", content=b"{}", headers={"x-api-key": "any"})
    assert (without_key.status_code, without_version.status_code) == (401, 400)
