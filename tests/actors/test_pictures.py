"""Pictures in: what the model is shown, what is fetched for it, and what is said where nothing can be shown."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import PIL.Image
import pytest

from actors import looking
from actors.actor import Address
from actors.answers import rows_of
from actors.messages import Flush
from index.builtin import BuiltinEmbedder
from memory.errors import MatrixError, MediaFailed, ModelError, Refused
from memory.events import Answer, Incoming, IncomingKind, JournalState
from memory.media import Attachment, MediaKind, Picture, PictureInfo
from memory.model import Image
from memory.settings import KindSettings
from memory.text import unfence
from memory.types import Extraction, Given, Persona, Privacy, TurnKind
from tests.actors.conftest import BAU, BOT, JUNO, ROOM, Bot, until
from tests.actors.test_learning import redaction
from tests.actors.touching import PICTURE, CountingEmbedder, PlainMedia, Watch

SHOWN = Image(PICTURE.media_type, PICTURE.data)
DIRECT: dict[str, object] = {"direct": True, "alone": True, "addressed": False}
OVERHEARD: dict[str, object] = {"addressed": False}


def png(colour: str = "teal") -> bytes:
    data = io.BytesIO()
    PIL.Image.new("RGB", (8, 6), colour).save(data, "PNG")
    return data.getvalue()


@pytest.fixture
async def bot(tmp_path: Path, embedder: BuiltinEmbedder) -> AsyncIterator[Bot]:
    each = Bot(tmp_path / "data", embedder)
    each.media = PlainMedia()
    await each.start()
    yield each
    await each.crash()


def held(bot: Bot, text: str = "", kind: MediaKind = MediaKind.IMAGE, **details: object) -> Incoming:
    """Make a message with a file that the homeserver has."""
    event = bot.message(text, media=kind, **details)  # type: ignore[arg-type]
    sender = str(details.get("sender", JUNO))
    bot.matrix.files[(event.room_id, event.event_id)] = Attachment("x", "image/png", png(), kind=kind, sender=sender)
    return event


async def send(bot: Bot, text: str = "", kind: MediaKind = MediaKind.IMAGE, **details: object) -> Incoming:
    event = held(bot, text, kind, **details)
    await bot.deliver(event)
    await bot.settle()
    return event


def shown(bot: Bot) -> tuple[Image, ...]:
    """What the last prompt shows, which is in its last message alone."""
    *earlier, last = bot.model.prompts[-1].messages
    assert all(message.images == () for message in earlier)
    return last.images


def notes(bot: Bot) -> str:
    return "\n".join(
        each.text for block in bot.model.prompts[-1].messages[-1].blocks for each in unfence("turn", block.text)
    )


async def state(bot: Bot, event: Incoming) -> JournalState:
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event.event_id)
    assert entry is not None
    return entry.state


async def given(bot: Bot, sender: str = JUNO) -> Given | None:
    async with bot.store.transaction() as tables:
        return await tables.journal.last_given(ROOM, None, sender)


# --- what is shown ------------------------------------------------------------------------------------------------


async def test_a_picture_whose_caption_addresses_the_bot_is_shown(bot: Bot) -> None:
    await send(bot, "what is this?")
    assert shown(bot) == (SHOWN,)
    assert bot.matrix.bodies() == ["answer"]
    found = await given(bot)
    assert found is not None
    assert found.picture
    assert notes(bot) == ""


@pytest.mark.parametrize("text", ["what is this?", ""])
@pytest.mark.parametrize("kind", [MediaKind.IMAGE, MediaKind.STICKER])
async def test_in_a_direct_room_a_picture_needs_no_caption(bot: Bot, text: str, kind: MediaKind) -> None:
    await send(bot, text, kind, **DIRECT)
    assert shown(bot) == (SHOWN,)
    assert bot.matrix.bodies() == ["answer"]


@pytest.mark.parametrize("sender", [JUNO, BAU])
async def test_a_reply_to_an_overheard_picture_shows_it(bot: Bot, sender: str) -> None:
    """The journal knows that there was one, and nothing else of it."""
    picture = await send(bot, "my cat", sender=sender, **OVERHEARD)
    assert (bot.matrix.fetched, bot.matrix.sent) == ([], [])
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(picture.event_id)
    assert entry is not None
    assert (entry.state, entry.incoming.text, entry.incoming.media) == (JournalState.IGNORED, "", MediaKind.IMAGE)
    await bot.say("what is this?", reply_to=picture.event_id)
    assert shown(bot) == (SHOWN,)
    assert bot.matrix.fetched == [picture.event_id]


async def test_the_first_question_in_a_thread_on_a_picture_shows_it(bot: Bot) -> None:
    picture = await send(bot, "", **OVERHEARD)
    await bot.say("what is this?", thread_root=picture.event_id)
    assert shown(bot) == (SHOWN,)
    await bot.say("thank you", thread_root=picture.event_id)
    assert shown(bot) == ()
    words = await bot.say("just words", addressed=False)
    await bot.say("what is this?", thread_root=words.event_id)
    assert shown(bot) == ()
    assert bot.matrix.fetched == [picture.event_id]


@pytest.mark.parametrize("text", ["!code what does this show?", "!verse I show you this", "!ask what is it?"])
async def test_code_and_verse_look_too(bot: Bot, text: str) -> None:
    bot.settings.of_kinds = KindSettings(verse_enabled=True)
    await send(bot, text)
    assert shown(bot) == (SHOWN,)


async def test_a_caption_that_begins_with_a_name_of_the_rooms_persona_is_for_the_bot(bot: Bot) -> None:
    bot.settings.named = {"default": Persona(answers_to=("Captain",)), "captain": Persona("captain")}
    await send(bot, "Captain, what is this?", **OVERHEARD)
    await send(bot, "Captain, and this?", addressed=False, for_others=True)
    assert shown(bot) == (SHOWN,)
    assert bot.matrix.bodies() == ["answer"]


async def test_a_drawing_fetches_nothing(bot: Bot) -> None:
    bot.model.answer = lambda prompt: "no drawing"
    await send(bot, "!draw a cat like this")
    assert bot.matrix.fetched == []
    assert all(message.images == () for prompt in bot.model.prompts for message in prompt.messages)


async def test_only_one_picture_is_shown_the_messages_own(bot: Bot) -> None:
    other = await send(bot, "", **OVERHEARD)
    await send(bot, "and this?", reply_to=other.event_id)
    assert len(shown(bot)) == 1
    assert bot.matrix.fetched == ["$e2"]


async def test_d14_a_picture_is_seen_in_its_own_turn_and_later_turns_know_there_was_one(bot: Bot) -> None:
    await send(bot, "", **DIRECT)
    await bot.say("and what colour was it?", **DIRECT)  # type: ignore[arg-type]
    assert shown(bot) == ()
    (before,) = unfence("message", bot.model.prompts[-1].messages[0].blocks[-1].text)
    assert (before.text, before.attributes["with"]) == ("", "a picture")
    first = bot.model.prompts[-1].messages[:2]
    await bot.restart()
    await bot.say("thanks", **DIRECT)  # type: ignore[arg-type]
    again = bot.model.prompts[-1].messages[:2]
    assert [[b.text for b in m.blocks] for m in again] == [[b.text for b in m.blocks] for m in first]


# --- what is fetched ----------------------------------------------------------------------------------------------


async def test_a_reply_to_text_that_the_journal_knows_asks_the_homeserver_nothing(bot: Bot) -> None:
    overheard = await bot.say("just words", addressed=False)
    answered = await bot.say("hello")
    for target in (overheard.event_id, answered.event_id, bot.matrix.sent[-1][1]):
        await bot.say("what?", reply_to=target)
        assert shown(bot) == ()
    assert bot.matrix.fetched == []


async def test_a_reply_to_what_was_there_before_the_bot_asks_once(bot: Bot) -> None:
    bot.matrix.files[(ROOM, "$old")] = Attachment("x", "image/png", png(), kind=MediaKind.IMAGE, sender=BAU)
    await bot.say("what is this?", reply_to="$old")
    assert shown(bot) == (SHOWN,)
    await bot.say("and what is that?", reply_to="$older")
    assert shown(bot) == ()
    assert bot.matrix.fetched == ["$old", "$older"]
    assert notes(bot) == "", "it may have been words"


async def test_a_reply_to_the_bots_own_picture_shows_it_and_to_its_own_words_asks_nothing(bot: Bot) -> None:
    asked = await bot.say("draw, please")
    file = Attachment("cat.png", "image/png", png(), picture=PictureInfo(8, 6, "L"), alt="a cat")
    await bot_sends(bot, Answer(ROOM, asked.event_id, JUNO, "", attachment=file))
    sent = bot.matrix.sent[-1][1]
    bot.matrix.files[(ROOM, sent)] = replace(file, kind=MediaKind.IMAGE, sender=BOT)
    await bot.say("make it bigger?", reply_to=sent)
    assert shown(bot) == (SHOWN,)
    assert bot.matrix.fetched == [sent]


async def bot_sends(bot: Bot, answer: Answer) -> None:
    async with bot.store.transaction() as tables:
        await tables.outbox.add(await rows_of(bot.parts, answer, "file 1"))
    await bot.system.tell(Address("outbox", answer.room_id), Flush())
    await bot.settle()


async def test_a_picture_is_fetched_beside_the_search(bot: Bot) -> None:
    bot.matrix.fetch_gate = asyncio.Event()
    event = held(bot, "I have a dog named Rex")
    await bot.deliver(event)

    async def searched() -> bool:
        async with bot.store.transaction() as tables:
            entry = await tables.journal.get(event.event_id)
        return entry is not None and entry.recall is not None

    await until(searched)
    assert bot.model.prompts == []
    bot.matrix.fetch_gate.set()
    await bot.settle()
    assert shown(bot) == (SHOWN,)


# --- what fails ---------------------------------------------------------------------------------------------------

FAILURES = [
    (Refused("file-too-large", limit=10), "too large", True),
    (Refused("file-unreadable"), "cannot read that file", True),
    (MatrixError("down"), "could not get that picture", False),
    (MediaFailed("no process"), "could not get that picture", False),
]


@pytest.mark.parametrize(("failure", "sentence", "of_file"), FAILURES)
async def test_a_message_with_words_is_answered_all_the_same_and_the_model_told(
    bot: Bot, failure: Exception, sentence: str, of_file: bool
) -> None:
    bot.matrix.fetch_failures = [failure]
    event = await send(bot, "what is this?")
    assert shown(bot) == ()
    assert "cannot be shown to you" in notes(bot)
    assert "do not guess" in notes(bot)
    answer, *line = bot.matrix.bodies()
    assert answer == "answer"
    assert [sentence in each for each in line] == ([True] if of_file else [])
    assert await state(bot, event) is JournalState.LEARNED
    found = await given(bot)
    assert found is not None
    assert not found.picture


@pytest.mark.parametrize(("failure", "sentence", "of_file"), FAILURES)
async def test_a_picture_without_words_that_cannot_be_shown_gets_one_sentence_and_no_model(
    bot: Bot, failure: Exception, sentence: str, of_file: bool
) -> None:
    bot.matrix.fetch_failures = [failure]
    event = await send(bot, "", **DIRECT)
    (said,) = bot.matrix.sent
    assert sentence in str(said[2]["body"])
    assert said[2]["notice"]
    assert (bot.model.prompts, bot.model.requests) == ([], [])
    assert await state(bot, event) is JournalState.FAILED


async def test_a_picture_that_is_no_picture_is_refused_in_its_own_words(bot: Bot) -> None:
    class Damaged(PlainMedia):
        async def picture(self, data: bytes) -> Picture:
            raise Refused("file-too-costly")

    bot.media = Damaged()
    await bot.restart()
    await send(bot, "what is this?")
    assert "more time or memory" in bot.matrix.bodies()[1]


async def test_a_picture_that_does_not_come_is_waited_for_only_so_long(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "LOOKING_SECONDS", 0.05)
    bot.matrix.fetch_gate = asyncio.Event()
    await send(bot, "what is this?")
    assert bot.matrix.bodies() == ["answer"]
    assert "could not be fetched just now" in notes(bot)


async def test_a_larger_file_than_the_rooms_setting_is_not_shown(bot: Bot) -> None:
    bot.settings.of_kinds = KindSettings(pictures_most_bytes=10)
    await send(bot, "what is this?")
    assert shown(bot) == ()


async def test_switched_off_nothing_is_fetched_and_it_is_said(bot: Bot) -> None:
    bot.settings.of_kinds = KindSettings(pictures_enabled=False)
    await send(bot, "what is this?")
    assert "switched off" in notes(bot)
    await send(bot, "", **DIRECT)
    assert bot.matrix.bodies() == ["answer", bot.parts.speaker(ROOM)("pictures-off")]
    await bot.say("what is this?", reply_to="$unknown")
    assert bot.matrix.fetched == []
    assert len(bot.model.prompts) == 2


async def test_a_reply_to_what_cannot_be_read_tells_the_model_and_troubles_nobody(bot: Bot) -> None:
    """It may be any message from before the bot had the room's keys."""
    bot.matrix.fetch_failures = [Refused("file-unreadable")]
    await bot.say("what do you think?", reply_to="$encrypted")
    assert "cannot be read here" in notes(bot)
    assert bot.matrix.bodies() == ["answer"]


