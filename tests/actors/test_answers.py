"""What is for one person alone, and files: where they go, under which transaction ids, and what a crash leaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from actors import outbox
from actors.answers import Private, Said, answering, transaction_id
from memory.errors import MatrixError
from memory.events import Incoming, IncomingKind, OutboxRow
from memory.media import Attachment
from tests.actors.conftest import BAU, JUNO, ROOM, Bot

FILE = Attachment("facts.json", "application/json", b"{}")
UNREACHABLE = "What was meant for you alone I could not send: I could not open a direct room with you."


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "_backoff", lambda state: 0.0)


async def answer(bot: Bot, event: Incoming, markdown: str, *private: Private, notice: bool = True) -> None:
    async with answering(bot.parts, bot.system, event, Said(markdown, notice=notice, private=private)):
        pass
    await bot.settle()


async def rows(bot: Bot, *event_ids: str) -> list[tuple[str, str | None, bool]]:
    """Room, sent event and whether a file waits, of every row of these events."""
    statement = (
        "SELECT room_id, sent_event_id, txn_id IN (SELECT txn_id FROM attachments) FROM outbox "
        "WHERE event_id IN (SELECT value FROM json_each(?)) ORDER BY seq"
    )
    async with bot.store.transaction() as tables:
        found = await tables.outbox._sql.rows(statement, json.dumps(event_ids))
    return [(room, sent, bool(waits)) for room, sent, waits in found]


def test_transaction_ids_are_the_same_each_time_and_differ_by_event_label_and_part() -> None:
    ids = {
        transaction_id(event, part, label)
        for event in ("$a", "$b")
        for part in (0, 1)
        for label in ("", "line", "private 1", "private 2")
    }
    assert len(ids) == 16
    assert transaction_id("$a", 1, "private 1") == transaction_id("$a", 1, "private 1")


async def test_d12_a_private_word_goes_to_the_direct_room_and_the_answer_to_the_room(bot: Bot) -> None:
    event = bot.message("hello")
    await answer(bot, event, "saved #3", Private(JUNO, "the text"), Private(BAU, "to Bau", FILE))
    direct = bot.matrix.direct
    assert [(room, content["body"], content["recipient"]) for room, _, content in bot.matrix.sent] == [
        (ROOM, "saved #3", JUNO),
        (direct[JUNO], "the text", None),
        (direct[BAU], "to Bau", None),
        (direct[BAU], "facts.json", None),
    ]
    assert bot.matrix.uploads == [FILE.data]
    assert len(bot.matrix.by_txn) == 4


async def test_d12_in_private_the_word_is_said_there_as_an_answer(bot: Bot) -> None:
    event = bot.message("hello", direct=True, alone=True)
    await answer(bot, event, "saved #3", Private(JUNO, "the text"), Private(BAU, "to Bau"))
    assert [(content["body"], content["recipient"]) for room, _, content in bot.matrix.sent if room == ROOM] == [
        ("saved #3", JUNO),
        ("the text", JUNO),
    ]
    assert bot.matrix.bodies(bot.matrix.direct[BAU]) == ["to Bau"]


@pytest.mark.parametrize("notice", [True, False], ids=["command", "turn"])
async def test_d12_the_answer_goes_out_all_the_same_and_says_so_where_no_direct_room_can_be_had(
    bot: Bot, notice: bool
) -> None:
    bot.matrix.unreachable = {JUNO}
    event = bot.message("hello")
    await answer(bot, event, "saved #3", Private(JUNO, "the text"), Private(JUNO, "more"), notice=notice)
    bodies = bot.matrix.bodies()
    if notice:
        [body] = bodies
        assert body.startswith(f"saved #3\n\n{UNREACHABLE}")
    else:
        assert bodies[0] == "saved #3", "what the model said stays as it said it"
        assert bodies[1].startswith(UNREACHABLE)
        assert bot.matrix.sent[1][2]["notice"]
    assert "".join(bodies).count(UNREACHABLE) == 1
    assert not [body for body in bodies if "the text" in body or "more" in body]


async def test_an_answer_made_twice_has_one_row_a_part_and_uploads_once(bot: Bot) -> None:
    event = bot.message("hello")
    for _ in range(2):
        await answer(bot, event, "sent", Private(JUNO, "", FILE))
    assert bot.matrix.bodies() == ["sent", "facts.json"]
    assert bot.matrix.uploads == [FILE.data]
    assert not any(waits for _, _, waits in await rows(bot, event.event_id))


def failing(bot: Bot, monkeypatch: pytest.MonkeyPatch, fails: Callable[[OutboxRow], MatrixError | None]) -> None:
    send = bot.matrix.send

    async def sometimes(row: OutboxRow) -> str:
        if (error := fails(row)) is not None:
            raise error
        return await send(row)

    monkeypatch.setattr(bot.matrix, "send", sometimes)


async def test_what_was_uploaded_is_stored_before_it_is_sent_and_stays_one_file_across_a_crash(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The homeserver may have taken the event before the crash: the same transaction id then names the same file."""
    event = bot.message("hello")
    with monkeypatch.context() as patch:
        failing(bot, patch, lambda row: MatrixError("cut off") if "mxc:" in row.content else None)
        await answer(bot, event, "sent", Private(JUNO, "", FILE))
    assert bot.matrix.uploads == [FILE.data]
    direct = bot.matrix.direct[JUNO]
    assert (await rows(bot, event.event_id))[-1] == (direct, None, False), "the file itself is stored no longer"
    async with bot.store.transaction() as tables:
        [row] = await tables.outbox.pending()
    assert json.loads(row.content)["url"] == "mxc://hs/0"
    await bot.restart()
    await bot.settle()
    assert bot.matrix.uploads == [FILE.data], "not uploaded again"
    assert [content["url"] for _, _, content in bot.matrix.sent if "url" in content] == ["mxc://hs/0"]


