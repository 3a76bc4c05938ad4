"""`!draw`: a picture and no words, made without memories, without a search, and teaching nothing (Words, P1, D2)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from actors.spending import Spending
from media.jobs import MediaJobs
from memory.drawing import SYSTEM_TEXT
from memory.errors import BudgetSpent, MediaFailed, ModelError, PaintingFailed, Refused
from memory.events import Incoming, IncomingKind, JournalState
from memory.model import Prompt, Usage
from memory.quota import per_minutes
from memory.settings import KindSettings
from memory.spending import BudgetSettings
from memory.text import unfence
from memory.types import Extraction, TurnKind
from tests.actors.conftest import BAU, JUNO, ROOM, START, Bot, until
from tests.actors.test_measuring import Counting
from tests.actors.touched import touched
from tests.fakes.media import JPEG, PNG, FakeMedia
from texts.catalogue import Speaker

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><title>A cat on a roof</title><path d="M0 0h9v9"/></svg>'
CUT = SVG[:60]
DIRECT = "!direct:hs"
ASKED = "!draw a cat on a roof"
say = Speaker()


@pytest.fixture
def media(bot: Bot) -> FakeMedia:
    """A bot that draws what the model answers, without a process."""
    media = FakeMedia()
    bot.media = media
    bot.parts = replace(bot.parts, media=media)
    bot.model.answer = lambda prompt: SVG
    return media


class FakePainter:
    """Satisfies the Painter port."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failure: ModelError | Refused | None = None

    async def paint(self, description: str) -> bytes:
        self.asked.append(description)
        if self.failure is not None:
            raise self.failure
        return b"as painted"


@pytest.fixture
def painter(bot: Bot, media: FakeMedia) -> FakePainter:
    painter = FakePainter()
    bot.painter = painter
    bot.parts = replace(bot.parts, painter=painter)
    return painter


def answers(bot: Bot, *texts: str | ModelError) -> None:
    """Let the model answer these, in order."""
    steps = iter(texts)
    bot.model.answer = lambda prompt: next(steps)


def sent(bot: Bot, room: str = ROOM) -> list[dict[str, Any]]:
    return [content for where, _, content in bot.matrix.sent if where == room]


def pictures(bot: Bot, room: str = ROOM) -> list[str]:
    return [content["alt"] for content in sent(bot, room) if "alt" in content]


async def usage(bot: Bot) -> list[tuple[str, ...]]:
    async with bot.store.transaction() as tables:
        totals = await tables.usage.totals(START.date(), bot.clock.today(), ["user", "purpose"])
    return [(*total.group, str(total.calls)) for total in totals]


async def state(bot: Bot, event: Incoming) -> JournalState:
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event.event_id)
    assert entry is not None
    return entry.state


async def test_a_drawing_is_one_picture_with_alternative_text_and_no_words(bot: Bot, media: FakeMedia) -> None:
    event = await bot.say(ASKED, thread_root="$root")
    [content] = sent(bot)
    assert (content["body"], content["type"], content["alt"]) == ("drawing.png", "image/png", "A cat on a roof")
    assert (content["w"], content["h"], content["blurhash"]) == (1024, 768, PNG.info.blurhash)
    assert (content["answers"], content["thread"], content["recipient"]) == (event.event_id, "$root", JUNO)
    assert bot.matrix.uploads == [PNG.data]
    assert media.drawings == [SVG]
    assert await state(bot, event) is JournalState.LEARNED
    assert await usage(bot) == [(JUNO, "draw", "1")]


async def test_the_model_is_given_the_description_and_nothing_else(bot: Bot, media: FakeMedia) -> None:
    await bot.say("!memories add My boat is named Tern")
    await bot.say("the boat is blue")
    await bot.say("!draw my boat")
    prompt = bot.model.prompts[-1]
    [message] = prompt.messages
    assert [block.text for block in prompt.system] == [SYSTEM_TEXT]
    assert [fenced.text for fenced in unfence("description", message.blocks[0].text)] == ["my boat"]
    assert "Tern" not in str(prompt) and "blue" not in str(prompt)


@pytest.mark.parametrize("answer", [f"Here it is:\n```svg\n{SVG}\n```\nI hope.", f'<?xml version="1.0"?>\n{SVG}'])
async def test_an_svg_in_prose_is_found(bot: Bot, media: FakeMedia, answer: str) -> None:
    answers(bot, answer)
    await bot.say(ASKED)
    assert media.drawings == [SVG]
    assert pictures(bot) == ["A cat on a roof"]


