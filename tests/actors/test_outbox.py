"""The outbox: one event a transaction id, in order, whatever fails in between."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from actors import outbox
from actors.actor import Address
from actors.answers import rows_of
from actors.messages import Flush
from memory.errors import MatrixError
from memory.events import Answer, Echo, Incoming, IncomingKind, JournalState, OutboxRow, SyncBatch
from tests.actors.conftest import JUNO, ROOM, Bot, until
from texts.catalogue import Speaker


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "_backoff", lambda state: 0.0)


async def pending(bot: Bot) -> int:
    async with bot.store.transaction() as tables:
        return len(await tables.outbox.pending())


async def test_what_may_pass_is_retried_as_asked_and_sent_once(bot: Bot) -> None:
    bot.matrix.failures = [MatrixError("slow down", retry_after=0.01), MatrixError("502")]
    await bot.say("hello")
    assert bot.matrix.bodies() == ["answer"]
    assert bot.matrix.tries == 3
    assert await pending(bot) == 0


async def test_retries_are_bounded_and_the_row_is_kept_for_the_next_flush(bot: Bot) -> None:
    bot.matrix.failures = [MatrixError("down")] * outbox.ATTEMPTS
    await bot.say("one")
    assert bot.matrix.bodies() == []
    assert await pending(bot) == 1
    await bot.say("two")
    assert [content["answers"] for _, _, content in bot.matrix.sent] == ["$e1", "$e2"]


async def test_what_will_never_be_taken_is_dropped_and_the_next_row_goes_on(bot: Bot) -> None:
    bot.matrix.failures = [MatrixError("M_FORBIDDEN", permanent=True)]
    await bot.say("one")
    await bot.say("two")
    assert [content["answers"] for _, _, content in bot.matrix.sent] == ["$e2"]
    assert await pending(bot) == 0


CODE = "```python\n" + "print('hello')\n" * 40 + "```"
NO_FILE = Speaker()("file-unsent")


def without_uploads(bot: Bot, monkeypatch: pytest.MonkeyPatch, *, permanent: bool) -> None:
    """Let the homeserver take no file, but all else."""

    async def refused(row: OutboxRow) -> str:
        raise MatrixError("no file", permanent=permanent)

    monkeypatch.setattr(bot.matrix, "upload", refused)


async def test_of_a_file_that_will_never_be_taken_it_is_said(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    without_uploads(bot, monkeypatch, permanent=True)
    bot.model.answer = lambda prompt: f"{CODE}\n\n{CODE}"
    await bot.say("!code hello", thread_root="$root")
    words, told = (content for _, _, content in bot.matrix.sent)
    assert "hello" in str(words["body"])
    assert (told["body"], told["answers"], told["thread"]) == (NO_FILE, "$e1", "$root"), "once for all files of it"
    assert told["notice"]
    await bot.say("and now?")
    assert [content["answers"] for _, _, content in bot.matrix.sent][2:] == ["$e2"]
    assert await pending(bot) == 0


async def test_a_file_that_cannot_be_sent_for_an_hour_holds_up_its_room_no_longer(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a proxy in front of the homeserver cuts off what is too long for it."""
    without_uploads(bot, monkeypatch, permanent=False)
    bot.model.answer = lambda prompt: CODE
    await bot.say("!code hello")
    assert await pending(bot) == 1
    bot.clock.advance(timedelta(minutes=59))
    await bot.deliver()
    await bot.settle()
    assert await pending(bot) == 1
    bot.clock.advance(timedelta(minutes=2))
    await bot.say("and now?")
    assert bot.matrix.bodies()[1:] == [CODE, NO_FILE]
    assert await pending(bot) == 0


