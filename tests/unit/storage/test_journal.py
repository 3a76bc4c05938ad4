from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import StorageError
from memory.events import Incoming, IncomingKind, JournalEntry, JournalState, SyncBatch
from memory.types import Given, Recall, TurnKind
from storage import Database
from storage.given import read_given
from storage.tables import Tables
from tests.unit.storage import build
from tests.unit.storage.conftest import STORAGE

NOW = build.NOW
MINUTE = timedelta(minutes=1)


async def record(database: Database, *events: Incoming, **changes: Any) -> tuple[JournalEntry, ...]:
    """Journal a batch in which every event is for the bot."""
    batch = build.batch(*events, **changes)
    async with database.transaction() as tables:
        return await tables.journal.record(batch, (*batch.late, *batch.events), (), NOW)


async def get(database: Database, event_id: str) -> JournalEntry:
    async with database.transaction() as tables:
        entry = await tables.journal.get(event_id)
    assert entry is not None
    return entry


async def turn(tables: Tables, event: Incoming, at_minute: int, state: JournalState = JournalState.LEARNED) -> None:
    """Answer a journalled event some minutes after NOW."""
    await tables.journal.begin_turn(event.event_id, "default", event.text)
    await tables.journal.answered(event.event_id, "Noted.", state, NOW + at_minute * MINUTE)


# --- arriving -----------------------------------------------------------------------------------------------------


@STORAGE
@given(events=st.lists(build.messages, min_size=1, max_size=5), at=build.moments)
async def test_events_come_back_as_they_were_recorded_in_order(
    database: Database, events: list[Incoming], at: object
) -> None:
    async with database.transaction() as tables:
        entries = await tables.journal.record(build.batch(*events), events, (), at)  # type: ignore[arg-type]
        assert [entry.incoming for entry in entries] == events
        assert [entry.seq for entry in entries] == sorted({entry.seq for entry in entries})
        assert {(entry.state, entry.received_at, entry.said) for entry in entries} == {
            (JournalState.RECEIVED, at, None)
        }
        assert [await tables.journal.get(event.event_id) for event in events] == list(entries)


@STORAGE
@given(event=build.messages)
async def test_ignored_events_are_stored_without_any_text(database: Database, event: Incoming) -> None:
    async with database.transaction() as tables:
        assert await tables.journal.record(build.batch(event), (), (event,), NOW) == ()
        entry = await tables.journal.get(event.event_id)
    assert entry is not None
    assert entry.state is JournalState.IGNORED
    assert entry.incoming == replace(event, body="", text="")


async def test_the_sync_token_is_stored_with_the_events_or_not_at_all(database: Database) -> None:
    first, second = build.incoming(), build.incoming()
    async with database.transaction() as tables:
        assert await tables.journal.sync_token() is None
    await record(database, first, next_batch="s1")
    with pytest.raises(RuntimeError):
        async with database.transaction() as tables:
            await tables.journal.record(build.batch(second, next_batch="s2"), (second,), (), NOW)
            raise RuntimeError
    async with database.transaction() as tables:
        assert await tables.journal.sync_token() == "s1"
        assert await tables.journal.known([first.event_id, second.event_id, "$x"]) == {first.event_id}
        assert await tables.journal.get(second.event_id) is None


async def test_a_batch_that_comes_again_changes_nothing_and_returns_only_what_is_new(database: Database) -> None:
    old, new = build.incoming(), build.incoming()
    (entry,) = await record(database, old)
    async with database.transaction() as tables:
        await turn(tables, old, 1)
    answered = await get(database, old.event_id)
    (second,) = await record(database, replace(old, text="other words"), new, next_batch="s2")
    assert second.incoming == new
    assert second.seq > entry.seq
    assert await get(database, old.event_id) == answered


async def test_an_empty_batch_moves_the_token(database: Database) -> None:
    assert await record(database, next_batch="s7") == ()
    async with database.transaction() as tables:
        assert await tables.journal.sync_token() == "s7"