async def test_a_refused_drawing_is_asked_for_once_more_with_the_reason(bot: Bot, media: FakeMedia) -> None:
    bot.settings.languages[ROOM] = "de"
    media.failures = [Refused("drawing-too-complex")]
    answers(bot, "first " + SVG, SVG)
    await bot.say(ASKED)
    first, second = bot.model.prompts
    assert second.system == first.system
    assert [message.role for message in second.messages] == ["user", "assistant", "user"]
    [reason] = unfence("reason", second.messages[-1].blocks[0].text)
    assert reason.text == say("drawing-too-complex"), "the model is spoken to in English"
    assert second.messages[1].blocks[0].text == "first " + SVG
    assert pictures(bot) == ["A cat on a roof"]
    assert await usage(bot) == [(JUNO, "draw", "2")]


async def test_a_drawing_refused_twice_is_refused(bot: Bot, media: FakeMedia) -> None:
    counting = Counting()
    bot.parts = replace(bot.parts, metrics=counting)
    media.failures = [Refused("drawing-outside"), Refused("drawing-too-costly")]
    event = await bot.say(ASKED)
    [content] = sent(bot)
    assert (content["body"], content["notice"]) == (say("drawing-too-costly"), True)
    assert (len(bot.model.prompts), await usage(bot)) == (2, [(JUNO, "draw", "2")])
    assert await state(bot, event) is JournalState.FAILED
    assert counting.seen["turn", "draw", "failed"] == 1


async def test_an_answer_without_a_drawing_is_not_asked_for_again(bot: Bot, media: FakeMedia) -> None:
    answers(bot, "I cannot draw that.")
    await bot.say(ASKED)
    assert bot.matrix.bodies() == [say("draw-nothing")]
    assert await usage(bot) == [(JUNO, "draw", "1")]


async def test_a_drawing_that_was_cut_off_is_asked_for_once_more(bot: Bot, media: FakeMedia) -> None:
    answers(bot, CUT, SVG)
    await bot.say(ASKED)
    assert pictures(bot) == ["A cat on a roof"]
    assert media.drawings == [SVG], "what was cut is not even looked at"
    answers(bot, CUT, CUT)
    await bot.say(ASKED)
    assert bot.matrix.bodies()[-1] == say("draw-unfinished")


async def test_a_model_that_fails_is_told_with_what_it_cost(bot: Bot, media: FakeMedia) -> None:
    answers(bot, ModelError("down"))
    await bot.say(ASKED)
    assert (bot.matrix.bodies(), await usage(bot)) == ([say("model-failed")], [])
    answers(bot, CUT, ModelError("down"))
    await bot.say(ASKED)
    assert bot.matrix.bodies()[1:] == [say("model-failed")]
    assert await usage(bot) == [(JUNO, "draw", "1")], "the first try was answered"


async def test_a_process_that_cannot_be_had_is_no_fault_of_the_drawing(bot: Bot, media: FakeMedia) -> None:
    media.failures = [MediaFailed("no process")]
    await bot.say(ASKED)
    assert bot.matrix.bodies() == [say("draw-failed")]
    assert len(bot.model.prompts) == 1


async def test_the_budget_is_looked_at_before_each_call(bot: Bot, media: FakeMedia) -> None:
    spending = Spending(BudgetSettings(12))  # one reply of the double
    bot.parts = replace(bot.parts, spending=spending)
    asked: list[int] = []

    def answer(prompt: Prompt) -> str:
        asked.append(1)
        spending.ended(Usage("fake", input_tokens=10, output_tokens=2))
        return CUT

    bot.model.answer = answer
    await bot.say(ASKED)
    assert bot.matrix.bodies() == [say("budget-spent")]
    assert len(asked) == 1
    with pytest.raises(BudgetSpent):
        await spending.check(bot.store, bot.clock.today())


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("!draw " + "x" * 2001, say("draw-too-long", length=2001, limit=2000)),
        ("!draw \u2066\u2069", say("draw-blank")),
    ],
)
async def test_what_cannot_be_drawn_is_refused_before_the_model_is_asked(
    bot: Bot, media: FakeMedia, asked: str, told: str
) -> None:
    await bot.say(asked)
    assert (bot.matrix.bodies(), bot.model.prompts) == ([told], [])


