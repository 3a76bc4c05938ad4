"""`!memories export` and `import` through the whole bot: files in direct rooms, whole or not at all, once (D8, D11)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from actors import outbox
from memory.errors import MatrixError
from memory.events import Caller, Incoming, Told
from memory.media import Attachment, MediaKind
from memory.settings import MemorySettings
from memory.transfer import MEDIA_TYPE
from memory.types import Draft, Memory, Origin, Privacy, ScopeKind, Source
from tests.actors.conftest import BAU, BOT, JUNO, ROOM, START, Bot, texts

DIRECT = "!own:hs"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "_backoff", lambda state: 0.0)


async def save(bot: Bot, text: str, user: str = JUNO, **changes: Any) -> Memory:
    details: dict[str, Any] = {
        "scope": ScopeKind.PERSONAL,
        "scope_id": user,
        "persona": "default",
        "source": Source.PROMOTION,
        "origin": Origin(ROOM, "$said", False),
        "first_seen": START - timedelta(days=3),
    }
    async with bot.store.transaction() as tables:
        return await tables.memories.insert(Draft(text=text, **(details | changes)), START - timedelta(days=1))


def written(bot: Bot, number: int = -1) -> dict[str, Any]:
    """The JSON of a file that was uploaded."""
    whole: dict[str, Any] = json.loads(bot.matrix.uploads[number])
    return whole


def said(bot: Bot, room: str) -> list[dict[str, object]]:
    return [content for room_id, _, content in bot.matrix.sent if room_id == room]


def holding(bot: Bot, data: bytes | dict[str, Any], room: str = ROOM) -> dict[str, Any]:
    """Put a file into a room; return what makes a message a reply to it."""
    event_id = f"$file{len(bot.matrix.files)}"
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    bot.matrix.files[room, event_id] = Attachment("memories.json", MEDIA_TYPE, raw)
    return {"reply_to": event_id}


def file_of(*wordings: str, **fields: Any) -> dict[str, Any]:
    return {"version": 1, "memories": [{"text": text, **fields} for text in wordings]}


async def take_in(bot: Bot, data: bytes | dict[str, Any], sender: str = JUNO, room: str = ROOM, **details: Any) -> str:
    reply = holding(bot, data, room)
    event = await bot.say("!memories import", sender, room, **reply, **details)
    return answer_to(bot, event)


def answer_to(bot: Bot, event: Incoming) -> str:
    [found] = [str(each["body"]) for each in said(bot, event.room_id) if each["answers"] == event.event_id]
    return found


# --- export -----------------------------------------------------------------------------------------------------------


async def test_export_from_a_room_sends_all_the_caller_owns_to_the_direct_room_and_nothing_here_d8(bot: Bot) -> None:
    """Whatever hides it here: private origin, room limits, tags, another persona. No candidates (P19)."""
    bot.settings.rules = MemorySettings(blacklist=("@juno:*",), promotion_threshold=3)
    hidden = {"origin": Origin(DIRECT, "$1", True), "rooms": ("!elsewhere:hs",), "tags": ("secret",)}
    await save(bot, "Likes tea")
    await save(bot, "Has a secret", persona="pirate", shared=True, **hidden)
    await save(bot, "Lives in Kiel", scope=ScopeKind.GLOBAL, persona="", protected=True)
    await save(bot, "Bau's own", user=BAU)
    await save(bot, "The room's own", scope=ScopeKind.ROOM, scope_id=ROOM)
    async with bot.store.transaction() as tables:
        await tables.candidates.insert(JUNO, "Only a candidate", Origin(ROOM, "$c", False), START)
    event = await bot.say("!memories export")

    assert answer_to(bot, event) == "What I remember about you goes to our direct room, as a file."
    direct = bot.matrix.direct[JUNO]
    assert {room for room, _, _ in bot.matrix.sent} == {ROOM, direct}
    words, file = said(bot, direct)
    assert str(words["body"]).startswith("This file holds all I remember about you: 3 memories.")
    assert (file["body"], file["type"], file["url"]) == ("memories-2026-03-02.json", MEDIA_TYPE, "mxc://hs/0")
    assert [(words["recipient"], words["notice"]), (file["recipient"], file["thread"])] == [(None, True), (None, None)]
    whole = written(bot)
    assert (whole["user"], whole["exported_at"]) == (JUNO, START.isoformat())
    assert [each["text"] for each in whole["memories"]] == ["Likes tea", "Has a secret", "Lives in Kiel"]
    assert (
        whole["memories"][1]
        | {
            "private": True,
            "shared": True,
            "rooms": ["!elsewhere:hs"],
            "tags": ["secret"],
            "persona": "pirate",
        }
        == whole["memories"][1]
    )


async def test_export_asked_in_private_is_answered_there(bot: Bot) -> None:
    await save(bot, "Likes tea")
    event = await bot.say("!memories export", room=DIRECT, direct=True, alone=True)
    assert bot.matrix.direct == {}, "no other room is needed"
    words, file = said(bot, DIRECT)
    assert str(words["body"]).startswith("This file holds all I remember about you: 1 memory.")
    assert file["body"] == "memories-2026-03-02.json"
    assert {content["answers"] for content in (words, file)} == {event.event_id}
    assert file["recipient"] == JUNO


async def test_export_is_not_given_in_a_direct_room_that_somebody_else_has_joined_since(bot: Bot) -> None:
    await save(bot, "Likes tea")
    bot.matrix.joined[DIRECT] |= {BAU}
    await bot.say("!memories export", room=DIRECT, direct=True, alone=True)
    assert [content["body"] for content in said(bot, DIRECT)] == [
        "What I remember about you goes to our direct room, as a file."
    ]
    assert len(said(bot, bot.matrix.direct[JUNO])) == 2


async def test_export_says_so_where_no_direct_room_can_be_had_and_where_there_is_nothing(bot: Bot) -> None:
    event = await bot.say("!memories export")
    assert answer_to(bot, event) == "I remember nothing about you, so there is nothing to export."
    assert bot.matrix.direct == {}
    await save(bot, "Likes tea")
    bot.matrix.unreachable.add(JUNO)
    event = await bot.say("!memories export")
    assert "I could not open a direct room with you" in answer_to(bot, event)
    assert bot.matrix.uploads == []
    async with bot.store.transaction() as tables:
        assert await tables.outbox.pending() == ()


# --- import -----------------------------------------------------------------------------------------------------------


async def test_an_export_cleared_and_imported_is_listed_again_at_0_days_and_unprotected_d11(bot: Bot) -> None:
    await save(bot, "Likes tea", protected=True, mentions=4)
    await save(bot, "Has a boat", persona="pirate", rooms=(ROOM,), tags=("boat",))
    await save(bot, "Fears the dark", origin=Origin(DIRECT, "$1", True))
    await bot.say("!memories export")
    await bot.say("!memories clear")
    assert await bot.memories() == ()
    bot.next_day()
    assert await take_in(bot, bot.matrix.uploads[0]) == "Taken in: 3 memories."
    back = await bot.memories()
    assert texts(back) == ["Likes tea", "Has a boat", "Fears the dark"]
    assert [(each.protected, each.unused_days, each.source) for each in back] == [(False, 0, Source.IMPORT)] * 3
    assert {each.counted_on for each in back} == {bot.clock.today()}
    assert {each.first_seen for each in back} == {START - timedelta(days=3)}
    assert {each.created_at for each in back} == {bot.clock.now()}
    assert back[0].mentions == 4
    assert (back[1].persona, back[1].rooms, back[1].tags) == ("pirate", (ROOM,), ("boat",))
    assert [each.origin.private for each in back] == [False, False, True]
    assert {each.origin.room for each in back} == {ROOM}
    event = await bot.say("!memories")
    assert "Likes tea" in answer_to(bot, event)
    assert "Fears the dark" not in answer_to(bot, event), "what was private stays so"


async def test_imported_memories_are_used_at_once_in_every_loaded_list(bot: Bot) -> None:
    await bot.say("hello")  # loads the list
    data = file_of("Cat is named Mochi")
    data["memories"].append({"text": "Lives in Kiel", "scope": "global"})
    await take_in(bot, data)
    assert texts(await bot.memories()) == ["Cat is named Mochi", "Lives in Kiel"]
    assert [each.protected for each in await bot.memories()] == [False, True], "D11: global memories are protected"
    await bot.say("how is my cat Mochi?")
    prompt = str(bot.model.prompts[-1])
    assert "Cat is named Mochi" in prompt
    assert "Lives in Kiel" in prompt
    assert (await bot.memories())[0].last_matched_at == bot.clock.now(), "it was embedded and found"


async def test_what_the_file_does_not_call_private_is_so_where_it_was_asked_in_private_d8(bot: Bot) -> None:
    await take_in(bot, file_of("Asked in the room"))
    await take_in(bot, file_of("Asked in private"), room=DIRECT, direct=True, alone=True)
    assert [(each.text, each.origin.private) for each in await bot.memories()] == [
        ("Asked in the room", False),
        ("Asked in private", True),
    ]


async def test_equal_texts_are_there_already_and_counted_p9(bot: Bot) -> None:
    before = await save(bot, "Likes tea")
    told = await take_in(bot, file_of("likes TEA.", "Likes coffee", "likes coffee"))
    assert told == "Taken in: 1 memory. 2 of the file I knew already."
    assert (await bot.memories())[0] == before
    assert await take_in(bot, file_of("Likes tea")) == "There was nothing new to take in. 1 of the file I knew already."


async def test_nobody_gets_memories_into_another_persons_list(bot: Bot) -> None:
    await take_in(bot, {**file_of("Likes tea"), "user": BAU}, sender=JUNO)
    assert texts(await bot.memories(JUNO)) == ["Likes tea"]
    assert await bot.memories(BAU) == ()


async def test_d8_who_comes_into_a_direct_room_later_takes_in_nothing_that_was_sent_there(bot: Bot) -> None:
    """An export by the bot, of which the journal holds nothing, and a file of Juno's own; Juno may still do so."""
    await save(bot, "Fears the dark", origin=Origin(DIRECT, "$1", True))
    await bot.say("!memories export", room=DIRECT, direct=True, alone=True)
    export = holding(bot, bot.matrix.uploads[0], DIRECT)["reply_to"]
    own = bot.message("", room=DIRECT, direct=True, alone=True, addressed=False, media=MediaKind.FILE)
    await bot.deliver(own)
    for event_id, sender in ((export, BOT), (own.event_id, JUNO)):
        data = bot.matrix.uploads[0] if sender == BOT else json.dumps(file_of("Fears the dark")).encode()
        bot.matrix.files[DIRECT, event_id] = Attachment("memories.json", MEDIA_TYPE, data, sender=sender)
        for alone in (False, True):
            event = await bot.say("!memories import", BAU, DIRECT, reply_to=event_id, direct=True, alone=alone)
            assert answer_to(bot, event).startswith("I do not take in that file")
        event = await bot.say("!memories import", JUNO, DIRECT, reply_to=event_id, direct=True)
        assert answer_to(bot, event) == "There was nothing new to take in. 1 of the file I knew already."
    assert await bot.memories(BAU) == ()