async def test_received_and_ignored_keep_the_order_of_the_timeline(database: Database) -> None:
    events = [build.incoming() for _ in range(6)]
    async with database.transaction() as tables:
        await tables.journal.record(build.batch(*events), events[::2], events[1::2], NOW)
        entries = [await tables.journal.get(event.event_id) for event in events]
        seqs = [entry.seq for entry in entries if entry is not None]
        assert seqs == sorted(seqs)
        assert len(seqs) == 6


async def test_rooms_seen_encrypted_are_marked_in_the_same_transaction(database: Database) -> None:
    await record(database, encrypted_rooms=(build.ROOM,))
    await record(database, encrypted_rooms=(build.ROOM,), next_batch="s2")
    async with database.transaction() as tables:
        assert await tables.rooms.encrypted(build.ROOM)
        assert not await tables.rooms.encrypted(build.OTHER_ROOM)


async def test_text_that_utf8_cannot_hold_does_not_stop_the_sync(database: Database) -> None:
    (entry,) = await record(database, build.incoming(body="\ud800 hi", text="\ud800 hi", target="$\udc00"))
    assert (entry.incoming.body, entry.incoming.text, entry.incoming.target) == ("\ufffd hi", "\ufffd hi", "$\ufffd")


# --- keys that come late ------------------------------------------------------------------------------------------


async def test_undecryptable_events_wait_with_their_json_until_the_key_comes(database: Database) -> None:
    other_room = replace(build.undecryptable(), room_id=build.OTHER_ROOM)
    waiting = (build.undecryptable(session_id="a"), build.undecryptable(session_id="b"), other_room)
    await record(database, undecryptable=waiting)
    async with database.transaction() as tables:
        assert await tables.journal.waiting() == waiting
        assert await tables.journal.waiting(build.ROOM) == waiting[:2]
        assert await tables.journal.waiting(build.ROOM, "a") == waiting[:1]
        assert await tables.journal.waiting(build.OTHER_ROOM, "a") == ()
        assert await tables.journal.waiting("!\ud800:hs", "\ud800") == (), "what a key says of itself may be anything"
        assert await tables.journal.known([event.event_id for event in waiting]) == {
            event.event_id for event in waiting
        }
        assert await tables.journal.unfinished() == ()


async def test_a_late_event_takes_the_place_of_the_waiting_one_with_a_new_seq_before_the_others(
    database: Database,
) -> None:
    waiting = build.undecryptable()
    (before,) = await record(database, build.incoming(), undecryptable=(waiting,))
    late, now_sent = build.incoming(waiting.event_id), build.incoming()
    entries = await record(database, now_sent, late=(late,), next_batch="s2")
    assert [entry.incoming for entry in entries] == [late, now_sent]
    assert entries[0].seq > before.seq + 1
    async with database.transaction() as tables:
        assert await tables.journal.waiting() == ()
        # The homeserver may send the encrypted form once more: it is known.
        again = SyncBatch("s3", undecryptable=(waiting,))
        assert await tables.journal.record(again, (), (), NOW) == ()
        assert await tables.journal.waiting() == ()


async def test_a_late_event_that_is_not_for_the_bot_is_ignored_and_waits_no_more(database: Database) -> None:
    waiting = build.undecryptable()
    await record(database, undecryptable=(waiting,))
    late = build.incoming(waiting.event_id)
    async with database.transaction() as tables:
        assert await tables.journal.record(build.batch(late=(late,)), (), (late,), NOW) == ()
        assert await tables.journal.waiting() == ()
    assert (await get(database, late.event_id)).state is JournalState.IGNORED


async def test_a_late_event_that_was_done_before_is_left_alone(database: Database) -> None:
    event = build.incoming()
    await record(database, event)
    async with database.transaction() as tables:
        await turn(tables, event, 1)
    assert await record(database, late=(event,), next_batch="s2") == ()
    assert (await get(database, event.event_id)).state is JournalState.LEARNED