async def test_a_model_that_fails_on_a_picture_says_the_sentence_of_any_failure(bot: Bot) -> None:
    bot.model.answer = lambda prompt: ModelError("status 400")
    await send(bot, "what is this?")
    assert bot.matrix.bodies() == [bot.parts.speaker(ROOM)("model-failed")]


# --- other files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text_id"),
    [
        (MediaKind.AUDIO, "no-audio"),
        (MediaKind.VIDEO, "no-video"),
        (MediaKind.LOCATION, "no-location"),
        (MediaKind.FILE, "no-file-but-document"),
    ],
)
async def test_other_files_without_words_are_named_as_not_understood(bot: Bot, kind: MediaKind, text_id: str) -> None:
    event = await send(bot, "", kind, **DIRECT)
    assert bot.matrix.bodies() == [bot.parts.speaker(ROOM)(text_id)]
    assert bot.matrix.sent[0][2]["notice"]
    assert (bot.model.prompts, bot.matrix.fetched) == ([], [])
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event.event_id)
    assert entry is not None
    assert (entry.state, entry.turn, entry.recall) == (JournalState.FAILED, None, None)
    await bot.say("hello", **DIRECT)  # type: ignore[arg-type]
    assert len(bot.model.requests) == 1, "nothing waits for a pass of the file"