async def test_d8_nor_a_file_of_somebody_silent_but_one_that_was_sent_to_all(bot: Bot) -> None:
    reply = holding(bot, file_of("Likes tea"))
    bot.matrix.files[ROOM, reply["reply_to"]] = replace(bot.matrix.files[ROOM, reply["reply_to"]], sender=JUNO)
    event = await bot.say("!memories import", BAU, **reply)
    assert answer_to(bot, event) == "Taken in: 1 memory."
    async with bot.store.transaction() as tables:
        await tables.users.set_privacy(JUNO, Privacy.SILENT)
    event = await bot.say("!memories import", "@mo:hs", **reply)
    assert answer_to(bot, event).startswith("I do not take in that file")


async def test_an_import_that_cannot_place_all_is_refused_whole_and_forgets_nothing_d11(bot: Bot) -> None:
    bot.settings.rules = MemorySettings(capacity_personal=3, max_per_user=1)
    for number in range(2):
        await save(bot, f"fact {number}")
    async with bot.store.transaction() as tables:
        memories = await tables.memories.of_user(JUNO)
    told = await take_in(bot, file_of("one", "two"))
    assert told.startswith("Nothing was taken in: 2 memories of the file are new for the persona `default`")
    assert "has room for 1." in told
    assert await bot.memories() == memories
    assert await take_in(bot, file_of("one")) == "Taken in: 1 memory.", "max_per_user is not checked for explicit saves"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"not json", "Nothing was taken in: the file is not JSON."),
        (file_of("a", privat=True), "Nothing was taken in: I do not know what `privat` means in memory 1 of the file."),
        ({**file_of("a"), "version": 9}, "Nothing was taken in: the file is of another version, and I read only ver"),
        (file_of("ok", "x" * 501), "Nothing was taken in: memory 2 of the file has 501 characters, and 500 are the m"),
        (b"1" * 1_000_001, "That file is too large: I read no more than 1 MB; please send a smaller one."),
    ],
)
async def test_a_file_with_one_fault_is_refused_whole_in_one_sentence(
    bot: Bot, data: bytes | dict[str, Any], told: str
) -> None:
    answer = await take_in(bot, data)
    assert answer.startswith(told)
    assert answer.count(". ") == 0
    assert await bot.memories() == ()