# --- what becomes of an event -------------------------------------------------------------------------------------


async def test_an_event_goes_from_received_to_answered_to_learned(database: Database) -> None:
    event = build.incoming()
    (entry,) = await record(database, event)
    later = NOW + MINUTE
    async with database.transaction() as tables:
        journal = tables.journal
        await journal.begin_turn(event.event_id, "pirate", "my cat", TurnKind.VERSE)
        await journal.answered(event.event_id, "Aye.", JournalState.ANSWERED, later)
        answered = replace(
            entry,
            state=JournalState.ANSWERED,
            persona="pirate",
            said="my cat",
            answer="Aye.",
            answered_at=later,
            turn=TurnKind.VERSE,
        )
        assert await journal.get(event.event_id) == answered
        assert await journal.unfinished() == (answered,)
        await journal.finish(event.event_id, JournalState.LEARNED)
        assert await journal.get(event.event_id) == replace(answered, state=JournalState.LEARNED)
        assert await journal.unfinished() == ()


@STORAGE
@given(recall=build.recalls)
async def test_a_recall_comes_back_as_it_was_recorded(database: Database, recall: Recall) -> None:
    """D2: a replayed turn finds what its search found."""
    event = build.incoming()
    await record(database, event)
    async with database.transaction() as tables:
        await tables.journal.record_recall(event.event_id, recall)
    assert (await get(database, event.event_id)).recall == recall


async def test_unfinished_events_by_room_and_by_sender(database: Database) -> None:
    here, there, of_bau = (
        build.incoming(),
        build.incoming(room_id=build.OTHER_ROOM),
        build.incoming(sender=build.BAU),
    )
    failed, learned = build.incoming(), build.incoming()
    await record(database, here, failed, there, learned, of_bau)
    async with database.transaction() as tables:
        await tables.journal.finish(failed.event_id, JournalState.FAILED)
        await turn(tables, learned, 1)
        await turn(tables, there, 1, JournalState.ANSWERED)

        async def unfinished(**only: str) -> list[str]:
            return [entry.incoming.event_id for entry in await tables.journal.unfinished(**only)]

        assert await unfinished() == [here.event_id, there.event_id, of_bau.event_id]
        assert await unfinished(room_id=build.ROOM) == [here.event_id, of_bau.event_id]
        assert await unfinished(sender=build.ALICE) == [here.event_id, there.event_id]
        assert await unfinished(room_id=build.ROOM, sender=build.BAU) == [of_bau.event_id]


async def test_what_is_not_journalled_cannot_be_answered(database: Database) -> None:
    async with database.transaction() as tables:
        for change in (
            tables.journal.begin_turn("$x", "default", "hi"),
            tables.journal.record_recall("$x", Recall(NOW.date())),
            tables.journal.answered("$x", "hi", JournalState.LEARNED, NOW),
            tables.journal.finish("$x", JournalState.LEARNED),
        ):
            with pytest.raises(StorageError, match=r"\$x is not in the journal"):
                await change


# --- the window ---------------------------------------------------------------------------------------------------