async def test_a_row_that_meets_a_fault_of_ours_each_time_holds_up_its_room_no_longer_than_that(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = bot.matrix.send

    async def faulty(row: OutboxRow) -> str:
        if "poison" in row.content:
            raise TypeError("a fault")
        return await send(row)

    monkeypatch.setattr(bot.matrix, "send", faulty)
    bot.model.answer = lambda prompt: "poison" if len(bot.model.prompts) == 1 else "answer"
    await bot.say("hello")
    await bot.say("hello?")
    assert bot.matrix.bodies() == []
    bot.clock.advance(timedelta(minutes=61))
    await bot.say("hello??")
    assert bot.matrix.bodies() == ["answer", "answer"]
    assert await pending(bot) == 0


async def test_of_a_private_file_it_is_said_where_it_was_to_go(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    without_uploads(bot, monkeypatch, permanent=True)
    await bot.say("!memories add Has a cat")
    await bot.say("!memories export")
    assert bot.matrix.bodies(bot.matrix.direct[JUNO])[-1] == NO_FILE
    assert NO_FILE not in bot.matrix.bodies(ROOM)


@pytest.mark.parametrize(("failing", "shown"), [("words", 0), ("upload", 1), ("file", 1)])
async def test_what_is_redacted_while_the_homeserver_is_tried_again_and_again_never_goes_out(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, failing: str, shown: int
) -> None:
    """Words, a file on its way up, and the event of a file that lies there already."""
    bot.model.answer = lambda prompt: CODE
    event = bot.message("!code hello")
    redaction = Incoming("$r", ROOM, JUNO, IncomingKind.REDACTION, bot.clock.now(), target=event.event_id)
    send, upload = bot.matrix.send, bot.matrix.upload

    async def fails(row: OutboxRow) -> bool:
        """Whether this is the step that fails; the redaction then is taken in before it is tried again."""
        step = "upload" if row.attachment is not None else "file" if "code.py" in row.content else "words"
        if step != failing or redaction.event_id in bot.matrix.looked_for:
            return False
        bot.matrix.looked_for.append(redaction.event_id)
        await bot.deliver(redaction)
        await until(lambda: is_done(bot, redaction.event_id))
        return True

    async def sending(row: OutboxRow) -> str:
        if await fails(row):
            raise MatrixError("502")
        return await send(row)

    async def uploading(row: OutboxRow) -> str:
        if await fails(row):
            raise MatrixError("502")
        return await upload(row)

    monkeypatch.setattr(bot.matrix, "send", sending)
    monkeypatch.setattr(bot.matrix, "upload", uploading)
    await bot.deliver(event)
    await bot.settle()
    assert len(bot.matrix.sent) == shown
    assert await pending(bot) == 0
    await bot.say("and now?")
    assert len(bot.matrix.sent) == shown + 1, "the others go on"


async def is_done(bot: Bot, event_id: str) -> bool:
    async with bot.store.transaction() as tables:
        entry = await tables.journal.get(event_id)
    return entry is not None and entry.state is not JournalState.RECEIVED


async def test_after_a_restart_a_row_is_sent_again_under_the_same_transaction_id(bot: Bot) -> None:
    bot.matrix.failures = [MatrixError("down")] * outbox.ATTEMPTS
    await bot.say("one")
    bot.matrix.by_txn.clear()
    await bot.restart()
    await bot.settle()
    assert len(bot.matrix.sent) == 1
    [txn_id] = bot.matrix.by_txn
    assert txn_id.startswith("dvp-")
    assert bot.matrix.looked_for == []


async def test_an_echo_seen_in_sync_confirms_the_row_before_any_resend(bot: Bot) -> None:
    bot.matrix.failures = [MatrixError("cut off after the homeserver took it")] * outbox.ATTEMPTS
    await bot.say("one")
    async with bot.store.transaction() as tables:
        [row] = await tables.outbox.pending()
    await bot.crash()
    await bot.start()
    await bot.intake.take(SyncBatch("later", echoes=(Echo(row.txn_id, "$sent", ROOM),)))
    await bot.intake.resume()
    await bot.settle()
    assert bot.matrix.sent == []
    assert await pending(bot) == 0


@pytest.mark.parametrize("found", [True, False])
async def test_old_rows_and_those_of_another_device_are_looked_for_first(bot: Bot, found: bool) -> None:
    bot.matrix.failures = [MatrixError("down")] * outbox.ATTEMPTS
    await bot.say("one")
    async with bot.store.transaction() as tables:
        [row] = await tables.outbox.pending()
    if found:
        bot.matrix.findable[row.txn_id] = "$there"
        bot.clock.advance(timedelta(hours=21))
    else:
        bot.matrix.device_id = "OTHER"
    await bot.restart()
    await bot.settle()
    assert bot.matrix.looked_for == [row.txn_id]
    assert len(bot.matrix.sent) == (0 if found else 1)


def edited(bot: Bot) -> list[tuple[str, object]]:
    """What the edits said, each with what it replaces."""
    found = [(str(content["body"]), content.get("m.relates_to")) for _, _, content in bot.matrix.sent]
    return [(body, relation) for body, relation in found if relation is not None]


async def line_and_edits(bot: Bot, *edits: str, line: str = "thinking") -> OutboxRow:
    """Store a line and edits of it, each in a transaction of its own, and let the outbox go at them."""
    said = Answer(ROOM, "$asked", JUNO, line, notice=True)
    [row] = await rows_of(bot.parts, said, "status")
    rows = [row]
    for text in edits:
        rows += await rows_of(bot.parts, replace(said, markdown=text, edits=row.txn_id), f"status {text}")
    for each in rows:
        async with bot.store.transaction() as tables:
            await tables.outbox.add([each])
    await bot.system.tell(Address("outbox", ROOM), Flush())
    await bot.settle()
    return row


async def test_an_edit_names_the_event_that_its_row_became(bot: Bot) -> None:
    row = await line_and_edits(bot, "part 1")
    assert bot.matrix.bodies() == ["thinking", "part 1"]
    assert edited(bot) == [("part 1", {"rel_type": "m.replace", "event_id": bot.matrix.by_txn[row.txn_id]})]
    assert await pending(bot) == 0


async def test_a_slow_homeserver_gets_only_the_newest_edit(bot: Bot) -> None:
    bot.matrix.failures = [MatrixError("down")] * outbox.ATTEMPTS
    await line_and_edits(bot, "part 1", "part 2", "done")
    assert bot.matrix.bodies() == []
    await bot.system.tell(Address("outbox", ROOM), Flush())
    await bot.settle()
    assert bot.matrix.bodies() == ["thinking", "done"]


async def test_an_edit_of_what_was_refused_is_dropped_and_not_said_anew(bot: Bot) -> None:
    bot.matrix.failures = [MatrixError("M_FORBIDDEN", permanent=True)]
    await line_and_edits(bot, "part 1")
    await bot.say("hello")
    assert bot.matrix.bodies() == ["answer"]
    assert await pending(bot) == 0
    async with bot.store.transaction() as tables:
        found = await tables.outbox._sql.rows("SELECT failure FROM outbox WHERE edits IS NOT NULL")  # type: ignore[attr-defined]
    assert found == [("nothing-to-edit",)]


@pytest.mark.parametrize("found", [True, False])
async def test_an_edit_that_may_have_been_sent_is_looked_for_first(bot: Bot, found: bool) -> None:
    row = await line_and_edits(bot)
    bot.matrix.failures = [MatrixError("down")] * outbox.ATTEMPTS
    said = Answer(ROOM, "$asked", JUNO, "part 1", notice=True, edits=row.txn_id)
    [edit] = await rows_of(bot.parts, said, "status 1")
    async with bot.store.transaction() as tables:
        await tables.outbox.add([edit])
    await bot.system.tell(Address("outbox", ROOM), Flush())
    await bot.settle()
    bot.clock.advance(timedelta(hours=21))
    if found:
        bot.matrix.findable[edit.txn_id] = "$there"
    await bot.restart()
    await bot.settle()
    assert bot.matrix.looked_for == [edit.txn_id]
    assert bot.matrix.bodies() == (["thinking"] if found else ["thinking", "part 1"])
    assert await pending(bot) == 0


DIRECT = "!direct:hs"
ALONE = {"room": DIRECT, "direct": True, "alone": True}
UNSENT = Speaker()("private-unsent")


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("restarted", [False, True])
async def test_d8_what_is_for_one_person_alone_is_not_sent_where_another_came_in_before_it_was(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, *, restarted: bool, left: bool
) -> None:
    """Between the parts of an answer, or while the homeserver could not be reached. left: its person went meanwhile."""
    bot.model.answer = lambda prompt: CODE.replace("hello", "secret")
    upload, then = bot.matrix.upload, {"@bot:hs", "@bau:hs"} | (set() if left else {JUNO})

    async def joining(row: OutboxRow) -> str:
        if restarted:
            raise MatrixError("down")
        bot.matrix.joined[DIRECT] = then
        return await upload(row)

    monkeypatch.setattr(bot.matrix, "upload", joining)
    await bot.say("!code a secret", **ALONE)
    if restarted:
        monkeypatch.setattr(bot.matrix, "upload", upload)
        bot.matrix.joined[DIRECT] = then
        await bot.restart()
        await bot.settle()
    assert ["secret" in body for body in bot.matrix.bodies(DIRECT)] == [True, False]
    assert bot.matrix.bodies(DIRECT)[1:] == [UNSENT]
    assert await pending(bot) == 0
    await bot.restart()
    await bot.say("hello", room=DIRECT, direct=True)
    assert bot.matrix.bodies(DIRECT).count(UNSENT) == 1


async def test_d8_a_line_that_others_may_not_read_says_so_instead(bot: Bot) -> None:
    said = Answer(ROOM, "$asked", JUNO, "thinking", notice=True)
    [line] = await rows_of(bot.parts, said, "status")
    [edit] = await rows_of(bot.parts, replace(said, markdown="a secret", edits=line.txn_id), "status 1")
    bot.matrix.joined[ROOM] |= {JUNO, "@bot:hs", "@bau:hs"}
    async with bot.store.transaction() as tables:
        await tables.outbox.add([line, replace(edit, only_for=JUNO)])
    await bot.system.tell(Address("outbox", ROOM), Flush())
    await bot.settle()
    assert bot.matrix.bodies() == ["thinking", UNSENT]
    assert edited(bot) == [(UNSENT, {"rel_type": "m.replace", "event_id": bot.matrix.by_txn[line.txn_id]})]


async def test_d8_while_it_is_not_known_who_is_in_the_room_it_waits(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    members, unknown = bot.matrix.members, [False, False, True]

    async def failing(room_id: str) -> frozenset[str]:
        if unknown and unknown.pop(0):
            raise MatrixError("down")
        return await members(room_id)

    monkeypatch.setattr(bot.matrix, "members", failing)
    await bot.say("a secret", **ALONE)
    assert bot.matrix.bodies(DIRECT) == ["answer"]
    assert unknown == []


async def test_what_others_may_hear_anyway_is_sent_whoever_came_in(bot: Bot) -> None:
    bot.matrix.failures = [MatrixError("down")] * outbox.ATTEMPTS
    await bot.say("hello")
    bot.matrix.joined[ROOM] |= {"@bau:hs", "@ivo:hs"}
    await bot.restart()
    await bot.settle()
    assert bot.matrix.bodies() == ["answer"]