async def test_import_needs_a_reply_to_a_file(bot: Bot) -> None:
    event = await bot.say("!memories import")
    assert answer_to(bot, event) == "Send the file first, then reply to it with `!memories import`."
    event = await bot.say("!memories import", reply_to="$words")
    assert answer_to(bot, event).startswith("There is no file in the message you replied to.")
    reply = holding(bot, file_of("Likes tea"), room="!other:hs")
    event = await bot.say("!memories import", **reply)
    assert answer_to(bot, event).startswith("There is no file"), "only files of the room where it is asked"


async def test_a_file_that_cannot_be_had_just_now_is_no_fault_of_it(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    async def down(*arguments: object) -> None:
        raise MatrixError("502")

    monkeypatch.setattr(bot.matrix, "attachment", down)
    event = await bot.say("!memories import", reply_to="$file")
    assert answer_to(bot, event).startswith("I could not get that file from the homeserver just now.")


@pytest.mark.parametrize("forbidden", ["privacy", "blacklist"])
async def test_nothing_is_imported_of_whom_nothing_is_to_be_kept_d8(bot: Bot, forbidden: str) -> None:
    if forbidden == "blacklist":
        bot.settings.rules = MemorySettings(blacklist=("@juno:*",))
    else:
        async with bot.store.transaction() as tables:
            await tables.users.set_privacy(JUNO, Privacy.NO_MEMORY)
    told = await take_in(bot, file_of("Likes tea"))
    assert "Taken in" not in told
    assert await bot.memories() == ()


async def crash_before_the_answer(bot: Bot, event: Incoming, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a command be carried out, and crash before its answer is stored."""
    carried_out, run = asyncio.Event(), bot.parts.dispatcher.run

    async def cut_off(command: object, caller: Caller) -> Told:
        await run(command, caller)
        carried_out.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    monkeypatch.setattr(bot.parts.dispatcher, "run", cut_off)
    await bot.deliver(event)
    async with asyncio.timeout(10):
        await carried_out.wait()
    await bot.crash()
    await bot.start()


async def test_an_import_counts_once_across_a_crash_and_answers_the_same_without_the_file(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = bot.message("!memories import", **holding(bot, file_of("Likes tea", "likes tea")))
    await crash_before_the_answer(bot, event, monkeypatch)
    bot.matrix.files.clear()
    before = await bot.memories()
    assert texts(before) == ["Likes tea"]
    await bot.deliver()
    await bot.intake.resume()
    await bot.settle()
    assert answer_to(bot, event) == "Taken in: 1 memory. 1 of the file I knew already."
    assert await bot.memories() == before


async def test_an_export_cut_off_is_sent_once(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    await save(bot, "Likes tea")
    event = bot.message("!memories export")
    await crash_before_the_answer(bot, event, monkeypatch)
    await bot.deliver()
    await bot.intake.resume()
    await bot.settle()
    assert [content["body"] for content in said(bot, bot.matrix.direct[JUNO])][1:] == ["memories-2026-03-02.json"]
    assert len(bot.matrix.uploads) == 1