async def test_the_window_holds_the_last_answered_turns_of_one_timeline(database: Database) -> None:
    main = [build.incoming(text=f"main {number}") for number in range(4)]
    thread = [build.incoming(text=f"thread {number}", thread_root="$root") for number in range(2)]
    elsewhere = build.incoming(room_id=build.OTHER_ROOM)
    command, failed, open_turn = (build.incoming() for _ in range(3))
    overheard = build.incoming()
    everything = [main[0], thread[0], main[1], elsewhere, command, failed, main[2], thread[1], main[3], open_turn]
    async with database.transaction() as tables:
        await tables.journal.record(build.batch(*everything, overheard), everything, [overheard], NOW)
        for minute, event in enumerate([*main, *thread, elsewhere]):
            await turn(tables, event, minute)
        await tables.journal.answered(command.event_id, "You have 3 memories.", JournalState.LEARNED, NOW + 9 * MINUTE)
        await turn(tables, failed, 9, JournalState.FAILED)
        await tables.journal.begin_turn(open_turn.event_id, "default", "no answer yet")

        async def window(thread_root: str | None, since: int, limit: int) -> list[str | None]:
            found = await tables.journal.window(build.ROOM, thread_root, NOW + since * MINUTE, limit)
            return [entry.said for entry in found]

        assert await window(None, 0, 20) == ["main 0", "main 1", "main 2", "main 3"]
        assert await window(None, 0, 2) == ["main 2", "main 3"]
        assert await window(None, 2, 20) == ["main 2", "main 3"]  # answered exactly then is in
        assert await window("$root", 0, 20) == ["thread 0", "thread 1"]
        assert await window("$other", 0, 20) == []
        await tables.journal.retract(main[1].event_id)
        assert await window(None, 0, 20) == ["main 0", "main 2", "main 3"]


# --- texts that go ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [JournalState.ANSWERED, JournalState.LEARNED])
async def test_a_retracted_event_keeps_its_id_but_no_text_and_is_done(database: Database, state: JournalState) -> None:
    event = build.incoming()
    await record(database, event)
    async with database.transaction() as tables:
        await turn(tables, event, 1, state)
        await tables.journal.retract(event.event_id)
        await tables.journal.retract("$unknown")
        rows = await tables.journal._sql.rows("SELECT * FROM journal")
    entry = await get(database, event.event_id)
    assert entry.state is JournalState.LEARNED
    assert entry.incoming == replace(event, body="", text="")
    assert (entry.said, entry.answer) == (None, None)
    assert "Mochi" not in repr(rows)


async def test_what_is_taken_back_keeps_no_results_of_effects(database: Database) -> None:
    asked, answered, other = (build.incoming() for _ in range(3))
    await record(database, asked, answered, other)
    async with database.transaction() as tables:
        for event in (asked, answered, other):
            await tables.effects.record(event.event_id, 0, "a story about Mochi")
        await tables.journal.retract(asked.event_id)
        await tables.journal.retract_answer(answered.event_id)
        left = [await tables.effects.recorded(event.event_id, 0) for event in (asked, answered, other)]
    assert left == [None, None, "a story about Mochi"]


async def test_an_answer_taken_back_while_it_is_given_goes_no_further(database: Database) -> None:
    event = build.incoming()
    await record(database, event)
    async with database.transaction() as tables:
        await tables.journal.retract_answer(event.event_id)
        assert await tables.journal.unfinished() == ()
    assert (await get(database, event.event_id)).state is JournalState.LEARNED


async def test_a_retracted_event_that_waits_for_its_key_waits_no_more(database: Database) -> None:
    waiting = build.undecryptable()
    await record(database, undecryptable=(waiting,))
    async with database.transaction() as tables:
        await tables.journal.retract(waiting.event_id)
        assert await tables.journal.waiting() == ()
    assert await record(database, late=(build.incoming(waiting.event_id),), next_batch="s2") == ()
    assert (await get(database, waiting.event_id)).state is JournalState.IGNORED


async def test_an_event_found_to_be_none_of_the_bots_business_keeps_no_text(database: Database) -> None:
    event = build.incoming()
    await record(database, event)
    async with database.transaction() as tables:
        await tables.journal.finish(event.event_id, JournalState.IGNORED)
    entry = await get(database, event.event_id)
    assert entry.state is JournalState.IGNORED
    assert entry.incoming == replace(event, body="", text="")