# --- a painter ----------------------------------------------------------------------------------------------------


async def test_a_painter_paints_and_what_it_sends_is_decoded(bot: Bot, media: FakeMedia, painter: FakePainter) -> None:
    await bot.say(ASKED)
    [content] = sent(bot)
    assert (content["body"], content["alt"]) == ("drawing.jpg", "a cat on a roof")
    assert (painter.asked, media.pictures) == (["a cat on a roof"], [b"as painted"])
    assert bot.matrix.uploads == [JPEG.data]
    assert (bot.model.prompts, await usage(bot)) == ([], [])


@pytest.mark.parametrize(
    ("failure", "told"),
    [(PaintingFailed("down"), "painter-failed"), (Refused("painter-declined"), "painter-declined")],
)
async def test_a_painter_that_fails_is_told(
    bot: Bot, painter: FakePainter, failure: ModelError | Refused, told: str
) -> None:
    painter.failure = failure
    event = await bot.say(ASKED)
    assert bot.matrix.bodies() == [say(told)]
    assert await state(bot, event) is JournalState.FAILED


async def test_a_painted_file_that_is_refused_is_no_fault_of_the_person(
    bot: Bot, media: FakeMedia, painter: FakePainter
) -> None:
    media.failures = [Refused("file-too-costly")]
    await bot.say(ASKED)
    assert bot.matrix.bodies() == [say("painter-failed")]


# --- apart from conversation and memory ---------------------------------------------------------------------------


async def test_p1_d2_a_drawing_searches_nothing_counts_nothing_and_teaches_nothing(bot: Bot, media: FakeMedia) -> None:
    bot.model.find = lambda request: Extraction(("Has a cat on a roof",))
    await bot.say("!memories add Has a cat named Mochi")
    before = await bot.memories()
    bot.next_day(9)
    event = await bot.say("!draw Mochi, my cat")
    assert (bot.model.requests, await bot.candidates()) == ([], ())
    assert await bot.memories() == before, "no match and no day (D3, D4)"
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event.event_id)
    assert entry is not None
    assert (entry.recall, entry.said, entry.answer, entry.turn) == (None, None, None, TurnKind.DRAW)


async def test_what_was_drawn_is_in_no_conversation_window_not_even_after_a_restart(bot: Bot, media: FakeMedia) -> None:
    await bot.say("hello")
    await bot.say("!draw a lighthouse")
    await bot.say("and now?")
    assert "lighthouse" not in str(bot.model.prompts[-1])
    assert "hello" in str(bot.model.prompts[-1])
    await bot.restart()
    await bot.say("and then?")
    assert "lighthouse" not in str(bot.model.prompts[-1])
    assert "hello" in str(bot.model.prompts[-1])


async def test_d14_a_drawing_does_not_trim_the_conversation_window(bot: Bot, media: FakeMedia) -> None:
    """Else the window would begin elsewhere than one that is read from the journal, where no drawing is a turn."""
    bot.model.answer = lambda prompt: SVG
    for minute, text in ((0, "the first of all"), (17, "the second of all"), (61, ASKED), (63, "the third of all")):
        bot.clock.set(START + timedelta(minutes=minute))
        await bot.say(text)
    shown = str(bot.model.prompts[-1].messages)
    assert "the third of all" in shown
    assert "the second of all" not in shown, "46 minutes old when the window was trimmed"


@pytest.mark.parametrize("answer", [SVG, "I cannot draw that."])
async def test_only_journal_outbox_and_usage_change(bot: Bot, media: FakeMedia, answer: str) -> None:
    await bot.say("!memories add Has a cat named Mochi")
    await bot.say("I like cats")
    answers(bot, answer)
    changed = await touched(bot.folder, lambda: bot.say("!draw Mochi, my cat"))
    assert changed == {"journal", "outbox", "usage", "sync_state"}


async def test_drawings_hold_nobody_up(bot: Bot, media: FakeMedia) -> None:
    gate = bot.model.gates["lighthouse"] = asyncio.Event()
    await bot.deliver(bot.message("!draw a lighthouse"))
    await until(lambda: bot.model.replying == {"lighthouse"})
    bot.model.answer = lambda prompt: "It is noon."
    await bot.deliver(bot.message("what time is it?"))
    await until(lambda: bot.matrix.bodies() == ["It is noon."])
    bot.model.answer = lambda prompt: SVG
    gate.set()
    await bot.settle()
    assert pictures(bot) == ["A cat on a roof"]


