"""The offline server's token counts and its prompt cache, each stated rule of llm/offline/usage.py by a test (D14)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from davenport.clock import MovableClock
from llm.offline.api import ApiFault, Spent
from llm.offline.brain import OfflineServer
from llm.offline.checks import check_request
from llm.offline.usage import LIFETIME, LOOKBACK_BLOCKS, MINIMUM_TOKENS, PromptCache, count_tokens, cut_to

MARK = {"cache_control": {"type": "ephemeral"}}
LONG = "word " * MINIMUM_TOKENS
SECOND = timedelta(seconds=1)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.fixture
def cache(clock: MovableClock) -> PromptCache:
    return PromptCache(clock.now)


def text(words: str, *, marked: bool = False) -> dict[str, Any]:
    return {"type": "text", "text": words, **(MARK if marked else {})}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def body(*system: dict[str, Any], messages: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    said = messages or [{"role": "user", "content": "hi"}]
    return {"model": "big", "max_tokens": 10, "system": list(system), "messages": said, **more}


def tool(description: str) -> dict[str, Any]:
    return {"name": "save_memory", "description": description, "input_schema": {"type": "object"}}


@pytest.mark.parametrize(
    ("words", "tokens"),
    [
        ("", 0),
        (" \n\t", 0),
        ("four", 1),
        ("fives", 2),
        ("a b", 2),
        ("Hi, you!", 4),
        ("2026-03-01", 5),
        ("snake_up", 4),
        ("Straße", 2),
        ("привет", 2),
        ("犬が好きです", 2),
        ("👍🏽", 2),
    ],
)
def test_a_token_is_four_letters_or_digits_or_one_other_character(words: str, tokens: int) -> None:
    assert count_tokens(words) == tokens
    assert cut_to(words, tokens) == words
    assert count_tokens(cut_to(words, tokens - 1)) == max(0, tokens - 1)


def test_a_breakpoint_writes_the_prompt_up_to_it_and_the_next_request_reads_it(cache: PromptCache) -> None:
    sent = body(text(LONG, marked=True), text("no part"))
    assert cache.spend(sent) == Spent(uncached=3, cache_write=MINIMUM_TOKENS)
    assert cache.spend(sent) == Spent(uncached=3, cache_read=MINIMUM_TOKENS)


def test_without_a_breakpoint_nothing_is_written_or_read(cache: PromptCache) -> None:
    cache.spend(body(text(LONG, marked=True)))
    assert cache.spend(body(text(LONG))) == Spent(uncached=MINIMUM_TOKENS + 1)
    assert PromptCache().spend(body(text(LONG))) == Spent(uncached=MINIMUM_TOKENS + 1)


def test_a_prefix_of_fewer_than_1024_tokens_is_not_cached_and_costs_no_breakpoint(cache: PromptCache) -> None:
    short = body(text("word " * 1_023, marked=True))
    assert cache.spend(short) == cache.spend(short) == Spent(uncached=1_024)
    just = body(text("word " * 1_024, marked=True))
    assert cache.spend(just).cache_write == cache.spend(just).cache_read == 1_024


def test_what_stands_before_a_breakpoint_counts_towards_the_minimum(cache: PromptCache) -> None:
    """A short block is cached where the tools and blocks before it make the prefix long enough."""
    sent = body(text("word " * 1_000, marked=True), text("word " * 24, marked=True))
    assert cache.spend(sent) == Spent(uncached=1, cache_write=1_024)
    assert cache.spend(sent) == Spent(uncached=1, cache_read=1_024)


def test_the_order_is_tools_then_system_then_messages(cache: PromptCache) -> None:
    """What comes earlier takes along what comes later: tools both others, system the messages."""
    said = [user(text("word " * 500, marked=True))]
    whole = body(text(LONG, marked=True), messages=said, tools=[tool("saves")])
    last = cache.spend(whole).cache_write
    assert cache.spend(whole).cache_read == last
    other_said = [user(text("other " * 500, marked=True))]
    read = cache.spend({**whole, "messages": other_said}).cache_read
    assert MINIMUM_TOKENS < read < last
    assert cache.spend({**whole, "system": [text("Else. " + LONG, marked=True)]}).cache_read == 0
    assert cache.spend({**whole, "tools": [tool("deletes")]}).cache_read == 0
    assert cache.spend({**whole, "tools": []}).cache_read == 0


def test_the_longest_prefix_that_is_still_the_same_is_read(cache: PromptCache) -> None:
    """As with the four breakpoints of a reply: system, room memories, personal memories, history."""
    one, two, three = (text(f"{name} " + LONG, marked=True) for name in ("system", "room", "juno"))
    old = [user(text("said before", marked=True), text("now"))]
    each = [count_tokens(block["text"]) for block in (one, two, three)]
    cache.spend(body(one, two, three, messages=old))
    changed = text("juno knows more " + LONG, marked=True)
    spent = cache.spend(body(one, two, changed, messages=old))
    assert spent.cache_read == each[0] + each[1]
    assert spent.cache_write == count_tokens(changed["text"]) + count_tokens("said before")
    assert cache.spend(body(one, two, three, messages=old)).cache_read == sum(each) + count_tokens("said before")


def test_more_than_four_breakpoints_are_refused() -> None:
    def marked(number: int) -> dict[str, Any]:
        return body(*(text(str(n), marked=True) for n in range(number)), messages=[user(text("hi", marked=True))])

    check_request(marked(3))
    with pytest.raises(ApiFault, match=r"maximum of 4 blocks with cache_control may be provided\. Found 5"):
        check_request(marked(4))


def test_an_entry_is_gone_after_more_than_five_minutes_of_the_clock(cache: PromptCache, clock: MovableClock) -> None:
    sent = body(text(LONG, marked=True))
    cache.spend(sent)
    clock.advance(LIFETIME)
    assert cache.spend(sent).cache_read == MINIMUM_TOKENS
    clock.advance(LIFETIME + SECOND)
    assert cache.spend(sent) == Spent(uncached=1, cache_write=MINIMUM_TOKENS)
    assert timedelta(minutes=5) == LIFETIME


def test_a_hit_lets_an_entry_live_on(cache: PromptCache, clock: MovableClock) -> None:
    sent = body(text(LONG, marked=True))
    cache.spend(sent)
    for _ in range(5):
        clock.advance(timedelta(minutes=4))
        assert cache.spend(sent).cache_read == MINIMUM_TOKENS


def test_an_entry_that_no_request_hits_expires_by_itself(cache: PromptCache, clock: MovableClock) -> None:
    """A longer prefix that is no longer asked for dies while the shorter one is kept alive."""
    start, rest = text(LONG, marked=True), text("more " + LONG, marked=True)
    cache.spend(body(start, rest))
    for _ in range(2):
        clock.advance(timedelta(minutes=3))
        cache.spend(body(start))
    assert cache.spend(body(start, rest)).cache_read == MINIMUM_TOKENS


def test_a_clock_set_back_makes_no_entry_live_longer(cache: PromptCache, clock: MovableClock) -> None:
    sent = body(text(LONG, marked=True))
    cache.spend(sent)
    clock.advance(-timedelta(days=1))
    assert cache.spend(sent).cache_read == 0
    assert cache.spend(sent).cache_read == MINIMUM_TOKENS


def test_a_breakpoint_that_moved_on_finds_the_last_one_up_to_20_blocks_back(cache: PromptCache) -> None:
    """So a history that grew is read up to where it ended before, unless more than 20 blocks were added at once."""
    said = [text(f"message {number}") for number in range(60)]

    def history(length: int) -> dict[str, Any]:
        earlier = said[: length - 1]
        return body(text(LONG), messages=[user(*earlier, {**said[length - 1], **MARK}, text("now"))])

    first = cache.spend(history(10)).cache_write
    assert cache.spend(history(10 + LOOKBACK_BLOCKS - 1)).cache_read == first
    assert cache.spend(history(29 + LOOKBACK_BLOCKS)).cache_read == 0


def test_only_breakpoints_write(cache: PromptCache) -> None:
    """A start that two prompts share is read only if one of them marked where it ends."""
    shared = text(LONG)
    cache.spend(body(shared, text("one", marked=True)))
    assert cache.spend(body(shared, text("two", marked=True))).cache_read == 0
    marked = {**shared, **MARK}
    cache.spend(body(marked, text("one", marked=True)))
    assert cache.spend(body(marked, text("three", marked=True))).cache_read == MINIMUM_TOKENS


def test_models_and_tool_choices_share_what_the_api_lets_them(cache: PromptCache) -> None:
    """No model reads another's entries; another `tool_choice` keeps tools and system and loses the messages."""
    sent = body(text(LONG, marked=True), messages=[user(text("said", marked=True), text("now"))], tools=[tool("saves")])
    written = cache.spend(sent).cache_write
    assert cache.spend({**sent, "model": "small"}).cache_read == 0
    assert cache.spend({**sent, "tool_choice": {"type": "none"}}).cache_read == written - 1
    assert cache.spend(sent).cache_read == written