async def test_where_documents_are_off_a_file_is_not_told_to_become_one(bot: Bot) -> None:
    bot.settings.of_kinds = KindSettings(documents_enabled=False)
    await send(bot, "", MediaKind.FILE, **DIRECT)
    assert bot.matrix.bodies() == [bot.parts.speaker(ROOM)("no-file")]


async def test_files_without_words_count_against_the_quota(bot: Bot) -> None:
    for _ in range(40):
        await bot.deliver(held(bot, "", MediaKind.AUDIO, **DIRECT))
    await bot.settle()
    *notices, over = bot.matrix.bodies()
    assert notices == [bot.parts.speaker(ROOM)("no-audio")] * 30
    assert over not in notices


@pytest.mark.parametrize(
    ("kind", "word"), [(MediaKind.AUDIO, "sound"), (MediaKind.VIDEO, "a video"), (MediaKind.FILE, "a file")]
)
async def test_with_words_the_turn_runs_and_the_model_knows_what_it_does_not_see(
    bot: Bot, kind: MediaKind, word: str
) -> None:
    await send(bot, "what do you say to this?", kind)
    assert word in notes(bot)
    assert bot.matrix.fetched == []
    overheard = await send(bot, "", kind, **OVERHEARD)
    await bot.say("and to this?", reply_to=overheard.event_id)
    assert word in notes(bot)
    assert "replies to" in notes(bot)
    assert (bot.matrix.fetched, bot.matrix.bodies()) == ([], ["answer", "answer"])