async def test_pruning_blanks_old_finished_events_only_and_keeps_their_ids(database: Database) -> None:
    """`journal.retention_days` is for texts; ids stay, so that nothing is answered twice."""
    old, old_failed, old_open, recent = (build.incoming() for _ in range(4))
    later = NOW + timedelta(minutes=1, microseconds=1)
    await record(database, old, old_failed, old_open)
    async with database.transaction() as tables:
        await tables.journal.record(build.batch(recent), [recent], (), later)
        for event in (old, recent):
            await turn(tables, event, 1)
        await tables.journal.finish(old_failed.event_id, JournalState.FAILED)
        assert await tables.journal.prune(later) == 2
        assert await tables.journal.prune(later) == 0
        texts = {}
        for event in (old, old_failed, old_open, recent):
            entry = await tables.journal.get(event.event_id)
            assert entry is not None
            texts[event.event_id] = (entry.incoming.text, entry.said, entry.answer)
    said = "my cat is Mochi"
    assert list(texts.values()) == [("", None, None), ("", None, None), (said, None, None), (said, said, "Noted.")]
    assert await record(database, old, next_batch="s2") == ()


async def test_pruning_leaves_what_a_window_may_still_hold(database: Database) -> None:
    """A window reaches back from an answer's time, and as far as `context.timeout_minutes` of its room says."""
    here, there, late = build.incoming(), build.incoming(room_id=build.OTHER_ROOM), build.incoming()
    await record(database, here, there, late)
    async with database.transaction() as tables:
        for event, minutes in ((here, 1), (there, 1), (late, 60)):
            await turn(tables, event, minutes)
        soon = NOW + timedelta(minutes=2)

        async def texts() -> list[str | None]:
            entries = [await tables.journal.get(event.event_id) for event in (here, there, late)]
            return [entry.said for entry in entries if entry is not None]

        said = here.text
        assert await tables.journal.prune(soon, {build.OTHER_ROOM: NOW}) == 1
        assert await texts() == [None, said, said]
        assert await tables.journal.prune(NOW, {build.OTHER_ROOM: soon}) == 1, "a room may keep its texts shorter too"
        assert await texts() == [None, None, said]
        assert await tables.journal.prune(NOW + timedelta(minutes=61)) == 1


async def test_ids_of_what_nothing_was_done_on_go_and_all_others_stay(database: Database) -> None:
    """What was acted on is never answered or counted again; the last of a room is where reading a gap ends."""
    passed_over, waiting = [build.incoming(text="") for _ in range(5)], build.undecryptable()
    answered, failed, open_ = (build.incoming() for _ in range(3))
    elsewhere = build.incoming(room_id=build.OTHER_ROOM)
    batch = build.batch(*passed_over, answered, failed, open_, elsewhere, undecryptable=(waiting,))
    recent = build.incoming(text="")
    async with database.transaction() as tables:
        await tables.journal.record(batch, (answered, failed, open_), (*passed_over, elsewhere), NOW)
        await tables.journal.record(build.batch(recent), (), (recent,), NOW + build.DAY)
        await turn(tables, answered, 1)
        await tables.journal.finish(failed.event_id, JournalState.FAILED)
        assert [await tables.journal.forget(NOW + build.DAY, 4) for _ in range(3)] == [4, 2, 0]
        left = await tables.journal._sql.rows("SELECT event_id FROM journal ORDER BY seq")
    assert {event_id for (event_id,) in left} == {
        each.event_id for each in (answered, failed, open_, elsewhere, recent)
    }
    [entry] = await record(database, build.incoming(), next_batch="s3")
    assert entry.seq == 12, "a number is never used again: forgotten_through speaks of them"
    assert await record(database, answered, failed, next_batch="s4") == ()


async def test_rooms_and_users_of_the_last_answers_come_in_order_of_use(database: Database) -> None:
    first, second, unanswered = (
        build.incoming(room_id=room, sender=user)
        for room, user in (
            (build.ROOM, build.ALICE),
            (build.OTHER_ROOM, build.ALICE),
            ("!third:hs", build.BAU),
        )
    )
    await record(database, first, second, unanswered)
    async with database.transaction() as tables:
        assert await tables.journal.lately(10) == ()
        await turn(tables, first, 1)
        await turn(tables, second, 2)
        assert await tables.journal.lately(10) == (build.OTHER_ROOM, build.ALICE, build.ROOM)
        assert await tables.journal.lately(2) == (build.OTHER_ROOM, build.ALICE)