async def test_an_upload_cut_off_is_made_again_and_one_event_is_sent(bot: Bot) -> None:
    event = bot.message("hello")
    bot.matrix.failures = [MatrixError("down")] * outbox.ATTEMPTS * 2
    await answer(bot, event, "sent", Private(JUNO, "", FILE))
    assert bot.matrix.sent == []
    assert [waits for _, _, waits in await rows(bot, event.event_id)][-2:] == [False, True]
    await bot.restart()
    await bot.settle()
    assert bot.matrix.bodies() == ["sent", "facts.json"]
    assert bot.matrix.looked_for == []


async def test_a_file_the_homeserver_will_never_take_is_not_kept(bot: Bot) -> None:
    event = bot.message("hello", direct=True, alone=True)
    bot.matrix.failures = [MatrixError("M_TOO_LARGE", permanent=True)]
    await answer(bot, event, "", Private(JUNO, "", FILE))
    missing = "I could not send a file that belongs to this answer: the homeserver does not take it."
    assert bot.matrix.bodies() == [missing]
    assert [waits for _, _, waits in await rows(bot, event.event_id)] == [False, False]
    assert not any(waits for _, _, waits in await rows(bot, event.event_id))


async def test_a_file_not_yet_sent_goes_with_the_event_that_asked_for_it(bot: Bot) -> None:
    event = await bot.say("hello")
    bot.matrix.sent.clear()
    bot.matrix.failures = [MatrixError("down")] * outbox.ATTEMPTS * 2
    await answer(bot, event, "", Private(JUNO, "words", FILE))
    assert any(waits for _, _, waits in await rows(bot, event.event_id))
    redaction = bot.message("", target=event.event_id)
    await bot.deliver(replace(redaction, kind=IncomingKind.REDACTION))
    await bot.settle()
    await bot.deliver()
    await bot.settle()
    assert bot.matrix.sent == []
    assert not any(waits for _, _, waits in await rows(bot, event.event_id))


async def test_taking_back_a_private_word_takes_nothing_back_elsewhere(bot: Bot) -> None:
    event = await bot.say("hello")
    await answer(bot, event, "", Private(JUNO, "the text"))
    [(_, word, _)] = [sent for sent in bot.matrix.sent if sent[0] == bot.matrix.direct[JUNO]]
    redaction = bot.message("", room=bot.matrix.direct[JUNO], target=word)
    await bot.deliver(replace(redaction, kind=IncomingKind.REDACTION))
    await bot.settle()
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event.event_id)
    assert entry is not None
    assert entry.answer == "answer", "the answer in the room stands"


async def test_what_a_redaction_in_a_batch_takes_back_is_not_sent_to_a_direct_room_by_that_batch(bot: Bot) -> None:
    event = await bot.say("hello")
    bot.matrix.sent.clear()
    bot.matrix.failures = [MatrixError("down")] * outbox.ATTEMPTS
    await answer(bot, event, "", Private(JUNO, "the text"))
    await bot.crash()
    await bot.start()
    await bot.deliver(replace(bot.message("", target=event.event_id), kind=IncomingKind.REDACTION))
    await bot.intake.resume()
    await bot.settle()
    assert bot.matrix.sent == []