async def test_overheard_files_in_a_group_are_ignored_whatever_they_are(bot: Bot) -> None:
    for kind in MediaKind:
        await send(bot, "", kind, **OVERHEARD)
        await send(bot, "look", kind, **OVERHEARD)
    assert (bot.matrix.sent, bot.matrix.fetched, bot.model.prompts) == ([], [], [])


# --- whose picture it is ------------------------------------------------------------------------------------------


async def silence(bot: Bot, user: str) -> None:
    async with bot.store.transaction() as tables:
        await tables.users.set_privacy(user, Privacy.SILENT)


async def test_of_somebody_silent_no_picture_is_noted_fetched_or_shown(bot: Bot) -> None:
    await silence(bot, BAU)
    picture = await send(bot, "look", sender=BAU, **OVERHEARD)
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(picture.event_id)
    assert entry is not None
    assert entry.incoming.media is None
    await bot.say("what is this?", reply_to=picture.event_id)
    assert shown(bot) == ()
    await send(bot, "what is this?", sender=BAU)
    await send(bot, "", sender=BAU, **DIRECT)
    assert bot.matrix.fetched == []
    assert bot.matrix.bodies() == ["answer"]


@pytest.mark.parametrize("known", [True, False], ids=["journalled", "from before the bot"])
async def test_a_picture_of_somebody_silent_by_now_is_not_shown(bot: Bot, known: bool) -> None:
    picture = await send(bot, "look", sender=BAU, **OVERHEARD)
    event_id = picture.event_id
    if not known:
        event_id = "$old"
        bot.matrix.files[(ROOM, event_id)] = bot.matrix.files[(ROOM, picture.event_id)]
    await silence(bot, BAU)
    await bot.say("what is this?", reply_to=event_id)
    assert shown(bot) == ()
    assert "did not send it for this conversation" in notes(bot)