def test_roles_are_part_of_what_is_compared(cache: PromptCache) -> None:
    def said(role: str) -> dict[str, Any]:
        other = {"role": role, "content": [text(LONG, marked=True)]}
        return body(messages=[user(text("hi")), other, user(text("now"))])

    cache.spend(said("assistant"))
    assert cache.spend(said("user")).cache_read == 0


async def test_the_server_counts_by_the_clock_it_is_given(clock: MovableClock) -> None:
    """Over HTTP: the usage of an answer is what the cache says, and what is written expires by that clock."""
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

    sent = body(text(LONG, marked=True))
    async with (
        OfflineServer(PromptCache(clock.now)) as server,
        AsyncAnthropic(
            base_url=server.base_url, api_key="any", http_client=DefaultAsyncHttpxClient(trust_env=False)
        ) as client,
    ):
        first = (await client.messages.create(**sent)).usage
        second = (await client.messages.create(**sent)).usage
        clock.advance(LIFETIME + SECOND)
        third = (await client.messages.create(**sent)).usage
    assert (first.cache_creation_input_tokens, first.cache_read_input_tokens, first.input_tokens) == (1_024, 0, 1)
    assert (second.cache_creation_input_tokens, second.cache_read_input_tokens, second.input_tokens) == (0, 1_024, 1)
    assert third.cache_creation_input_tokens == 1_024
