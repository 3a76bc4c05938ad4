"""What of a prompt is cached from the reply before (D14), in tokens, by the offline server's model of a cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from actors.tools import TOOLS
from davenport.clock import MovableClock
from llm.offline.api import Spent
from llm.offline.checks import check_request
from llm.offline.usage import PromptCache
from llm.wire import messages_of, system_of, tools_of
from memory.contents import choose
from memory.prompt import build_prompt
from memory.settings import ContextSettings
from memory.types import Memory, Persona
from memory.window import Window, WindowEntry, extend, participants
from memory.words import Heard
from tests.unit.memory.build import BAU, JUNO, NOON, memory, room_memory

SETTINGS = ContextSettings()
ANSWER = "That is good to hear. Tell me more about it whenever you like, and I will gladly listen to all of it."


@dataclass
class Chat:
    """A conversation of a minute a message, as the bot leads it; `spent`: what each reply's prompt cost."""

    room: list[Memory] = field(default_factory=lambda: [room_memory(4, "Plays on Fridays")])
    people: dict[str, list[Memory]] = field(
        default_factory=lambda: {JUNO: [memory(7, "Has a cat")], BAU: [memory(3, "Sails", scope_id=BAU)]}
    )
    clock: MovableClock = field(default_factory=lambda: MovableClock(NOON))
    window: Window = field(default_factory=Window)
    starts: list[str] = field(default_factory=list)  # the first event of the history of each reply
    spent: list[Spent] = field(default_factory=list)
    stable: list[int] = field(default_factory=list)  # tokens of tools and system of each prompt
    pause: timedelta = timedelta(minutes=1)

    def __post_init__(self) -> None:
        self.cache = PromptCache(self.clock.now)

    def say(self, sender: str, recalled: Sequence[int] = ()) -> Spent:
        self.clock.advance(self.pause)
        now = self.clock.now()
        self.window = extend(self.window, (), SETTINGS, now, {JUNO, BAU})
        entry = WindowEntry(f"${len(self.spent)}", sender, f"message number {len(self.spent)} of this long chat", now)
        people = [(user, self.people[user]) for user in participants(self.window, sender)]
        prompt = build_prompt(
            persona=Persona(prompt="Speak plainly."),
            contents=choose(room=self.room, people=people, recalled=recalled, rest_after_days=7),
            history=self.window.entries,
            message=entry,
            today=now.date(),
            heard=Heard([entry.text]),
        )
        body = {
            "model": "any",
            "max_tokens": 1000,
            "system": system_of(prompt),
            "messages": messages_of(prompt),
            "tools": tools_of(TOOLS),
        }
        check_request(body)
        self.starts.append(self.window.entries[0].event_id if self.window.entries else entry.event_id)
        self.spent.append(self.cache.spend(body))
        self.stable.append(PromptCache().spend({**body, "messages": []}).cache_write)
        answer = WindowEntry(entry.event_id, None, ANSWER, now)
        self.window = extend(self.window, (entry, answer), SETTINGS, now, {JUNO, BAU})
        return self.spent[-1]

    def total(self) -> int:
        last = self.spent[-1]
        return last.uncached + last.cache_read + last.cache_write


def chat_of(messages: int, change: Callable[[Chat], None] = lambda chat: None) -> tuple[Chat, int]:
    """A chat of so many messages by turns of two people, then a change; and what was cached before it."""
    chat = Chat()
    for number in range(messages):
        chat.say((JUNO, BAU)[number % 2])
    before = chat.spent[-1].cache_read + chat.spent[-1].cache_write
    change(chat)
    return chat, before


def test_d14_each_reply_reads_all_that_the_reply_before_had_cached() -> None:
    """System, memories and the whole history: only the last exchange and the new message are not read."""
    chat, before = chat_of(6)
    spent = chat.say(JUNO)
    assert spent.cache_read == before
    assert spent.uncached + spent.cache_write < chat.total() / 10


def test_d14_what_is_recalled_beside_the_message_costs_nothing_that_was_cached() -> None:
    chat, before = chat_of(6)
    chat.people[JUNO].append(memory(9, "Cat is named Mochi", unused_days=8))
    assert chat.say(JUNO, recalled=[9]).cache_read == before


def test_d14_the_history_is_read_from_the_cache_but_where_its_start_moved() -> None:
    """In 100 messages the start moves at one of four at the most, and there the memories before it are still read."""
    chat, _ = chat_of(100)
    moved = [one != other for one, other in zip(chat.starts, chat.starts[1:], strict=False)]
    assert 10 < sum(moved) <= 100 // 4
    for at in range(2, 100):  # from where both have joined
        before, now = chat.spent[at - 1], chat.spent[at]
        assert now.cache_read == (chat.stable[at] if moved[at - 1] else before.cache_read + before.cache_write)
    read = sum(each.cache_read for each in chat.spent)
    assert read > 0.8 * sum(each.cache_read + each.cache_write + each.uncached for each in chat.spent)


def test_d14_a_change_of_a_memory_keeps_what_stands_before_it() -> None:
    """A change of a person's memories leaves the system and the room cached, one of the room's the system."""

    def edit_personal(chat: Chat) -> None:
        chat.people[BAU] = [replace(chat.people[BAU][0], text="Sails a boat")]

    def edit_room(chat: Chat) -> None:
        chat.room = [replace(chat.room[0], text="Plays on Sundays")]

    personal, before = chat_of(6, edit_personal)
    of_personal = personal.say(JUNO).cache_read
    room, _ = chat_of(6, edit_room)
    of_room = room.say(JUNO).cache_read
    assert 1024 <= of_room < of_personal < before


def test_d14_who_joins_leaves_the_memories_of_the_others_cached() -> None:
    chat = Chat()
    before = chat.say(JUNO).cache_write
    assert chat.say(BAU).cache_read == before == chat.stable[0] < chat.stable[1]


def test_d14_after_five_minutes_of_silence_all_is_written_anew() -> None:
    chat, _ = chat_of(6)
    chat.pause = timedelta(minutes=5, seconds=1)
    assert chat.say(JUNO).cache_read == 0