async def test_a_burst_of_500_events_is_one_transaction_in_order(database: Database) -> None:
    events = [build.incoming() for _ in range(500)]
    entries = await record(database, *events)
    assert [entry.incoming for entry in entries] == events


async def test_a_room_is_welcomed_once_an_arrival_there_was_answered_not_before_and_not_by_itself(
    database: Database,
) -> None:
    arrival = build.incoming(kind=IncomingKind.JOINED, sender="@bot:example.org", text="", body="")
    await record(database, arrival, build.incoming())
    async with database.transaction() as tables:
        assert not await tables.journal.welcomed(build.ROOM, NOW, "$another")
        await tables.journal.finish(arrival.event_id, JournalState.LEARNED)
        assert await tables.journal.welcomed(build.ROOM, NOW, "$another")
        assert not await tables.journal.welcomed(build.ROOM, NOW, arrival.event_id)
        assert not await tables.journal.welcomed(build.ROOM, NOW + MINUTE, "$another")
        assert not await tables.journal.welcomed(build.OTHER_ROOM, NOW, "$another")


async def test_what_left_the_context_is_in_no_window_and_what_was_said_later_is(database: Database) -> None:
    """`!forget` and `!privacy silent`: only what came before the command leaves, threads and what waits included."""
    mine, in_thread = build.incoming(text="mine"), build.incoming(text="in a thread", thread_root="$root")
    baus, elsewhere = build.incoming(sender=build.BAU, text="Bau's"), build.incoming(room_id=build.OTHER_ROOM)
    waiting, command = build.incoming(text="waiting"), build.incoming(text="!forget")
    later = build.incoming(text="later")
    entries = await record(database, mine, in_thread, baus, elsewhere, waiting, command, later)
    async with database.transaction() as tables:
        for event in (mine, in_thread, baus, elsewhere, later):
            await turn(tables, event, 1)

        async def said(room_id: str, thread_root: str | None = None) -> list[str | None]:
            found = await tables.journal.window(room_id, thread_root, NOW, 20)
            return [entry.said for entry in found]

        assert await tables.journal.leave_context(command.event_id, sender=build.ALICE) == entries[5].seq
        assert (await said(build.ROOM), await said(build.ROOM, "$root")) == (["Bau's", "later"], [])
        assert await said(build.OTHER_ROOM) == []
        await tables.journal.leave_context(command.event_id, room_id=build.ROOM)
        assert await said(build.ROOM) == ["later"]
        left = await tables.journal.get(waiting.event_id)
        assert left is not None
        assert not left.in_context
        with pytest.raises(StorageError, match="not in the journal"):
            await tables.journal.leave_context("$x", room_id=build.ROOM)


async def test_what_an_answer_was_given_is_kept_and_goes_when_it_is_taken_back(database: Database) -> None:
    first, second = build.incoming(), build.incoming()
    await record(database, first, second)
    given_it = Given((3, 5), (4,))

    async def kept(tables: Tables, event_id: str) -> object:
        ((text,),) = await tables.journal._sql.rows("SELECT given FROM journal WHERE event_id = ?", event_id)
        return None if text is None else read_given(text)

    async with database.transaction() as tables:
        for event in (first, second):
            await tables.journal.answered(event.event_id, "Noted.", JournalState.ANSWERED, NOW, given_it)
            assert await kept(tables, event.event_id) == given_it
        await tables.journal.retract(first.event_id)
        await tables.journal.retract_answer(second.event_id)
        assert [await kept(tables, event.event_id) for event in (first, second)] == [None, None]