async def test_d8_a_picture_sent_in_private_is_shown_to_nobody_who_joined_later(bot: Bot) -> None:
    picture = await send(bot, "look", **DIRECT)
    bot.matrix.fetched.clear()
    await bot.say("what is this?", sender=BAU, reply_to=picture.event_id, direct=True)
    assert shown(bot) == ()
    await bot.say("what was it?", reply_to=picture.event_id, direct=True)
    assert shown(bot) == (), "others hear the answer"
    assert bot.matrix.fetched == []


async def test_a_picture_of_another_room_is_not_fetched(bot: Bot) -> None:
    picture = await send(bot, "", **OVERHEARD)
    await bot.say("what is this?", room="!other:hs", reply_to=picture.event_id)
    assert (shown(bot), bot.matrix.fetched) == ((), [])


# --- what it touches, and what becomes of it ----------------------------------------------------------------------


async def test_d2_p1_a_picture_without_words_searches_nothing_and_asks_no_model_what_it_taught(
    tmp_path: Path, embedder: BuiltinEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pass of P1 takes place all the same: it prunes (P4), and has nothing to learn from."""
    counting = CountingEmbedder(embedder)
    bot = Bot(tmp_path / "data", counting)
    bot.media = PlainMedia()
    bot.model.find = lambda request: Extraction(("Has a cat",))
    await bot.start()
    try:
        with Watch(bot, counting, monkeypatch).watching() as seen:
            event = await send(bot, "", **DIRECT)
        assert seen.queries == ()
        assert seen.turns == {(TurnKind.ASK, "answered"): 1}
        assert seen.tables == {"journal", "sync_state", "outbox", "usage"}
        assert bot.model.requests == []
        assert await state(bot, event) is JournalState.LEARNED
        with Watch(bot, counting, monkeypatch).watching() as seen:
            await send(bot, "this is my cat", **DIRECT)
        assert seen.queries == ("this is my cat",)
        assert {"memory_candidates", "mentions"} < set(seen.tables)
    finally:
        await bot.crash()


async def test_p4_a_picture_without_words_is_followed_by_a_pass_that_prunes(bot: Bot) -> None:
    bot.model.find = lambda request: Extraction(("Has a cat",))
    await bot.say("I have a cat")
    assert len(await bot.candidates()) == 1
    bot.next_day(20)
    await send(bot, "", **DIRECT)
    assert (len(bot.model.requests), await bot.candidates()) == (1, ())


async def test_a_picture_redacted_while_it_is_fetched_is_not_shown(bot: Bot) -> None:
    bot.matrix.fetch_gate = asyncio.Event()
    event = held(bot, "what is this?")
    await bot.deliver(event)
    await until(lambda: bot.matrix.fetched == [event.event_id])
    await bot.deliver(redaction(bot, event.event_id))  # type: ignore[arg-type]
    await bot.settle()
    bot.matrix.fetch_gate.set()
    await bot.settle()
    assert (bot.model.prompts, bot.matrix.sent) == ([], [])
    await bot.say("what was it?", reply_to=event.event_id)
    assert (shown(bot), bot.matrix.fetched) == ((), [event.event_id])


@pytest.mark.parametrize("addressed", [True, False])
async def test_a_redacted_picture_is_never_fetched_and_an_edited_caption_leaves_it(bot: Bot, addressed: bool) -> None:
    picture = await send(bot, "what is tihs?", addressed=addressed)
    edit = replace(bot.message("what is this?"), kind=IncomingKind.EDIT, target=picture.event_id)
    await bot.deliver(edit)
    await bot.settle()
    bot.matrix.fetched.clear()
    await bot.say("what is this?", reply_to=picture.event_id)
    assert shown(bot) == (SHOWN,)
    await bot.deliver(redaction(bot, picture.event_id))  # type: ignore[arg-type]
    await bot.settle()
    bot.matrix.fetched.clear()
    await bot.say("what was it?", reply_to=picture.event_id)
    assert (shown(bot), bot.matrix.fetched) == ((), [])


async def test_d2_a_restart_in_the_middle_shows_the_picture_again_and_counts_no_day_twice(bot: Bot) -> None:
    await bot.say("!memories add Has a cat")
    bot.next_day()
    bot.model.gates["what"] = asyncio.Event()
    event = held(bot, "what does it eat?")
    await bot.deliver(event)
    await until(lambda: "what" in bot.model.replying)
    before = await bot.memories()
    bot.model.gates.clear()
    await bot.restart()
    await bot.settle()
    assert [memory.unused_days for memory in await bot.memories()] == [memory.unused_days for memory in before]
    assert shown(bot) == (SHOWN,)
    assert bot.matrix.fetched == [event.event_id, event.event_id]
    assert bot.matrix.bodies()[-1] == "answer"


@pytest.mark.parametrize("known", [True, False], ids=["journalled", "from before the bot"])
async def test_an_answer_about_a_picture_that_was_redacted_meanwhile_is_not_sent(bot: Bot, known: bool) -> None:
    picture = (await send(bot, "look", sender=BAU, **OVERHEARD)).event_id
    if not known:
        bot.matrix.files[(ROOM, "$old")] = bot.matrix.files.pop((ROOM, picture))
        picture = "$old"
    gate = bot.model.gates["what"] = asyncio.Event()
    event = bot.message("what is this?", reply_to=picture)
    await bot.deliver(event)
    await until(lambda: "what" in bot.model.replying)
    assert shown(bot) == (SHOWN,)
    taken = redaction(bot, picture)
    await bot.deliver(taken)  # type: ignore[arg-type]
    gate.set()
    await bot.settle()
    assert bot.matrix.bodies() == [bot.parts.speaker(ROOM)("given-deleted")]
    assert await state(bot, event) is JournalState.FAILED
    assert bot.model.requests == []


async def test_an_answer_about_another_picture_goes_out(bot: Bot) -> None:
    picture, other = [(await send(bot, "look", sender=BAU, **OVERHEARD)).event_id for _ in range(2)]
    gate = bot.model.gates["what"] = asyncio.Event()
    await bot.deliver(bot.message("what is this?", reply_to=picture))
    await until(lambda: "what" in bot.model.replying)
    await bot.deliver(redaction(bot, other))  # type: ignore[arg-type]
    gate.set()
    await bot.settle()
    assert bot.matrix.bodies() == ["answer"]