# --- when it does not go on as it began ---------------------------------------------------------------------------


async def test_a_drawing_for_one_alone_goes_into_their_direct_room_where_another_has_joined(
    bot: Bot, media: FakeMedia
) -> None:
    gate = bot.model.gates["cat"] = asyncio.Event()
    await bot.deliver(bot.message(ASKED, room=DIRECT, direct=True, alone=True))
    await until(lambda: bot.model.replying == {"cat"})
    bot.matrix.joined[DIRECT].add(BAU)
    gate.set()
    await bot.settle()
    assert [content["body"] for content in sent(bot, DIRECT)] == [say("private-no-more")]
    assert pictures(bot, bot.matrix.direct[JUNO]) == ["A cat on a roof"]


async def test_a_redaction_stops_a_drawing(bot: Bot, media: FakeMedia) -> None:
    bot.model.gates["cat"] = asyncio.Event()
    event = bot.message(ASKED)
    await bot.deliver(event)
    await until(lambda: bot.matrix.typing_on == {ROOM})
    await bot.deliver(Incoming("$r", ROOM, JUNO, IncomingKind.REDACTION, bot.clock.now(), target=event.event_id))
    await bot.settle()
    assert (bot.matrix.sent, media.drawings, bot.matrix.typing_on) == ([], [], set())
    assert await state(bot, event) is JournalState.FAILED


async def test_a_drawing_cut_off_by_a_crash_is_drawn_anew_and_sent_once(bot: Bot, media: FakeMedia) -> None:
    gate = bot.model.gates["cat"] = asyncio.Event()
    event = bot.message(ASKED)
    await bot.deliver(event)
    await until(lambda: bot.model.replying == {"cat"})
    gate.set()
    bot.model.gates.clear()
    await bot.restart()
    await bot.settle()
    assert pictures(bot) == ["A cat on a roof"]
    await bot.restart()
    await bot.deliver(event)
    await bot.settle()
    assert pictures(bot) == ["A cat on a roof"]
    assert await state(bot, event) is JournalState.LEARNED


async def test_drawing_can_be_switched_off(bot: Bot, media: FakeMedia) -> None:
    bot.settings.of_kinds = KindSettings(draw_enabled=False)
    event = await bot.say(ASKED)
    assert (bot.matrix.bodies(), bot.model.prompts) == ([say("draw-off")], [])
    assert await state(bot, event) is JournalState.FAILED


async def test_a_person_may_draw_so_often_and_a_room_may(bot: Bot, media: FakeMedia) -> None:
    limit = bot.parts.dispatcher.limit("draw")
    assert (limit.quota, limit.name) == (per_minutes(10, user=5, room=20), "draw")
    for _ in range(6):
        await bot.say(ASKED)
    assert (len(pictures(bot)), bot.matrix.bodies()[-1]) == (5, say("quota-user", wait=say("wait-minutes", n=10)))
    bot.clock.advance(timedelta(minutes=10))
    await bot.say(ASKED)
    assert len(pictures(bot)) == 6


# --- for real -----------------------------------------------------------------------------------------------------


async def test_a_drawing_is_made_in_a_process_of_its_own(bot: Bot) -> None:
    bot.media = MediaJobs()
    bot.parts = replace(bot.parts, media=bot.media)
    answers(bot, SVG.replace("<svg ", '<svg viewBox="0 0 10 10" '))
    await bot.say(ASKED)
    assert pictures(bot) == ["A cat on a roof"]
    [png] = bot.matrix.uploads
    assert png.startswith(b"\x89PNG\r\n")
    assert sent(bot)[0]["w"] == sent(bot)[0]["h"] == 1024


async def test_what_a_process_refuses_is_told_to_the_model_and_then_to_the_person(bot: Bot) -> None:
    bot.media = MediaJobs()
    bot.parts = replace(bot.parts, media=bot.media)
    outside = SVG.replace("<path", '<image href="file:///etc/passwd"/><path')
    answers(bot, outside, outside)
    await bot.say(ASKED)
    assert bot.matrix.bodies() == [say("drawing-forbidden", name="image")]
    [reason] = unfence("reason", bot.model.prompts[1].messages[-1].blocks[0].text)
    assert reason.text == say("drawing-forbidden", name="image")
